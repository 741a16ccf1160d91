//! How turns end: by an answer, by a limit, by the agent's death. Time stands still and
//! is moved by whoever waits, so nothing here takes as long as it says.

use std::time::Duration;

use serde_json::json;
use tokio::time::{Instant, sleep};
use tokio_util::sync::CancellationToken;

use super::client_scene::{ClientScene, limits, prompt, within};
use super::peer::Peer;
use crate::agent::{AgentKind, Closed, Session as _, TurnLimits};
use crate::model::{FaultClass, Stuck, Turn, TurnEnd};

async fn turn(kind: AgentKind, limits: TurnLimits, play: impl AsyncFnOnce(&mut Peer)) -> Turn {
    let (mut scene, mut peer) = ClientScene::new(kind);
    let (turn, ()) = tokio::join!(scene.turn_within(limits), async {
        peer.hello().await;
        peer.open().await;
        play(&mut peer).await;
    });
    turn.expect("recorded")
}

const IDLE: Duration = Duration::from_secs(60);

fn idle() -> TurnLimits {
    TurnLimits { idle: IDLE, total: 10 * IDLE, ..limits() }
}

#[tokio::test(start_paused = true)]
async fn silence_is_cancelled_after_the_idle_limit() {
    let begun = Instant::now();
    let turn = turn(AgentKind::Other, idle(), async |peer| {
        let prompt = peer.prompted().await;
        sleep(IDLE / 4).await;
        peer.say("at work").await;
        sleep(IDLE - Duration::from_secs(5)).await;
        peer.say("still there").await;
        peer.expect("session/cancel").await;
        let usage = json!({"inputTokens": 5, "outputTokens": 1, "totalTokens": 6});
        peer.answer(&prompt, json!({"stopReason": "cancelled", "usage": usage})).await;
    })
    .await;
    assert_eq!(turn.end, TurnEnd::Stuck(Stuck::Idle(60)));
    assert_eq!(turn.usage.map(|usage| usage.total), Some(6), "what it cost is known all the same");
    assert!(begun.elapsed() >= 2 * IDLE - Duration::from_secs(5), "{:?}", begun.elapsed());
}

#[tokio::test(start_paused = true)]
async fn a_turn_without_a_word_is_the_agent_s_failure_and_its_stderr_says_which() {
    for (stderr, answer, class) in [
        (&b"waiting\n"[..], None, FaultClass::Died),
        (b"Error: 429 Too Many Requests\n", None, FaultClass::RateLimit),
        (b"", Some("429 Too Many Requests"), FaultClass::RateLimit),
        (b"", Some("cancelled"), FaultClass::Died),
    ] {
        let (scene, mut peer) = ClientScene::new(AgentKind::Other);
        let mut scene = scene.with_stderr(stderr);
        let begun = Instant::now();
        let (turn, ()) = tokio::join!(scene.turn_within(idle()), async {
            peer.hello().await;
            peer.open().await;
            let prompt = peer.prompted().await;
            let commands =
                json!({"sessionUpdate": "available_commands_update", "availableCommands": []});
            peer.update(commands).await;
            peer.expect("session/cancel").await;
            if let Some(message) = answer {
                peer.refuse(&prompt, json!({"code": -32603, "message": message})).await;
            }
        });
        let turn = turn.expect("recorded");
        assert_eq!(turn.end, TurnEnd::Lost);
        assert_eq!(turn.fault.map(|fault| fault.class), Some(class), "{answer:?}");
        assert!(begun.elapsed() < IDLE / 2, "three of them fit into one limit");
    }
}

/// Codex tells of a failed request beside its text, and waits for as long as the provider says.
#[tokio::test(start_paused = true)]
async fn a_failed_request_that_nothing_follows_is_the_turn_s() {
    for goes_on in [false, true] {
        let turn = turn(AgentKind::Other, idle(), async |peer| {
            let prompt = peer.prompted().await;
            peer.say("Warning: no metadata").await;
            let error = json!({"message": "Reconnecting... 1/5", "willRetry": true,
                "additionalDetails": "exceeded retry limit, last status: 429 Too Many Requests"});
            let meta = json!({"codex": {"error": error}});
            peer.update(json!({"sessionUpdate": "session_info_update", "_meta": meta})).await;
            if goes_on {
                peer.say("at work").await;
            }
            peer.expect("session/cancel").await;
            peer.end_turn(&prompt).await;
        })
        .await;
        let class = (!goes_on).then_some(FaultClass::RateLimit);
        assert_eq!(turn.fault.map(|fault| fault.class), class);
        let idle = TurnEnd::Stuck(Stuck::Idle(60));
        assert_eq!(turn.end, if goes_on { idle } else { TurnEnd::Lost });
    }
}

