//! `--via cli`: one `copilot -p` per iteration, under the same guard, with the same evidence.

use ralph_copilot::model::{
    Answer, Asked, EventKind, FaultClass, Outcome, Proof, TaskState, TurnEnd, VerdictResult,
};
use serde_json::json;

use super::copilot::Scene;
use super::model::{Model, Step, bash, call, route, say, tool_results};
use super::{ONE, findings, focus, honest, verdicts};
use ralph_copilot::model::FindingKind;

const CLI: [&str; 3] = ["job", "--via", "cli"];

#[test]
fn honest_work_is_proven_and_every_call_was_decided_by_both_layers() {
    let Some(scene) = Scene::new(ONE) else { return };
    let model = Model::start([route(focus("one"), honest(&scene, "one"))]);
    let scene = scene.with(&model);
    scene.run(&CLI).expect(0);

    let state: TaskState =
        serde_json::from_str(&scene.read("tasks/job/state.json")).expect("state");
    assert_eq!(state.criteria[0].proof, Some(Proof::Check));
    assert_eq!(scene.read("out/one.txt"), "one\n");
    let journal = scene.journal();
    let decided = |layer| {
        let of_layer = journal.iter().filter(|event| {
            matches!(&event.kind, EventKind::ToolDecided { asked, answer: Answer::Allow, .. } if *asked == layer)
        });
        of_layer.count()
    };
    let turn = journal.iter().find_map(|event| match &event.kind {
        EventKind::TurnEnded { turn, .. } => Some(turn.clone()),
        _ => None,
    });
    let turn = turn.expect("a turn");
    assert_eq!((decided(Asked::Hook), decided(Asked::Permission)), (6, 6));
    assert_eq!((turn.calls.len(), turn.end, turn.fault), (6, TurnEnd::EndTurn, None));
    assert_eq!(turn.said, "Done: one.");
    assert_eq!(turn.usage.map(|usage| usage.total), Some(7 * 110));
    assert!(!journal.iter().any(|event| event.kind.name() == "agent_started"));
    scene.assert_nothing_left();
}

#[test]
fn a_denied_command_does_not_run_is_explained_and_the_turn_goes_on() {
    let Some(scene) = Scene::new(ONE) else { return };
    let outside = scene.tmp().with_file_name("outside.txt");
    let mut steps = vec![
        bash("rm -rf README.md"),
        call("create", json!({ "path": outside, "file_text": "x" })),
        call("view", json!({ "path": "/etc/passwd" })),
    ];
    steps.extend(honest(&scene, "one"));
    let model = Model::start([route(focus("one"), steps)]);
    let scene = scene.with(&model);
    scene.run(&CLI).expect(0);

    assert!(scene.has("README.md") && !outside.exists());
    let requests = model.requests();
    for request in &requests[1..4] {
        let told = tool_results(request).pop().expect("a result");
        assert!(told.to_lowercase().contains("denied"), "{told}");
    }
    let denied = scene
        .journal()
        .into_iter()
        .filter(|event| matches!(&event.kind, EventKind::ToolDecided { answer: Answer::Deny, .. }));
    assert_eq!(denied.count(), 3);
    scene.assert_nothing_left();
}

#[test]
fn a_liar_is_not_believed() {
    let model = Model::start([route(focus("one"), [say("Done! Everything works.")])]);
    let Some(scene) = Scene::new(ONE).map(|scene| scene.with(&model)) else { return };
    scene.run(&[&CLI[..], &["--stuck-threshold", "1", "--no-stop-check"]].concat()).expect(4);
    let verdict = verdicts(&scene.journal()).pop().expect("a verdict");
    assert_eq!(verdict.result, VerdictResult::Fail);
    assert!(findings(&verdict).contains(&FindingKind::NotTicked), "{verdict:?}");
    scene.assert_nothing_left();
}

/// A CLI that takes the flags and works without the guard's hooks.
#[test]
fn a_cli_that_runs_without_the_guard_ends_the_run() {
    let Some(mut scene) = Scene::new(ONE) else { return };
    let fake = scene.tmp().with_file_name("bin").join("copilot");
    std::fs::create_dir(fake.parent().expect("a folder")).expect("a folder");
    std::fs::write(&fake, "#!/bin/sh\necho made > out.txt\necho Done.\n").expect("written");
    let made = std::process::Command::new("chmod").arg("+x").arg(&fake).status();
    assert!(made.expect("chmod").success());
    scene.set("COPILOT_CLI_PATH", &fake.display().to_string());
    let ended = scene.run(&CLI).expect(10);
    assert!(ended.stdout.contains("the guard's hook did not report"), "{}", ended.stdout);
    scene.assert_no_process_left();
}

#[test]
fn the_cli_s_failures_are_told_apart_and_are_no_attempt() {
    let limit = vec![("retry-after", "3600")];
    for (step, args, code, class) in [
        (Step::Status(401, vec![], "bad key"), &[][..], 5, Some(FaultClass::Auth)),
        (Step::Status(429, limit, "Rate limit reached"), &["--max-wait", "1s"][..], 6, None),
    ] {
        let model = Model::start([route(focus("one"), std::iter::repeat_n(step, 20))]);
        let Some(scene) = Scene::new(ONE).map(|scene| scene.with(&model)) else { return };
        scene.run(&[&CLI[..], args].concat()).expect(code);
        let journal = scene.journal();
        let Some(EventKind::RunEnded { outcome, .. }) = journal.last().map(|last| &last.kind)
        else {
            panic!("{:?}", journal.last());
        };
        match outcome {
            Outcome::AgentUnusable { fault } => assert_eq!(Some(fault.class), class),
            Outcome::RateLimited { estimated, resume_at, .. } => {
                assert!(!estimated, "the CLI's log tells the time");
                let wait = *resume_at - journal.last().expect("an end").time;
                assert!((3500..=3601).contains(&wait.num_seconds()), "{wait}");
            }
            other => panic!("{other:?}"),
        }
        let state: TaskState =
            serde_json::from_str(&scene.read("tasks/job/state.json")).expect("state");
        assert!(state.criteria.iter().all(|entry| entry.attempts == 0));
        scene.assert_nothing_left();
    }
}

/// A list, as a template of the user's may begin, would be taken for options.
#[test]
fn a_prompt_that_cannot_be_an_argument_reaches_the_model_all_the_same() {
    let Some(scene) = Scene::new(ONE) else { return };
    scene.commit(".ralph/templates/iteration.md", "- Work.\n- Focus on: {{next_criterion}}\n");
    let model = Model::start([route(focus("one"), honest(&scene, "one"))]);
    let scene = scene.with(&model);
    scene.run(&CLI).expect(0);
    assert!(model.requests()[0]["messages"].to_string().contains("- Work.\\n- Focus on: one"));
    scene.assert_nothing_left();
}

#[test]
fn nobody_logged_in() {
    let Some(scene) = Scene::new(ONE) else { return };
    let ended = scene.run(&CLI).expect(5);
    assert!(ended.stdout.contains("copilot login"), "{}", ended.stdout);
    scene.assert_nothing_left();
}

#[test]
fn a_prompt_without_an_end_is_ended_with_all_it_started() {
    let model = Model::start([route(focus("one"), [Step::Hang, Step::Hang])]);
    let Some(scene) = Scene::new(ONE).map(|scene| scene.with(&model)) else { return };
    let args = ["--turn-timeout", "3s", "--stuck-threshold", "1"];
    scene.run(&[&CLI[..], &args].concat()).expect(4);
    scene.assert_nothing_left();
}
