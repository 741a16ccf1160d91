//! The session's mode: the agent asks before it acts, or is not used.

use serde_json::{Value, json};

use super::client_scene::{ClientScene, within};
use super::peer::Peer;
use crate::agent::{AgentError, AgentKind};
use crate::model::FaultClass;

/// Opens a session whose answer holds `extra`; `then` plays what comes after.
async fn open(extra: Value, then: impl AsyncFnOnce(&mut Peer)) -> Result<(), AgentError> {
    let (mut scene, mut peer) = ClientScene::new(AgentKind::Other);
    let client = async {
        let connection = scene.introduced().await;
        connection.open().await.map(|_| ())
    };
    let agent = async {
        peer.hello().await;
        let (id, _) = peer.expect("session/new").await;
        let mut answer = json!({"sessionId": "s"});
        let fields = extra.as_object().expect("an object").clone();
        answer.as_object_mut().expect("an object").extend(fields);
        peer.answer(&id, answer).await;
        then(&mut peer).await;
    };
    within(async { tokio::join!(client, agent).0 }).await
}

fn modes(current: &str, all: &[&str]) -> Value {
    let all: Vec<_> = all.iter().map(|id| json!({"id": id, "name": id})).collect();
    json!({"modes": {"currentModeId": current, "availableModes": all}})
}

#[tokio::test]
async fn a_mode_that_does_not_ask_is_changed_to_the_one_that_does() {
    let url = "https://agentclientprotocol.com/protocol/session-modes";
    let (auto, agent) = (format!("{url}#autopilot"), format!("{url}#agent"));
    for (current, asking) in [
        (auto.as_str(), agent.as_str()),
        ("acceptEdits", "default"),
        ("auto", "default"),
        ("plan", "default"),
    ] {
        open(modes(current, &[current, asking]), async |peer| {
            let (id, params) = peer.expect("session/set_mode").await;
            assert_eq!(params, json!({"sessionId": "s", "modeId": asking}));
            peer.answer(&id, json!({})).await;
        })
        .await
        .expect("a session");
    }
}

#[tokio::test]
async fn a_mode_that_asks_already_is_left_alone() {
    open(modes("default", &["default", "bypassPermissions"]), async |_| {}).await.expect("open");
    open(json!({}), async |_| {}).await.expect("an agent without modes");
    open(modes("build", &["build", "plan"]), async |_| {}).await.expect("names of its own");
}

/// The modes of real agents, by what they say of themselves.
#[tokio::test]
async fn a_mode_is_chosen_by_its_id_its_name_and_its_description() {
    let codex = ["read-only", "workspace-write", "agent", "agent-full-access"];
    let (ask, approve) = (["ask", "accept-edits", "auto"], ["auto", "approve", "smart_approve"]);
    for (current, all, wanted) in [
        ("read-only", &codex[..], None),
        ("agent", &codex[..], Some("read-only")),
        ("accept-edits", &ask[..], Some("ask")),
        ("auto", &approve[..], Some("approve")),
        ("smart_approve", &approve[..], Some("approve")),
    ] {
        open(modes(current, all), async |peer| {
            let Some(wanted) = wanted else { return };
            let (id, params) = peer.expect("session/set_mode").await;
            assert_eq!(params["modeId"], wanted, "{current}");
            peer.answer(&id, json!({})).await;
        })
        .await
        .expect("a session");
    }
    let mode = |id: &str, text: &str| json!({"id": id, "name": id, "description": text});
    let all = [
        mode("m1", "Auto-approves edits, and asks for the rest"),
        mode("m2", "Runs commands without asking"),
        mode("m3", "Prompts for approval"),
    ];
    let answer = json!({"modes": {"currentModeId": "m1", "availableModes": all}});
    open(answer, async |peer| {
        let (id, params) = peer.expect("session/set_mode").await;
        assert_eq!(params["modeId"], "m3");
        peer.answer(&id, json!({})).await;
    })
    .await
    .expect("a session");
}

#[tokio::test]
async fn an_agent_that_offers_no_mode_that_asks_is_not_used() {
    for mode in ["bypassPermissions", "yolo", "#autopilot", "full-access", "dontAsk"] {
        let error = open(modes(mode, &[mode]), async |_| {}).await.expect_err("refused");
        let fault = error.fault().expect("a fault");
        assert_eq!(fault.class, FaultClass::Unasked);
        assert!(fault.message.contains(mode), "{}", fault.message);
    }
}

#[tokio::test]
async fn a_setting_that_allows_everything_is_not_used_either() {
    let option = |value: &str| {
        let values = json!([{"value": "on", "name": "On"}, {"value": "off", "name": "Off"}]);
        json!({"configOptions": [{"type": "select", "id": "allow_all", "name": "n",
            "currentValue": value, "options": values}]})
    };
    open(option("off"), async |_| {}).await.expect("off");
    let error = open(option("on"), async |_| {}).await.expect_err("on");
    assert!(error.to_string().contains("setting `allow_all` = `on`"), "{error}");
}

#[tokio::test]
async fn a_change_of_mode_or_setting_during_a_turn_is_an_alarm() {
    let select = |id: &str, value: &str| {
        json!({"sessionUpdate": "config_option_update", "configOptions": [{"type": "select",
            "id": id, "name": "n", "currentValue": value, "options": []}]})
    };
    for (update, said) in [
        (
            json!({"sessionUpdate": "current_mode_update", "currentModeId": "x#autopilot"}),
            "mode `x#autopilot`",
        ),
        (select("allow_all", "on"), "setting `allow_all` = `on`"),
        (select("mode", "x#autopilot"), "setting `mode` = `x#autopilot`"),
    ] {
        let (mut scene, mut peer) = ClientScene::new(AgentKind::Other);
        let (turn, ()) = tokio::join!(scene.turn(), async {
            peer.hello().await;
            peer.open().await;
            let prompt = peer.prompted().await;
            peer.update(json!({"sessionUpdate": "current_mode_update", "currentModeId": "plan"}))
                .await;
            peer.update(select("auto_compact", "on")).await;
            peer.update(update).await;
            peer.expect("session/cancel").await;
            peer.end_turn(&prompt).await;
        });
        let fault = turn.fault.expect("a fault");
        assert_eq!(fault.class, FaultClass::Unasked);
        let expected = format!("(it changed to {said})");
        assert!(fault.message.contains(&expected), "{}", fault.message);
    }
}
