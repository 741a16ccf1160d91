//! What the runner must survive: each misbehaviour, as it looks from outside.

use std::path::{Path, PathBuf};
use std::process::Command;

use agent_client_protocol::v1::schema::SessionNotification;
use ralph_copilot::agent::scripted::{AgentExit, AgentScript};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, BufReader};
use tokio::net::unix::pipe::Receiver;

use crate::client::{Client, allow, reject, within};
use crate::repo::repository;

/// A named pipe: whoever reads it waits for the writer, so that no test has to sleep.
fn pipe(folder: &Path, name: &str) {
    let made = Command::new("mkfifo").arg(folder.join(name)).status().expect("mkfifo runs");
    assert!(made.success());
}

/// Its other end, once somebody writes; from then on no thread is held by it.
async fn reader(path: PathBuf) -> BufReader<Receiver> {
    let file = tokio::fs::File::open(path).await.expect("a pipe").into_std().await;
    BufReader::new(Receiver::from_file(file).expect("a pipe"))
}

#[tokio::test]
async fn a_prompt_without_a_turn_ends_with_nothing_done() {
    let repo = repository();
    let mut client = Client::start("{}");
    client.open(repo.path()).await;
    assert_eq!(client.prompt("x").await["result"], json!({"stopReason": "end_turn"}));
    assert!(client.updates("tool_call").is_empty());
}

#[tokio::test]
async fn a_hanging_turn_ends_when_it_is_cancelled() {
    let repo = repository();
    let mut client = Client::start("turns:\n- steps:\n  - hang\n");
    client.open(repo.path()).await;
    let prompt = client.send_prompt("x").await;
    client.cancel().await;
    let answer = client.wait(prompt).await.expect("an answer");
    assert_eq!(answer["result"]["stopReason"], "cancelled");
}

#[tokio::test]
async fn a_deaf_agent_does_not_hear_the_cancel() {
    let repo = repository();
    let mut client = Client::start("ignore: [cancel]\nturns:\n- steps:\n  - hang\n");
    client.open(repo.path()).await;
    let prompt = client.send_prompt("x").await;
    client.cancel().await;
    // It is alive and answers everything else, which comes after the cancel.
    client.ask("initialize", json!({"protocolVersion": 1})).await;
    assert!(client.seen.iter().all(|frame| frame["id"] != prompt));
    assert_eq!(client.hang_up().await, AgentExit::HungUp);
}

#[tokio::test]
async fn a_second_prompt_cancels_the_first() {
    let repo = repository();
    let mut client = Client::start("turns:\n- times: 1\n  steps:\n  - hang\n");
    client.open(repo.path()).await;
    let first = client.send_prompt("x").await;
    let second = client.send_prompt("x").await;
    let answer = client.wait(first).await.expect("an answer");
    assert_eq!(answer["result"]["stopReason"], "cancelled");
    let answered = |frame: &Value| frame["id"] == second;
    if !client.seen.iter().any(answered) {
        client.wait(second).await.expect("an answer");
    }
}

#[tokio::test]
async fn a_cancel_ends_the_command_that_runs_with_all_its_children() {
    let repo = repository();
    pipe(repo.path(), "alive");
    let mut client = Client::start(
        "turns:\n- steps:\n  - run: exec 3>alive; echo started >&3; sleep 1000 & wait\n",
    );
    client.open(repo.path()).await;
    let prompt = client.send_prompt("x").await;
    while client.permissions().is_empty() {
        client.frame().await.expect("a frame");
    }
    let asked = client.seen.last().expect("the request")["id"].clone();
    client.permit(asked, "allow_once").await;
    let mut alive = reader(repo.path().join("alive")).await;
    let mut line = String::new();
    alive.read_line(&mut line).await.expect("a line");
    assert_eq!(line, "started\n");
    client.cancel().await;
    let answer = client.wait(prompt).await.expect("an answer");
    assert_eq!(answer["result"]["stopReason"], "cancelled");
    // The end of the pipe comes when the last process that holds it is gone.
    assert_eq!(within(alive.read_to_end(&mut Vec::new())).await.expect("read"), 0);
}

#[tokio::test]
async fn it_dies_where_the_script_says() {
    // What the client still gets is everything up to that point, and nothing after it.
    let cases = [
        ("initialize", 0, false),
        ("initialized", 1, false),
        ("session_new", 1, false),
        ("session_ready", 2, false),
        ("prompt", 2, false),
        ("turn_ended", 3, false),
        ("cancel", 2, true),
    ];
    for (phase, answers, hangs) in cases {
        let repo = repository();
        let steps = if hangs { "[hang]" } else { "[]" };
        let mut client = Client::start(&format!(
            "die: {{at: {phase}, by: {{exit: 7}}}}\nturns:\n- steps: {steps}\n"
        ));
        client.request("initialize", json!({"protocolVersion": 1})).await;
        client.request("session/new", json!({"cwd": repo.path(), "mcpServers": []})).await;
        while let Some(frame) = client.frame().await {
            if let Some(session) = frame["result"]["sessionId"].as_str() {
                session.clone_into(&mut client.session);
                if phase != "session_ready" {
                    client.send_prompt("x").await;
                    client.cancel().await;
                }
            }
        }
        let got = client.seen.iter().filter(|frame| frame.get("method").is_none()).count();
        assert_eq!((phase, got), (phase, answers));
        assert_eq!(client.hang_up().await, AgentExit::Exit(7), "{phase}");
    }
}

