//! What is left when a criterion resists: another model for the last attempt, and the claim that it
//! cannot be met.

use ralph_copilot::model::VerdictResult;
use serde_json::json;

use super::copilot::Scene;
use super::model::{Model, call, route, say};
use super::{ONE, focus, honest, verdicts};

/// Fails once at the first criterion, and then does both; returns the models that were asked, each
/// once for the requests in a row, and what the run printed.
fn asked(escalate: &str, args: &[&str]) -> Option<(Vec<String>, String)> {
    let task = format!(
        "---\nstuck_threshold: 2\nescalate: {escalate}\n---\n{ONE}- [ ] two\n  - verify: `sh check.sh \
         two`\n"
    );
    let scene = Scene::new(&task)?;
    let mut one = vec![say("I could not do it.")];
    one.extend(honest(&scene, "one"));
    let two = honest(&scene, "two");
    let model = Model::start([route(focus("one"), one), route(focus("two"), two)]);
    let scene = scene.with(&model);
    let ended = scene.run(&[&["job", "--no-stop-check"], args].concat()).expect(0);
    scene.assert_nothing_left();
    let mut models: Vec<_> = model
        .requests()
        .iter()
        .map(|request| request["model"].as_str().expect("a name").to_owned())
        .collect();
    models.dedup();
    Some((models, ended.stdout))
}

#[test]
fn the_last_attempt_asks_another_model() {
    for args in [&[][..], &["--via", "cli"]] {
        let Some((models, told)) = asked("{model: stronger}", args) else { return };
        assert_eq!(models, ["scripted", "stronger", "scripted"], "{told}");
        assert!(told.contains("note: the last attempt runs with stronger"), "{told}");
    }
}

/// In ACP the CLI opens no session with an effort that it does not know the model to have.
#[test]
fn an_effort_that_the_cli_refuses_is_left_out() {
    let Some((models, told)) = asked("{model: stronger, effort: high}", &[]) else { return };
    assert_eq!(models, ["scripted", "stronger", "scripted"], "{told}");
    let why = "escalate: stronger, effort high cannot be used, stronger continues: ";
    assert!(told.contains(why) && told.contains("does not support reasoning effort"), "{told}");
}

#[test]
fn the_tool_that_blocks_a_criterion_costs_no_attempt() {
    let Some(scene) = Scene::new(ONE) else { return };
    scene.commit(".ralph/memory/MEMORY.md", "Ask before you buy.\n");
    let reason = json!({"kind": "decision", "reason": "which of the two names counts"});
    let model = Model::start([route(
        focus("one"),
        [call("*-report_blocked", reason), say("A human has to decide.")],
    )]);
    let scene = scene.with(&model);
    scene.run(&["job"]).expect(4);
    let verdict = verdicts(&scene.journal()).pop().expect("a verdict");
    assert_eq!(verdict.result, VerdictResult::Blocked);
    let status = scene.run(&["status", "job", "--json"]).expect(0);
    let status: serde_json::Value = serde_json::from_str(&status.stdout).expect("JSON");
    assert_eq!(status["criteria"][0]["attempts"], 0);
    assert_eq!(status["criteria"][0]["blocked_by"]["kind"], "decision");
    scene.assert_nothing_left();
}
