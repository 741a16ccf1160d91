//! `--sandbox`: what the guard cannot see, a process that the agent starts behind its back,
//! writes nowhere but in the workspace and the agent's own folders.
#![cfg(target_os = "linux")]

use ralph_copilot::model::EventKind;
use ralph_copilot::sys::confine::can_confine;

use crate::repo::{PROGRAM, Ran, Repo, finish};

const TASK: &str = "# Demo\n\n- [ ] a is there\n  - verify: `test -e a.txt`\n";

/// `spawn` asks nobody.
fn script(outside: &std::path::Path) -> String {
    format!(
        "turns:\n- steps:\n  \
         - spawn: {{command: \"echo lies > '{outside}'; echo $? > ended.txt; \
         echo ok > $TMPDIR/ok && cp $TMPDIR/ok a.txt\"}}\n  \
         - run: \"until test -e a.txt; do :; done; git add a.txt ended.txt\"\n  \
         - tick: \"{{criterion}}\"\n  - progress: did a\n  - commit: a\n",
        outside = outside.display()
    )
}

fn notices(ran: &Ran) -> Vec<String> {
    let notices = ran.events().into_iter().filter_map(|event| match event.kind {
        EventKind::Notice { message } => Some(message),
        _ => None,
    });
    notices.collect()
}

#[test]
fn what_is_written_outside_is_refused_by_the_kernel() {
    // A machine without Landlock has nothing to prove here: see the refusal below.
    let available = can_confine().is_ok();
    let repo = Repo::new(TASK);
    let outside = repo.beside("outside.txt");
    let ran = repo.run(&script(&outside), &["--sandbox"]);
    if !available {
        assert_eq!(ran.code, Some(5), "{}", ran.stderr);
        assert!(ran.stderr.contains("--sandbox=best-effort"), "{}", ran.stderr);
        return;
    }
    assert_eq!(ran.code, Some(0), "{} {:?}", ran.stderr, notices(&ran));
    assert!(!outside.exists(), "it was written");
    assert_ne!(repo.read("ended.txt").trim(), "0");
    let told = notices(&ran).join("\n");
    assert!(told.contains("the agent is confined: it can write only below"), "{told}");
    assert!(told.contains(&repo.root().display().to_string()), "{told}");
}

#[test]
fn without_it_the_same_agent_writes_where_it_likes() {
    let repo = Repo::new(TASK);
    let outside = repo.beside("outside.txt");
    let ran = repo.run(&script(&outside), &[]);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    assert!(outside.exists());
    assert!(!notices(&ran).join("\n").contains("confined"));
}

#[test]
fn a_program_that_cannot_be_confined_or_started_is_not_run() {
    let repo = Repo::new(TASK);
    let ran = repo.ralph(&["confine", "--write", ".", "--", "/nowhere/at/all"]);
    assert_eq!(ran.code, Some(126), "{}", ran.stderr);
    let mut command = repo.command(&["confine", "--write", "."]);
    command.args(["--", PROGRAM, "--version"]);
    let ran = finish(command);
    assert_eq!(ran.code, Some(if can_confine().is_ok() { 0 } else { 126 }), "{}", ran.stderr);
}

#[test]
fn a_sandbox_for_shell_commands_is_refused_where_the_agent_has_no_hooks() {
    let repo = Repo::new(TASK);
    let outside = repo.beside("outside.txt");
    let ran = repo.run(&script(&outside), &["--sandbox=full"]);
    assert_eq!(ran.code, Some(7), "{}", ran.stderr);
    assert!(ran.stderr.contains("use --sandbox=required"), "{}", ran.stderr);
    assert!(!outside.exists());
}