#[tokio::test]
async fn it_dies_in_the_middle_of_a_frame() {
    let repo = repository();
    let mut client = Client::start(
        "turns:\n- steps:\n  - say: whole\n  - raw: '{\"jsonrpc\":'\n  - die: {exit: 1}\n",
    );
    client.open(repo.path()).await;
    let prompt = client.send_prompt("x").await;
    assert_eq!(client.wait(prompt).await, None);
    assert_eq!(client.said(), "whole");
    assert_eq!(client.seen.last(), Some(&json!({"junk": "{\"jsonrpc\":"})));
}

#[tokio::test]
async fn it_dies_while_a_permission_is_pending() {
    let repo = repository();
    let mut client = Client::start(
        "turns:\n- steps:\n  - ask_only: {run: touch x}\n  - die: {exit: 1}\n  - run: touch y\n",
    );
    client.open(repo.path()).await;
    client.send_prompt("x").await;
    while client.frame().await.is_some() {}
    assert_eq!(client.seen.last().expect("a frame")["method"], "session/request_permission");
    assert!(!repo.path().join("x").exists() && !repo.path().join("y").exists());
    assert_eq!(client.hang_up().await, AgentExit::Exit(1));
}

#[tokio::test]
async fn a_memory_tells_the_next_process_what_was_used_up() {
    let repo = repository();
    let file = repo.path().join("agent.yaml");
    std::fs::write(
        &file,
        "memory: memory\ndie: {at: prompt, by: {exit: 1}, times: 1}\nturns:\n- times: 1\n  \
         steps:\n  - say: first\n",
    )
    .expect("written");
    let mut said = Vec::new();
    for _ in 0..3 {
        let mut client = Client::with(AgentScript::load(&file).expect("a script"));
        client.open(repo.path()).await;
        let prompt = client.send_prompt("x").await;
        let answered = client.wait(prompt).await.is_some();
        said.push((answered, client.said()));
    }
    assert_eq!(said, [(false, String::new()), (true, "first".to_owned()), (true, String::new())]);
}

#[tokio::test]
async fn a_flood_is_all_there_and_in_order() {
    let repo = repository();
    let mut client = Client::start(
        "turns:\n- steps:\n  - say: before\n  - flood: {count: 20001, bytes: 10}\n  - say: after\n",
    );
    client.open(repo.path()).await;
    client.prompt("x").await;
    assert_eq!(client.said(), format!("before{}after", "x".repeat(200_010)));
    assert_eq!(client.updates("agent_message_chunk").len(), 20_003);
}

#[tokio::test]
async fn a_flood_can_be_one_line() {
    let repo = repository();
    let mut client = Client::start(
        "turns:\n- steps:\n  - flood: {count: 100, bytes: 10000, lines: false}\n  - line: ''\n",
    );
    client.open(repo.path()).await;
    client.prompt("x").await;
    let junk = client.seen.iter().find_map(|frame| frame["junk"].as_str()).expect("a line");
    assert_eq!(junk.len(), 1_000_001);
}

#[tokio::test]
async fn junk_stands_between_frames() {
    let repo = repository();
    let mut client = Client::start(
        "banner: Welcome!\nturns:\n- steps:\n  - line: Loading…\n  - hex: ff fe 0a\n  - deep: 5\n  \
         - line: '{} {}'\n  - say: still here\n",
    );
    client.open(repo.path()).await;
    client.prompt("x").await;
    let junk: Vec<_> = client.seen.iter().filter_map(|frame| frame["junk"].as_str()).collect();
    assert_eq!(junk, ["Welcome!\n", "Loading…\n", "\u{fffd}\u{fffd}\n", "[[[[[\n", "{} {}\n"]);
    assert_eq!(client.said(), "still here");
}

#[tokio::test]
async fn an_update_can_be_of_a_kind_that_nobody_knows() {
    let repo = repository();
    let mut client =
        Client::start("turns:\n- steps:\n  - update: {sessionUpdate: brand_new, n: 1}\n");
    client.open(repo.path()).await;
    client.prompt("x").await;
    assert_eq!(client.updates("brand_new"), [&json!({"sessionUpdate": "brand_new", "n": 1})]);
    let params = client.seen[client.seen.len() - 2]["params"].clone();
    assert!(serde_json::from_value::<SessionNotification>(params).is_err());
}