#[tokio::test(start_paused = true)]
async fn the_idle_clock_stands_still_while_a_call_is_pending_and_the_total_one_does_not() {
    let turn = turn(AgentKind::Other, idle(), async |peer| {
        let prompt = peer.prompted().await;
        peer.call("1", "read", json!({})).await;
        sleep(5 * IDLE).await;
        peer.call_ended("1", "completed", 0).await;
        sleep(IDLE / 2).await;
        peer.call("2", "read", json!({})).await;
        peer.expect("session/cancel").await;
        peer.end_turn(&prompt).await;
    })
    .await;
    assert_eq!(turn.end, TurnEnd::Stuck(Stuck::TooLong(600)));
}

#[tokio::test(start_paused = true)]
async fn a_permission_request_is_a_sign_of_life() {
    let turn = turn(AgentKind::Other, idle(), async |peer| {
        let prompt = peer.prompted().await;
        peer.say("at work").await;
        for _ in 0..3 {
            sleep(IDLE - Duration::from_secs(5)).await;
            peer.ask("1", json!({"command": "ls"}), &["allow_once"]).await;
            peer.outcome().await;
        }
        peer.end_turn(&prompt).await;
    })
    .await;
    assert_eq!(turn.end, TurnEnd::EndTurn);
}

#[tokio::test(start_paused = true)]
async fn an_agent_that_does_not_hear_the_cancel_is_given_up_after_the_grace() {
    let (mut scene, mut peer) = ClientScene::new(AgentKind::Other);
    let client = async {
        let (_connection, mut session) = scene.session().await;
        let limits = idle();
        let turn = session.prompt(&prompt(), &limits, &CancellationToken::new()).await;
        (turn.expect("recorded"), Box::new(session).close(Duration::from_secs(5)).await)
    };
    let agent = async {
        peer.hello().await;
        peer.open().await;
        peer.prompted().await;
        peer.say("on my way").await;
        peer.expect("session/cancel").await;
        peer.expect("$/cancel_request").await;
        let (id, _) = peer.expect("session/close").await;
        peer.answer(&id, json!({})).await;
        std::future::pending::<()>().await;
    };
    let (turn, closed) = tokio::select! {
        ended = client => ended,
        () = agent => unreachable!("it waits for ever"),
    };
    assert_eq!(turn.end, TurnEnd::Stuck(Stuck::Idle(60)));
    assert_eq!(
        closed,
        Closed::Unanswered,
        "it may still be at work, whatever it says of the session"
    );
}

#[tokio::test(start_paused = true)]
async fn a_session_that_is_not_let_go_of_is_told_and_one_that_cannot_be_closed_is_not() {
    for (answer, expected) in [(false, Closed::Unanswered), (true, Closed::Confirmed)] {
        let (mut scene, mut peer) = ClientScene::new(AgentKind::Other);
        let client = async {
            let (_connection, session) = scene.session().await;
            Box::new(session).close(Duration::from_secs(5)).await
        };
        let agent = async {
            peer.hello().await;
            peer.open().await;
            let (id, _) = peer.expect("session/close").await;
            if answer {
                peer.refuse(&id, json!({"code": -32601, "message": "Method not found"})).await;
            }
            std::future::pending::<()>().await;
        };
        let closed = tokio::select! {
            closed = client => closed,
            () = agent => unreachable!("it waits for ever"),
        };
        assert_eq!(closed, expected);
    }
}

