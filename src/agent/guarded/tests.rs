//! The hooks' socket, asked as a hook process asks it.

use std::path::PathBuf;

use serde_json::{Value, json};

use super::*;
use crate::agent::Focus;
use crate::agent::recorded_events::RecordedEvents;
use crate::guard::{OsFiles, Policy, Redactor};
use crate::model::{EventKind, HookType, Record};

struct Bench {
    _folder: tempfile::TempDir,
    socket: PathBuf,
    events: Arc<RecordedEvents>,
    gate: Arc<Gate>,
    _server: GuardServer,
}

fn bench(greeting: Greeting) -> Bench {
    bench_with(greeting, None)
}

fn bench_with(greeting: Greeting, stops: Option<mpsc::Sender<StopHook>>) -> Bench {
    let folder = tempfile::tempdir().expect("folder");
    let socket = folder.path().join("guard.sock");
    let events = Arc::<RecordedEvents>::default();
    let record: Arc<dyn Record> = Arc::clone(&events) as _;
    let redactor = Arc::new(Redactor::new(Vec::<String>::new()));
    let gate = Arc::new(Gate::new(record, redactor, Box::new(OsFiles)));
    let policy = Arc::new(Policy::new("/w/repo", "/w/repo/tasks/demo"));
    gate.focus(Focus { iteration: 1, policy }).expect("focus");
    let server =
        GuardServer::start(&socket, Arc::clone(&gate), greeting, stops, AgentKind::Copilot)
            .expect("listening");
    Bench { _folder: folder, socket, events, gate, _server: server }
}

impl Bench {
    /// What a hook process is told, on a thread of its own as in a process of its own.
    async fn ask(&self, event: &'static str, input: Vec<u8>) -> Value {
        let socket = self.socket.clone();
        let asked = tokio::task::spawn_blocking(move || hooks::ask(&socket, event, &input));
        let reply = asked.await.expect("no panic").expect("an answer");
        serde_json::from_str(&reply).expect("JSON")
    }

    async fn call(&self, command: &str) -> Value {
        let input = json!({"sessionId": "s", "toolName": "bash", "toolArgs": {"command": command}});
        self.ask("preToolUse", input.to_string().into_bytes()).await
    }

    fn decisions(&self) -> usize {
        self.events.events.lock().expect("events").len()
    }
}

fn denied(reply: &Value) -> bool {
    reply["permissionDecision"] == "deny"
}

#[tokio::test]
async fn an_allowed_call_is_left_to_the_second_layer_and_recorded() {
    let bench = bench(Greeting::Welcome);
    assert_eq!(bench.call("pwd").await, json!({}));
    let events = bench.events.events.lock().expect("events");
    let [EventKind::ToolDecided { asked, session, tool, .. }] = &events[..] else {
        panic!("{events:?}")
    };
    assert_eq!((*asked, session.as_str(), tool.as_str()), (Asked::Hook, "s", "bash"));
}

#[tokio::test]
async fn a_denied_call_carries_its_reason() {
    let bench = bench(Greeting::Welcome);
    bench.gate.rest();
    let reply = bench.call("pwd").await;
    assert!(denied(&reply), "{reply}");
    assert_eq!(reply["permissionDecisionReason"], "Nothing ran: the turn is over.");
}

#[tokio::test]
async fn what_is_no_question_is_denied() {
    let bench = bench(Greeting::Welcome);
    for input in ["", "no json", "{}", r#"{"toolName":"bash","toolArgs":{"command":"pwd"}}"#] {
        let reply = bench.ask("preToolUse", input.as_bytes().to_vec()).await;
        assert!(denied(&reply), "{input}: {reply}");
    }
    assert!(denied(&bench.ask("preCompact", b"{}".to_vec()).await), "an unknown hook");
    assert!(denied(&bench.ask("", b"{}".to_vec()).await), "no hook at all");
    assert_eq!(bench.decisions(), 0, "nothing of it reached the guard");
}

#[tokio::test]
async fn a_question_that_is_too_large_is_denied() {
    let bench = bench(Greeting::Welcome);
    let socket = bench.socket.clone();
    let asked = tokio::task::spawn_blocking(move || {
        hooks::ask(&socket, "preToolUse", &vec![b' '; 33 << 20])
    });
    // The server stops reading at its limit, so that the hook may not get its answer; then
    // it denies by itself.
    match asked.await.expect("no panic") {
        Ok(reply) => assert!(denied(&serde_json::from_str(&reply).expect("JSON")), "{reply}"),
        Err(error) => assert_eq!(error.socket, bench.socket),
    }
    assert_eq!(bench.decisions(), 0);
}

