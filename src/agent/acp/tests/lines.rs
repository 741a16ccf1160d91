//! What the agent writes, line by line: noise, fragments, floods.

use serde_json::json;

use super::client_scene::{ClientScene, limits};
use super::peer::Peer;
use crate::agent::AgentKind;
use crate::agent::acp::updates::Updates;
use crate::model::{FaultClass, Turn, TurnEnd};

async fn turn(play: impl AsyncFnOnce(&mut Peer)) -> Turn {
    let (mut scene, mut peer) = ClientScene::new(AgentKind::Other);
    let (turn, ()) = tokio::join!(scene.turn_within(limits()), async {
        peer.hello().await;
        peer.open().await;
        let prompt = peer.prompted().await;
        play(&mut peer).await;
        peer.end_turn(&prompt).await;
    });
    turn.expect("recorded")
}

#[tokio::test]
async fn noise_between_frames_is_passed_by() {
    let turn = turn(async |peer| {
        peer.bytes(b"Welcome to the agent!\n\n   \n").await;
        peer.bytes(b"\xff\xfe\x00 not UTF-8\n").await;
        peer.bytes(&[b'['; 100_000]).await;
        peer.bytes(b"\n[{\"jsonrpc\":\"2.0\"}]\n{ \"level\": \"info\"\r\n").await;
        let chunk = json!({"sessionUpdate": "agent_message_chunk",
            "content": {"type": "text", "text": "?"}});
        let frame = json!({"jsonrpc": "2.0", "method": "session/update",
            "params": {"sessionId": "s", "update": chunk}});
        let frame = frame.to_string().replace("session/update", "session\\/update");
        let (before, after) = frame.split_once('?').expect("a mark");
        peer.bytes(&[before.as_bytes(), b"a\xffb", after.as_bytes(), b"\r\n"].concat()).await;
    })
    .await;
    assert_eq!((turn.end, turn.said.as_str()), (TurnEnd::EndTurn, "a\u{fffd}b"));
    assert_eq!(turn.fault, None);
}

#[tokio::test]
async fn what_stands_before_the_first_message_on_its_line_is_passed_by() {
    for before in [&b"\xef\xbb\xbf"[..], b"\x1b]0;agent\x07\x1b[?25l", b"Loading {config} ... "] {
        let (mut scene, mut peer) = ClientScene::new(AgentKind::Other);
        let (turn, ()) = tokio::join!(scene.turn(), async {
            peer.bytes(before).await;
            peer.hello().await;
            peer.open().await;
            let prompt = peer.prompted().await;
            // Later on, what looks like a message within a line is a log of one.
            peer.bytes(b"sent {\"jsonrpc\":\"2.0\",\"id\":9,\"result\":{}}\n").await;
            peer.say("here").await;
            peer.end_turn(&prompt).await;
        });
        assert_eq!((turn.end, turn.said.as_str()), (TurnEnd::EndTurn, "here"));
    }
}

#[tokio::test]
async fn an_agent_that_frames_its_messages_as_a_language_server_does_is_told_at_once() {
    let (mut scene, mut peer) = ClientScene::new(AgentKind::Other);
    let client = async { scene.connect().await.introduce().await.expect_err("not understood") };
    let (error, ()) = tokio::join!(client, async {
        peer.expect("initialize").await;
        peer.bytes(b"Content-Length: 20\r\n\r\n{\"jsonrpc\":\"2.0\"").await;
    });
    assert!(error.to_string().contains("`Content-Length`"), "{error}");
    assert_eq!(error.fault().map(|fault| fault.class), Some(FaultClass::Protocol));
}

#[tokio::test]
async fn half_of_a_surrogate_pair_is_replaced() {
    let turn = turn(async |peer| {
        let ask = r#"{"jsonrpc":"2.0","id":77,"method":"session/request_permission","params":{"sessionId":"s","toolCall":{"toolCallId":"1","title":"\ud83d","kind":"execute","rawInput":{"command":"ls \\\\ud83d \ude00"}},"options":[{"optionId":"yes","name":"\ud83d\ude00","kind":"allow_once"}]}}"#;
        peer.bytes(format!("{ask}\n").as_bytes()).await;
        assert_eq!(peer.outcome().await, (json!(77), json!({"outcome": "selected", "optionId": "yes"})));
        let said = r#"{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"a\udc00b \ud83d\ude00 \\\\ud83d"}}}}"#;
        peer.bytes(format!("{said}\n").as_bytes()).await;
    })
    .await;
    assert_eq!(turn.said, "a\u{fffd}b \u{1f600} \\\\ud83d");
    assert_eq!(turn.undecided, Vec::<String>::new());
}

async fn broken(play: impl AsyncFnOnce(&mut Peer)) -> String {
    let turn = turn(play).await;
    assert_eq!(turn.end, TurnEnd::Lost);
    let fault = turn.fault.expect("a fault");
    assert_eq!(fault.class, FaultClass::Protocol);
    fault.message
}

#[tokio::test]
async fn a_message_that_is_broken_ends_the_connection_instead_of_being_waited_for() {
    let said = broken(async |peer| {
        peer.bytes(b"{\"jsonrpc\":\"2.0\",\"id\":3,\"result\":{\"stop\n").await;
    })
    .await;
    assert!(said.contains("it sent a broken message"), "{said}");
    let two = "{\"jsonrpc\":\"2.0\",\"method\":\"a\"}{\"jsonrpc\":\"2.0\",\"method\":\"b\"}\n";
    broken(async |peer| peer.bytes(two.as_bytes()).await).await;
}

