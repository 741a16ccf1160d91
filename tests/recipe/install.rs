//! `recipe install`: never unasked, with a limit, and checked afterwards.

use std::process::Command;

use crate::repo::{Ran, collect, finish, signal, until};
use crate::scene::{DONE, Scene, script};

/// A machine with this cargo and no runner.
fn install(scene: &Scene, cargo: &str, args: &[&str], limit: Option<&str>) -> Ran {
    finish(command(scene, cargo, args, limit))
}

fn command(scene: &Scene, cargo: &str, args: &[&str], limit: Option<&str>) -> Command {
    let bin = scene.repo.beside("bin");
    std::fs::create_dir_all(&bin).expect("made");
    script(&bin.join("cargo"), &format!("#!/bin/sh\n{cargo}\n"));
    let mut all = vec!["install"];
    all.extend(args);
    let mut command: Command = scene.command(&all);
    command
        .env("RECIPE_RUNNER_RS_PATH", "")
        .env("PATH", format!("{}:/usr/bin:/bin", bin.display()));
    if let Some(limit) = limit {
        command.env("RECIPE_RUNNER_INSTALL_TIMEOUT", limit);
    }
    command
}

/// Notes its arguments and puts the runner where cargo would.
const GOOD: &str = r#"echo "$@" > "$RECIPE_RUNNER_OUT/cargo"
echo compiling >&2
mkdir -p "$HOME/.cargo/bin" && cp "$RECIPE_RUNNER_OUT/../recipe-runner-rs" "$HOME/.cargo/bin/""#;

#[test]
fn nothing_is_installed_unasked() {
    let scene = Scene::new(DONE);
    let ran = install(&scene, GOOD, &[], None);
    assert_eq!(ran.code, Some(2));
    assert!(ran.stderr.contains("--yes"), "{}", ran.stderr);
    assert_eq!(scene.written("cargo"), "");
}

#[test]
fn yes_installs_and_checks() {
    let scene = Scene::new(DONE);
    let ran = install(&scene, GOOD, &["--yes"], None);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let expected = "install --git https://github.com/rysweet/amplihack-recipe-runner --locked\n";
    assert_eq!(scene.written("cargo"), expected);
    assert!(ran.stderr.contains("for at most 300 s\ncompiling\n"), "{}", ran.stderr);
    assert!(ran.stdout.contains("0.3.6 is installed"), "{}", ran.stdout);
    // What is there is left alone.
    let again = install(&scene, "exit 1", &["--yes"], None);
    assert_eq!(again.code, Some(0), "{}", again.stderr);
    assert!(again.stdout.contains("is already installed"), "{}", again.stdout);
}

#[test]
fn with_json_what_came_of_it_is_an_object() {
    let scene = Scene::new(DONE);
    let told = |cargo: &str, args: &[&str]| {
        let ran = install(&scene, cargo, args, None);
        let json = ran.json();
        (ran.code, json)
    };
    let (code, json) = told(GOOD, &["--json"]);
    assert_eq!((code, &json["error"]["kind"]), (Some(2), &"usage".into()));
    let (code, json) = told("exit 101", &["--json", "--yes"]);
    let message = "cargo install failed (exit 101)";
    let error = serde_json::json!({"kind": "install", "message": message});
    let nothing =
        serde_json::json!({"success": false, "installed": false, "runner": null, "error": error});
    assert_eq!((code, json), (Some(1), nothing));
    for installed in [true, false] {
        let (code, json) = told(GOOD, &["--json", "--yes"]);
        assert_eq!((code, &json["success"]), (Some(0), &true.into()), "{json}");
        assert_eq!((&json["installed"], &json["error"]), (&installed.into(), &().into()));
        assert_eq!(json["runner"]["version"], "0.3.6");
    }
}

#[test]
fn a_signal_ends_the_installation_and_says_so() {
    let scene = Scene::new(DONE);
    let cargo = r#"echo > "$RECIPE_RUNNER_OUT/began"; exec sleep 600"#;
    let mut command = command(&scene, cargo, &["--yes"], None);
    command.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped());
    let child = command.spawn().expect("started");
    until("cargo", || scene.out("began").exists().then_some(()));
    signal(child.id(), rustix::process::Signal::INT);
    let ran = collect(child);
    assert_eq!(ran.code, Some(130), "{}", ran.stderr);
    assert!(ran.stderr.ends_with("error: cargo install was ended\n"), "{}", ran.stderr);
}

#[test]
fn an_installation_that_fails_or_hangs_or_brings_nothing() {
    for (cargo, limit, code, said) in [
        ("echo broken >&2; exit 101", None, 1, "cargo install failed (exit 101)"),
        ("exec sleep 600", Some("1"), 124, "longer than 1 s"),
        ("exit 0", None, 3, "recipe-runner-rs was not found"),
        ("exit 0", Some("soon"), 2, "RECIPE_RUNNER_INSTALL_TIMEOUT=soon"),
        ("exit 0", Some("0"), 2, "RECIPE_RUNNER_INSTALL_TIMEOUT=0"),
    ] {
        let scene = Scene::new(DONE);
        let ran = install(&scene, cargo, &["--yes"], limit);
        assert_eq!(ran.code, Some(code), "{cargo}: {}", ran.stderr);
        assert!(ran.stderr.contains(said), "{cargo}: {}", ran.stderr);
    }
}
