//! The JSON of Copilot's frames.
//!
//! Copied from the wire of Copilot CLI 1.0.102, so that tests with the scripted agent hold for
//! the real one. `play` and `agent` send the frames.

use serde_json::{Value, json};

use super::script::{SessionMode, Tokens};
use crate::agent::acp::serve;

/// A tool call as it is announced.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct ScriptedCall {
    /// The call's id.
    pub(super) id: String,
    /// The agent's title for the call.
    pub(super) title: String,
    /// ACP's kind.
    pub(super) kind: &'static str,
    /// The tool's own arguments.
    pub(super) input: Value,
    /// The file that the call concerns.
    pub(super) path: Option<String>,
    /// Old and new text of that file, if it changes.
    pub(super) change: Option<(String, String)>,
}

/// A permission request's fields, which differ from the call's.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct ScriptedRequest {
    /// Copilot's title for the request.
    pub(super) title: String,
    /// ACP's kind.
    pub(super) kind: &'static str,
    /// The input to decide on.
    pub(super) input: Value,
}

const MODES: &str = "https://agentclientprotocol.com/protocol/session-modes";
const MODE_NAMES: [(SessionMode, &str, &str); 3] = [
    (SessionMode::Agent, "agent", "Default agent mode for conversational interactions"),
    (SessionMode::Plan, "plan", "Plan mode for creating and executing multi-step plans"),
    (SessionMode::Autopilot, "autopilot", "Autonomous mode that enables allow-all"),
];

/// The URL of a mode.
pub(super) fn mode_id(mode: SessionMode) -> String {
    let name = MODE_NAMES.iter().find(|entry| entry.0 == mode).map_or("agent", |entry| entry.1);
    format!("{MODES}#{name}")
}

/// The mode behind a URL.
pub(super) fn mode_of(id: &str) -> Option<SessionMode> {
    MODE_NAMES.iter().map(|entry| entry.0).find(|mode| mode_id(*mode) == id)
}

/// The answer to `initialize`.
pub(super) fn initialized() -> Value {
    json!({
        "protocolVersion": serve::protocol_version(),
        "agentCapabilities": {
            "loadSession": false,
            "promptCapabilities": {"image": false, "audio": false, "embeddedContext": false},
            "sessionCapabilities": {"close": {}},
        },
        "agentInfo": {
            "name": "scripted",
            "title": "Scripted agent",
            "version": env!("CARGO_PKG_VERSION"),
        },
        "authMethods": [],
    })
}

/// The answer to `session/new`.
pub(super) fn session(id: &str, mode: SessionMode) -> Value {
    let modes: Vec<Value> = MODE_NAMES
        .iter()
        .map(|(mode, name, description)| {
            json!({"id": mode_id(*mode), "name": name, "description": description})
        })
        .collect();
    json!({
        "sessionId": id,
        "modes": {"availableModes": modes, "currentModeId": mode_id(mode)},
    })
}

/// The update that comes before the answer to `session/new`.
pub(super) fn commands() -> Value {
    json!({"sessionUpdate": "available_commands_update", "availableCommands": []})
}

/// The update for a changed mode.
pub(super) fn mode_changed(mode: SessionMode) -> Value {
    json!({"sessionUpdate": "current_mode_update", "currentModeId": mode_id(mode)})
}

/// A piece of the agent's text.
pub(super) fn said(text: &str) -> Value {
    json!({"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": text}})
}

/// A piece of its thoughts.
pub(super) fn thought(text: &str) -> Value {
    json!({"sessionUpdate": "agent_thought_chunk", "content": {"type": "text", "text": text}})
}

/// A plan.
pub(super) fn plan(entries: &[String]) -> Value {
    let entries: Vec<Value> = entries
        .iter()
        .map(|entry| json!({"content": entry, "priority": "medium", "status": "pending"}))
        .collect();
    json!({"sessionUpdate": "plan", "entries": entries})
}

