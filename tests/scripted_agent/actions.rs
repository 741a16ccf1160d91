//! What an honest agent does, and how it asks.

use agent_client_protocol::v1::schema::{RequestPermissionRequest, SessionNotification};
use ralph_copilot::agent::scripted::AgentExit;
use serde_json::json;

use crate::client::{Client, allow, reject};
use crate::repo::{TASK, git, repository};

#[tokio::test]
async fn honest_work_is_asked_for_and_really_done() {
    let repo = repository();
    let mut client = Client::start(
        r#"
turns:
- match: greeting
  steps:
  - say: "On it: {criterion}"
  - think: hm
  - plan: [one, two]
  - read: tasks/hello/TASK.md
  - write: {path: src/greet.sh, text: "echo hi\n"}
  - edit: {path: src/greet.sh, old: hi, new: hello}
  - run: sh src/greet.sh
  - tick: "{criterion}"
  - progress: "{criterion}: done"
  - usage: {input: 100, output: 10}
  - commit: add the greeting
"#,
    );
    client.open(repo.path()).await;
    let answer = client.prompt("it's greeting").await;

    assert_eq!(
        answer["result"],
        json!({"stopReason": "end_turn", "usage": {"inputTokens": 100, "outputTokens": 10,
               "totalTokens": 110, "cachedReadTokens": 0, "cachedWriteTokens": 0}})
    );
    assert_eq!(client.said(), "On it: it's greeting");
    let asked: Vec<_> =
        client.permissions().iter().map(|asked| asked["toolCall"]["title"].clone()).collect();
    assert_eq!(
        asked,
        [
            "Create file",
            "Edit file",
            "sh src/greet.sh",
            "Edit file",
            "Create file",
            "Commit the work"
        ]
    );
    let task = std::fs::read_to_string(repo.path().join("tasks/hello/TASK.md")).expect("a task");
    assert_eq!(task, TASK.replacen("[ ]", "[x]", 1));
    assert_eq!(
        git(repo.path(), &["log", "-1", "--format=%s"]),
        "ralph(hello): [it's greeting] - add the greeting\n"
    );
    assert_eq!(git(repo.path(), &["status", "--short"]), "");
    let today = chrono::Local::now().format("%F");
    assert_eq!(
        std::fs::read_to_string(repo.path().join("tasks/hello/progress.md")).expect("progress"),
        format!("- {today} it's greeting: done\n")
    );
    let outputs: Vec<_> = client
        .updates("tool_call_update")
        .iter()
        .map(|update| update["rawOutput"]["contents"][0]["outputPreview"].clone())
        .filter(|preview| !preview.is_null())
        .collect();
    assert_eq!(outputs[0], "hello\n");
    // Every frame is one that the SDK's types understand.
    for frame in &client.seen {
        let params = frame["params"].clone();
        match frame["method"].as_str() {
            Some("session/update") => {
                serde_json::from_value::<SessionNotification>(params).map(drop).expect("known");
            }
            Some(_) => {
                serde_json::from_value::<RequestPermissionRequest>(params)
                    .map(drop)
                    .expect("known");
            }
            None => {}
        }
    }
    assert_eq!(client.hang_up().await, AgentExit::HungUp);
}

#[tokio::test]
async fn a_denial_ends_the_turn_and_the_next_prompt_goes_on() {
    let repo = repository();
    let mut client = Client::start(
        "turns:\n- times: 1\n  steps:\n  - run: touch denied\n  - run: touch unreached\n\
         - match: greeting\n  steps:\n  - run: touch later\n",
    );
    client.open(repo.path()).await;
    client.answer = reject;
    let answer = client.prompt("it's greeting").await;
    assert_eq!(answer["result"], json!({"stopReason": "end_turn"}));
    assert_eq!(client.said(), "Info: Operation cancelled by user");
    let failed = client.updates("tool_call_update");
    assert_eq!(failed[0]["rawOutput"]["code"], "rejected");
    assert_eq!(client.permissions().len(), 1);

    // The second prompt of a session need not name its criterion again.
    client.answer = allow;
    let prompt = json!([{"type": "text", "text": "That was denied. Go on."}]);
    let session = client.session.clone();
    client.ask("session/prompt", json!({"sessionId": session, "prompt": prompt})).await;
    let made: Vec<bool> = ["denied", "unreached", "later"]
        .iter()
        .map(|name| repo.path().join(name).exists())
        .collect();
    assert_eq!(made, [false, false, true]);
}

#[tokio::test]
async fn a_denied_action_can_be_followed_by_the_next() {
    let repo = repository();
    let mut client = Client::start(
        "turns:\n- on_reject: continue\n  steps:\n  - run: touch denied\n  - say: What now?\n",
    );
    client.open(repo.path()).await;
    client.answer = reject;
    client.prompt("x").await;
    assert_eq!(client.said(), "What now?");
    assert!(!repo.path().join("denied").exists());
}

#[tokio::test]
async fn a_cancelled_permission_is_none() {
    let repo = repository();
    let mut client = Client::start("turns:\n- steps:\n  - run: touch denied\n");
    client.open(repo.path()).await;
    client.answer = |_| None;
    client.prompt("x").await;
    assert_eq!(client.updates("tool_call_update")[0]["status"], "failed");
    assert!(!repo.path().join("denied").exists());
}