#[tokio::test]
async fn other_stop_reasons_keep_their_names_and_unknown_ones_are_errors() {
    for reason in ["max_tokens", "refusal", "max_turn_requests"] {
        let turn = turn(AgentKind::Other, limits(), async |peer| {
            let prompt = peer.prompted().await;
            peer.answer(&prompt, json!({ "stopReason": reason })).await;
        })
        .await;
        assert_eq!(turn.end, TurnEnd::Other(reason.to_owned()));
        assert_eq!(turn.fault, None);
    }
    let turn = turn(AgentKind::Other, limits(), async |peer| {
        let prompt = peer.prompted().await;
        peer.answer(&prompt, json!({"stopReason": "invented"})).await;
    })
    .await;
    assert_eq!(turn.end, TurnEnd::Other("error".to_owned()));
    assert!(turn.fault.is_some(), "what is not understood is never a finished turn");
}

#[tokio::test]
async fn unknown_updates_are_kept_by_name_and_count_as_life() {
    let turn = turn(AgentKind::Other, limits(), async |peer| {
        let prompt = peer.prompted().await;
        for kind in ["telepathy", "telepathy", "dream"] {
            peer.update(json!({"sessionUpdate": kind, "deep": [[[1]]]})).await;
        }
        peer.update(json!({"noKindAtAll": true})).await;
        peer.say("done").await;
        peer.end_turn(&prompt).await;
    })
    .await;
    assert_eq!(turn.unknown, ["dream", "no kind", "telepathy"]);
    assert_eq!((turn.updates, turn.end), (5, TurnEnd::EndTurn));
}

#[tokio::test]
async fn the_same_failure_again_and_again_is_stuck() {
    let turn = turn(AgentKind::Copilot, limits(), async |peer| {
        let prompt = peer.prompted().await;
        // Arguments that were no JSON: such calls end before any hook sees them.
        for call in ["1", "2", "3"] {
            peer.call(call, "execute", json!({})).await;
            peer.call_ended(call, "failed", 1).await;
        }
        peer.expect("session/cancel").await;
        peer.end_turn(&prompt).await;
    })
    .await;
    let repeating = Stuck::Repeating { command: "{}".to_owned(), times: 3 };
    assert_eq!(turn.end, TurnEnd::Stuck(repeating));
}

#[tokio::test]
async fn the_same_denied_call_again_and_again_is_stuck_even_after_a_failure_of_another() {
    let (mut scene, mut peer) = ClientScene::new(AgentKind::Other);
    scene.gate.rest();
    let (turn, ()) = tokio::join!(scene.turn(), async {
        peer.hello().await;
        peer.open().await;
        let prompt = peer.prompted().await;
        peer.call("0", "read", json!({"path": "/none"})).await;
        peer.call_ended("0", "failed", 1).await;
        for description in ["try", "try again", "please"] {
            let input = json!({"command": "curl x", "description": description});
            peer.ask("1", input, &["allow_once", "reject_once"]).await;
            peer.outcome().await;
        }
        peer.expect("session/cancel").await;
        peer.end_turn(&prompt).await;
    });
    let repeating = Stuck::Repeating { command: "curl x".to_owned(), times: 3 };
    assert_eq!((turn.end, turn.denied), (TurnEnd::Stuck(repeating), 3));
}

#[tokio::test]
async fn too_many_calls_are_stuck_whether_they_are_announced_or_only_asked_for() {
    let announced = turn(AgentKind::Other, limits(), async |peer| {
        let prompt = peer.prompted().await;
        for call in 0..51 {
            peer.call(&call.to_string(), "read", json!({})).await;
        }
        peer.expect("session/cancel").await;
        peer.end_turn(&prompt).await;
    })
    .await;
    assert_eq!(announced.end, TurnEnd::Stuck(Stuck::TooManyCalls(51)));
    let asked = turn(AgentKind::Other, limits(), async |peer| {
        let prompt = peer.prompted().await;
        for call in 0..101 {
            peer.ask(&call.to_string(), json!({"command": "ls"}), &["allow_once"]).await;
        }
        for _ in 0..101 {
            peer.outcome().await;
        }
        peer.expect("session/cancel").await;
        peer.end_turn(&prompt).await;
    })
    .await;
    assert_eq!(asked.end, TurnEnd::Stuck(Stuck::TooManyCalls(51)));
}

