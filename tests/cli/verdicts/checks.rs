//! What the checks say, and what they must not be made to say.

use super::{TASK, WORK, builds, once};
use crate::repo::{Repo, story};

#[test]
fn work_left_uncommitted_even_where_the_check_passes() {
    let repo = Repo::new(TASK);
    let (_, story) = once(
        &repo,
        r#"
turns:
- steps:
  - write: {path: one.txt, text: "1\n"}
  - tick: "{criterion}"
  - progress: said hello
  - commit: one
  - write: {path: out.txt, text: "hello\n"}
"#,
    );
    insta::assert_snapshot!(story, @r#"
    iteration 1: fail
      fails: uncommitted
      fails: check_failed
      mended: restore_task {"keep_tick":false}
    exit 3: limit_reached
    - [ ] out.txt says hello
    - [ ] notes exist
    state: out.txt says hello, unproven, 1 attempts failed
    on refs/heads/main
    commit: ralph(demo): [out.txt says hello] - one
    commit: ralph(demo): state update
    commit: ralph(demo): state update
    kept: refs/ralph/demo/attempts/1
    kept: refs/ralph/demo/attempts/2
    "#);
}

/// The file that makes the check pass is ignored by git: nothing is uncommitted, and
/// only the clean checkout at the end shows it.
#[test]
fn a_check_that_passes_thanks_to_an_ignored_file() {
    let task = "# Demo\n\n- [ ] it builds\n  - verify: `test -e cache/built`\n";
    let repo = Repo::with(task, &[(".gitignore", "cache/\n")]);
    let ran = repo.run(
        r#"
turns:
- steps:
  - write: {path: cache/built, text: "yes\n"}
  - write: {path: code.txt, text: "code\n"}
  - tick: "{criterion}"
  - progress: built
  - commit: build it
"#,
        &["--stuck-threshold", "1"],
    );
    insta::assert_snapshot!(story(&repo, &ran), @r#"
    iteration 1: fail
      fails: check_failed
      mended: restore_task {"keep_tick":false}
    blocked: it builds, refs/ralph/demo/attempts/2
    exit 4: stuck
    - [ ] it builds
    state: it builds, unproven, 1 attempts failed
    on refs/heads/main
    commit: ralph(demo): state update
    kept: refs/ralph/demo/attempts/1
    kept: refs/ralph/demo/attempts/2
    "#);
    assert_eq!(repo.task(), task);
}

#[test]
fn a_criterion_that_passed_before_is_broken() {
    let task = "\
# Demo

- [x] README.md has a title
  - verify: `grep -q '^# A' README.md`
- [ ] out.txt says hello
  - verify: `grep -qx hello out.txt`
";
    let repo = Repo::new(task);
    let (_, story) = once(
        &repo,
        r#"
turns:
- steps:
  - write: {path: out.txt, text: "hello\n"}
  - write: {path: README.md, text: "no title\n"}
  - tick: "{criterion}"
  - progress: said hello
  - commit: say hello
"#,
    );
    insta::assert_snapshot!(story, @r#"
    iteration 1: fail
      fails: regression
      mended: restore_task {"keep_tick":false}
    exit 3: limit_reached
    - [x] README.md has a title
    - [ ] out.txt says hello
    state: out.txt says hello, unproven, 1 attempts failed
    on refs/heads/main
    commit: ralph(demo): [out.txt says hello] - say hello
    commit: ralph(demo): state update
    kept: refs/ralph/demo/attempts/1
    "#);
    assert_eq!(repo.task(), task);
}

/// `tests/check.sh` is protected by the task's glob, `check.sh` since a verify command
/// names it.
const PROTECTED: &str = "\
---
protect: [\"tests/**\"]
allow: [\"sh build.sh\"]
---
# Demo

- [ ] out.txt says hello
  - verify: `sh check.sh`
- [ ] more
";
const CHECK: &str = "sh tests/hello.sh && grep -qx hello out.txt\n";

fn with_tests(build: &str) -> Repo {
    let files = [("check.sh", CHECK), ("tests/hello.sh", "exit 0\n"), ("build.sh", build)];
    Repo::with(PROTECTED, &files)
}

#[test]
fn a_protected_test_is_deleted() {
    let repo = with_tests(&format!("set -e\ngit rm -q tests/hello.sh\n{WORK}"));
    let (_, story) = once(&repo, super::BUILDS);
    insta::assert_snapshot!(story, @r#"
    iteration 1: fail
      fails: protected_changed
      fails: check_failed
      mended: restore_task {"keep_tick":false}
      mended: restore_file tests/hello.sh
    exit 3: limit_reached
    - [ ] out.txt says hello
    - [ ] more
    state: out.txt says hello, unproven, 1 attempts failed
    on refs/heads/main
    commit: ralph(demo): say hello
    commit: ralph(demo): put protected files back
    commit: ralph(demo): state update
    kept: refs/ralph/demo/attempts/1
    "#);
    assert_eq!(repo.read("tests/hello.sh"), "exit 0\n");
}

#[test]
fn a_script_that_a_verify_command_names_is_weakened() {
    let work = WORK.replace("hello > out.txt", "lies > out.txt");
    let repo = with_tests(&format!("set -e\necho true > check.sh; git add check.sh\n{work}"));
    let (_, story) = once(&repo, super::BUILDS);
    insta::assert_snapshot!(story, @r#"
    iteration 1: held
      held: harness_needed
      mended: restore_task {"keep_tick":false}
      mended: hold
    held: out.txt says hello, refs/ralph/demo/held/7df029f9
    exit 3: limit_reached
    - [ ] out.txt says hello
    - [ ] more
    state: out.txt says hello, unproven, 0 attempts failed
    on refs/heads/main
    commit: ralph(demo): state update
    kept: refs/ralph/demo/attempts/1
    kept: refs/ralph/demo/held/7df029f9
    "#);
    assert_eq!(repo.read("check.sh"), CHECK);
}

#[test]
fn a_protected_test_that_is_weakened_in_one_attempt_does_not_help_the_next() {
    let repo = with_tests(&format!(
        "set -e\nif [ -e out.txt ]; then {} \nelse echo true > check.sh; echo lies > out.txt; git add .; git commit -qm 'ralph(demo): a'; fi",
        WORK.replace("echo hello > out.txt", "echo more > more.txt; git add more.txt")
    ));
    let ran = repo.run(super::BUILDS, &["--max-iterations", "2"]);
    insta::assert_snapshot!(story(&repo, &ran), @r#"
    iteration 1: fail
      fails: not_ticked
      held: harness_needed
      said: no_progress_entry
      mended: progress_line
    iteration 2: held
      held: harness_needed
      mended: restore_task {"keep_tick":false}
      mended: hold
    held: out.txt says hello, refs/ralph/demo/held/7df029f9
    exit 3: limit_reached
    - [ ] out.txt says hello
    - [ ] more
    state: out.txt says hello, unproven, 1 attempts failed
    on refs/heads/main
    commit: ralph(demo): state update
    kept: refs/ralph/demo/attempts/1
    kept: refs/ralph/demo/held/7df029f9
    "#);
    assert_eq!(repo.read("check.sh"), CHECK);
}

/// A test that nothing protects: a human should look, and it is said.
#[test]
fn another_test_is_skipped() {
    let repo = Repo::with(TASK, &[("tests/unit_test.py", "def test(): assert 1\n")]);
    let (_, story) = once(
        &repo,
        r#"
turns:
- steps:
  - write: {path: out.txt, text: "hello\n"}
  - write: {path: tests/unit_test.py, text: "import pytest\n@pytest.mark.skip\ndef test(): assert 1\n"}
  - tick: "{criterion}"
  - progress: said hello
  - commit: say hello
"#,
    );
    insta::assert_snapshot!(story, @r"
    iteration 1: pass check
      said: harness_changed
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
fn a_check_that_fails_says_why_in_the_next_prompt() {
    let task = "# Demo\n\n- [ ] it works\n  - verify: `echo 'the flux is low' >&2; test -e flux`\n";
    let repo = Repo::new(task);
    let ran = repo.run(
        r#"
turns:
- steps:
  - write: {path: code.txt, text: "code\n"}
  - tick: "{criterion}"
  - progress: works
  - commit: work
"#,
        &["--max-iterations", "2"],
    );
    insta::assert_snapshot!(story(&repo, &ran), @r#"
    iteration 1: fail
      fails: check_failed
      mended: restore_task {"keep_tick":false}
    iteration 2: fail
      fails: check_failed
      mended: restore_task {"keep_tick":false}
    exit 3: limit_reached
    - [ ] it works
    state: it works, unproven, 2 attempts failed
    on refs/heads/main
    commit: ralph(demo): [it works] - work
    commit: ralph(demo): state update
    commit: ralph(demo): [it works] - work
    commit: ralph(demo): state update
    kept: refs/ralph/demo/attempts/1
    kept: refs/ralph/demo/attempts/2
    "#);
    let runs = std::fs::read_dir(repo.path(".ralph/runs")).expect("runs");
    let run = runs.flatten().find(|entry| entry.path().is_dir()).expect("a run");
    let wire = std::fs::read_to_string(run.path().join("wire.log")).expect("frames");
    let prompts: Vec<&str> = wire.lines().filter(|line| line.contains("session/prompt")).collect();
    assert_eq!(prompts.len(), 2);
    assert!(!prompts[0].contains("ended with exit code 1"), "{}", prompts[0]);
    assert!(prompts[1].contains("ended with exit code 1"), "{}", prompts[1]);
    assert!(prompts[1].contains(r"exit code 1.\n  the flux is low"), "{}", prompts[1]);
}

#[test]
fn build_leftovers_that_a_check_makes_are_nobodys_fault() {
    let task = TASK.replace("grep -qx hello out.txt", "touch made.tmp; grep -qx hello out.txt");
    let (repo, _, story) = builds(&task, WORK);
    insta::assert_snapshot!(story, @r"
    iteration 1: pass check
    exit 3: limit_reached
    - [x] out.txt says hello
    - [ ] notes exist
    state: out.txt says hello, proven by check, 0 attempts failed
    on refs/heads/main
    commit: ralph(demo): say hello
    commit: ralph(demo): state update
    commit: ralph(demo): state update
    left: ?? made.tmp
    ");
    assert!(repo.path("made.tmp").exists());
}

/// The runner of a test must say that it ran.
#[test]
fn code_that_ends_the_process_of_its_test_is_red() {
    let task = "# Demo\n\n- [ ] seven squared\n  - verify: `python3 -m unittest tests.test_sq`\n";
    let test = "import unittest\nfrom sq import sq\nclass Sq(unittest.TestCase):\n    def \
                test_seven(self):\n        self.assertEqual(sq(7), 49)\n";
    for (code, ends) in [
        ("import os\\ndef sq(x): os._exit(0)\\n", "iteration 1: fail"),
        ("def sq(x): return x * x\\n", "iteration 1: pass check"),
    ] {
        let files = [("tests/__init__.py", ""), ("tests/test_sq.py", test)];
        let repo = Repo::with(task, &files);
        let (_, story) = once(
            &repo,
            &format!(
                r#"
turns:
- steps:
  - write: {{path: sq.py, text: "{code}"}}
  - tick: "{{criterion}}"
  - progress: squared
  - commit: square
"#
            ),
        );
        assert!(story.starts_with(ends), "{code}: {story}");
    }
}
