//! Honest work is proven, committed and written down.

use ralph_copilot::model::{
    Answer, Asked, EventKind, Outcome, Proof, TaskState, TurnEnd, VerdictResult,
};
use serde_json::Value;

use super::copilot::{KEY, Scene};
use super::model::{Model, route, say, tool_results};
use super::{focus, honest, verdicts};

const THREE: &str = "\
# Demo

## Success Criteria

- [ ] one
  - verify: `sh check.sh one`
- [ ] two
  - verify: `sh check.sh two`
- [ ] three
  - verify: `sh check.sh three`
";

#[test]
fn three_criteria_are_worked_on_proven_and_committed() {
    let Some(scene) = Scene::new(THREE) else { return };
    let mut first = honest(&scene, "one");
    // A provider's key that the model was told of, or made up, is nowhere to be read later.
    first.insert(0, super::bash(&format!("echo 'the key is {KEY}'")));
    first.pop();
    first.push(say(format!("Done: one. The key is {KEY}.")));
    let model = Model::start([
        route(focus("one"), first),
        route(focus("two"), honest(&scene, "two")),
        route(focus("three"), honest(&scene, "three")),
    ]);
    let scene = scene.with(&model);
    let ended = scene.run(&["job"]).expect(0);

    assert!(!scene.read("tasks/job/TASK.md").contains("- [ ]"));
    let log = scene.git(&["log", "--reverse", "--format=%s"]);
    let subjects: Vec<&str> = log.lines().collect();
    assert_eq!(
        subjects,
        [
            "first",
            "ralph(job): [one] - write it",
            "ralph(job): state update",
            "ralph(job): [two] - write it",
            "ralph(job): state update",
            "ralph(job): [three] - write it",
            "ralph(job): state update",
            // The run's end is in the logs, too.
            "ralph(job): state update",
        ]
    );

    let state: TaskState =
        serde_json::from_str(&scene.read("tasks/job/state.json")).expect("state");
    let proofs: Vec<_> = state
        .criteria
        .iter()
        .map(|entry| (entry.key.text.as_str(), entry.proof, entry.attempts))
        .collect();
    let check = Some(Proof::Check);
    assert_eq!(proofs, [("one", check, 0), ("two", check, 0), ("three", check, 0)]);

    let progress = scene.read("tasks/job/progress.md");
    for criterion in ["one", "two", "three"] {
        assert!(progress.contains(&format!(" {criterion} is written")), "{progress}");
        assert!(progress.contains(&format!("PASS \"{criterion}\"")), "{progress}");
    }
    activity(&scene.read("tasks/job/activity.log"));
    let cost = scene.read("tasks/job/cost.log");
    let lines: Vec<&str> = cost.lines().collect();
    assert_eq!(lines.len(), 3, "{cost}");
    assert!(lines[2].contains("Iteration 3: ") && lines[2].ends_with("tokens=770"), "{cost}");

    journal(&scene);
    let records = scene.runs().pop().expect("a run");
    for name in ["wire.log", "events.jsonl", "stderr.log"] {
        let text = std::fs::read_to_string(records.join(name)).expect(name);
        assert!(!text.contains(KEY), "the key is in {name}");
    }
    for (name, text) in [
        ("activity.log", scene.read("tasks/job/activity.log")),
        ("stdout", ended.stdout),
        ("stderr", ended.stderr),
    ] {
        assert!(!text.contains(KEY), "the key is in {name}");
    }
    assert_eq!(model.requests().len(), 22);
    scene.assert_nothing_left();
}

/// The CLI keeps working where the kernel lets it write to its own folders alone.
#[cfg(target_os = "linux")]
#[test]
fn the_work_is_the_same_in_every_tier() {
    for tier in ["full", "partial", "off"] {
        let Some(scene) = Scene::new(super::ONE).filter(|_| super::has_tier(tier)) else {
            continue;
        };
        let model = Model::start([route(focus("one"), honest(&scene, "one"))]);
        let scene = scene.with(&model);
        let ended = scene.run(&["job", &format!("--sandbox={tier}")]).expect(0);
        assert!(ended.stdout.contains(&format!("sandbox: {tier}")), "{}", ended.stdout);
        let verdict = verdicts(&scene.journal()).remove(0);
        assert_eq!(verdict.result, VerdictResult::Pass(Proof::Check));
        scene.assert_nothing_left();
    }
}

