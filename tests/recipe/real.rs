//! The real runner, where it is on the PATH or `RALPH_TEST_RECIPE_RUNNER` names it.

use crate::recipe_runner::runner;
use crate::repo::{Repo, finish, story};
use crate::scene::Scene;

#[test]
fn a_real_recipe_through_the_real_runner() {
    let Some(runner) = runner() else { return };
    let scene = Scene::new("exit 70");
    scene.repo.write(
        "recipes/hello.yaml",
        "name: hello\ndescription: d\nversion: 1.0.0\nsteps:\n- id: greet\n  type: bash\n  command: echo hello {{who}}\n  output: greeting\n",
    );
    let large = format!("big={}", "x".repeat(40_000));
    let mut command =
        scene.command(&["run", "hello", "-R", "recipes", "--set", "who=you", "--set", &large]);
    command.args(["--json", "--progress"]).env("RECIPE_RUNNER_RS_PATH", &runner);
    let ran = finish(command);
    assert_eq!(ran.code, Some(0), "{} {}", ran.stdout, ran.stderr);
    let told = ran.json();
    assert_eq!(told["steps"][0]["step_id"], "greet");
    assert_eq!(told["steps"][0]["output"], "hello you");
    assert_eq!(told["context"]["greeting"], "hello you");
    assert!(told["context"]["big"].as_str().is_some_and(|it| it.starts_with("file:///")));
    assert!(ran.stderr.contains(r#""status":"completed""#), "{}", ran.stderr);

    let mut command = scene.command(&["run", "nothing-of-that-name", "--json"]);
    command.env("RECIPE_RUNNER_RS_PATH", &runner);
    let ran = finish(command);
    assert_eq!(ran.json()["error"]["kind"], "exit");
}

/// Works, ticks and commits in its steps.
const MAKE: &str = r#"
name: make-a
description: makes a
version: 1.0.0
steps:
- id: work
  type: bash
  command: echo a > a.txt && git add a.txt
- id: tick
  type: bash
  command: "\"$AMPLIHACK_LAUNCHER_BINARY\" tick {{ralph_task}} {{ralph_line}} > /dev/null; git add tasks"
- id: commit
  type: bash
  command: git commit -qm {{ralph_commit_prefix}}a
"#;

#[test]
fn a_criterion_is_met_by_a_real_recipe() {
    let Some(runner) = runner() else { return };
    let task = "# Demo\n\n- [ ] a is there\n  - recipe: make-a\n  - verify: `test -e a.txt`\n";
    let files = [("amplifier-bundle/recipes/make-a.yaml", MAKE)];
    let scene = Scene::with(Repo::with(task, &files), "", "exit 70");
    let mut command = scene.run_command("turns: [{steps: [{die: {exit: 1}}]}]", &[]);
    command.env("RECIPE_RUNNER_RS_PATH", &runner);
    let ran = finish(command);
    insta::assert_snapshot!(story(&scene.repo, &ran), @"
    iteration 1: pass check
      said: no_progress_entry
      mended: progress_line
    exit 0: proven
    - [x] a is there
    state: a is there, proven by check, 0 attempts failed
    on refs/heads/main
    commit: ralph(demo): a
    commit: ralph(demo): state update
    commit: ralph(demo): state update
    ");
}
