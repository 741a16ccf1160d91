//! Recorded conversations of real agents, played again: what the client makes of them.

use serde_json::{Value, json};

use super::client_scene::{ClientScene, limits, prompt, within};
use super::peer::Peer;
use crate::agent::{AgentError, AgentKind, Session as _};
use crate::model::{CallStatus, ContextFill, FaultClass, Turn, TurnEnd, Usage};

/// Whether the CLI's hook is played too, and what it is told.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Hook {
    Asked,
    Silent,
}

struct Played {
    turns: Vec<Turn>,
    /// What the client sent besides requests: its answers.
    answers: Vec<Value>,
}

/// Plays the agent's side of a transcript; frames that it sends wait for those of the
/// client that came before them.
async fn act(peer: &mut Peer, scene: &ClientScene, transcript: &str, hook: Hook) -> Vec<Value> {
    let mut ids: Vec<(Value, Value)> = Vec::new();
    let mut answers = Vec::new();
    for line in transcript.lines() {
        let entry: Value = serde_json::from_str(line).expect("a line of the transcript");
        let mut frame = entry["frame"].clone();
        if entry["dir"] == "send" {
            let sent = peer.next().await.expect("the client goes on");
            assert_eq!(sent["method"], frame["method"], "{sent}");
            if frame.get("method").is_some() {
                ids.push((frame["id"].clone(), sent["id"].clone()));
            } else {
                answers.push(sent["result"]["outcome"].clone());
            }
            continue;
        }
        if frame.get("method").is_none() {
            let asked = ids.iter().rfind(|(recorded, _)| *recorded == frame["id"]);
            frame["id"] = asked.expect("a request").1.clone();
        }
        peer.send(&frame).await;
        let update = &frame["params"]["update"];
        if hook == Hook::Asked && update["sessionUpdate"] == "tool_call" {
            let session = frame["params"]["sessionId"].as_str().expect("session");
            let mut request = super::client_scene::request(session, None, &update["rawInput"]);
            request.tool = match update["kind"].as_str() {
                Some("execute") => "bash".to_owned(),
                Some("edit") => "edit".to_owned(),
                _ => "view".to_owned(),
            };
            let decided = scene.gate.decide(&request);
            assert!(decided.allowed(), "{decided:?}");
        }
    }
    answers
}

async fn play(scene: &mut ClientScene, peer: &mut Peer, transcript: &str, hook: Hook) -> Played {
    let prompts = transcript.matches("\"method\":\"session/prompt\"").count();
    let connecting = scene.connect().await;
    let client = async {
        connecting.introduce().await.expect("introduced");
        let mut session = connecting.open().await.expect("a session");
        scene.gate.greet(session.id().as_str(), None);
        let mut turns = Vec::new();
        for _ in 0..prompts {
            let stop = tokio_util::sync::CancellationToken::new();
            let turn = session.prompt(&prompt(), &limits(), &stop).await;
            turns.push(turn.expect("recorded"));
        }
        turns
    };
    let (turns, answers) =
        within(async { tokio::join!(client, act(peer, scene, transcript, hook)) }).await;
    Played { turns, answers }
}

/// Calls as `kind status exit`, for comparing.
fn calls(turn: &Turn) -> Vec<String> {
    let call = |call: &crate::model::ExecutedCall| {
        format!("{} {:?} {:?}", call.kind, call.status, call.exit)
    };
    turn.calls.iter().map(call).collect()
}

fn selected(option: &str) -> Value {
    json!({"outcome": "selected", "optionId": option})
}

#[tokio::test]
async fn a_plain_answer_is_a_finished_turn_with_its_tokens() {
    let (mut scene, mut peer) = ClientScene::new(AgentKind::Copilot);
    let transcript = include_str!("transcripts/01_basic.jsonl");
    let Played { turns, answers } = play(&mut scene, &mut peer, transcript, Hook::Silent).await;
    let mut turn = turns.into_iter().next().expect("a turn");
    assert!(answers.is_empty());
    turn.millis = 0;
    let expected = Turn {
        end: TurnEnd::EndTurn,
        updates: 4,
        usage: Some(Usage { input: 100, output: 10, total: 110, ..Usage::default() }),
        context: Some(ContextFill { used: 8683, size: 128_000 }),
        said: "Hello from script.".to_owned(),
        ..Turn::default()
    };
    assert_eq!(turn, expected);
}

