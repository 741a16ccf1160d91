//! The real runner, where it is on this machine.

use std::io::Write as _;

use crate::repo::finish;
use crate::scene::Scene;

#[test]
fn a_real_recipe_through_the_real_runner() {
    let named = std::env::var_os("RALPH_TEST_RECIPE_RUNNER").map(std::path::PathBuf::from);
    let path = std::env::var_os("PATH").unwrap_or_default();
    let on_path = std::env::split_paths(&path).map(|folder| folder.join("recipe-runner-rs"));
    let Some(runner) = named.into_iter().chain(on_path).find(|path| path.is_file()) else {
        let told = writeln!(std::io::stderr(), "skipped: recipe-runner-rs is not on the PATH");
        return told.expect("told");
    };
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
