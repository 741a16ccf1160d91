//! What is accepted.

use super::{HONEST, TASK, once};
use crate::repo::{Repo, story};

#[test]
fn honest_work() {
    let repo = Repo::new(TASK);
    let (_, story) = once(&repo, HONEST);
    insta::assert_snapshot!(story, @r"
    iteration 1: pass check
    exit 3: limit_reached
    - [x] out.txt says hello
    - [ ] notes exist
    state: out.txt says hello, proven by check, 0 attempts failed
    on refs/heads/main
    commit: ralph(demo): [out.txt says hello] - say hello
    commit: ralph(demo): state update
    commit: ralph(demo): state update
    ");
}

#[test]
fn a_forgotten_progress_line_and_state_commit_are_mended_and_said() {
    let repo = Repo::new(TASK);
    let (ran, story) = once(
        &repo,
        r#"
turns:
- steps:
  - write: {path: out.txt, text: "hello\n"}
  - commit: say hello
  - tick: "{criterion}"
"#,
    );
    insta::assert_snapshot!(story, @r"
    iteration 1: pass check
      said: no_progress_entry
      mended: progress_line
      mended: state_commit
    exit 3: limit_reached
    - [x] out.txt says hello
    - [ ] notes exist
    state: out.txt says hello, proven by check, 0 attempts failed
    on refs/heads/main
    commit: ralph(demo): [out.txt says hello] - say hello
    commit: ralph(demo): state update
    commit: ralph(demo): state update
    ");
    let progress = repo.read("tasks/demo/progress.md");
    assert!(progress.contains("iteration 1: PASS"), "{progress}");
    assert!(ran.stdout.contains("no_progress_entry"), "{}", ran.stdout);
}

#[test]
fn work_in_several_commits() {
    let repo = Repo::new(TASK);
    let (_, story) = once(
        &repo,
        r#"
turns:
- steps:
  - write: {path: one.txt, text: "1\n"}
  - commit: one
  - write: {path: out.txt, text: "hello\n"}
  - commit: two
  - progress: said hello
  - tick: "{criterion}"
  - commit: state update
"#,
    );
    insta::assert_snapshot!(story, @r"
    iteration 1: pass check
    exit 3: limit_reached
    - [x] out.txt says hello
    - [ ] notes exist
    state: out.txt says hello, proven by check, 0 attempts failed
    on refs/heads/main
    commit: ralph(demo): [out.txt says hello] - one
    commit: ralph(demo): [out.txt says hello] - two
    commit: ralph(demo): [out.txt says hello] - state update
    commit: ralph(demo): state update
    commit: ralph(demo): state update
    ");
}

#[test]
fn a_check_that_was_green_before_and_a_real_commit() {
    let repo = Repo::with(TASK, &[("out.txt", "hello\n")]);
    let (_, story) = once(
        &repo,
        r#"
turns:
- steps:
  - write: {path: extra.txt, text: "more\n"}
  - tick: "{criterion}"
  - progress: more
  - commit: more
"#,
    );
    insta::assert_snapshot!(story, @r"
    iteration 1: pass commit
      said: green_before
    exit 3: limit_reached
    - [x] out.txt says hello
    - [ ] notes exist
    state: out.txt says hello, proven by commit, 0 attempts failed
    on refs/heads/main
    commit: ralph(demo): [out.txt says hello] - more
    commit: ralph(demo): state update
    commit: ralph(demo): state update
    ");
}

#[test]
fn a_commit_alone_where_no_check_is_required_and_not_where_one_is() {
    let task = "# Demo\n\n- [ ] notes exist\n";
    let script = r#"
turns:
- steps:
  - write: {path: notes.txt, text: "notes\n"}
  - tick: "{criterion}"
  - progress: notes
  - commit: notes
"#;
    let repo = Repo::new(task);
    let ran = repo.run(script, &[]);
    insta::assert_snapshot!(story(&repo, &ran), @r"
    iteration 1: pass commit
    exit 0: proven
    - [x] notes exist
    state: notes exist, proven by commit, 0 attempts failed
    on refs/heads/main
    commit: ralph(demo): [notes exist] - notes
    commit: ralph(demo): state update
    ");
}

#[test]
fn required_checks_that_are_missing_or_pass_already_are_refused_before_the_first_prompt() {
    let green = "# Demo\n\n- [ ] it is a project\n  - verify: `test -e README.md`\n";
    for task in ["# Demo\n\n- [ ] notes exist\n", green] {
        let repo = Repo::new(task);
        let ran = repo.run("turns: []\n", &["--require-checks"]);
        assert_eq!(ran.code, Some(7), "{}", ran.stderr);
        let asked = ran
            .events()
            .into_iter()
            .any(|event| matches!(event.kind, ralph_copilot::model::EventKind::PromptSent { .. }));
        assert!(!asked, "{}", ran.stdout);
        let why = if task == green {
            "`it is a project` passes its verify commands before any work"
        } else {
            "`notes exist` has no verify command"
        };
        let expected = format!(
            "error: --require-checks refuses criteria that only a commit could speak for:\n  \
             tasks/demo/TASK.md:3: {why}\n"
        );
        assert!(ran.stderr.starts_with(&expected), "{}", ran.stderr);
        assert!(ran.stderr.contains("give each a verify command"), "{}", ran.stderr);
        // The table leaves the details to the error.
        let shown = crate::repo::finish(repo.run_command("turns: []\n", &["--require-checks"]));
        let stopped =
            "\nStopped: --require-checks refuses criteria that only a commit could speak for.\n";
        assert!(shown.stdout.contains(stopped), "{}", shown.stdout);
        assert!(!shown.stdout.contains(why), "{}", shown.stdout);
        assert_eq!(repo.task(), task);
    }
    let repo = Repo::new("# Demo\n\n- [ ] notes exist\n");
    let dry =
        crate::repo::finish(repo.run_command("turns: []\n", &["--require-checks", "--dry-run"]));
    assert_eq!(dry.code, Some(7), "{}{}", dry.stdout, dry.stderr);
}

/// A check that looks into a file of the repository: the file is the work.
#[test]
fn a_change_of_the_file_that_the_check_looks_into() {
    let repo =
        Repo::new("# Demo\n\n- [ ] README mentions retry\n  - verify: `grep -q retry README.md`\n");
    let ran = repo.run(
        r##"
turns:
- steps:
  - edit: {path: README.md, old: "# A project", new: "# A project\n\nIt has retry."}
  - tick: "{criterion}"
  - progress: retry
  - commit: mention retry
"##,
        &[],
    );
    insta::assert_snapshot!(story(&repo, &ran), @r"
    iteration 1: pass check
    exit 0: proven
    - [x] README mentions retry
    state: README mentions retry, proven by check, 0 attempts failed
    on refs/heads/main
    commit: ralph(demo): [README mentions retry] - mention retry
    commit: ralph(demo): state update
    commit: ralph(demo): state update
    ");
}

/// A human's unfinished work of every kind that is not staged.
fn unfinished() -> Repo {
    let repo = Repo::with(TASK, &[("human.txt", "old\n"), ("gone.txt", "old\n")]);
    repo.write("human.txt", "half a sent");
    std::fs::remove_file(repo.path("gone.txt")).expect("removed");
    repo.write("dir/untracked.bin", b"\x00\xff\n");
    repo.write("added.txt", "intent\n");
    repo.git(&["add", "--intent-to-add", "added.txt"]);
    repo
}

/// The human's files, and what git says of them.
fn humans(repo: &Repo) -> [String; 7] {
    let read = |path: &str| {
        String::from_utf8_lossy(&std::fs::read(repo.path(path)).unwrap_or_default()).into_owned()
    };
    [
        repo.git(&["ls-files", "--stage", ".", ":!tasks", ":!out.txt"]),
        repo.status(),
        repo.git(&["diff"]),
        repo.git(&["diff", "--cached"]),
        read("human.txt"),
        read("dir/untracked.bin"),
        read("added.txt"),
    ]
}

#[test]
fn beside_a_humans_unfinished_work_which_stays_byte_for_byte_as_it_was() {
    let repo = unfinished();
    let before = humans(&repo);
    let refused = repo.run(HONEST, &[]);
    assert_eq!(refused.code, Some(8), "{}", refused.stderr);
    assert_eq!(humans(&repo), before);

    // As an agent commits: all that is staged.
    let ran = repo.run(
        r#"
turns:
- steps:
  - write: {path: out.txt, text: "hello\n"}
  - tick: "{criterion}"
  - progress: said hello
  - run: "git add out.txt tasks/demo && git commit -qm 'ralph(demo): say hello'"
"#,
        &["--allow-dirty", "--max-iterations", "1"],
    );
    assert_eq!(humans(&repo), before);
    insta::assert_snapshot!(story(&repo, &ran), @r"
    iteration 1: pass check
    exit 3: limit_reached
    - [x] out.txt says hello
    - [ ] notes exist
    state: out.txt says hello, proven by check, 0 attempts failed
    on refs/heads/main
    commit: ralph(demo): say hello
    commit: ralph(demo): state update
    commit: ralph(demo): state update
    left:  A added.txt
    left:  D gone.txt
    left:  M human.txt
    left: ?? dir/untracked.bin
    ");
    let names = repo.git(&["log", "--name-only", "--format=", "HEAD~2.."]);
    assert!(!names.contains("human") && !names.contains("gone"), "{names}");
}

/// An agent's `git commit` includes all that is staged.
#[test]
fn staged_work_of_a_human_is_refused_and_stays_staged() {
    let cases = [
        ("changed a.txt", Some("staged\n"), None),
        ("changed a.txt", Some("staged\n"), Some("changed again\n")),
        ("changed a.txt", Some("staged\n"), Some("old\n")),
        ("added secret.env", Some("TOKEN=1\n"), None),
        ("removed a.txt", None, None),
    ];
    for (listed, staged, then) in cases {
        let repo = Repo::with(TASK, &[("a.txt", "old\n")]);
        repo.write("notes.md", "not staged\n");
        let path = listed.split(' ').next_back().expect("a path");
        match staged {
            Some(text) => repo.write(path, text),
            None => std::fs::remove_file(repo.path(path)).expect("removed"),
        }
        repo.git(&["add", path]);
        if let Some(text) = then {
            repo.write(path, text);
        }
        let before = humans(&repo);
        let ran = crate::repo::finish(repo.run_command(HONEST, &["--allow-dirty"]));
        let expected = format!(
            "error: there are staged changes, which an agent's `git commit` would include:\n  \
             {listed}\nhint: commit them (git commit), "
        );
        assert_eq!(ran.code, Some(8), "{}", ran.stderr);
        assert!(ran.stderr.starts_with(&expected), "{}", ran.stderr);
        assert_eq!(humans(&repo), before);
        // The hint's last way: nothing is staged, and nothing is lost.
        repo.git(&["restore", "--staged", "."]);
        let ran = repo.run(HONEST, &["--allow-dirty", "--max-iterations", "1"]);
        assert_eq!(ran.code, Some(3), "{}{}", ran.stdout, ran.stderr);
    }
}

/// It is staged during the run, which the guard cannot see in a script.
#[test]
fn a_commit_with_a_humans_unfinished_work_is_undone_and_the_work_stays() {
    let task = format!("---\nallow: [\"sh stage.sh\"]\n---\n{TASK}");
    let repo = Repo::with(&task, &[("human.txt", "old\n"), ("stage.sh", "git add .\n")]);
    repo.write("human.txt", "half a sent");
    repo.write("new.txt", "mine\n");
    let turn = |stage: &str| {
        format!(
            "- times: 1\n  steps:\n  - write: {{path: out.txt, text: \"hello\\n\"}}\n  - tick: \"{{criterion}}\"\n  \
             - progress: said hello\n{stage}  - run: \"git add out.txt tasks/demo && git commit -qm 'ralph(demo): hello'\"\n"
        )
    };
    let script = format!("turns:\n{}{}", turn("  - run: sh stage.sh\n"), turn(""));
    let ran = repo.run(&script, &["--allow-dirty", "--max-iterations", "2"]);
    assert!(ran.stdout.contains("The turn's commits are undone."), "{}", ran.stdout);
    insta::assert_snapshot!(story(&repo, &ran), @r#"
    iteration 1: fail
      fails: human_work_touched
      mended: back_to_checkpoint
      mended: restore_task {"keep_tick":false}
    iteration 2: pass check
    exit 3: limit_reached
    - [x] out.txt says hello
    - [ ] notes exist
    state: out.txt says hello, proven by check, 1 attempts failed
    on refs/heads/main
    commit: ralph(demo): state update
    commit: ralph(demo): hello
    commit: ralph(demo): state update
    commit: ralph(demo): state update
    kept: refs/ralph/demo/attempts/1
    left:  M human.txt
    left: ?? new.txt
    "#);
    let names = repo.git(&["log", "--name-only", "--format=", "HEAD~3.."]);
    assert!(!names.contains("human.txt"), "{names}");
    assert_eq!(repo.read("human.txt"), "half a sent");
    assert_eq!(repo.read("new.txt"), "mine\n");
}
