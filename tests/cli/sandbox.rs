//! `--sandbox` with an agent that runs its commands itself: what the guard cannot see, a process
//! that the agent starts behind its back, writes nowhere but in the workspace and the agent's own
//! folders.
#![cfg(target_os = "linux")]

use ralph_copilot::model::{EventKind, Tier};

use crate::repo::{PROGRAM, Ran, Repo, finish, in_place_of};
use crate::tier::has_tier;

const TASK: &str = "# Demo\n\n- [ ] a is there\n  - verify: `test -e a.txt`\n";

/// `spawn` asks nobody.
fn script(outside: &std::path::Path) -> String {
    format!(
        "turns:\n- steps:\n  \
         - spawn: {{command: \"echo lies > '{outside}'; cat $HOME/.netrc $HOME/.ssh/key > ended.txt; \
         echo ok > $TMPDIR/ok && cp $TMPDIR/ok a.txt\"}}\n  \
         - run: \"until test -e a.txt; do :; done; git add a.txt ended.txt\"\n  \
         - tick: \"{{criterion}}\"\n  - progress: did a\n  - commit: a\n",
        outside = outside.display()
    )
}

/// The tier that the run records.
fn tier(ran: &Ran) -> Option<Tier> {
    ran.events().into_iter().find_map(|event| match event.kind {
        EventKind::RunStarted { sandbox, .. } => Some(sandbox),
        _ => None,
    })
}

#[test]
fn in_a_sandbox_nothing_is_written_outside_and_no_key_is_read() {
    for (name, expected) in [("full", Tier::Full), ("partial", Tier::Partial)] {
        let repo = Repo::new(TASK);
        let outside = repo.beside("outside.txt");
        for secret in ["home/.netrc", "home/.ssh/key"] {
            let secret = repo.beside(secret);
            std::fs::create_dir_all(secret.parent().expect("a folder")).expect("made");
            std::fs::write(secret, "machine a password hunter2hunter2\n").expect("written");
        }
        let ran = repo.run(&script(&outside), &[&format!("--sandbox={name}")]);
        if !has_tier(name) {
            assert_eq!(ran.code, Some(7), "{}", ran.stderr);
            assert!(ran.stderr.contains("--sandbox=auto"), "{}", ran.stderr);
            continue;
        }
        assert_eq!(ran.code, Some(0), "{name}: {} {:#?}", ran.stderr, ran.events());
        assert_eq!(tier(&ran), Some(expected));
        assert!(!outside.exists(), "{name}: it was written");
        assert!(!repo.read("ended.txt").contains("hunter2"), "{name}");
    }
}

/// Git has what is removed, and refuses to remove anything else.
#[test]
fn in_a_sandbox_git_removes_what_is_committed_and_nothing_else() {
    let Some(name) = ["full", "partial"].into_iter().find(|name| has_tier(name)) else { return };
    let task = "# Demo\n\n- [ ] old is gone\n  - verify: `test ! -e old`\n";
    let repo = Repo::with(task, &[("old/a.txt", "a\n"), ("old/b.txt", "b\n"), ("c.txt", "c\n")]);
    let script = r#"
turns:
- on_reject: continue
  steps:
  - run: "rm -rf old"
  - run: "git rm -q --force c.txt"
  - write: {path: c.txt, text: "changed\n"}
  - run: "git rm -q c.txt || true"
  - run: "git commit -qm 'ralph(demo): c' c.txt"
  - run: "git rm -rq old"
  - tick: "{criterion}"
  - progress: removed old
  - commit: remove old
"#;
    let ran = repo.run(script, &[&format!("--sandbox={name}")]);
    assert_eq!(ran.code, Some(0), "{} {:#?}", ran.stderr, ran.events());
    assert!(!repo.path("old").exists());
    assert_eq!(repo.read("c.txt"), "changed\n", "{:#?}", ran.events());
    for told in
        ["`rm -rf old` deletes old, which git tracks", "`git rm -q --force c.txt` may lose changes"]
    {
        assert!(ran.stdout.contains(told), "{told}: {}", ran.stdout);
    }
}

