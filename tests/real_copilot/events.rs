//! Events of a provider, as the real CLI gets them.

use ralph_copilot::model::{EventKind, GivenWith};
use serde_json::json;

use super::copilot::Scene;
use super::model::{Model, bash, call, route, say, until_offered};
use super::providers::Provider;
use super::{ONE, focus, honest};

#[test]
fn an_event_reaches_the_agent_when_it_wants_to_end_its_turn() {
    let Some(scene) = Scene::new(ONE) else { return };
    let Some(mut provider) = Provider::start(&scene) else { return };
    let secret = "ghp_dmbhDBzVmevP3MnvMPnHF9I4SGTVWM9bdvtH";
    let mut steps = vec![
        bash("touch go"),
        until_offered("-notify"),
        // The provider pushes the event before it answers.
        call("*-notify", json!({"event": format!("build 7 is red, see {secret}")})),
        bash("rm go"),
    ];
    steps.extend(honest(&scene, "one"));
    steps.push(say("The build is not mine to mend."));
    let model = Model::start([route(focus("one"), steps)]);
    let scene = scene.with(&model);
    let ended = scene.run(&["job", "--gateway=0"]).expect(0);
    provider.says("bound");

    let journal = scene.journal();
    let count = |name: &str| journal.iter().filter(|event| event.kind.name() == name).count();
    assert_eq!((count("prompt_sent"), count("turn_ended")), (1, 1), "the same prompt");
    let injected = journal.iter().filter_map(|event| match &event.kind {
        EventKind::EventsInjected { with, providers, .. } => Some((*with, providers.clone())),
        _ => None,
    });
    assert_eq!(injected.collect::<Vec<_>>(), [(GivenWith::Stop, vec!["desk".to_owned()])]);
    let last = model.requests().pop().expect("requests");
    let messages = last["messages"].as_array().expect("messages");
    let told = messages.iter().rev().find(|message| message["role"] == "user").expect("a message");
    let told = told["content"].to_string();
    assert!(told.contains("Events from tool providers"), "{told}");
    assert!(told.contains("build 7 is red, see [REDACTED]"), "{told}");
    assert!(ended.stdout.contains("desk: build 7 is red, see [REDACTED]"), "{}", ended.stdout);
    scene.assert_nothing_left();
}
