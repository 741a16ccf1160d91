//! `ralph-copilot hook`, the process that the CLI starts for every tool call: whatever goes
//! wrong is a denial, in its output and in its exit code.

use std::io::{Read, Write};
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::thread;

use ralph_copilot::agent::{AgentKind, Gate, Greeting, GuardServer};
use ralph_copilot::guard::{OsFiles, Redactor};
use ralph_copilot::model::{EventKind, Record, RecordError};
use serde_json::{Value, json};

const CALL: &[u8] = br#"{"sessionId":"s","toolName":"bash","toolArgs":{"command":"ls"}}"#;

/// Runs the hook with this input; gives its exit code and its output.
fn hook(socket: &Path, input: &[u8]) -> (Option<i32>, String) {
    hook_of("preToolUse", socket, input)
}

fn hook_of(event: &str, socket: &Path, input: &[u8]) -> (Option<i32>, String) {
    let mut child = Command::new(env!("CARGO_BIN_EXE_ralph-copilot"))
        .args(["hook", event, "--socket"])
        .arg(socket)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("started");
    let mut stdin = child.stdin.take().expect("stdin");
    // A hook that cannot connect may be gone before it has read everything.
    drop(stdin.write_all(input));
    drop(stdin);
    let output = child.wait_with_output().expect("ended");
    (output.status.code(), String::from_utf8(output.stdout).expect("UTF-8"))
}

#[track_caller]
fn assert_denied((code, output): (Option<i32>, String)) {
    assert_eq!(code, Some(2), "{output}");
    let answer: Value = serde_json::from_str(&output).expect("one JSON object");
    assert_eq!(answer["permissionDecision"], "deny", "{output}");
    let reason = answer["permissionDecisionReason"].as_str().expect("a reason");
    assert!(reason.starts_with("Nothing ran: "), "{reason}");
}

/// A runner that answers one question with this, and gives the question.
fn runner(socket: &Path, answer: &'static str) -> thread::JoinHandle<String> {
    let listener = UnixListener::bind(socket).expect("socket");
    thread::spawn(move || {
        let (mut stream, _) = listener.accept().expect("a hook");
        let mut question = String::new();
        stream.read_to_string(&mut question).expect("question");
        stream.write_all(answer.as_bytes()).expect("answer");
        question
    })
}

#[test]
fn the_runner_is_asked_and_its_answer_is_repeated() {
    let folder = tempfile::tempdir().expect("folder");
    let socket = folder.path().join("s");
    let runner = runner(&socket, "{}");
    assert_eq!(hook(&socket, CALL), (Some(0), "{}".to_owned()));
    let question = runner.join().expect("runner");
    assert_eq!(question.as_bytes(), [b"preToolUse\n", CALL].concat());
}

#[test]
fn without_a_runner_it_denies() {
    let folder = tempfile::tempdir().expect("folder");
    assert_denied(hook(&folder.path().join("nobody"), CALL));
}

#[test]
fn a_hook_that_only_reports_holds_nothing_up() {
    let folder = tempfile::tempdir().expect("folder");
    for event in ["postToolUse", "permissionRequest", "errorOccurred", "agentStop", "sessionEnd"] {
        let ended = hook_of(event, &folder.path().join("nobody"), CALL);
        assert_eq!(ended, (Some(0), "{}".to_owned()), "{event}");
    }
    for event in ["userPromptSubmitted", "preCompact"] {
        assert_denied(hook_of(event, &folder.path().join("nobody"), CALL));
    }
}

#[test]
fn a_runner_that_died_is_a_denial() {
    let folder = tempfile::tempdir().expect("folder");
    let socket = folder.path().join("s");
    drop(UnixListener::bind(&socket).expect("socket"));
    assert_denied(hook(&socket, CALL));
}

#[test]
fn a_runner_that_closes_without_an_answer_is_a_denial() {
    let folder = tempfile::tempdir().expect("folder");
    let socket = folder.path().join("s");
    let runner = runner(&socket, "");
    assert_denied(hook(&socket, CALL));
    runner.join().expect("runner");
}

#[test]
fn a_runner_that_never_answers_is_a_denial() {
    let folder = tempfile::tempdir().expect("folder");
    let socket = folder.path().join("s");
    let listener = UnixListener::bind(&socket).expect("socket");
    // Nobody accepts: the question stays in the socket's queue.
    assert_denied(hook(&socket, CALL));
    drop(listener);
}

#[test]
fn a_question_of_megabytes_arrives_whole() {
    let folder = tempfile::tempdir().expect("folder");
    let socket = folder.path().join("s");
    let runner = runner(&socket, "{}");
    let call = json!({ "toolName": "create", "toolArgs": { "file_text": "x".repeat(4 << 20) } });
    assert_eq!(hook(&socket, call.to_string().as_bytes()), (Some(0), "{}".to_owned()));
    assert_eq!(runner.join().expect("runner").len(), "preToolUse\n".len() + call.to_string().len());
}

/// Nothing is decided here that could be recorded.
struct Nowhere;

impl Record for Nowhere {
    fn record(&self, kind: EventKind) -> Result<(), RecordError> {
        panic!("recorded {kind:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_no_tool_call_is_denied_by_the_real_runner() {
    let folder = tempfile::tempdir().expect("folder");
    let socket = folder.path().join("s");
    let redactor = Arc::new(Redactor::new(Vec::<String>::new()));
    let gate = Arc::new(Gate::new(Arc::new(Nowhere), redactor, Box::new(OsFiles)));
    let _server = GuardServer::start(&socket, gate, Greeting::Welcome, None, AgentKind::Copilot)
        .expect("server");
    for input in [
        &b""[..],
        b"not json",
        b"[]",
        br#"{"toolArgs":{"command":"ls"}}"#,
        br#"{"toolName":"bash","toolArgs":"ls"}"#,
        b"\xff\xfe",
    ] {
        let (socket, input) = (socket.clone(), input.to_vec());
        let asked = tokio::task::spawn_blocking(move || hook(&socket, &input));
        let (code, output) = asked.await.expect("asked");
        assert_eq!(code, Some(0), "the answer was delivered");
        let answer: Value = serde_json::from_str(&output).expect("one JSON object");
        assert_eq!(answer["permissionDecision"], "deny", "{output}");
    }
}