#[tokio::test]
async fn a_path_that_leads_outside_is_asked_for_first() {
    let repo = repository();
    let outside = tempfile::tempdir().expect("a folder");
    std::os::unix::fs::symlink(outside.path(), repo.path().join("link")).expect("a link");
    let mut client = Client::start("turns:\n- steps:\n  - write: {path: link/new.txt, text: hi}\n");
    client.open(repo.path()).await;
    client.prompt("x").await;
    let kinds: Vec<_> =
        client.permissions().iter().map(|asked| asked["toolCall"]["kind"].clone()).collect();
    assert_eq!(kinds, ["read", "edit"]);
    // As with Copilot, the link is shown and not its target.
    assert_eq!(
        client.permissions()[0]["toolCall"]["rawInput"],
        json!({"path": repo.path().join("link/new.txt")})
    );
    assert!(outside.path().join("new.txt").exists());
}

#[tokio::test]
async fn actions_together_are_asked_for_before_either_is_answered() {
    let repo = repository();
    let mut client = Client::start(
        "turns:\n- steps:\n  - together:\n    - run: touch one\n    - run: touch two\n",
    );
    client.open(repo.path()).await;
    let prompt = client.send_prompt("x").await;
    let mut ids = Vec::new();
    while ids.len() < 2 {
        let frame = client.frame().await.expect("a frame");
        if frame["method"] == "session/request_permission" {
            ids.push(frame["id"].clone());
        }
    }
    for id in ids {
        client.permit(id, "allow_once").await;
    }
    client.wait(prompt).await.expect("an answer");
    assert!(repo.path().join("one").exists() && repo.path().join("two").exists());
}

#[tokio::test]
async fn a_failed_command_is_a_completed_call_and_a_failed_edit_is_not() {
    let repo = repository();
    let mut client = Client::start(
        "turns:\n- steps:\n  - run: echo no >&2; exit 3\n  \
         - edit: {path: none.txt, old: a, new: b}\n  - tick: not there\n",
    );
    client.open(repo.path()).await;
    client.prompt("x").await;
    let ends = client.updates("tool_call_update");
    assert_eq!(ends[0]["status"], "completed");
    assert_eq!(ends[0]["rawOutput"]["contents"][0]["exitCode"], 3);
    assert_eq!(ends[0]["rawOutput"]["contents"][0]["outputPreview"], "no\n");
    assert_eq!(ends[1]["status"], "failed");
    assert_eq!(ends[2]["rawOutput"]["message"], "No match found");
}

#[tokio::test]
async fn tokens_add_up_over_a_session() {
    let repo = repository();
    let mut client = Client::start("turns:\n- steps:\n  - usage: {input: 100, output: 10}\n");
    client.open(repo.path()).await;
    client.prompt("x").await;
    let second = client.prompt("x").await;
    assert_eq!(second["result"]["usage"]["totalTokens"], 220);
    client.open(repo.path()).await;
    let fresh = client.prompt("x").await;
    assert_eq!(fresh["result"]["usage"]["totalTokens"], 110);
}

#[tokio::test]
async fn turns_are_chosen_by_criterion_and_by_times() {
    let repo = repository();
    let mut client = Client::start(
        "turns:\n- match: a.c\n  steps:\n  - say: literal\n- match: b\n  times: 2\n  steps:\n  \
         - say: b\n- steps:\n  - say: other\n",
    );
    client.open(repo.path()).await;
    for criterion in ["abc", "x a.c", "b", "b", "c"] {
        client.prompt(criterion).await;
    }
    assert_eq!(client.said(), "bliteralbotherother");
}

#[tokio::test]
async fn sessions_have_modes_and_are_closed() {
    let repo = repository();
    let mut client = Client::start("mode: plan");
    client.open(repo.path()).await;
    let url = |mode: &str| format!("https://agentclientprotocol.com/protocol/session-modes#{mode}");
    let new = client.seen.last().expect("the answer");
    assert_eq!(new["result"]["modes"]["currentModeId"], url("plan"));
    let session = client.session.clone();
    let set = |mode: String| json!({"sessionId": session, "modeId": mode});
    assert_eq!(client.ask("session/set_mode", set(url("agent"))).await["result"], json!({}));
    assert_eq!(client.updates("current_mode_update")[0]["currentModeId"], url("agent"));
    let wrong = client.ask("session/set_mode", set("yolo".to_owned())).await;
    assert_eq!(wrong["error"]["code"], -32602);
    let close = json!({"sessionId": client.session});
    assert_eq!(client.ask("session/close", close.clone()).await["result"], json!({}));
    assert_eq!(client.ask("session/close", close).await["error"]["code"], -32602);
    assert_eq!(client.prompt("x").await["error"]["code"], -32602);
}

#[tokio::test]
async fn a_folder_that_is_not_there_and_a_method_that_is_not_known_are_errors() {
    let mut client = Client::start("{}");
    client.ask("initialize", json!({"protocolVersion": 1})).await;
    let new = client.ask("session/new", json!({"cwd": "/not/there", "mcpServers": []})).await;
    assert_eq!(new["error"]["code"], -32603);
    assert_eq!(client.ask("session/fork", json!({})).await["error"]["code"], -32601);
    assert_eq!(client.ask("session/prompt", json!({})).await["error"]["code"], -32602);
    assert_eq!(client.hang_up().await, AgentExit::HungUp);
}
