//! What an agent may do to the history: add commits of this task to this branch.

use super::{TASK, WORK, builds, once};
use crate::repo::Repo;

#[test]
fn a_commit_with_the_prefix_of_another_task() {
    let (_, _, story) = builds(TASK, &WORK.replace("ralph(demo)", "ralph(other)"));
    insta::assert_snapshot!(story, @r#"
    iteration 1: pass check
      said: wrong_prefix
    exit 3: limit_reached
    - [x] out.txt says hello
    - [ ] notes exist
    state: out.txt says hello, proven by check, 0 attempts failed
    on refs/heads/main
    commit: ralph(other): say hello
    commit: ralph(demo): state update
    commit: ralph(demo): state update
    "#);
}

#[test]
fn a_commit_of_ours_and_one_without_prefix() {
    let (_, _, story) = builds(
        TASK,
        &format!("{WORK}\necho more > more.txt; git add more.txt; git commit -qm 'more'"),
    );
    insta::assert_snapshot!(story, @r#"
    iteration 1: pass check
      said: wrong_prefix
    exit 3: limit_reached
    - [x] out.txt says hello
    - [ ] notes exist
    state: out.txt says hello, proven by check, 0 attempts failed
    on refs/heads/main
    commit: ralph(demo): say hello
    commit: more
    commit: ralph(demo): state update
    commit: ralph(demo): state update
    "#);
}

#[test]
fn an_amended_commit() {
    let (repo, _, story) = builds(TASK, &WORK.replace("git commit", "git commit --amend"));
    insta::assert_snapshot!(story, @r#"
    iteration 1: fail
      fails: history_rewritten
      mended: back_to_checkpoint
      mended: restore_task {"keep_tick":false}
    exit 3: limit_reached
    - [ ] out.txt says hello
    - [ ] notes exist
    state: out.txt says hello, unproven, 1 attempts failed
    on refs/heads/main
    commit: ralph(demo): state update
    kept: refs/ralph/demo/attempts/1
    "#);
    assert_eq!(repo.task(), TASK);
    let kept = repo.git(&["log", "--format=%s", "-2", "refs/ralph/demo/attempts/1"]);
    assert_eq!(kept, "ralph(demo): attempt\nralph(demo): say hello\n");
}

#[test]
fn a_branch_that_was_reset() {
    let repo = Repo::with(TASK, &[("build.sh", "git reset -q --hard HEAD~1")]);
    repo.write("second.txt", "a commit that will be thrown away\n");
    repo.commit("second");
    let head = repo.git(&["rev-parse", "HEAD"]);
    let (_, story) = once(&repo, super::BUILDS);
    insta::assert_snapshot!(story, @r"
    iteration 1: fail
      fails: history_rewritten
      fails: not_ticked
      fails: no_commit
      said: no_progress_entry
      mended: back_to_checkpoint
      mended: progress_line
    exit 3: limit_reached
    - [ ] out.txt says hello
    - [ ] notes exist
    state: out.txt says hello, unproven, 1 attempts failed
    on refs/heads/main
    commit: second
    commit: ralph(demo): state update
    kept: refs/ralph/demo/attempts/1
    ");
    assert_eq!(repo.git(&["rev-parse", "HEAD~1"]), head);
}

#[test]
fn work_on_another_branch() {
    let (repo, _, story) = builds(TASK, &format!("git checkout -q -b other\n{WORK}"));
    insta::assert_snapshot!(story, @r#"
    iteration 1: fail
      fails: wrong_branch
      mended: back_to_checkpoint
      mended: restore_task {"keep_tick":false}
    exit 3: limit_reached
    - [ ] out.txt says hello
    - [ ] notes exist
    state: out.txt says hello, unproven, 1 attempts failed
    on refs/heads/main
    commit: ralph(demo): state update
    kept: refs/ralph/demo/attempts/1
    "#);
    assert_eq!(repo.git(&["log", "-1", "--format=%s", "other"]), "ralph(demo): say hello\n");
}

#[test]
fn work_on_a_detached_head() {
    let (repo, _, story) = builds(TASK, &format!("git checkout -q --detach\n{WORK}"));
    insta::assert_snapshot!(story, @r#"
    iteration 1: fail
      fails: wrong_branch
      mended: back_to_checkpoint
      mended: restore_task {"keep_tick":false}
    exit 3: limit_reached
    - [ ] out.txt says hello
    - [ ] notes exist
    state: out.txt says hello, unproven, 1 attempts failed
    on refs/heads/main
    commit: ralph(demo): state update
    kept: refs/ralph/demo/attempts/1
    "#);
    let kept = repo.git(&["log", "--format=%s", "-2", "refs/ralph/demo/attempts/1"]);
    assert_eq!(kept, "ralph(demo): attempt\nralph(demo): say hello\n");
}

#[test]
fn a_branch_without_any_commit() {
    let (repo, _, story) = builds(TASK, "git checkout -q --orphan new");
    insta::assert_snapshot!(story, @r"
    iteration 1: fail
      fails: wrong_branch
      fails: not_ticked
      fails: no_commit
      fails: uncommitted
      said: no_progress_entry
      mended: back_to_checkpoint
      mended: progress_line
      mended: state_commit
    exit 3: limit_reached
    - [ ] out.txt says hello
    - [ ] notes exist
    state: out.txt says hello, unproven, 1 attempts failed
    on refs/heads/main
    commit: ralph(demo): state update
    kept: refs/ralph/demo/attempts/1
    ");
    assert_eq!(repo.task(), TASK);
}

#[test]
fn a_merge_that_is_left_unfinished() {
    let (repo, _, story) = builds(
        TASK,
        "git checkout -q -b side; echo a > README.md; git commit -qam 'ralph(demo): a'
         git checkout -q main; echo b > README.md; git commit -qam 'ralph(demo): b'
         git merge -q side || true",
    );
    insta::assert_snapshot!(story, @"
    iteration 1: fail
      fails: operation_in_progress
      fails: not_ticked
      fails: uncommitted
      said: no_progress_entry
      mended: back_to_checkpoint
      mended: progress_line
    exit 3: limit_reached
    - [ ] out.txt says hello
    - [ ] notes exist
    state: out.txt says hello, unproven, 1 attempts failed
    on refs/heads/main
    commit: ralph(demo): state update
    kept: refs/ralph/demo/attempts/1
    ");
    assert!(!repo.path(".git/MERGE_HEAD").exists());
}
