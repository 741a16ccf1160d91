//! What calls do, in the shapes of real agents: what a request leaves out was announced before, and
//! what its kind does not say, its fields do.

use serde_json::{Value, json};

use super::client_scene::ClientScene;
use super::peer::Peer;
use crate::agent::AgentKind;
use crate::model::{Answer, EventKind, Turn};

/// Sends a permission request with any fields; returns the chosen option.
async fn ask(peer: &mut Peer, call: Value) -> Value {
    let options = json!([
        {"optionId": "yes", "kind": "allow_once", "name": "n"},
        {"optionId": "no", "kind": "reject_once", "name": "n"},
    ]);
    let params = json!({"sessionId": "s", "toolCall": call, "options": options});
    let method = "session/request_permission";
    peer.send(&json!({"jsonrpc": "2.0", "id": 7, "method": method, "params": params})).await;
    peer.outcome().await.1["optionId"].clone()
}

/// A turn in which the agent announces a call, asks for it, and runs it if it may.
async fn call(announced: Value, asked: Value) -> (ClientScene, Turn) {
    let (mut scene, mut peer) = ClientScene::new(AgentKind::Other);
    let (turn, ()) = tokio::join!(scene.turn(), async {
        peer.hello().await;
        peer.open().await;
        let prompt = peer.prompted().await;
        let id = announced["toolCallId"].clone();
        peer.update(of_kind("tool_call", announced)).await;
        let allowed = ask(&mut peer, asked).await == "yes";
        let status = if allowed { "completed" } else { "failed" };
        let ended = json!({"toolCallId": id, "status": status});
        peer.update(of_kind("tool_call_update", ended)).await;
        peer.end_turn(&prompt).await;
    });
    (scene, turn)
}

fn of_kind(kind: &str, mut update: Value) -> Value {
    update["sessionUpdate"] = kind.into();
    update
}

/// The tool, the input, and the rule or the reason of the only decision.
fn decided(scene: &ClientScene) -> (String, Value, String) {
    let events = scene.events.events.lock().expect("events");
    let mut found = events.iter().filter_map(|event| match event {
        EventKind::ToolDecided { tool, input, answer, rule, reason, .. } => {
            let said = if *answer == Answer::Allow { rule } else { reason };
            Some((tool.clone(), input.clone(), said.clone()))
        }
        _ => None,
    });
    let (Some(decision), None) = (found.next(), found.next()) else { panic!("one decision") };
    decision
}

const PATH: &str = "/w/repo/a.txt";

fn text(text: &str) -> Value {
    json!([{"type": "content", "content": {"type": "text", "text": text}}])
}

fn diff(old: Value) -> Value {
    json!([{"type": "diff", "path": PATH, "oldText": old, "newText": "2"}])
}

