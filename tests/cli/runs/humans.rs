//! A human who works on the task while a run does.

use super::{HONEST, THREE, then_honest};
use crate::repo::{Repo, story};

/// The human's hand: a process beside the agent, which nobody decides about.
fn edits(times: &str, command: &str) -> String {
    then_honest(&format!(
        "- times: {times}\n  steps:\n  - spawn: {{command: \"{command}\"}}\n  \
         - run: \"while git diff --quiet; do :; done\"\n"
    ))
}

#[test]
fn an_edit_of_the_task_during_a_turn_concludes_nothing_and_stays() {
    let repo = Repo::new(THREE);
    let script = edits("1", "echo '- [ ] d is there' >> tasks/demo/TASK.md");
    let ran = repo.run(&script, &["--max-iterations", "2"]);
    insta::assert_snapshot!(story(&repo, &ran), @r"
    iteration 1: inconclusive
      fails: no_commit
      unclear: task_changed_by_human
      said: no_progress_entry
      mended: progress_line
      mended: state_commit
    iteration 2: pass check
    exit 3: limit_reached
    - [x] a is there
    - [ ] b is there
    - [ ] c is there
    - [ ] d is there
    state: a is there, proven by check, 0 attempts failed
    on refs/heads/main
    commit: ralph(demo): state update
    commit: ralph(demo): [a is there] - a
    commit: ralph(demo): state update
    ");
    assert!(repo.task().ends_with("- [ ] d is there\n"), "{}", repo.task());
}

#[test]
fn three_edits_in_a_row_end_the_run() {
    let repo = Repo::new(THREE);
    let ran = repo.run(&edits("9", "echo '# more' >> tasks/demo/TASK.md"), &[]);
    insta::assert_snapshot!(story(&repo, &ran), @r"
    iteration 1: inconclusive
      fails: no_commit
      unclear: task_changed_by_human
      said: no_progress_entry
      mended: progress_line
      mended: state_commit
    iteration 2: inconclusive
      fails: no_commit
      unclear: task_changed_by_human
      said: no_progress_entry
      mended: progress_line
      mended: state_commit
    iteration 3: inconclusive
      fails: no_commit
      unclear: task_changed_by_human
      said: no_progress_entry
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
    ");
    assert_eq!(repo.task(), format!("{THREE}# more\n# more\n# more\n"));
}

/// What a human saves in the middle of a thought is no criterion's fault.
#[test]
fn an_edit_that_makes_the_task_unreadable_ends_the_run_and_says_where() {
    let repo = Repo::new(THREE);
    let script = edits("1", "echo dangling >> tasks/demo/TASK.md");
    let ran = repo.run(&script, &[]);
    assert_eq!(ran.code, Some(7));
    insta::assert_snapshot!(ran.stderr.split("hint:").next().expect("a message"), @r"
    error: tasks/demo/TASK.md has errors:
    error: a verify command must fit on one line
     --> tasks/demo/TASK.md:8:5
      |
    8 |   - verify: `test -e c.txt`
      |     ^^^^^^^^^^^^^^^^^^^^^^^
      |
      = help: move longer commands into a script and call the script here
    ");
    assert_eq!(repo.task(), format!("{THREE}dangling\n"));
    repo.write("tasks/demo/TASK.md", THREE);
    let ran = repo.run(HONEST, &[]);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
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
    ");
    assert_eq!(repo.read("tasks/demo/guardrails.md"), "# Guardrails\n- Mind the gap.\n");
    assert!(crate::wire(&repo).contains("Mind the gap"), "it counts from the next prompt on");
}
