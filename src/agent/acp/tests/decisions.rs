//! Permission requests and their answers, and calls that nobody decided.

use std::sync::atomic::Ordering;

use serde_json::{Value, json};

use super::client_scene::{ClientScene, limits};
use super::peer::Peer;
use crate::agent::{AgentError, AgentKind};
use crate::model::{Answer, CallStatus, Decided, EventKind, FaultClass, Turn, TurnEnd};

const EVERY: [&str; 3] = ["allow_once", "allow_always", "reject_once"];

/// A turn of another agent than Copilot, whose frames `play` sends after the prompt.
async fn turn(play: impl AsyncFnOnce(&mut Peer)) -> (ClientScene, Turn) {
    turn_of(AgentKind::Other, async |_: &ClientScene, peer: &mut Peer| play(peer).await).await
}

async fn turn_of(
    kind: AgentKind,
    play: impl AsyncFnOnce(&ClientScene, &mut Peer),
) -> (ClientScene, Turn) {
    let (mut scene, mut peer) = ClientScene::new(kind);
    let (connection, ((), ())) = tokio::join!(scene.introduced(), async {
        peer.hello().await;
        ((), ())
    });
    let (session, ()) = tokio::join!(connection.open(), peer.open());
    let mut session = session.expect("a session");
    scene.gate.greet("s", None);
    let stop = tokio_util::sync::CancellationToken::new();
    let (prompt, limits) = (super::client_scene::prompt(), limits());
    let asking = crate::agent::Session::prompt(&mut session, &prompt, &limits, &stop);
    let playing = async {
        let prompt = peer.prompted().await;
        play(&scene, &mut peer).await;
        peer.end_turn(&prompt).await;
    };
    let (turn, ()) = super::client_scene::within(async { tokio::join!(asking, playing) }).await;
    let turn = turn.expect("recorded");
    (scene, turn)
}

fn ls() -> Value {
    json!({"command": "ls"})
}

#[tokio::test]
async fn the_option_is_chosen_by_its_kind_at_any_position() {
    let (scene, turn) = turn(async |peer| {
        let options = ["reject_once", "allow_always", "reject_always", "allow_once"];
        peer.ask("1", ls(), &options).await;
        assert_eq!(peer.outcome().await.1["optionId"], "o3-allow_once");
    })
    .await;
    assert_eq!(turn.denied, 0);
    assert_eq!(scene.decided()[0].0, Answer::Allow);
}

#[tokio::test]
async fn many_requests_at_once_are_each_answered() {
    let (scene, _) = turn(async |peer| {
        let mut asked = Vec::new();
        for call in 0..20 {
            asked.push(peer.ask(&call.to_string(), ls(), &EVERY).await);
        }
        let mut answered = Vec::new();
        for _ in 0..20 {
            let (id, outcome) = peer.outcome().await;
            assert_eq!(outcome["optionId"], "o0-allow_once");
            answered.push(id);
        }
        answered.sort_by_key(|id| id.as_u64());
        assert_eq!(answered, asked);
    })
    .await;
    assert_eq!(scene.decided().len(), 20);
}

/// Faster than anybody could read the answers, and where a turn may have that many.
#[tokio::test]
async fn ten_thousand_requests_are_each_decided_recorded_and_answered_once() {
    const MANY: u32 = 10_000;
    let (mut scene, mut peer) = ClientScene::new(AgentKind::Other);
    let many = crate::agent::TurnLimits { calls: MANY + 1, ..limits() };
    let (turn, ()) = tokio::join!(scene.turn_within(many), async {
        peer.hello().await;
        peer.open().await;
        let prompt = peer.prompted().await;
        for call in 0..MANY {
            let asked = peer.ask(&call.to_string(), ls(), &EVERY).await;
            let (answered, outcome) = peer.outcome().await;
            assert_eq!((answered, &outcome["optionId"]), (asked, &json!("o0-allow_once")));
        }
        peer.end_turn(&prompt).await;
    });
    assert_eq!(turn.expect("recorded").end, TurnEnd::EndTurn);
    assert_eq!(scene.decided().len(), MANY as usize);
}

#[tokio::test]
async fn the_decision_is_recorded_before_it_is_answered() {
    let (mut scene, mut peer) = ClientScene::new(AgentKind::Other);
    scene.events.full.store(true, Ordering::SeqCst);
    let (result, ()) = tokio::join!(scene.turn_within(limits()), async {
        peer.hello().await;
        peer.open().await;
        peer.prompted().await;
        peer.ask("1", ls(), &EVERY).await;
        assert_eq!(peer.outcome().await.1["optionId"], "o2-reject_once", "unrecorded: denied");
    });
    assert!(matches!(result, Err(AgentError::Record(_))), "the run must end: {result:?}");
}

