//! The records that an agent must leave alone, and calls that nobody decided.

use super::{TASK, WORK, once};
use crate::repo::Repo;

fn repo(build: &str) -> Repo {
    let files = [
        ("build.sh", format!("set -e\n{build}\n{WORK}")),
        ("tasks/demo/guardrails.md", "# Guardrails\n\n- Be honest.\n".to_owned()),
        ("tasks/demo/progress.md", "# Progress\n- 2026-01-01 began\n".to_owned()),
        ("tasks/demo/activity.log", "{\"operation\":\"old\"}\n".to_owned()),
    ];
    let files: Vec<(&str, &str)> =
        files.iter().map(|(path, text)| (*path, text.as_str())).collect();
    Repo::with(TASK, &files)
}

#[test]
fn guardrails_are_rewritten() {
    let repo = repo("echo '- Anything goes.' > tasks/demo/guardrails.md");
    let (_, story) = once(&repo, super::BUILDS);
    insta::assert_snapshot!(story, @r#"
    iteration 1: fail
      fails: state_rewritten
      mended: restore_task {"keep_tick":false}
      mended: restore_file tasks/demo/guardrails.md
    exit 3: limit_reached
    - [ ] out.txt says hello
    - [ ] notes exist
    state: out.txt says hello, unproven, 1 attempts failed
    on refs/heads/main
    commit: ralph(demo): say hello
    commit: ralph(demo): state update
    kept: refs/ralph/demo/attempts/1
    "#);
    assert_eq!(repo.read("tasks/demo/guardrails.md"), "# Guardrails\n\n- Be honest.\n");
}

#[test]
fn progress_is_rewritten() {
    let repo = repo("echo '# All is well' > tasks/demo/progress.md");
    let (_, story) = once(&repo, super::BUILDS);
    insta::assert_snapshot!(story, @r#"
    iteration 1: fail
      fails: state_rewritten
      said: no_progress_entry
      mended: restore_task {"keep_tick":false}
      mended: restore_file tasks/demo/progress.md
      mended: progress_line
    exit 3: limit_reached
    - [ ] out.txt says hello
    - [ ] notes exist
    state: out.txt says hello, unproven, 1 attempts failed
    on refs/heads/main
    commit: ralph(demo): say hello
    commit: ralph(demo): state update
    kept: refs/ralph/demo/attempts/1
    "#);
    let progress = repo.read("tasks/demo/progress.md");
    assert!(progress.starts_with("# Progress\n- 2026-01-01 began\n- "), "{progress}");
    assert!(!progress.contains("All is well"), "{progress}");
}

#[test]
fn the_activity_log_is_rewritten() {
    let repo = repo(": > tasks/demo/activity.log");
    let (_, story) = once(&repo, super::BUILDS);
    insta::assert_snapshot!(story, @r"
    iteration 1: fail
      tampering: records_tampered
    exit 10: tampered
    - [ ] out.txt says hello
    - [ ] notes exist
    on refs/heads/main
    commit: ralph(demo): say hello
    left:  M tasks/demo/TASK.md
    left:  M tasks/demo/activity.log
    left:  M tasks/demo/progress.md
    left: ?? tasks/demo/cost.log
    ");
}

#[test]
fn a_hook_is_planted() {
    let repo = repo("echo 'exit 0' > .git/hooks/post-commit; chmod +x .git/hooks/post-commit");
    let (_, story) = once(&repo, super::BUILDS);
    insta::assert_snapshot!(story, @r"
    iteration 1: fail
      tampering: settings_changed
    exit 10: tampered
    - [ ] out.txt says hello
    - [ ] notes exist
    on refs/heads/main
    commit: ralph(demo): say hello
    left:  M tasks/demo/TASK.md
    left:  M tasks/demo/activity.log
    left:  M tasks/demo/progress.md
    left: ?? tasks/demo/cost.log
    ");
}

#[test]
fn a_call_runs_that_nobody_decided() {
    let repo = Repo::new(TASK);
    let (ran, story) = once(
        &repo,
        r#"
turns:
- ask: never
  steps:
  - read: README.md
  - write: {path: out.txt, text: "hello\n"}
  - hang:
"#,
    );
    assert!(story.contains("exit 5: agent_unusable"), "{story}");
    assert!(!story.contains("tampering"), "{story}");
    assert!(ran.stdout.contains("does not ask for permission"), "{}", ran.stdout);
}

#[test]
fn what_the_run_wrote_about_itself_is_changed_meanwhile() {
    for change in [
        "rm .ralph/audit/audit-*.jsonl",
        "for f in .ralph/audit/audit-*.jsonl; do : > \"$f\"; done",
        "for f in .ralph/audit/audit-*.jsonl; do sed 's/allow/denny/' \"$f\" > x && mv x \"$f\"; done",
        "for f in .ralph/runs/*/events.jsonl; do cp \"$f\" x && mv x \"$f\"; done",
        "for f in .ralph/runs/*/events.jsonl; do echo '{}' >> \"$f\"; done",
        "rm .ralph/runs/*/events.jsonl",
    ] {
        let repo = repo(change);
        let ran = repo.run(super::BUILDS, &["--max-iterations", "3", "--sandbox=off"]);
        assert_eq!(ran.code, Some(10), "{change}\n{}{}", ran.stdout, ran.stderr);
        assert!(ran.stdout.contains("own records changed"), "{change}\n{}", ran.stdout);
    }
}

#[test]
fn what_other_processes_add_to_the_audit_is_theirs() {
    let repo = repo("for f in .ralph/audit/audit-*.jsonl; do echo '{}' >> \"$f\"; done");
    let (ran, _) = once(&repo, super::BUILDS);
    assert!(!ran.stdout.contains("own records changed"), "{}", ran.stdout);
}

/// Where no kernel keeps an agent out of HOME.
#[test]
fn what_checks_use_outside_of_the_repository_is_changed() {
    for change in
        ["echo 'script-shell=/bin/true' > \"$HOME/.npmrc\"", "echo x > \"$HOME/.gitconfig\""]
    {
        let repo = repo(change);
        let ran = repo.run(super::BUILDS, &["--max-iterations", "1", "--sandbox=off"]);
        assert_eq!(ran.code, Some(3), "{change}\n{}{}", ran.stdout, ran.stderr);
        let told = "which the checks or the agent use, changed since the run began: ";
        assert!(ran.stdout.contains(told), "{change}\n{}", ran.stdout);
        assert_eq!(repo.task().matches("[x]").count(), 0, "{change}");
    }
}