/// As after `cargo build`: HOME shows it nowhere, and a check starts in its sandbox all the same.
#[test]
fn in_partial_the_runner_itself_may_lie_anywhere_in_home() {
    if !has_tier("partial") {
        return;
    }
    let repo = Repo::new(TASK);
    let program = repo.beside("home/project/target/ralph-copilot");
    std::fs::create_dir_all(program.parent().expect("a folder")).expect("made");
    let copied = std::fs::hard_link(PROGRAM, &program);
    copied.or_else(|_| std::fs::copy(PROGRAM, &program).map(drop)).expect("copied");
    let script = script(&repo.beside("outside.txt"));
    let run = repo.run_command(&script, &["--sandbox=partial", "--json"]);
    let mut there = in_place_of(&run, program.to_str().expect("UTF-8"));
    there.args(run.get_args());
    let ran = finish(there);
    assert_eq!(ran.code, Some(0), "{} {:#?}", ran.stderr, ran.events());
}

/// As in a container without a home: `auto` takes another tier, and nothing is written there.
#[cfg(target_os = "linux")]
#[test]
fn a_home_in_which_no_folder_can_be_made_is_no_obstacle() {
    let repo = Repo::new(TASK);
    let honest = "turns:\n- steps: [{write: {path: a.txt, text: \"a\\n\"}}, {tick: \"{criterion}\"}, \
        {commit: a}]\n";
    let mut run = repo.run_command(honest, &["--json"]);
    let ran = finish({
        run.env("HOME", "/proc");
        run
    });
    assert_eq!(ran.code, Some(0), "{} {}", ran.stdout, ran.stderr);
}

#[test]
fn without_it_the_same_agent_writes_where_it_likes() {
    let repo = Repo::new(TASK);
    let outside = repo.beside("outside.txt");
    let ran = repo.run(&script(&outside), &["--sandbox=off"]);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    assert!(outside.exists());
    assert_eq!(tier(&ran), Some(Tier::Off));
}

#[test]
fn a_file_that_is_linked_to_a_store_is_changed_in_the_workspace_alone() {
    for name in ["full", "partial"].into_iter().filter(|name| has_tier(name)) {
        let repo = Repo::new(TASK);
        repo.write(".gitignore", "node_modules\n");
        repo.commit("ignore");
        let (store, linked) = (repo.beside("store.js"), repo.path("node_modules/tool.js"));
        std::fs::write(&store, "tool\n").expect("written");
        std::fs::create_dir_all(linked.parent().expect("a folder")).expect("made");
        std::fs::hard_link(&store, &linked).expect("linked");
        let script = "turns:\n- steps:\n  \
            - spawn: {command: \"echo changed >> node_modules/tool.js; cp node_modules/tool.js a.txt\"}\n  \
            - run: \"until test -e a.txt; do :; done; git add a.txt\"\n  \
            - tick: \"{criterion}\"\n  - progress: did a\n  - commit: a\n";
        let ran = repo.run(script, &[&format!("--sandbox={name}")]);
        assert_eq!(ran.code, Some(0), "{name}: {} {:#?}", ran.stderr, ran.events());
        assert_eq!(repo.read("node_modules/tool.js"), "tool\nchanged\n");
        assert_eq!(std::fs::read_to_string(&store).expect("there"), "tool\n", "{name}");
    }
}

/// What the agent does behind the guard's back is put back by the verdict in every tier.
#[test]
fn what_a_protected_link_leads_to_and_agent_settings_anywhere_are_put_back() {
    for name in ["full", "partial", "off"].into_iter().filter(|name| has_tier(name)) {
        let repo = Repo::new(&format!("---\nprotect: ci/run\n---\n{TASK}"));
        repo.write("scripts/run.sh", "true\n");
        repo.write("app/AGENTS.md", "be kind\n");
        std::fs::create_dir(repo.path("ci")).expect("made");
        std::os::unix::fs::symlink("../scripts/run.sh", repo.path("ci/run")).expect("linked");
        repo.commit("a link");
        let script = "turns:\n- steps:\n  \
            - spawn: {command: \"echo false >> scripts/run.sh; echo lies >> app/AGENTS.md; \
            mkdir lib; echo lies > lib/AGENTS.md; echo done > a.txt\"}\n  \
            - run: \"until test -e a.txt; do :; done; git add -A\"\n  \
            - tick: \"{criterion}\"\n  - progress: did a\n  - commit: a\n";
        let ran = repo.run(script, &[&format!("--sandbox={name}"), "--max-iterations=1"]);
        assert_eq!(ran.code, Some(3), "{name}: {} {:#?}", ran.stderr, ran.events());
        assert_eq!(repo.read("scripts/run.sh"), "true\n", "{name}");
        assert_eq!(repo.read("app/AGENTS.md"), "be kind\n", "{name}");
        assert!(!repo.path("lib/AGENTS.md").exists(), "{name}");
    }
}