#[tokio::test]
async fn copilot_s_calls_are_followed_and_joined_with_their_decisions() {
    let (mut scene, mut peer) = ClientScene::new(AgentKind::Copilot);
    let transcript = include_str!("transcripts/02_shell_touch.jsonl");
    let played = play(&mut scene, &mut peer, transcript, Hook::Asked).await;
    assert_eq!(calls(&played.turns[0]), ["execute Completed Some(0)"]);
    assert_eq!(played.turns[0].undecided, Vec::<String>::new());
    assert_eq!(played.turns[0].end, TurnEnd::EndTurn);
    assert_eq!(played.answers, [selected("allow_once")]);
    assert_eq!(scene.decided().len(), 2, "both layers are recorded");
}

#[tokio::test]
async fn the_same_calls_without_the_hook_are_undecided() {
    let (mut scene, mut peer) = ClientScene::new(AgentKind::Copilot);
    let transcript = include_str!("transcripts/02_mode_autopilot.jsonl");
    let mut lines: Vec<&str> = transcript.lines().collect();
    // The client never asks for autopilot: the mode is changed behind its back instead.
    lines.retain(|line| !line.contains("set_mode") && !line.contains("\"id\":3,\"result\":{}"));
    let end = lines.iter().position(|line| line.contains("tool_call_update")).expect("a call");
    let transcript = lines[..=end].join("\n");
    let (connection, ()) = tokio::join!(scene.connect(), async {});
    let client = async {
        connection.introduce().await.expect("introduced");
        let mut session = connection.open().await.expect("a session");
        scene.gate.greet(session.id().as_str(), None);
        let stop = tokio_util::sync::CancellationToken::new();
        session.prompt(&prompt(), &limits(), &stop).await.expect("recorded")
    };
    let agent = async {
        act(&mut peer, &scene, &transcript, Hook::Silent).await;
        peer.expect("session/cancel").await;
    };
    let (turn, ()) = within(async { tokio::join!(client, agent) }).await;
    assert_eq!(turn.end, TurnEnd::Interrupted);
    assert!(turn.undecided.iter().any(|why| why.contains("autopilot")), "{:?}", turn.undecided);
}

#[tokio::test]
async fn a_hook_s_denial_is_told_from_a_failure_and_the_turn_goes_on() {
    let (mut scene, mut peer) = ClientScene::new(AgentKind::Copilot);
    let transcript = include_str!("transcripts/02_hk_deny.jsonl");
    let played = play(&mut scene, &mut peer, transcript, Hook::Silent).await;
    assert_eq!(calls(&played.turns[0]), ["execute Denied None"]);
    assert_eq!(played.turns[0].undecided, Vec::<String>::new());
    assert_eq!(played.turns[0].end, TurnEnd::EndTurn);
}

#[tokio::test]
async fn a_turn_that_our_denial_ended_carries_the_reason() {
    let (mut scene, mut peer) = ClientScene::new(AgentKind::Copilot);
    let transcript = include_str!("transcripts/02_reject_once.jsonl");
    scene.gate.rest();
    let played = play(&mut scene, &mut peer, transcript, Hook::Silent).await;
    assert_eq!(played.answers, [selected("reject_once")]);
    let turn = &played.turns[0];
    let reason = "Nothing ran: the turn is over.".to_owned();
    assert_eq!(turn.end, TurnEnd::CutByDenial { reason });
    assert_eq!((calls(turn), turn.denied), (vec!["execute Denied None".to_owned()], 1));
    assert_eq!((turn.undecided.len(), &turn.fault), (0, &None));
}