#[tokio::test]
async fn a_greeting_puts_the_guard_in_force_for_its_session_alone() {
    let bench = bench(Greeting::Welcome);
    let reply = bench.ask("userPromptSubmitted", br#"{"sessionId":"s"}"#.to_vec()).await;
    assert_eq!(reply, json!({}));
    assert!(bench.gate.in_force("s") && !bench.gate.in_force("t"));
    bench.ask("userPromptSubmitted", b"nonsense".to_vec()).await;
    assert!(!bench.gate.in_force("") && !bench.gate.in_force("nonsense"));
}

#[tokio::test]
async fn a_prompt_that_only_looks_for_the_guard_is_turned_back() {
    let bench = bench(Greeting::TurnBack);
    let reply = bench.ask("userPromptSubmitted", br#"{"sessionId":"s"}"#.to_vec()).await;
    assert_eq!(reply["decision"], "block");
    assert!(bench.gate.in_force("s"));
}

#[tokio::test]
async fn an_error_of_the_cli_is_kept_for_its_session() {
    let bench = bench(Greeting::Welcome);
    let input =
        json!({"sessionId": "s", "errorContext": "model_call", "error": {"message": "429"}});
    assert_eq!(bench.ask("errorOccurred", input.to_string().into_bytes()).await, json!({}));
    assert_eq!(bench.ask("errorOccurred", b"nonsense".to_vec()).await, json!({}));
    let reports = bench.gate.reports("s");
    assert_eq!(reports.len(), 1);
    assert_eq!((reports[0].context.as_str(), reports[0].message.as_str()), ("model_call", "429"));
}

#[tokio::test]
async fn a_result_is_audited_with_the_decision_it_belongs_to() {
    let bench = bench(Greeting::Welcome);
    assert_eq!(bench.call("pwd").await, json!({}));
    let told = json!({
        "sessionId": "s", "toolName": "bash", "toolArgs": {"command": "pwd"},
        "toolResult": {"resultType": "success", "textResultForLlm": "/w/repo"},
    });
    for _ in 0..2 {
        let reply = bench.ask("postToolUse", told.to_string().into_bytes()).await;
        assert_eq!(reply, json!({}));
    }
    let entries = bench.events.audited.lock().expect("entries");
    let [before, after, again] = &entries[..] else { panic!("{entries:?}") };
    assert_eq!((before.hook, after.hook), (HookType::PreToolUse, HookType::PostToolUse));
    assert!(before.decision.is_some() && after.decision.is_none());
    assert_eq!(after.tool.as_deref(), Some("bash"));
    assert_eq!(after.output, Some("/w/repo".into()));
    assert!(after.elapsed.is_some(), "since it was allowed");
    assert_eq!(again.elapsed, None, "one decision counts for one call");
}

#[tokio::test]
async fn what_only_reports_is_told_to_go_on_whatever_it_says() {
    let bench = bench(Greeting::Welcome);
    for event in ["permissionRequest", "postToolUse", "postToolUseFailure", "errorOccurred"] {
        for input in ["", "nonsense", "{}", r#"{"sessionId":7}"#] {
            assert_eq!(bench.ask(event, input.into()).await, json!({}), "{event} {input}");
        }
    }
    for event in ["agentStop", "sessionEnd"] {
        assert_eq!(bench.ask(event, b"nonsense".to_vec()).await, json!({}), "{event}");
    }
    let end = br#"{"sessionId":"s","reason":"complete"}"#;
    assert_eq!(bench.ask("sessionEnd", end.to_vec()).await, json!({}));
    bench.gate.close(&SessionId::new("s"));
    let entries = bench.events.audited.lock().expect("entries");
    let closed = entries.last().expect("an entry");
    assert_eq!(closed.hook, HookType::SessionEnd);
    assert_eq!(closed.output, Some(json!({"reason": "complete"})));
    assert_eq!(bench.decisions(), 0, "nothing was decided");
}

const STOP: &[u8] = br#"{"sessionId":"s","stopReason":"end_turn"}"#;

#[tokio::test]
async fn whoever_runs_the_loop_says_whether_a_turn_may_end() {
    let (stops, mut asked) = mpsc::channel(1);
    let bench = bench_with(Greeting::Welcome, Some(stops));
    let answers = [Some("the check is red".to_owned()), None];
    let loop_runs = tokio::spawn(async move {
        for answer in answers {
            let stop: StopHook = asked.recv().await.expect("a question");
            assert_eq!(stop.session.as_str(), "s");
            stop.answer.send(answer).expect("somebody waits");
        }
        asked
    });
    let reply = bench.ask("agentStop", STOP.to_vec()).await;
    assert_eq!(reply, json!({"decision": "block", "reason": "the check is red"}));
    assert_eq!(bench.ask("agentStop", STOP.to_vec()).await, json!({}));
    let mut asked = loop_runs.await.expect("the loop");
    let other = br#"{"sessionId":"s","stopReason":"error"}"#;
    assert_eq!(bench.ask("agentStop", other.to_vec()).await, json!({}));
    assert!(asked.try_recv().is_err(), "a turn that failed is not asked about");
    drop(asked);
    assert_eq!(bench.ask("agentStop", STOP.to_vec()).await, json!({}), "nobody runs the loop");
}

#[tokio::test(start_paused = true)]
async fn a_turn_ends_when_nobody_says_in_time_whether_it_may() {
    let (stops, mut asked) = mpsc::channel(1);
    let bench = bench_with(Greeting::Welcome, Some(stops.clone()));
    let held = tokio::spawn(async move { asked.recv().await });
    assert_eq!(stop(&bench.gate, STOP, Some(stops)).await, "{}");
    assert!(held.await.expect("the loop").is_some(), "it was asked, and did not answer");
}