#[tokio::test]
async fn the_agent_s_death_ends_the_turn_and_keeps_what_was_seen() {
    let (scene, mut peer) = ClientScene::new(AgentKind::Other);
    let mut scene = scene.with_stderr(b"starting\nError: out of memory\n");
    let (turn, ()) = tokio::join!(scene.turn(), async {
        peer.hello().await;
        peer.open().await;
        peer.prompted().await;
        peer.say("I begin").await;
        // In one go, so that the death is what the client wakes up to.
        let call = json!({"sessionUpdate": "tool_call", "toolCallId": "1", "title": "t",
            "kind": "execute", "status": "completed", "rawInput": {"command": "rm x"}});
        peer.update(call).await;
        drop(peer);
    });
    assert_eq!((turn.said.as_str(), turn.end), ("I begin", TurnEnd::Lost));
    let class = turn.fault.map(|fault| fault.class);
    assert_eq!(class, Some(FaultClass::Unasked), "a new process would not ask, either");
}

#[tokio::test]
async fn a_dead_agent_s_last_words_change_its_class_only_if_they_explain_the_death() {
    for (words, class) in [
        (&b"Error: ENOENT: no such file or directory, open 'x'\n"[..], FaultClass::Died),
        (b"EACCES: permission denied, open 'x'\n", FaultClass::Died),
        (b"Error: No authentication information found.\n", FaultClass::Auth),
        (b"Error: 429 Too Many Requests\nENOENT: no such file or directory\n", FaultClass::Died),
        (
            b"ENOENT: no such file or directory\nError: 429 Too Many Requests\n",
            FaultClass::RateLimit,
        ),
    ] {
        let (scene, mut peer) = ClientScene::new(AgentKind::Other);
        let mut scene = scene.with_stderr(words);
        let (turn, ()) = tokio::join!(scene.turn(), async {
            peer.hello().await;
            peer.open().await;
            peer.prompted().await;
            drop(peer);
        });
        let words = String::from_utf8_lossy(words);
        assert_eq!(turn.end, TurnEnd::Lost, "{words}");
        assert_eq!(turn.fault.map(|fault| fault.class), Some(class), "{words}");
    }
}

#[tokio::test]
async fn a_death_while_nothing_is_prompted_is_told_with_the_last_words() {
    for step in ["initialize", "session/new"] {
        let (scene, mut peer) = ClientScene::new(AgentKind::Other);
        let mut scene = scene.with_stderr(b"Error: no such model\n");
        let client = async {
            let connection = scene.connect().await;
            match connection.introduce().await {
                Ok(_) => connection.open().await.err().expect("dead"),
                Err(error) => error,
            }
        };
        let agent = async {
            if step == "session/new" {
                peer.hello().await;
            }
            peer.expect(step).await;
            drop(peer);
        };
        let (error, ()) = within(async { tokio::join!(client, agent) }).await;
        let said = format!(
            "the agent was lost during {step}: its process ended; its last output: Error: no such \
             model"
        );
        assert_eq!(error.to_string(), said);
        assert!(error.is_final());
    }
}

#[tokio::test(start_paused = true)]
async fn an_agent_that_never_answers_is_given_up() {
    let (mut scene, _peer) = ClientScene::new(AgentKind::Other);
    let connection = scene.connect().await;
    let error = connection.introduce().await.expect_err("silent");
    let said = "initialize was not answered within 90 s (does the command speak ACP on its standard \
                streams?)";
    assert_eq!(error.to_string(), said);
    assert!(error.is_final());
}

#[tokio::test]
async fn a_protocol_that_is_not_ours_is_refused() {
    let (mut scene, mut peer) = ClientScene::new(AgentKind::Other);
    let connection = scene.connect().await;
    let (error, ()) = tokio::join!(connection.introduce(), async {
        let (id, _) = peer.expect("initialize").await;
        peer.answer(&id, json!({"protocolVersion": 9})).await;
    });
    assert!(error.expect_err("refused").to_string().contains("protocol"));
}

/// Tokens were spent whether or not the agent lived to tell of them.
#[tokio::test]
async fn the_tokens_of_a_turn_without_an_answer_are_those_of_the_cli_s_records() {
    let home = tempfile::tempdir().expect("home");
    let folder = home.path().join("session-state/s");
    std::fs::create_dir_all(&folder).expect("folder");
    let usage = json!({"inputTokens": 100, "outputTokens": 10});
    let line = json!({"type": "session.usage_record", "data": {"usage": usage}}).to_string();
    std::fs::write(folder.join("events.jsonl"), line + "\n").expect("records");
    let (mut scene, mut peer) = ClientScene::new(AgentKind::Copilot);
    scene.home = Some(home.path().to_owned());
    let (turn, ()) = tokio::join!(scene.turn(), async move {
        peer.hello().await;
        peer.open().await;
        let _prompt = peer.prompted().await;
        drop(peer);
    });
    assert_eq!((turn.end, turn.usage.map(|usage| usage.total)), (TurnEnd::Lost, Some(110)));
}

