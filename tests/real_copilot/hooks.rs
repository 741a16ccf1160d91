//! What `hooks install` mounts, in sessions that no runner has started.

use serde_json::Value;

use super::copilot::Scene;
use super::model::{Model, bash, call, route, say, tool_results};
use super::{ONE, focus, honest};

/// Every result that the model was told, in order.
fn told(model: &Model) -> Vec<String> {
    model.requests().last().map(tool_results).unwrap_or_default()
}

#[test]
fn installed_hooks_decide_in_an_ordinary_session() {
    let Some(scene) = Scene::new(ONE) else { return };
    scene.run(&["hooks", "install", "--without-xpia"]).expect(0);
    scene.git(&["add", "-A"]);
    scene.git(&["commit", "-qm", "hooks"]);
    scene.trust();
    let view = call("view", serde_json::json!({ "path": scene.repo().join(".env") }));
    scene.write(".env", "TOKEN=do-not-look\n");
    let steps = [bash("rm -rf README.md"), view, bash("ls README.md"), say("Done.")];
    let model = Model::start([route("work on it", steps)]);
    let scene = scene.with(&model);
    scene.cli(&["-p", "work on it", "--allow-all-tools"]).expect(0);

    let told = told(&model);
    let [removed, looked, listed] = &told[..] else { panic!("{told:?}") };
    for (denied, rule) in [(removed, "program.delete"), (looked, "secret.file")] {
        assert!(denied.contains("BLOCKED: Denied (") && denied.contains(rule), "{denied}");
    }
    assert!(listed.contains("README.md") && !listed.contains("BLOCKED"), "{listed}");
    assert!(scene.has("README.md"));
    let log = scene.read("logs/session-events.jsonl");
    let last: Value = serde_json::from_str(log.lines().last().expect("a line")).expect("JSON");
    assert_eq!((&last["agent"], &last["event"]), (&"copilot".into(), &"bash".into()));
}

#[test]
fn installed_hooks_leave_a_run_to_its_runner() {
    let Some(scene) = Scene::new(ONE) else { return };
    scene.run(&["hooks", "install", "--without-xpia"]).expect(0);
    scene.git(&["add", "-A"]);
    scene.git(&["commit", "-qm", "hooks"]);
    let model = Model::start([route(focus("one"), honest(&scene, "one"))]);
    let scene = scene.with(&model);
    // Its tick of TASK.md passes: without a task in focus the guard would deny that.
    scene.run(&["job"]).expect(0);
    scene.assert_nothing_left();
}