/// Each file that is shown as another one is a mount.
#[test]
fn four_hundred_files_with_secrets_do_not_delay_the_start() {
    if !has_tier("full") {
        return;
    }
    let repo = Repo::new(TASK);
    repo.write(".gitignore", "keys\n");
    repo.commit("ignore");
    for number in 0..400 {
        repo.write(&format!("keys/{number}.key"), "0a1b2c3d4e5f60718293\n");
    }
    let script = "turns:\n- steps:\n  \
        - spawn: {command: \"cat keys/*.key | wc -c > a.txt\"}\n  \
        - run: \"until test -s a.txt; do :; done; git add a.txt\"\n  \
        - tick: \"{criterion}\"\n  - progress: did a\n  - commit: a\n";
    let ran = repo.run(script, &["--sandbox=full"]);
    assert_eq!(ran.code, Some(0), "{} {:#?}", ran.stderr, ran.events());
    assert_eq!(repo.read("a.txt").trim(), "0", "they are shown empty");
    let begun = |wanted: fn(&EventKind) -> bool| {
        ran.events().into_iter().find(|event| wanted(&event.kind)).expect("an event").time
    };
    let started = begun(|kind| matches!(kind, EventKind::AgentStarted { .. }));
    let took = started - begun(|kind| matches!(kind, EventKind::RunStarted { .. }));
    assert!(took.num_seconds() < 5, "{took:?} on a machine that may be busy");
}

/// A bubblewrap that fails as often as a file in the repository says: the agent writes that file
/// once its own sandbox has started.
#[test]
fn a_sandbox_of_checks_that_does_not_start_is_no_attempt() {
    if !has_tier("full") {
        return;
    }
    for (times, code, attempts) in [(2, 0, 1), (99, 5, 0)] {
        let repo = Repo::with(TASK, &[(".gitignore", "left\n")]);
        let real = which::which("bwrap").expect("bubblewrap");
        let bwrap = repo.beside("bin/bwrap");
        std::fs::create_dir_all(repo.beside("bin")).expect("made");
        let text = format!(
            "#!/bin/sh\nif test -s '{left}'; then sed -i 1d '{left}'; echo gone >&2; exit 1; fi\n\
             exec '{real}' \"$@\"\n",
            left = repo.path("left").display(),
            real = real.display()
        );
        std::fs::write(&bwrap, text).expect("written");
        let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        std::fs::set_permissions(&bwrap, mode).expect("mode");
        let script = format!(
            "turns:\n- steps: [{{write: {{path: a.txt, text: a}}}}, {{tick: \"{{criterion}}\"}}, \
             {{progress: did a}}, {{commit: a}}, {{write: {{path: left, text: \"{}\"}}}}]\n",
            "x\\n".repeat(times)
        );
        let mut command = repo.run_command(&script, &["--sandbox=full", "--json"]);
        let path = std::env::var("PATH").expect("a PATH");
        command.env("PATH", format!("{}:{path}", repo.beside("bin").display()));
        let ran = finish(command);
        assert_eq!(ran.code, Some(code), "{times}: {} {}", ran.stderr, ran.stdout);
        let failed = repo.state()["criteria"][0]["attempts"].as_u64().unwrap_or(0);
        assert_eq!(failed, 0, "{times}: an attempt was charged");
        let verdicts = ran.events().into_iter();
        let verdicts = verdicts.filter(|it| matches!(it.kind, EventKind::VerdictReached { .. }));
        assert_eq!(verdicts.count(), attempts, "{times}: {}", ran.stdout);
        if code == 5 {
            assert!(ran.stderr.contains("the sandbox did not start"), "{}", ran.stderr);
            assert_eq!(repo.task(), TASK, "the tick is undone");
            std::fs::remove_file(repo.path("left")).expect("removed");
            let ran = repo.run(&script.replace("x\\n", ""), &["--sandbox=full"]);
            assert_eq!(ran.code, Some(0), "{} {}", ran.stderr, ran.stdout);
        }
    }
}