/// `(what is told, announced, asked, tool, input)` of calls that are allowed.
fn shapes() -> Vec<(&'static str, Value, Value, &'static str, Value)> {
    let write = json!({"file_path": PATH, "content": "1"});
    let ls = json!({"command": "ls -l"});
    let folder = text("[current working directory /w/repo] (lists)");
    let outside = json!({"filepath": "/usr/include/a", "parentDir": "/usr/include"});
    let todos = json!({"todos": [{"content": "x"}]});
    let create = json!({"command": "create", "path": PATH, "file_text": ""});
    let json = text(r#"{"command": "ls -l"}"#);
    vec![
        ("the id alone", json!({"kind": "edit", "rawInput": write}), json!({}), "edit", write),
        ("no kind", json!({"kind": "execute"}), json!({"rawInput": ls}), "execute", ls.clone()),
        (
            "a diff",
            json!({"kind": "edit"}),
            json!({"content": diff(json!("1")), "locations": [{"path": PATH}]}),
            "edit",
            json!({"path": PATH, "oldText": "1", "newText": "2"}),
        ),
        (
            "a diff, and arguments that say nothing",
            json!({"kind": "edit", "content": diff(Value::Null)}),
            json!({"rawInput": {"reason": "why"}}),
            "edit",
            json!({"path": PATH, "content": "2"}),
        ),
        (
            "arguments that say nothing, and a diff",
            json!({"kind": "edit", "rawInput": {"reason": "why"}}),
            json!({"content": diff(Value::Null)}),
            "edit",
            json!({"reason": "why", "path": PATH, "content": "2"}),
        ),
        (
            "locations",
            json!({"kind": "edit"}),
            json!({"locations": [{"path": PATH}]}),
            "edit",
            json!({ "path": PATH }),
        ),
        (
            "a command in the title",
            json!({"kind": "execute"}),
            json!({"title": "ls -l", "content": folder}),
            "execute",
            ls.clone(),
        ),
        (
            "a command and its folder in the title",
            json!({"kind": "execute"}),
            json!({"title": "ls -l [current working directory /w/repo] (lists)"}),
            "execute",
            ls.clone(),
        ),
        (
            "a command between backticks",
            json!({"kind": "execute", "title": "`ls -l`"}),
            json!({}),
            "execute",
            ls.clone(),
        ),
        (
            "a path and a content",
            json!({"kind": "other", "title": "write"}),
            json!({"rawInput": {"path": PATH, "content": "1"}}),
            "edit",
            json!({"path": PATH, "content": "1"}),
        ),
        (
            "a command",
            json!({}),
            json!({"rawInput": {"command": ["ls"]}}),
            "execute",
            json!({"command": ["ls"]}),
        ),
        (
            "an editor",
            json!({"kind": "execute"}),
            json!({"rawInput": create}),
            "edit",
            create.clone(),
        ),
        (
            "JSON for people",
            json!({"content": json}),
            json!({"content": text("Do you agree?")}),
            "execute",
            ls,
        ),
        ("a look outside", json!({}), json!({"rawInput": outside}), "read", outside.clone()),
        ("a list of the model's", json!({}), json!({"rawInput": todos}), "think", todos.clone()),
    ]
}

#[tokio::test]
async fn a_request_is_an_update_of_the_announced_call_and_is_judged_by_its_fields() {
    for (name, mut announced, mut asked, tool, input) in shapes() {
        (announced["toolCallId"], asked["toolCallId"]) = ("1".into(), "1".into());
        if announced["title"].is_null() {
            announced["title"] = "Does something".into();
        }
        let (scene, turn) = call(announced, asked).await;
        let (seen, wanted, rule) = decided(&scene);
        assert_eq!((seen.as_str(), wanted), (tool, input), "{name}");
        assert!(
            matches!(
                rule.as_str(),
                "path.workspace" | "shell.understood" | "path.read" | "tool.session"
            ),
            "{name}: {rule}"
        );
        assert_eq!(turn.undecided, Vec::<String>::new(), "{name}");
    }
}

#[tokio::test]
async fn a_call_that_cannot_be_told_is_denied_with_what_was_seen() {
    for (asked, said) in [
        (json!({"rawInput": {"foo": 1, "bar": "x"}}), "`other` with `foo`, `bar`"),
        (json!({"rawInput": {"path": PATH}}), "`other` with `path`"),
        (json!({"title": "Do it"}), "`other` with `title`"),
        (json!({"kind": "edit"}), "`edit` with `title`"),
        (json!({"kind": "execute", "title": "git push"}), "`execute` with `title`"),
    ] {
        let mut asked = asked;
        asked["toolCallId"] = "1".into();
        let (scene, _) = call(json!({"toolCallId": "1", "title": "Does something"}), asked).await;
        let (_, input, reason) = decided(&scene);
        assert!(reason.contains(said), "{said}: {reason}");
        assert!(!input.is_null(), "{said}");
    }
}

#[tokio::test]
async fn a_command_is_denied_wherever_it_is_told() {
    for (announced, asked) in [
        (json!({"kind": "execute", "rawInput": {"command": "git push"}}), json!({})),
        (json!({"kind": "other"}), json!({"rawInput": {"argv": ["/bin/bash", "-lc", "git push"]}})),
        (json!({"kind": "execute", "title": "`git push`"}), json!({})),
        (
            json!({"kind": "read", "rawInput": {"path": "a"}}),
            json!({"rawInput": {"cmd": "git push"}}),
        ),
    ] {
        let (mut announced, mut asked) = (announced, asked);
        (announced["toolCallId"], asked["toolCallId"]) = ("1".into(), "1".into());
        if announced["title"].is_null() {
            announced["title"] = "Does something".into();
        }
        let (scene, _) = call(announced.clone(), asked).await;
        assert!(decided(&scene).2.contains("(git.push)"), "{announced}");
    }
}

/// Hermes announces a call, and asks for it under an id of its own.
#[tokio::test]
async fn an_id_that_asks_under_another_name_is_a_call_of_its_own() {
    let arguments = json!({"path": "a.txt", "old_string": "1", "new_string": "2"});
    let announced = json!({"toolCallId": "tool-1", "title": "patch", "kind": "edit",
        "locations": [{"path": "a.txt"}]});
    let asked = json!({"toolCallId": "edit-approval-1", "title": "Approve edit", "kind": "edit",
        "rawInput": {"tool": "patch", "arguments": arguments}});
    let (scene, turn) = call(announced, asked).await;
    assert_eq!(decided(&scene).2, "path.workspace");
    assert_eq!((turn.undecided, turn.calls.len()), (Vec::new(), 1));
}

#[tokio::test(start_paused = true)]
async fn a_request_that_says_nothing_waits_a_moment_for_its_announcement() {
    let (mut scene, mut peer) = ClientScene::new(AgentKind::Other);
    let (_, ()) = tokio::join!(scene.turn(), async {
        peer.hello().await;
        peer.open().await;
        let prompt = peer.prompted().await;
        let options = json!([{"optionId": "yes", "kind": "allow_once", "name": "n"}]);
        let params = json!({"sessionId": "s", "toolCall": {"toolCallId": "1"}, "options": options});
        let method = "session/request_permission";
        peer.send(&json!({"jsonrpc": "2.0", "id": 7, "method": method, "params": params})).await;
        tokio::time::sleep(std::time::Duration::from_millis(200)).await;
        peer.call("1", "execute", json!({"command": "ls"})).await;
        assert_eq!(peer.outcome().await.1["optionId"], "yes");
        peer.end_turn(&prompt).await;
    });
    assert_eq!(decided(&scene).1, json!({"command": "ls"}));
}

#[tokio::test]
async fn updates_after_the_end_of_a_turn_change_nothing() {
    let (mut scene, mut peer) = ClientScene::new(AgentKind::Other);
    let client = async {
        let (_connection, mut session) = scene.session().await;
        let stop = tokio_util::sync::CancellationToken::new();
        let mut ends = Vec::new();
        for _ in 0..2 {
            let prompt = super::client_scene::prompt();
            let limits = super::client_scene::limits();
            let turn = crate::agent::Session::prompt(&mut session, &prompt, &limits, &stop).await;
            ends.push(turn.expect("recorded"));
        }
        ends
    };
    let (ends, ()) = tokio::join!(client, async {
        peer.hello().await;
        peer.open().await;
        let prompt = peer.prompted().await;
        for id in ["1", "2", "3"] {
            peer.call(id, "read", json!({"path": "/w/repo/a"})).await;
            peer.call_ended(id, "completed", 0).await;
        }
        peer.end_turn(&prompt).await;
        peer.call_ended("3", "completed", 0).await;
        let prompt = peer.prompted().await;
        peer.say("still there").await;
        peer.end_turn(&prompt).await;
    });
    assert_eq!((ends[0].calls.len(), ends[1].said.as_str()), (3, "still there"));
}

#[tokio::test]
async fn an_end_of_a_call_that_was_never_announced_tells_of_no_call() {
    let (mut scene, mut peer) = ClientScene::new(AgentKind::Other);
    let (turn, ()) = tokio::join!(scene.turn(), async {
        peer.hello().await;
        peer.open().await;
        let prompt = peer.prompted().await;
        let ended = json!({"toolCallId": "never", "status": "completed"});
        peer.update(of_kind("tool_call_update", ended)).await;
        peer.end_turn(&prompt).await;
    });
    assert_eq!((turn.undecided.len(), turn.calls.len(), turn.unknown.len()), (0, 0, 1));
}