/// The provider as the bridge's variables name it, and what the human wants said of the
/// project in each prompt.
#[test]
fn a_provider_of_the_bridge_and_the_project_s_context_reach_the_model() {
    let Some(mut scene) = Scene::new(super::ONE) else { return };
    scene.commit("show.sh", "env | sort\n");
    let mut steps = vec![super::bash("sh show.sh")];
    steps.extend(honest(&scene, "one"));
    let model = Model::start([route(focus("one"), steps)]);
    scene.set("COPILOT_OFFLINE", "true");
    scene.set("COPILOT_BYOK_PROVIDER", "openai");
    scene.set("COPILOT_BYOK_BASE_URL", &model.url());
    scene.set("COPILOT_BYOK_API_KEY", KEY);
    scene.set("COPILOT_BYOK_MODEL", "scripted");
    scene.set("COPILOT_PROJECT_CONTEXT", &format!("All of it is Pascal. {KEY}"));
    scene.run(&["job"]).expect(0);

    let requests = model.requests();
    assert_eq!(requests[0]["model"], "scripted");
    let prompt = requests[0]["messages"].to_string();
    assert!(prompt.contains("All of it is Pascal. [REDACTED]"), "{prompt}");
    let environment = tool_results(&requests[1]).pop().expect("a result");
    assert!(environment.contains("PATH="), "{environment}");
    assert!(!environment.contains(KEY) && !environment.contains("BYOK_API_KEY"), "{environment}");
}

/// Every call of a tool has one line that says who asked and what came of it.
fn activity(text: &str) {
    let entries: Vec<Value> =
        text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    let of = |operation: &str| {
        let entries = entries.iter().filter(|entry| entry["operation"] == operation);
        entries.collect::<Vec<_>>()
    };
    assert_eq!((of("bash").len(), of("create").len(), of("edit").len()), (13, 3, 3), "{text}");
    for entry in of("bash").iter().chain(&of("create")).chain(&of("edit")) {
        assert_eq!(entry["approved"], true, "{entry}");
        assert_eq!(entry["result"], "success", "{entry}");
        assert_eq!(entry["asked"], serde_json::json!(["hook", "permission"]), "{entry}");
    }
    assert_eq!(of("check").iter().filter(|check| check["result"] == "failed").count(), 0);
}

/// The journal tells the same, and in which order.
fn journal(scene: &Scene) {
    let journal = scene.journal();
    let names: Vec<&str> = journal.iter().map(|event| event.kind.name()).collect();
    assert_eq!(names.first(), Some(&"run_started"));
    assert_eq!(names.last(), Some(&"run_ended"));
    assert_eq!(names.iter().filter(|name| **name == "agent_started").count(), 1);
    let passed = verdicts(&journal);
    assert_eq!(passed.len(), 3);
    for verdict in passed {
        assert_eq!(verdict.result, VerdictResult::Pass(Proof::Check));
        assert_eq!(verdict.findings, Vec::new());
    }
    let mut open = 0;
    for event in &journal {
        match &event.kind {
            EventKind::AgentStarted { agent, .. } => {
                let agent = agent.as_ref().expect("it says who it is");
                assert_eq!(
                    (agent.name.as_str(), &agent.version),
                    ("Copilot", &scene.cli_version())
                );
            }
            // Each call is decided twice before it ends: by the hook, then by ACP's request.
            EventKind::ToolDecided { asked, answer, .. } => {
                assert_eq!(*answer, Answer::Allow);
                open += if *asked == Asked::Hook { 1 } else { 0 };
            }
            EventKind::ToolFinished { .. } => open -= 1,
            EventKind::TurnEnded { turn, .. } => {
                assert_eq!((&turn.end, turn.denied), (&TurnEnd::EndTurn, 0));
                assert_eq!(turn.undecided, Vec::<String>::new());
                assert!(turn.said.contains("Done: "), "{}", turn.said);
            }
            EventKind::RunEnded { outcome, .. } => assert_eq!(*outcome, Outcome::Proven),
            _ => {}
        }
        assert!(open >= 0, "a call ended before it was decided");
    }
    assert_eq!(open, 0, "a call that was decided did not end");
}