#[tokio::test]
async fn a_command_that_ran_unasked_ends_the_turn_at_once() {
    let play = async |peer: &mut Peer| {
        peer.call("1", "execute", ls()).await;
        peer.call_ended("1", "completed", 0).await;
        peer.expect("session/cancel").await;
    };
    let copilot = async |_: &ClientScene, peer: &mut Peer| play(peer).await;
    let (_, turn) = turn_of(AgentKind::Copilot, copilot).await;
    assert_eq!(turn.undecided, ["execute ran without a decision: {\"command\":\"ls\"}"]);
    assert_eq!((turn.end, turn.fault), (TurnEnd::Interrupted, None));
    // Of an agent without hooks it is a matter of its settings.
    let (_, turn) = self::turn(play).await;
    assert_eq!((turn.end, turn.undecided.len()), (TurnEnd::Lost, 0));
    let fault = turn.fault.expect("a fault");
    assert_eq!(fault.class, FaultClass::Unasked);
    let said = "the agent does not ask for permission (it ran execute `ls`): set it to ask";
    assert!(fault.message.starts_with(said), "{}", fault.message);
}

#[tokio::test]
async fn calls_run_unasked_where_the_user_lets_them() {
    let (mut scene, mut peer) = ClientScene::new(AgentKind::Other);
    scene.allow_unasked();
    let (turn, ()) = tokio::join!(scene.turn(), async {
        peer.hello().await;
        peer.open().await;
        let prompt = peer.prompted().await;
        peer.call("1", "execute", ls()).await;
        peer.call_ended("1", "completed", 0).await;
        peer.ask("2", json!({"command": "git push"}), &EVERY).await;
        assert_eq!(peer.outcome().await.1["optionId"], "o2-reject_once");
        peer.end_turn(&prompt).await;
    });
    assert_eq!((turn.fault, turn.undecided.len()), (None, 0));
    let events = scene.events.events.lock().expect("events");
    let decided = events.iter().find_map(|event| match event {
        EventKind::ToolFinished { decided, .. } => Some(*decided),
        _ => None,
    });
    assert_eq!(decided, Some(Decided::Unasked));
}

#[tokio::test]
async fn reading_needs_no_decision_with_an_agent_that_has_no_hooks() {
    let (_, turn) = turn(async |peer| {
        for kind in ["read", "search", "think"] {
            peer.call(kind, kind, json!({"path": "/w/repo/a"})).await;
            peer.call_ended(kind, "completed", 0).await;
        }
    })
    .await;
    assert_eq!((turn.undecided.len(), turn.calls.len()), (0, 3));
}

#[tokio::test]
async fn one_decision_is_good_for_one_call_even_under_the_same_id() {
    let (_, turn) = turn(async |peer| {
        peer.ask("same", ls(), &EVERY).await;
        peer.outcome().await;
        for _ in 0..2 {
            peer.call("same", "execute", ls()).await;
            peer.call_ended("same", "completed", 0).await;
        }
        peer.expect("session/cancel").await;
    })
    .await;
    assert_eq!((unasked(&turn), turn.calls.len()), (true, 2));
}

/// Did the turn end because a call ran unasked?
fn unasked(turn: &Turn) -> bool {
    turn.fault.as_ref().is_some_and(|fault| fault.class == FaultClass::Unasked)
}

#[tokio::test]
async fn one_id_for_all_calls_is_no_problem_while_each_is_asked_for() {
    let (_, turn) = turn(async |peer| {
        for command in ["ls", "pwd"] {
            let input = json!({ "command": command });
            peer.ask("shell-permission", input.clone(), &EVERY).await;
            peer.outcome().await;
            peer.call("shell-permission", "execute", input).await;
            peer.call_ended("shell-permission", "completed", 0).await;
        }
    })
    .await;
    let statuses: Vec<_> = turn.calls.iter().map(|call| call.status).collect();
    assert_eq!((turn.undecided.len(), statuses), (0, vec![CallStatus::Completed; 2]));
}

#[tokio::test]
async fn a_call_that_was_never_announced_is_followed_all_the_same() {
    let (_, turn) = turn(async |peer| {
        peer.call_ended("1", "completed", 3).await;
        peer.expect("session/cancel").await;
    })
    .await;
    assert_eq!(turn.calls[0].exit, Some(3));
    assert!(unasked(&turn), "its kind is not known, so it needs a decision");
}

