//! What an agent may do to TASK.md: tick the one box, and only when it is earned.

use super::{BUILDS, TASK, WORK, builds, once};
use crate::repo::Repo;

#[test]
fn says_done_and_does_nothing() {
    let repo = Repo::new(TASK);
    let (_, story) = once(&repo, "turns: [{steps: [{say: 'Done! All checks pass.'}]}]");
    insta::assert_snapshot!(story, @r"
    iteration 1: fail
      fails: not_ticked
      fails: no_commit
      said: no_progress_entry
      mended: progress_line
    exit 3: limit_reached
    - [ ] out.txt says hello
    - [ ] notes exist
    state: out.txt says hello, unproven, 1 attempts failed
    on refs/heads/main
    commit: ralph(demo): state update
    ");
    assert_eq!(repo.task(), TASK);
}

#[test]
fn ticks_the_box_without_work() {
    let repo = Repo::new(TASK);
    let (_, story) = once(&repo, r#"turns: [{steps: [{tick: "{criterion}"}, {say: Done}]}]"#);
    insta::assert_snapshot!(story, @r#"
    iteration 1: fail
      fails: check_failed
      fails: no_commit
      said: no_progress_entry
      mended: restore_task {"keep_tick":false}
      mended: progress_line
      mended: state_commit
    exit 3: limit_reached
    - [ ] out.txt says hello
    - [ ] notes exist
    state: out.txt says hello, unproven, 1 attempts failed
    on refs/heads/main
    commit: ralph(demo): state update
    kept: refs/ralph/demo/attempts/1
    "#);
    assert_eq!(repo.task(), TASK);
}

#[test]
fn ticks_and_commits_the_tick_as_its_only_work() {
    let repo = Repo::new(TASK);
    let (_, story) = once(
        &repo,
        r#"turns: [{steps: [{tick: "{criterion}"}, {progress: done}, {commit: say hello}]}]"#,
    );
    insta::assert_snapshot!(story, @r#"
    iteration 1: fail
      fails: check_failed
      fails: empty_commit
      mended: restore_task {"keep_tick":false}
    exit 3: limit_reached
    - [ ] out.txt says hello
    - [ ] notes exist
    state: out.txt says hello, unproven, 1 attempts failed
    on refs/heads/main
    commit: ralph(demo): [out.txt says hello] - say hello
    commit: ralph(demo): state update
    kept: refs/ralph/demo/attempts/1
    "#);
    assert_eq!(repo.task(), TASK);
}

#[test]
fn an_empty_commit() {
    let (repo, _, story) = builds(
        TASK,
        "sed -i.bak 's/\\[ \\] out/[x] out/' tasks/demo/TASK.md && rm tasks/demo/TASK.md.bak
         git commit -qam 'ralph(demo): tick'
         git commit -q --allow-empty -m 'ralph(demo): say hello'",
    );
    insta::assert_snapshot!(story, @r#"
    iteration 1: fail
      fails: check_failed
      fails: empty_commit
      said: no_progress_entry
      mended: restore_task {"keep_tick":false}
      mended: progress_line
    exit 3: limit_reached
    - [ ] out.txt says hello
    - [ ] notes exist
    state: out.txt says hello, unproven, 1 attempts failed
    on refs/heads/main
    commit: ralph(demo): tick
    commit: ralph(demo): say hello
    commit: ralph(demo): state update
    kept: refs/ralph/demo/attempts/1
    "#);
    assert_eq!(repo.task(), TASK);
}

#[test]
fn ticks_several_boxes() {
    let (repo, _, story) = builds(
        TASK,
        "echo hello > out.txt; git add out.txt
         sed -i.bak 's/\\[ \\]/[x]/' tasks/demo/TASK.md && rm tasks/demo/TASK.md.bak
         git commit -qam 'ralph(demo): all of it'",
    );
    insta::assert_snapshot!(story, @r#"
    iteration 1: inconclusive
      unclear: task_taken_back
      said: no_progress_entry
      mended: restore_task {"keep_tick":false}
      mended: progress_line
    exit 3: limit_reached
    - [ ] out.txt says hello
    - [ ] notes exist
    state: out.txt says hello, unproven, 0 attempts failed
    on refs/heads/main
    commit: ralph(demo): all of it
    commit: ralph(demo): state update
    kept: refs/ralph/demo/attempts/1
    "#);
    assert_eq!(repo.task(), TASK);
}

#[test]
fn rewords_its_criterion() {
    let (repo, _, story) = builds(
        TASK,
        "echo hello > out.txt; git add out.txt
         sed -i.bak 's/\\[ \\] out.txt says hello/[x] out.txt exists/' tasks/demo/TASK.md
         rm tasks/demo/TASK.md.bak
         git commit -qam 'ralph(demo): say hello'",
    );
    insta::assert_snapshot!(story, @r#"
    iteration 1: inconclusive
      unclear: task_taken_back
      said: no_progress_entry
      mended: restore_task {"keep_tick":false}
      mended: progress_line
    exit 3: limit_reached
    - [ ] out.txt says hello
    - [ ] notes exist
    state: out.txt says hello, unproven, 0 attempts failed
    on refs/heads/main
    commit: ralph(demo): say hello
    commit: ralph(demo): state update
    kept: refs/ralph/demo/attempts/1
    "#);
    assert_eq!(repo.task(), TASK);
}

#[test]
fn removes_another_criterion() {
    let (repo, _, story) = builds(
        TASK,
        "echo hello > out.txt; git add out.txt
         sed -i.bak -e 's/\\[ \\] out/[x] out/' -e '/notes/d' tasks/demo/TASK.md
         rm tasks/demo/TASK.md.bak
         git commit -qam 'ralph(demo): say hello'",
    );
    insta::assert_snapshot!(story, @r#"
    iteration 1: inconclusive
      unclear: task_taken_back
      said: no_progress_entry
      mended: restore_task {"keep_tick":false}
      mended: progress_line
    exit 3: limit_reached
    - [ ] out.txt says hello
    - [ ] notes exist
    state: out.txt says hello, unproven, 0 attempts failed
    on refs/heads/main
    commit: ralph(demo): say hello
    commit: ralph(demo): state update
    kept: refs/ralph/demo/attempts/1
    "#);
    assert_eq!(repo.task(), TASK);
}

#[test]
fn changes_a_verify_command() {
    let (repo, _, story) = builds(
        TASK,
        "echo lies > out.txt; git add out.txt
         sed -i.bak -e 's/\\[ \\] out/[x] out/' -e 's/grep -qx hello out.txt/true/' tasks/demo/TASK.md
         rm tasks/demo/TASK.md.bak
         git commit -qam 'ralph(demo): say hello'",
    );
    insta::assert_snapshot!(story, @r#"
    iteration 1: inconclusive
      fails: check_failed
      unclear: task_taken_back
      said: no_progress_entry
      mended: restore_task {"keep_tick":false}
      mended: progress_line
    exit 3: limit_reached
    - [ ] out.txt says hello
    - [ ] notes exist
    state: out.txt says hello, unproven, 0 attempts failed
    on refs/heads/main
    commit: ralph(demo): say hello
    commit: ralph(demo): state update
    kept: refs/ralph/demo/attempts/1
    "#);
    assert_eq!(repo.task(), TASK);
}

#[test]
fn removes_a_verify_command() {
    let (repo, _, story) = builds(
        TASK,
        "echo lies > out.txt; git add out.txt
         sed -i.bak -e 's/\\[ \\] out/[x] out/' -e '/verify:/d' tasks/demo/TASK.md
         rm tasks/demo/TASK.md.bak
         git commit -qam 'ralph(demo): say hello'",
    );
    insta::assert_snapshot!(story, @r#"
    iteration 1: inconclusive
      fails: check_failed
      unclear: task_taken_back
      said: no_progress_entry
      mended: restore_task {"keep_tick":false}
      mended: progress_line
    exit 3: limit_reached
    - [ ] out.txt says hello
    - [ ] notes exist
    state: out.txt says hello, unproven, 0 attempts failed
    on refs/heads/main
    commit: ralph(demo): say hello
    commit: ralph(demo): state update
    kept: refs/ralph/demo/attempts/1
    "#);
    assert_eq!(repo.task(), TASK);
}

#[test]
fn deletes_the_task() {
    let (repo, _, story) =
        builds(TASK, "git rm -q tasks/demo/TASK.md; git commit -qm 'ralph(demo): nothing left'");
    insta::assert_snapshot!(story, @r#"
    iteration 1: inconclusive
      fails: check_failed
      fails: empty_commit
      unclear: task_taken_back
      said: no_progress_entry
      mended: restore_task {"keep_tick":false}
      mended: progress_line
    exit 3: limit_reached
    - [ ] out.txt says hello
    - [ ] notes exist
    state: out.txt says hello, unproven, 0 attempts failed
    on refs/heads/main
    commit: ralph(demo): nothing left
    commit: ralph(demo): state update
    kept: refs/ralph/demo/attempts/1
    "#);
    assert_eq!(repo.task(), TASK);
}

/// Its boxes and checks are the human's: the next run of it would believe them.
#[test]
fn changes_another_task() {
    let other = "# Other\n\n- [ ] b is there\n  - verify: `test -e b`\n";
    let build = format!(
        "set -e\n{WORK}\nsed -i.bak 's/\\[ \\]/[x]/; s/test -e b/true/' tasks/other/TASK.md\n\
         rm tasks/other/TASK.md.bak\ngit commit -qam 'ralph(demo): and more'\n"
    );
    let repo = Repo::with(TASK, &[("build.sh", &build), ("tasks/other/TASK.md", other)]);
    let (_, story) = once(&repo, BUILDS);
    insta::assert_snapshot!(story, @r#"
    iteration 1: fail
      fails: protected_changed
      mended: restore_task {"keep_tick":false}
      mended: restore_file tasks/other/TASK.md
    exit 3: limit_reached
    - [ ] out.txt says hello
    - [ ] notes exist
    state: out.txt says hello, unproven, 1 attempts failed
    on refs/heads/main
    commit: ralph(demo): say hello
    commit: ralph(demo): and more
    commit: ralph(demo): put protected files back
    commit: ralph(demo): state update
    kept: refs/ralph/demo/attempts/1
    "#);
    assert_eq!(repo.read("tasks/other/TASK.md"), other);
}