/// Their options have other names and another order, and a denial ends the turn of OpenCode alone.
#[tokio::test]
async fn other_agents_are_denied_by_their_own_option_and_claude_goes_on() {
    for (transcript, cut) in [
        (include_str!("transcripts/13_oc_reject.jsonl"), true),
        (include_str!("transcripts/15_claude_reject.jsonl"), false),
    ] {
        let (mut scene, mut peer) = ClientScene::new(AgentKind::Other);
        scene.gate.rest();
        let played = play(&mut scene, &mut peer, transcript, Hook::Silent).await;
        assert_eq!(played.answers, [selected("reject")]);
        let turn = &played.turns[0];
        assert_eq!(calls(turn), ["execute Denied None"], "a failure by our denial");
        assert_eq!(turn.undecided, Vec::<String>::new());
        assert_eq!(matches!(turn.end, TurnEnd::CutByDenial { .. }), cut, "{:?}", turn.end);
    }
}

#[tokio::test]
async fn a_failed_model_call_is_found_in_the_cli_s_words_and_forgotten_by_the_next_turn() {
    for (transcript, class) in [
        (include_str!("transcripts/05_429_ra3600.jsonl"), FaultClass::RateLimit),
        (include_str!("transcripts/05_401.jsonl"), FaultClass::Auth),
        (include_str!("transcripts/05_drop_mid.jsonl"), FaultClass::Network),
    ] {
        let (mut scene, mut peer) = ClientScene::new(AgentKind::Copilot);
        let played = play(&mut scene, &mut peer, transcript, Hook::Silent).await;
        let faults: Vec<_> =
            played.turns.iter().map(|turn| turn.fault.as_ref().map(|fault| fault.class)).collect();
        assert_eq!(faults, [Some(class), None]);
        assert_eq!(played.turns[0].end, TurnEnd::EndTurn, "the agent says it is finished");
        assert_eq!(played.turns[0].usage, None);
        assert_eq!(
            played.turns[1].usage,
            Some(Usage { input: 100, output: 10, total: 110, ..Usage::default() })
        );
    }
}

#[tokio::test]
async fn the_cumulative_tokens_become_those_of_each_turn() {
    let (mut scene, mut peer) = ClientScene::new(AgentKind::Copilot);
    let transcript = include_str!("transcripts/09_slash.jsonl");
    // Without the command that turns every permission off.
    let lines = transcript.lines().filter(|line| {
        !line.contains("allow-all on")
            && !line.contains("\"id\":5,")
            && !line.contains("Allow All for")
    });
    let transcript: String = lines
        .map(|line| line.replace("\"currentValue\":\"on\"", "\"currentValue\":\"off\"") + "\n")
        .collect();
    let played = play(&mut scene, &mut peer, &transcript, Hook::Silent).await;
    let usage: Vec<_> =
        played.turns.iter().map(|turn| turn.usage.map(|usage| usage.total)).collect();
    assert_eq!(usage, [None, None, Some(110), Some(110)]);
}

#[tokio::test]
async fn a_login_that_is_missing_is_told_by_session_new() {
    let (mut scene, mut peer) = ClientScene::new(AgentKind::Copilot);
    let transcript = include_str!("transcripts/05_noauth.jsonl");
    let connection = scene.connect().await;
    let client = async {
        connection.introduce().await.expect("introduced");
        connection.open().await.err().expect("refused")
    };
    let (error, _) = tokio::join!(client, act(&mut peer, &scene, transcript, Hook::Silent));
    assert!(matches!(error, AgentError::Refused { operation: "session/new", .. }), "{error}");
    assert_eq!(error.fault().map(|fault| fault.class), Some(FaultClass::Auth));
    assert!(!error.is_final(), "the process is as good as before");
}

#[tokio::test]
async fn real_agents_write_only_what_was_asked_for() {
    for (transcript, option) in [
        (include_str!("transcripts/13_oc_write.jsonl"), "once"),
        (include_str!("transcripts/15_claude_write.jsonl"), "allow"),
    ] {
        let (mut scene, mut peer) = ClientScene::new(AgentKind::Other);
        let played = play(&mut scene, &mut peer, transcript, Hook::Silent).await;
        assert_eq!(played.answers.first(), Some(&selected(option)));
        let turn = &played.turns[0];
        assert_eq!(turn.undecided, Vec::<String>::new());
        let last = turn.calls.last().expect("a call");
        assert_eq!((last.kind.as_str(), last.status), ("edit", CallStatus::Completed));
    }
}
