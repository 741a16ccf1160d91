//! `after:`: criteria wait for those before them, and are skipped with them.

use super::{HONEST, then_honest};
use crate::repo::{Repo, story};

/// `c` first, then `a`, which waits for `b`.
const TASK: &str = "\
# Three

- [ ] a is there
  - verify: `test -e a.txt`
  - after: b
- [ ] b is there
  - verify: `test -e b.txt`
  - id: b
  - after: c
- [ ] c is there
  - verify: `test -e c.txt`
  - id: c
";

#[test]
fn criteria_wait_for_those_before_them() {
    let repo = Repo::new(TASK);
    let ran = repo.run(HONEST, &[]);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    insta::assert_snapshot!(story(&repo, &ran), @r"
    iteration 1: pass check
    iteration 2: pass check
    iteration 3: pass check
    exit 0: proven
    - [x] a is there
    - [x] b is there
    - [x] c is there
    state: c is there, proven by check, 0 attempts failed
    state: b is there, proven by check, 0 attempts failed
    state: a is there, proven by check, 0 attempts failed
    on refs/heads/main
    commit: ralph(demo): [c is there] - c
    commit: ralph(demo): state update
    commit: ralph(demo): [b is there] - b
    commit: ralph(demo): state update
    commit: ralph(demo): [a is there] - a
    commit: ralph(demo): state update
    commit: ralph(demo): state update
    ");
}

#[test]
fn those_after_a_stuck_one_are_skipped_once_and_free_after_retry() {
    let repo = Repo::new(TASK);
    let lie = then_honest("- match: c is there\n  steps: [{say: 'Done!'}]\n");
    let limits = ["--on-stuck=skip", "--stuck-threshold=1"];
    let ran = repo.run(&lie, &limits);
    insta::assert_snapshot!(story(&repo, &ran), @r"
    iteration 1: fail
      fails: not_ticked
      fails: no_commit
      said: no_progress_entry
      mended: progress_line
    blocked: c is there, refs/ralph/demo/attempts/1
    skipped: a is there, `c is there` before it is stuck
    skipped: b is there, `c is there` before it is stuck
    exit 4: stuck
    - [ ] a is there
    - [ ] b is there
    - [ ] c is there
    state: c is there, unproven, 1 attempts failed
    on refs/heads/main
    commit: ralph(demo): state update
    commit: ralph(demo): state update
    kept: refs/ralph/demo/attempts/1
    ");
    let progress = repo.read("tasks/demo/progress.md");
    let skipped = "SKIPPED \"b is there\": `c is there` before it is stuck";
    assert_eq!(progress.matches(skipped).count(), 1, "{progress}");
    let reason = "skipped: `c is there` before it is stuck";
    for command in ["status", "check"] {
        let shown = repo.ralph(&[command, "demo"]).stdout;
        assert_eq!(shown.matches(reason).count(), 2, "{command}: {shown}");
    }
    let status = repo.ralph(&["status", "demo", "--json"]).json();
    assert_eq!(status["criteria"][1]["skipped"], "`c is there` before it is stuck");
    repo.ralph(&["retry", "demo"]);
    let again = repo.run(HONEST, &limits);
    assert_eq!(again.code, Some(0), "{}", again.stderr);
}

#[test]
fn a_tick_of_a_human_has_to_be_proven_before_others_begin() {
    let repo = Repo::new(&TASK.replace("[ ] c", "[x] c"));
    repo.write("c.txt", "c\n");
    repo.commit("by hand");
    let ran = repo.run(HONEST, &[]);
    insta::assert_snapshot!(story(&repo, &ran), @r"
    iteration 1: pass check
    iteration 2: pass check
    exit 0: proven
    - [x] a is there
    - [x] b is there
    - [x] c is there
    state: c is there, proven by check, 0 attempts failed
    state: b is there, proven by check, 0 attempts failed
    state: a is there, proven by check, 0 attempts failed
    on refs/heads/main
    commit: by hand
    commit: ralph(demo): state update
    commit: ralph(demo): [b is there] - b
    commit: ralph(demo): state update
    commit: ralph(demo): [a is there] - a
    commit: ralph(demo): state update
    commit: ralph(demo): state update
    ");
}

#[test]
fn a_circle_is_refused_at_its_place() {
    let repo = Repo::new(&TASK.replace("  - id: c\n", "  - id: c\n  - after: b\n"));
    let ran = repo.run(HONEST, &[]);
    assert_eq!(ran.code, Some(7), "{}", ran.stderr);
    assert!(ran.stderr.contains("Circular dependency: "), "{}", ran.stderr);
    assert!(ran.stderr.contains("TASK.md:13:12"), "{}", ran.stderr);
}
