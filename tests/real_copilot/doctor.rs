//! `doctor` finds out about login and guard by doing it, and asks no model for it.

use serde_json::{Value, json};

use super::ONE;
use super::copilot::{Ended, Scene};
use super::model::Model;

fn finding(ended: &Ended, name: &str) -> Value {
    let report: Value = serde_json::from_str(&ended.stdout).expect("JSON");
    let findings = report["findings"].as_array().cloned().unwrap_or_default();
    let found = findings.into_iter().find(|finding| finding["name"] == name);
    found.unwrap_or_else(|| panic!("{name} is not in {}", ended.stdout))
}

#[test]
fn a_machine_that_is_ready_costs_no_request() {
    let Some(scene) = Scene::new(ONE) else { return };
    let model = Model::start([]);
    let scene = scene.with(&model);
    let ended = scene.run(&["doctor", "job", "--json"]).expect(0);
    for name in ["agent", "login", "guard", "repository", "task"] {
        assert_eq!(finding(&ended, name)["state"], "good", "{}", ended.stdout);
    }
    let agent = finding(&ended, "agent")["detail"].as_str().expect("text").to_owned();
    assert!(agent.starts_with(&format!("Copilot {} ", scene.cli_version())), "{agent}");
    assert_eq!(model.requests(), Vec::<Value>::new());
    assert!(!scene.has(".ralph"), "doctor writes nothing");
}

/// The model that asks for it is the runner's own: the user's is asked nothing.
#[test]
fn the_canary_is_denied_by_the_guard() {
    let Some(scene) = Scene::new(ONE) else { return };
    let model = Model::start([]);
    let scene = scene.with(&model);
    let ended = scene.run(&["doctor", "--deep", "--json"]).expect(0);
    let canary = finding(&ended, "canary");
    assert_eq!(canary["state"], "good", "{}", ended.stdout);
    assert!(canary["detail"].to_string().contains("nothing was pushed"), "{canary}");
    assert_eq!(model.requests(), Vec::<Value>::new());
    assert!(!scene.has(".ralph"), "doctor writes nothing");
    assert_eq!(std::fs::read_dir(scene.tmp()).expect("tmp").count(), 0, "nothing is left");
}

/// A CLI that loads no plugin, as an older one would, or one that is told not to.
#[test]
fn a_canary_that_no_hook_sees_is_a_bad_guard() {
    let Some(scene) = Scene::new(ONE) else { return };
    let model = Model::start([]);
    let mut scene = scene.with(&model);
    scene.without_plugins();
    let ended = scene.run(&["doctor", "--deep", "--json"]).expect(10);
    let canary = finding(&ended, "canary");
    assert_eq!((&canary["state"], &canary["exit_code"]), (&json!("bad"), &json!(10)), "{canary}");
    assert_eq!(model.requests(), Vec::<Value>::new());
}

#[test]
fn hooks_that_are_disabled_are_a_bad_guard() {
    let Some(scene) = Scene::new(ONE) else { return };
    let model = Model::start([]);
    let scene = scene.with(&model);
    scene.disable_hooks();
    let ended = scene.run(&["doctor", "--json"]).expect(10);
    let guard = finding(&ended, "guard");
    assert_eq!((&guard["state"], &guard["exit_code"]), (&json!("bad"), &json!(10)), "{guard}");
    assert!(guard["hint"].to_string().contains("disableAllHooks"), "{guard}");
    assert_eq!(finding(&ended, "login")["state"], "good");
    assert_eq!(model.requests(), Vec::<Value>::new());
}

#[test]
fn a_login_that_is_missing_is_named_with_the_way_out() {
    let Some(scene) = Scene::new(ONE) else { return };
    let ended = scene.run(&["doctor", "--json"]).expect(5);
    assert_eq!(finding(&ended, "agent")["state"], "good", "{}", ended.stdout);
    let login = finding(&ended, "login");
    assert_eq!((&login["state"], &login["exit_code"]), (&json!("bad"), &json!(5)), "{login}");
    assert!(login["hint"].to_string().contains("copilot login"), "{login}");
}