/// The update for the context's size.
pub(super) fn context(used: u64) -> Value {
    json!({"sessionUpdate": "usage_update", "used": used, "size": 128_000})
}

/// The announcement of a tool call.
pub(super) fn began(call: &ScriptedCall) -> Value {
    let mut update = json!({
        "sessionUpdate": "tool_call",
        "toolCallId": call.id,
        "title": call.title,
        "kind": call.kind,
        "status": "pending",
        "rawInput": call.input,
    });
    if let Some(path) = &call.path {
        update["locations"] = json!([{"path": path}]);
    }
    if let Some(content) = change(call) {
        update["content"] = content;
    }
    update
}

/// The update for a completed call; a command that exits with an error is completed, too.
pub(super) fn completed(call: &ScriptedCall, output: &Value) -> Value {
    let content = change(call).unwrap_or_else(
        || json!([{"type": "content", "content": {"type": "text", "text": output["content"]}}]),
    );
    json!({
        "sessionUpdate": "tool_call_update",
        "toolCallId": call.id,
        "status": "completed",
        "content": content,
        "rawOutput": output,
    })
}

/// The update for a failed call; `code` is `rejected` for a denial.
pub(super) fn failed(call: &ScriptedCall, code: &str, message: &str) -> Value {
    json!({
        "sessionUpdate": "tool_call_update",
        "toolCallId": call.id,
        "status": "failed",
        "rawOutput": {"message": message, "code": code},
    })
}

fn change(call: &ScriptedCall) -> Option<Value> {
    let (old, new) = call.change.as_ref()?;
    Some(json!([{"type": "diff", "path": call.path, "oldText": old, "newText": new}]))
}

/// The parameters of `session/request_permission`. Copilot's option ids are their kinds.
pub(super) fn permission(
    session: &str,
    call: &ScriptedCall,
    request: &ScriptedRequest,
    options: &[String],
) -> Value {
    let mut tool_call = json!({
        "toolCallId": call.id,
        "title": request.title,
        "kind": request.kind,
        "status": "pending",
        "rawInput": request.input,
    });
    if let Some(path) = &call.path {
        tool_call["locations"] = json!([{"path": path}]);
    }
    let options: Vec<Value> = options
        .iter()
        .map(|kind| json!({"optionId": kind, "kind": kind, "name": option_name(kind)}))
        .collect();
    json!({"sessionId": session, "toolCall": tool_call, "options": options})
}

/// The kinds of the options that Copilot always offers.
pub(super) fn usual_options() -> Vec<String> {
    ["allow_once", "allow_always", "reject_once"].map(str::to_owned).to_vec()
}

fn option_name(kind: &str) -> &str {
    match kind {
        "allow_once" => "Allow once",
        "allow_always" => "Always allow",
        "reject_once" => "Deny",
        _ => kind,
    }
}

/// The result of a shell command.
pub(super) fn shell_output(text: &str, exit: i32, cwd: &str) -> Value {
    let content = format!("{text}\n<shellId: 0 completed with exit code {exit}>");
    json!({
        "content": content,
        "detailedContent": content,
        "contents": [{"type": "shell_exit", "shellId": "0", "exitCode": exit, "cwd": cwd,
                      "outputPreview": text}],
    })
}

/// The result of reading or changing a file.
pub(super) fn file_output(text: &str, diff: &str) -> Value {
    json!({"content": text, "detailedContent": diff})
}

/// The answer to a prompt. Tokens are those of the whole session, absent before the first.
pub(super) fn turn_ended(reason: &str, used: Option<Tokens>) -> Value {
    let mut answer = json!({"stopReason": reason});
    if let Some(Tokens { input, output }) = used {
        answer["usage"] = json!({
            "inputTokens": input,
            "outputTokens": output,
            "totalTokens": input + output,
            "cachedReadTokens": 0,
            "cachedWriteTokens": 0,
        });
    }
    answer
}