/// Its limit of credits is soft: it forbids tools, or models, and ends the turn.
#[tokio::test]
async fn a_turn_that_the_cli_ends_for_its_credits_is_cut_off_if_they_are_limited() {
    let skipped = "Tool execution was skipped because the session limits were reached.";
    let reached = "Session limit reached. Increase or unset the session limit to continue.";
    let tool = json!({"success": false, "error": {"message": skipped}});
    let model = json!({"errorType": "query", "message": reached});
    // What a tool printed is no word of the CLI's.
    let printed = json!({"success": true, "result": {"content": skipped}});
    for (kind, data, credits, cut) in [
        ("tool.execution_complete", &tool, Some(30_000), true),
        ("session.error", &model, Some(30_000), true),
        ("tool.execution_complete", &tool, None, false),
        ("tool.execution_complete", &printed, Some(30_000), false),
    ] {
        let home = tempfile::tempdir().expect("home");
        let folder = home.path().join("session-state/s");
        std::fs::create_dir_all(&folder).expect("folder");
        let line = json!({"type": kind, "data": data}).to_string() + "\n";
        std::fs::write(folder.join("events.jsonl"), line).expect("records");
        let (mut scene, mut peer) = ClientScene::new(AgentKind::Copilot);
        scene.home = Some(home.path().to_owned());
        let limits = TurnLimits { credits, ..limits() };
        let (turn, ()) = tokio::join!(scene.turn_within(limits), async {
            peer.hello().await;
            peer.open().await;
            let prompt = peer.prompted().await;
            peer.end_turn(&prompt).await;
        });
        let turn = turn.expect("recorded");
        let end = if cut { TurnEnd::Interrupted } else { TurnEnd::EndTurn };
        assert_eq!((turn.end, turn.fault), (end, None), "{kind} {data} {credits:?}");
    }
}

#[tokio::test]
async fn words_that_look_like_an_error_are_believed_only_where_nothing_speaks_against_them() {
    let say = async |peer: &mut Peer, words: &str| {
        let prompt = peer.prompted().await;
        peer.say(words).await;
        peer.end_turn(&prompt).await;
    };
    let record = |kind: &str| {
        let home = tempfile::tempdir().expect("home");
        let folder = home.path().join("session-state/s");
        std::fs::create_dir_all(&folder).expect("folder");
        let data = json!({"errorType": "rate_limit", "message": "slow down", "statusCode": 429});
        let line = json!({"type": kind, "data": data}).to_string() + "\n";
        std::fs::write(folder.join("events.jsonl"), line).expect("records");
        home
    };
    let (refused, limited) = ("Error: connection refused", "You have hit your rate limit.");
    for (words, recorded, expected) in [
        (refused, None, Some(FaultClass::Network)),
        (refused, Some("assistant.message"), None),
        (refused, Some("session.error"), Some(FaultClass::RateLimit)),
        // A provider's answer may be nothing but that; no work ends so.
        (limited, Some("assistant.message"), Some(FaultClass::RateLimit)),
        (limited, None, Some(FaultClass::RateLimit)),
    ] {
        let (mut scene, mut peer) = ClientScene::new(AgentKind::Copilot);
        let home = recorded.map(record);
        scene.home = home.as_ref().map(|home| home.path().to_owned());
        let (turn, ()) = tokio::join!(scene.turn(), async {
            peer.hello().await;
            peer.open().await;
            say(&mut peer, words).await;
        });
        assert_eq!(turn.fault.map(|fault| fault.class), expected, "{recorded:?}");
    }
    let other = turn(AgentKind::Other, limits(), async |peer| {
        let prompt = peer.prompted().await;
        peer.say("Error: my assertion does not hold").await;
        peer.end_turn(&prompt).await;
    })
    .await;
    assert_eq!(other.fault, None);
}
