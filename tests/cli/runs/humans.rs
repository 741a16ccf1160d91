//! A human who works on the task while a run does.

use super::{THREE, then_honest};
use crate::repo::{Repo, story};

/// The human's hand: a process beside the agent, which nobody decides about.
fn edits(times: &str, command: &str) -> String {
    then_honest(&format!(
        "- times: {times}\n  steps:\n  - spawn: {{command: \"{command}\"}}\n  \
         - run: \"while git diff --quiet; do :; done\"\n"
    ))
}

/// Nobody can tell whose edit it is: the agent is not the Copilot CLI in its sandbox.
#[test]
fn an_edit_of_the_task_during_a_turn_is_taken_back_and_kept_in_the_run_s_folder() {
    let repo = Repo::new(THREE);
    let script = edits("1", "echo '- [ ] d is there' >> tasks/demo/TASK.md");
    let ran = repo.run(&script, &["--max-iterations", "2"]);
    insta::assert_snapshot!(story(&repo, &ran), @r#"
    iteration 1: inconclusive
      fails: no_commit
      unclear: task_taken_back
      said: no_progress_entry
      mended: restore_task {"keep_tick":false}
      mended: progress_line
      mended: state_commit
    iteration 2: pass check
    exit 3: limit_reached
    - [x] a is there
    - [ ] b is there
    - [ ] c is there
    state: a is there, proven by check, 0 attempts failed
    on refs/heads/main
    commit: ralph(demo): state update
    commit: ralph(demo): [a is there] - a
    commit: ralph(demo): state update
    commit: ralph(demo): state update
    kept: refs/ralph/demo/attempts/1
    "#);
    assert!(!repo.task().contains("d is there"), "{}", repo.task());
    let runs = std::fs::read_dir(repo.path(".ralph/runs")).expect("runs");
    let mut kept =
        runs.filter_map(|run| std::fs::read_to_string(run.ok()?.path().join("TASK.md.1")).ok());
    let kept = kept.next().expect("the edit");
    assert!(kept.ends_with("- [ ] d is there\n"), "{kept}");
    let told = "a change of tasks/demo/TASK.md during the run was undone; if it was yours";
    assert!(ran.stdout.contains(told), "{}", ran.stdout);
}

#[test]
fn three_edits_in_a_row_end_the_run() {
    let repo = Repo::new(THREE);
    let ran = repo.run(&edits("9", "echo '# more' >> tasks/demo/TASK.md"), &[]);
    insta::assert_snapshot!(story(&repo, &ran), @r#"
    iteration 1: inconclusive
      fails: no_commit
      unclear: task_taken_back
      said: no_progress_entry
      mended: restore_task {"keep_tick":false}
      mended: progress_line
      mended: state_commit
    iteration 2: inconclusive
      fails: no_commit
      unclear: task_taken_back
      said: no_progress_entry
      mended: restore_task {"keep_tick":false}
      mended: progress_line
      mended: state_commit
    iteration 3: inconclusive
      fails: no_commit
      unclear: task_taken_back
      said: no_progress_entry
      mended: restore_task {"keep_tick":false}
      mended: progress_line
      mended: state_commit
    exit 4: stuck
    - [ ] a is there
    - [ ] b is there
    - [ ] c is there
    state: a is there, unproven, 0 attempts failed
    on refs/heads/main
    commit: ralph(demo): state update
    commit: ralph(demo): state update
    commit: ralph(demo): state update
    kept: refs/ralph/demo/attempts/1
    kept: refs/ralph/demo/attempts/2
    kept: refs/ralph/demo/attempts/3
    "#);
    assert_eq!(repo.task(), THREE);
}

#[test]
fn an_edit_that_makes_the_task_unreadable_is_taken_back_too() {
    let repo = Repo::new(THREE);
    let ran = repo.run(&edits("1", "echo dangling >> tasks/demo/TASK.md"), &[]);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    assert_eq!(repo.task(), THREE.replace("[ ]", "[x]"));
}

#[test]
fn a_sign_that_a_human_adds_meanwhile_stays() {
    let repo = Repo::with(THREE, &[("tasks/demo/guardrails.md", "# Guardrails\n")]);
    let script = edits("1", "echo '- Mind the gap.' >> tasks/demo/guardrails.md");
    // Outside of a sandbox the agent can play the human.
    let ran = repo.run(&script, &["--max-iterations", "2", "--sandbox=off"]);
    insta::assert_snapshot!(story(&repo, &ran), @r"
    iteration 1: inconclusive
      fails: not_ticked
      fails: no_commit
      unclear: state_rewritten
      said: no_progress_entry
      mended: progress_line
      mended: state_commit
    iteration 2: pass check
    exit 3: limit_reached
    - [x] a is there
    - [ ] b is there
    - [ ] c is there
    state: a is there, proven by check, 0 attempts failed
    on refs/heads/main
    commit: ralph(demo): state update
    commit: ralph(demo): [a is there] - a
    commit: ralph(demo): state update
    commit: ralph(demo): state update
    ");
    assert_eq!(repo.read("tasks/demo/guardrails.md"), "# Guardrails\n- Mind the gap.\n");
    assert!(crate::wire(&repo).contains("Mind the gap"), "it counts from the next prompt on");
}