#[tokio::test]
async fn what_is_asked_and_when_is_up_to_the_turn() {
    // How often it asks, and whether the action is done although the answer is no.
    let cases = [("before", 1, false), ("after", 1, true), ("never", 0, true), ("twice", 1, false)];
    for (ask, asked, done) in cases {
        let repo = repository();
        let script = format!("turns:\n- ask: {ask}\n  steps:\n  - run: touch done\n");
        let mut client = Client::start(&script);
        client.open(repo.path()).await;
        client.answer = reject;
        client.prompt("x").await;
        assert_eq!(client.permissions().len(), asked, "{ask}");
        assert_eq!(repo.path().join("done").exists(), done, "{ask}");
    }
}

#[tokio::test]
async fn it_can_ask_twice_for_one_call() {
    let repo = repository();
    let mut client = Client::start("turns:\n- ask: twice\n  steps:\n  - run: touch done\n");
    client.open(repo.path()).await;
    client.answer = allow;
    client.prompt("x").await;
    let ids: Vec<_> =
        client.permissions().iter().map(|asked| asked["toolCall"]["toolCallId"].clone()).collect();
    assert_eq!(ids, ["call_1", "call_1"]);
    assert!(repo.path().join("done").exists());
}

#[tokio::test]
async fn options_and_call_ids_are_up_to_the_turn() {
    let repo = repository();
    let mut client = Client::start(
        "turns:\n- options: [allow_always]\n  call_id: shell-permission\n  steps:\n  \
         - run: 'true'\n  - run: 'true'\n",
    );
    client.open(repo.path()).await;
    client.prompt("x").await;
    for asked in client.permissions() {
        assert_eq!(asked["toolCall"]["toolCallId"], "shell-permission");
        assert_eq!(
            asked["options"],
            json!([{"optionId": "allow_always", "kind": "allow_always", "name": "Always allow"}])
        );
    }
    assert_eq!(client.permissions().len(), 2);
}

#[tokio::test]
async fn a_turn_can_end_in_other_ways() {
    let repo = repository();
    let mut client = Client::start(
        "turns:\n- match: stop\n  steps:\n  - stop: max_tokens\n  - say: unreached\n\
         - match: unasked\n  steps:\n  - stop: cancelled\n\
         - match: error\n  steps:\n  \
         - error: {code: -32603, message: Internal error, data: {errorKind: rate_limit}}\n",
    );
    client.open(repo.path()).await;
    assert_eq!(client.prompt("stop").await["result"]["stopReason"], "max_tokens");
    assert_eq!(client.prompt("unasked").await["result"]["stopReason"], "cancelled");
    assert_eq!(
        client.prompt("error").await["error"],
        json!({"code": -32603, "message": "Internal error", "data": {"errorKind": "rate_limit"}})
    );
    assert_eq!(client.said(), "");
}

#[tokio::test]
async fn a_missing_login_is_an_error_of_the_session() {
    let mut client =
        Client::start("session_error: {code: -32000, message: Authentication required}");
    client.ask("initialize", json!({"protocolVersion": 1})).await;
    let new = client.ask("session/new", json!({"cwd": "/", "mcpServers": []})).await;
    assert_eq!(new["error"], json!({"code": -32000, "message": "Authentication required"}));
}

#[tokio::test]
async fn a_process_is_left_behind() {
    let repo = repository();
    pipe(repo.path(), "alive");
    let mut client = Client::start(
        "turns:\n- steps:\n  - spawn: {command: 'exec 3>alive; echo $$ >&3; exec sleep 1000'}\n",
    );
    client.open(repo.path()).await;
    client.prompt("x").await;
    assert!(client.permissions().is_empty());
    assert_eq!(client.hang_up().await, AgentExit::HungUp);
    let mut alive = reader(repo.path().join("alive")).await;
    let mut pid = String::new();
    alive.read_line(&mut pid).await.expect("its process id");
    let killed = Command::new("kill").args(["-9", pid.trim()]).status().expect("kill runs");
    assert!(killed.success(), "the process outlived its agent");
    assert_eq!(within(alive.read_to_end(&mut Vec::new())).await.expect("read"), 0);
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_process_left_behind_can_have_a_session_of_its_own() {
    let repo = repository();
    pipe(repo.path(), "out");
    let mut client = Client::start(
        "turns:\n- steps:\n  \
         - spawn: {setsid: true, command: 'echo $$ $(ps -o sid= -p $$) > out'}\n",
    );
    client.open(repo.path()).await;
    client.prompt("x").await;
    let ids = tokio::fs::read_to_string(repo.path().join("out")).await.expect("two numbers");
    let ids: Vec<&str> = ids.split_whitespace().collect();
    assert_eq!(ids[0], ids[1]);
}
