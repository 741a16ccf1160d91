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

#[test]
fn beside_a_humans_unfinished_work_which_stays_byte_for_byte_as_it_was() {
    let repo = Repo::with(TASK, &[("human.txt", "old\n"), ("staged.txt", "old\n")]);
    repo.write("human.txt", "half a sent");
    repo.write("staged.txt", "staged\n");
    repo.git(&["add", "staged.txt"]);
    repo.write("staged.txt", "staged, and changed again\n");
    repo.write("dir/untracked.bin", b"\x00\xff\n");
    repo.write("added.txt", "intent\n");
    repo.git(&["add", "--intent-to-add", "added.txt"]);
    let human = |repo: &Repo| {
        let index = repo.git(&["ls-files", "--stage", "human.txt", "staged.txt", "added.txt"]);
        let files = ["human.txt", "staged.txt", "dir/untracked.bin", "added.txt"];
        let files = files.map(|path| std::fs::read(repo.path(path)).expect("it is there"));
        (index, repo.status(), repo.git(&["diff"]), repo.git(&["diff", "--cached"]), files)
    };
    let before = human(&repo);
    let refused = repo.run(HONEST, &[]);
    assert_eq!(refused.code, Some(8), "{}", refused.stderr);
    assert_eq!(human(&repo), before);

    let ran = repo.run(
        r#"
turns:
- steps:
  - write: {path: out.txt, text: "hello\n"}
  - tick: "{criterion}"
  - progress: said hello
  - run: "git add out.txt tasks/demo && git commit -qm 'ralph(demo): say hello' -- out.txt tasks/demo"
"#,
        &["--allow-dirty", "--max-iterations", "1"],
    );
    assert_eq!(human(&repo), before);
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
    left:  M human.txt
    left: MM staged.txt
    left: ?? dir/untracked.bin
    ");
    let names = repo.git(&["log", "--name-only", "--format=", "HEAD~2.."]);
    assert!(!names.contains("human") && !names.contains("staged"), "{names}");
}
