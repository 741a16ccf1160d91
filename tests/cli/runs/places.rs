//! Where a run must not begin, and what it says then; and where it may.

use super::{HONEST, THREE};
use crate::repo::{Repo, finish, story};

/// Starts a run that must be refused; gives exit code and message.
fn refused(repo: &Repo, args: &[&str]) -> String {
    let ran = finish(repo.run_command(HONEST, args));
    assert_eq!(ran.stdout, "");
    let text = ran.stderr.replace(&repo.root().display().to_string(), "REPO");
    format!("{}\n{}", ran.code.expect("an exit code"), text.trim_end())
}

#[test]
fn no_repository() {
    let repo = Repo::new(THREE);
    std::fs::remove_dir_all(repo.path(".git")).expect("removed");
    insta::assert_snapshot!(refused(&repo, &[]), @r"
    8
    error: REPO is not inside a git repository
    hint: change into a repository, or create one: git init && git add . && git commit
    ");
}

#[test]
fn a_bare_repository() {
    let repo = Repo::new(THREE);
    repo.git(&["clone", "--quiet", "--bare", ".", "../bare.git"]);
    let bare = repo.beside("bare.git");
    let ran = repo.ralph(&["run", "demo", "-C", bare.to_str().expect("UTF-8")]);
    assert_eq!(ran.code, Some(8));
    insta::assert_snapshot!(ran.stderr.replace(bare.to_str().expect("UTF-8"), "BARE"), @r"
    error: the repository at BARE/ is bare: it has no working tree
    hint: add a working tree: git worktree add ../work
    ");
}

#[test]
fn no_commit() {
    let repo = Repo::empty();
    repo.write("tasks/demo/TASK.md", THREE);
    insta::assert_snapshot!(refused(&repo, &[]), @r"
    8
    error: the repository has no commit yet
    hint: create the first commit: git add . && git commit
    ");
}

#[test]
fn a_detached_head_unless_a_branch_is_named() {
    let repo = Repo::new(THREE);
    repo.git(&["checkout", "--quiet", "--detach"]);
    let head = repo.git(&["rev-parse", "HEAD"]);
    insta::assert_snapshot!(refused(&repo, &[]).replace(head.trim(), "COMMIT"), @r"
    8
    error: HEAD is detached at COMMIT: commits would belong to no branch
    hint: name a branch with --branch NAME, or switch to one: git switch NAME
    ");
    let ran = repo.run(HONEST, &["--branch", "ci/ralph"]);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    assert_eq!(repo.git(&["symbolic-ref", "HEAD"]), "refs/heads/ci/ralph\n");
    assert_eq!(repo.git(&["rev-parse", "main"]), head, "main did not move");
    assert_eq!(repo.status(), "");
}

#[test]
fn a_merge_in_progress() {
    let repo = Repo::new(THREE);
    repo.git(&["checkout", "--quiet", "-b", "side"]);
    repo.write("README.md", "side\n");
    repo.commit("side");
    repo.git(&["checkout", "--quiet", "main"]);
    repo.git(&["merge", "--quiet", "--no-ff", "--no-commit", "side"]);
    insta::assert_snapshot!(refused(&repo, &[]), @r"
    8
    error: a merge is in progress
    hint: finish it or abort it: git merge --abort
    ");
}

#[test]
fn uncommitted_work() {
    let repo = Repo::with(THREE, &[("gone.txt", "x"), ("old.txt", "x")]);
    repo.write("README.md", "changed\n");
    repo.write("new.txt", "new\n");
    repo.write("with\nnewline.txt", "odd\n");
    repo.git(&["rm", "--quiet", "gone.txt"]);
    std::fs::remove_file(repo.path("old.txt")).expect("removed");
    // What is in the task's own folder is being prepared, and no dirt.
    repo.write("tasks/demo/guardrails.md", "# Guardrails\n");
    insta::assert_snapshot!(refused(&repo, &[]), @r#"
    8
    error: the working tree is not clean:
      changed README.md
      removed gone.txt
      added new.txt
      removed old.txt
      added "with\nnewline.txt"
    hint: commit it, stash it with git stash -u, or keep it with --allow-dirty: a run then never commits, resets or loses it
    "#);
}

#[test]
fn what_was_prepared_in_the_tasks_folder_is_committed() {
    let repo = Repo::new(THREE);
    repo.write("tasks/demo/guardrails.md", "# Guardrails\n\n- Be kind.\n");
    repo.write("tasks/demo/TASK.md", THREE.replace("# Three", "# Three of them"));
    let ran = repo.run(HONEST, &[]);
    insta::assert_snapshot!(story(&repo, &ran), @r"
    iteration 1: pass check
    iteration 2: pass check
    iteration 3: pass check
    exit 0: proven
    - [x] a is there
    - [x] b is there
    - [x] c is there
    state: a is there, proven by check, 0 attempts failed
    state: b is there, proven by check, 0 attempts failed
    state: c is there, proven by check, 0 attempts failed
    on refs/heads/main
    commit: ralph(demo): state update
    commit: ralph(demo): [a is there] - a
    commit: ralph(demo): state update
    commit: ralph(demo): [b is there] - b
    commit: ralph(demo): state update
    commit: ralph(demo): [c is there] - c
    commit: ralph(demo): state update
    commit: ralph(demo): state update
    ");
    assert!(ran.stdout.contains("committing the prepared task files"), "{}", ran.stdout);
}

#[test]
fn a_task_that_is_not_there_lists_those_that_are() {
    let repo = Repo::new(THREE);
    repo.write(".ralph/active/other/TASK.md", THREE);
    let ran = repo.ralph(&["dmeo"]);
    insta::assert_snapshot!(format!("{:?}\n{}", ran.code, ran.stderr), @r"
    Some(7)
    error: no task named `dmeo`; available tasks: demo, other
    hint: did you mean the task `demo`?
    ");
}

#[test]
fn a_task_without_criteria() {
    let repo = Repo::new("# Nothing\n\nJust text, and * [] no box.\n");
    insta::assert_snapshot!(refused(&repo, &[]), @r"
    7
    error: invalid task

    error: there are no criteria
     --> tasks/demo/TASK.md:1:1
      |
    1 | # Nothing
      | ^
      |
      = help: add at least one list item with a checkbox: `- [ ] what must be true`
    ");
}

#[test]
fn front_matter_with_a_mistake() {
    let repo = Repo::new(&format!("---\nmax_iteration: 3\n---\n{THREE}"));
    insta::assert_snapshot!(refused(&repo, &[]), @r"
    7
    error: invalid task

    error: unknown key `max_iteration`
     --> tasks/demo/TASK.md:2:1
      |
    2 | max_iteration: 3
      | ^^^^^^^^^^^^^
      |
      = help: did you mean `max_iterations`?
    ");
}

#[test]
fn settings_with_a_mistake() {
    let repo = Repo::new(THREE);
    repo.write(".ralph/config.toml", "on_stuck = \"cry\"\n");
    repo.commit("configure");
    insta::assert_snapshot!(refused(&repo, &[]), @r#"
    7
    error: REPO/.ralph/config.toml: TOML parse error at line 1, column 12
      |
    1 | on_stuck = "cry"
      |            ^^^^^
    unknown variant `cry`, expected `stop` or `skip`
    "#);
    repo.write(".ralph/config.toml", "");
    repo.commit("configure");
    let mut command = repo.run_command(HONEST, &[]);
    command.env("RALPH_COPILOT_MAX_ITERATIONS", "many");
    let ran = finish(command);
    insta::assert_snapshot!(format!("{:?}\n{}", ran.code, ran.stderr), @r"
    Some(7)
    error: RALPH_COPILOT_MAX_ITERATIONS=many: not a whole number of at least 1
    ");
    let ran = repo.ralph(&["run", "demo", "--max-iterations", "many"]);
    insta::assert_snapshot!(format!("{:?}\n{}", ran.code, ran.stderr), @r"
    Some(2)
    error: invalid value 'many' for '--max-iterations <N>': not a whole number of at least 1

    For more information, try '--help'.
    ");
}

#[test]
fn a_template_with_a_mistake() {
    let repo = Repo::new(THREE);
    repo.write(".ralph/templates/iteration.md", "Work on {{next_criterium}}\n");
    repo.commit("templates");
    insta::assert_snapshot!(refused(&repo, &[]), @r"
    7
    error: REPO/.ralph/templates/iteration.md:1:9: unknown value `next_criterium`; the known values are: attempt, commit_hooks, commit_prefix, date, feedback, guardrails_content, human_changes, iteration, lessons, max_attempts, next_criterion, next_line, passed_before, progress_content, project_context, task_content, task_folder, task_name, verify_commands
    ");
}

/// A file where a folder has to be stops root, too.
#[test]
fn a_state_that_cannot_be_written() {
    let repo = Repo::new(THREE);
    repo.write(".ralph/runs", "in the way\n");
    repo.commit("in the way");
    insta::assert_snapshot!(refused(&repo, &[]), @r"
    11
    error: cannot prepare REPO/.ralph/runs: File exists (os error 17)
    hint: the journal is written below .ralph/runs/, so it must be writable
    ");

    let repo = Repo::with(THREE, &[("tasks/demo/state.json/inside", "x")]);
    let ran = finish(repo.run_command(HONEST, &[]));
    let text = ran.stderr.replace(&repo.root().display().to_string(), "REPO");
    insta::assert_snapshot!(format!("{:?}\n{text}", ran.code), @"
    Some(11)
    error: cannot read REPO/tasks/demo/state.json: Is a directory (os error 21)
    hint: free some space or fix the permissions, then run the same command again
    ");
}

#[test]
fn state_that_is_not_understood() {
    let repo = Repo::with(THREE, &[("tasks/demo/state.json", "{\"version\": 1,")]);
    insta::assert_snapshot!(refused(&repo, &[]), @r"
    7
    error: cannot parse REPO/tasks/demo/state.json: EOF while parsing a value at line 1 column 14
    hint: restore the last good version from git (git log -- tasks/demo/state.json), or delete it, which forgets attempts and proofs
    ");
}

#[test]
fn no_git_identity_is_no_obstacle_and_is_said() {
    let repo = Repo::new(THREE);
    repo.git(&["config", "--unset", "user.name"]);
    repo.git(&["config", "--unset", "user.email"]);
    let ran = repo.run(HONEST, &[]);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    assert!(ran.stdout.contains("git has no user name and email"), "{}", ran.stdout);
    let authors = repo.git(&["log", "--format=%an <%ae>", "-2"]);
    assert_eq!(authors, "ralph-copilot <ralph-copilot@localhost>\n".repeat(2));
}

/// As CI gives an identity.
#[test]
fn an_identity_in_the_environment_is_the_one_of_agent_and_runner() {
    let repo = Repo::new(THREE);
    repo.git(&["config", "--unset", "user.name"]);
    repo.git(&["config", "--unset", "user.email"]);
    let mut command = repo.run_command(HONEST, &["--json"]);
    for (role, name) in [("AUTHOR", "Ada"), ("COMMITTER", "CI")] {
        command.env(format!("GIT_{role}_NAME"), name);
        command.env(format!("GIT_{role}_EMAIL"), format!("{name}@example.org"));
    }
    let ran = crate::repo::finish(command);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    assert!(!ran.stdout.contains("git has no user name and email"), "{}", ran.stdout);
    let authors = repo.git(&["log", "--format=%an <%ae>, %cn <%ce>", "-2"]);
    assert_eq!(authors, "Ada <Ada@example.org>, CI <CI@example.org>\n".repeat(2));
}

#[test]
fn flags_that_exclude_each_other_and_unknown_ones() {
    let repo = Repo::new(THREE);
    let ran = repo.ralph(&["run", "demo", "--max-iterashuns", "3"]);
    insta::assert_snapshot!(format!("{:?}\n{}", ran.code, ran.stderr), @r"
    Some(2)
    error: unexpected argument '--max-iterashuns' found

      tip: a similar argument exists: '--max-iterations'

    Usage: ralph-copilot run --max-iterations <N> <TASK>

    For more information, try '--help'.
    ");
    insta::assert_snapshot!(refused(&repo, &["--require-checks", "--no-baseline"]), @r"
    2
    error: --require-checks and --no-baseline cannot be used together
    hint: a check proves something only if it failed before the work
    ");
}