#[tokio::test]
async fn half_a_message_and_then_the_end_is_a_broken_one() {
    let (mut scene, mut peer) = ClientScene::new(AgentKind::Other);
    let (turn, ()) = tokio::join!(scene.turn(), async {
        peer.hello().await;
        peer.open().await;
        peer.prompted().await;
        peer.bytes(b"{\"jsonrpc\":\"2.0\",\"id\":3,\"res").await;
        drop(peer);
    });
    assert_eq!(turn.end, TurnEnd::Lost);
    assert_eq!(turn.fault.map(|fault| fault.class), Some(FaultClass::Protocol));
}

#[tokio::test]
async fn what_the_agent_says_when_we_hang_up_is_not_why() {
    let (scene, mut peer) = ClientScene::new(AgentKind::Other);
    let mut scene = scene.with_stderr(b"BrokenPipeError: [Errno 32] Broken pipe\n");
    let (turn, ()) = tokio::join!(scene.turn_within(limits()), async {
        peer.hello().await;
        peer.open().await;
        peer.prompted().await;
        peer.bytes(b"{\"jsonrpc\":\"2.0\",\"id\":3,\"result\":{\"stop\n").await;
    });
    let fault = turn.expect("recorded").fault.expect("a fault");
    assert_eq!(fault.class, FaultClass::Protocol);
}

#[tokio::test]
async fn requests_that_the_client_does_not_offer_are_refused_and_the_turn_goes_on() {
    let turn = turn(async |peer| {
        let params = json!({"sessionId": "s", "path": "/w/repo/x", "content": "y"});
        let method = "fs/write_text_file";
        let frame = json!({"jsonrpc": "2.0", "id": 99, "method": method, "params": params});
        peer.send(&frame).await;
        let answer = peer.next().await.expect("an answer");
        assert_eq!((&answer["id"], &answer["error"]["code"]), (&json!(99), &json!(-32601)));
    })
    .await;
    assert_eq!(turn.end, TurnEnd::EndTurn);
}

#[tokio::test]
async fn what_was_sent_before_the_answer_belongs_to_the_turn_however_much_it_is() {
    let turn = turn(async |peer| {
        for number in 0..20_000 {
            peer.say(&format!("{number:05} ")).await;
        }
    })
    .await;
    assert_eq!(turn.updates, 20_000);
    assert!(turn.said.ends_with("19998 19999 "), "{}", turn.said);
    assert!(turn.said.len() <= 32 << 10, "{}", turn.said.len());
}

#[test]
fn a_million_updates_need_no_more_memory_than_one() {
    let updates = Updates::default();
    updates.begin("s");
    let text = json!({"sessionId": "s", "update": {"sessionUpdate": "agent_message_chunk",
        "content": {"type": "text", "text": "x".repeat(40)}}})
    .to_string();
    let unknown = r#"{"sessionId":"s","update":{"sessionUpdate":"KIND"}}"#;
    for number in 0..1_000_000_u32 {
        updates.take(&text);
        if number % 1000 == 0 {
            updates.take(&unknown.replace("KIND", &format!("kind {number}")));
        }
    }
    updates.with("s", |seen| {
        assert_eq!(seen.updates, 1_001_000);
        assert!(seen.said.len() <= 32 << 10 && seen.said.capacity() <= 64 << 10);
        assert_eq!((seen.unknown.len(), seen.log.calls.len(), seen.words.error()), (16, 0, None));
        assert!(seen.words.held() <= 64 << 10, "{}", seen.words.held());
    });
}

#[test]
fn a_flood_of_calls_is_followed_to_a_limit_and_then_an_alarm() {
    let updates = Updates::default();
    updates.begin("s");
    let argument = "x".repeat(1 << 20);
    for number in 0..6000 {
        let id = format!("call-{number}");
        let content = if number < 200 { argument.as_str() } else { "" };
        let update = json!({"sessionUpdate": "tool_call", "toolCallId": id, "title": content,
            "status": "pending", "rawInput": {"command": content}});
        updates.take(&json!({"sessionId": "s", "update": update}).to_string());
    }
    updates.with("s", |seen| {
        assert_eq!((seen.log.begun, seen.log.calls.len()), (6000, 5000));
        assert!(seen.log.overrun().is_some());
        assert!(seen.log.held() <= 64 << 20, "{}", seen.log.held());
        assert!(
            seen.log.calls[150].input.is_null(),
            "what does not fit can be joined with nothing"
        );
        assert!(seen.log.calls.iter().all(|call| call.title.len() <= 200));
    });
}

#[test]
fn arguments_are_let_go_of_when_their_call_has_ended() {
    let updates = Updates::default();
    updates.begin("s");
    let call = json!({"sessionUpdate": "tool_call", "toolCallId": "1", "title": "t",
        "status": "completed", "rawInput": {"command": "x".repeat(1000)}});
    updates.take(&json!({"sessionId": "s", "update": call}).to_string());
    assert_eq!(updates.take_ended("s").len(), 1);
    assert_eq!(updates.take_ended("s").len(), 0, "each end is handed out once");
    updates.with("s", |seen| {
        assert_eq!(seen.log.held(), 0);
        assert!(seen.log.calls[0].input.is_null());
    });
}

#[test]
fn updates_of_sessions_that_are_not_prompted_keep_nothing() {
    let updates = Updates::default();
    updates.denied("never opened", "reason");
    updates.take(r#"{"sessionId":"x","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"t"}}}"#);
    assert_eq!(updates.stray(), None);
    updates.with("x", |seen| assert_eq!(seen.updates, 0));
}