#[tokio::test]
async fn what_was_denied_and_ran_all_the_same_is_told() {
    let (scene, mut peer) = ClientScene::new(AgentKind::Other);
    scene.gate.rest();
    let mut scene = scene;
    let (result, ()) = tokio::join!(scene.turn_within(limits()), async {
        peer.hello().await;
        peer.open().await;
        let prompt = peer.prompted().await;
        peer.call("1", "execute", ls()).await;
        peer.ask("1", ls(), &EVERY).await;
        peer.outcome().await;
        peer.call_ended("1", "completed", 0).await;
        peer.expect("session/cancel").await;
        peer.end_turn(&prompt).await;
    });
    assert!(unasked(&result.expect("recorded")));
}

#[tokio::test]
async fn without_the_guard_in_force_the_first_tool_call_of_copilot_is_an_alarm() {
    let (mut scene, mut peer) = ClientScene::new(AgentKind::Copilot);
    let connection = async {
        let connection = scene.introduced().await;
        let session = connection.open().await.expect("a session");
        (connection, session)
    };
    let ((_connection, mut session), ()) = tokio::join!(connection, async {
        peer.hello().await;
        peer.open().await;
    });
    let (prompt, limits) = (super::client_scene::prompt(), limits());
    let stop = tokio_util::sync::CancellationToken::new();
    let asking = crate::agent::Session::prompt(&mut session, &prompt, &limits, &stop);
    let (turn, ()) = tokio::join!(asking, async {
        let prompt = peer.prompted().await;
        // Announced, not even begun.
        peer.call("1", "read", json!({"path": "/w/repo/a"})).await;
        peer.expect("session/cancel").await;
        peer.end_turn(&prompt).await;
    });
    let turn = turn.expect("recorded");
    assert_eq!(turn.undecided, ["the guard's hook did not report before the first tool call"]);
}

#[tokio::test]
async fn the_frame_of_a_call_may_come_before_its_hook() {
    let (_, turn) = turn_of(AgentKind::Copilot, async |scene, peer| {
        peer.call("1", "execute", ls()).await;
        assert!(scene.hook(&ls()).allowed());
        peer.call_ended("1", "completed", 0).await;
    })
    .await;
    assert_eq!(turn.undecided, Vec::<String>::new());
}

#[tokio::test]
async fn a_sub_agent_s_call_is_joined_by_its_own_name() {
    let (_, turn) = turn_of(AgentKind::Copilot, async |scene, peer| {
        scene.gate.decide(&super::client_scene::request("agent-1", None, &ls()));
        peer.update(json!({
            "sessionUpdate": "tool_call", "toolCallId": "1", "title": "t", "kind": "execute",
            "status": "pending", "rawInput": ls(),
            "_meta": {"github.com/copilot": {"agentId": "agent-1"}},
        }))
        .await;
        peer.call_ended("1", "completed", 0).await;
    })
    .await;
    assert_eq!(turn.undecided, Vec::<String>::new());
}

#[tokio::test]
async fn the_cli_s_look_at_a_background_shell_needs_no_decision() {
    let (_, turn) = turn_of(AgentKind::Copilot, async |_, peer| {
        peer.call("1", "read", json!({"shellId": "0", "delay": 5})).await;
        peer.call_ended("1", "completed", 0).await;
    })
    .await;
    assert_eq!((turn.undecided.len(), turn.calls.len()), (0, 1));
    let (_, turn) = turn_of(AgentKind::Copilot, async |_, peer| {
        peer.call("1", "read", json!({"shellId": "0", "path": "/etc/shadow"})).await;
        peer.call_ended("1", "completed", 0).await;
        peer.expect("session/cancel").await;
    })
    .await;
    assert_eq!(turn.undecided.len(), 1, "a read of anything else does");
}

#[tokio::test]
async fn a_tool_call_outside_of_any_prompt_is_an_alarm() {
    let (_, turn) = turn(async |peer| {
        let call = json!({"sessionUpdate": "tool_call", "toolCallId": "1", "title": "sneak"});
        peer.update_of("another", call).await;
        peer.expect("session/cancel").await;
    })
    .await;
    assert_eq!(turn.undecided, ["a tool call outside a prompt: sneak"]);
}

#[tokio::test]
async fn each_ended_call_is_recorded_in_its_iteration() {
    let (scene, _) = turn(async |peer| {
        peer.ask("1", ls(), &EVERY).await;
        peer.outcome().await;
        peer.call("1", "execute", ls()).await;
        peer.call_ended("1", "completed", 2).await;
    })
    .await;
    let events = scene.events.events.lock().expect("events");
    let kinds: Vec<_> = events.iter().map(EventKind::name).collect();
    assert_eq!(kinds, ["tool_decided", "tool_finished"]);
    let EventKind::ToolFinished { iteration, call, .. } = &events[1] else { panic!("{events:?}") };
    assert_eq!((*iteration, call.exit, call.status), (7, Some(2), CallStatus::Completed));
}
