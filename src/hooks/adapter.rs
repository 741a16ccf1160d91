//! The input and output of the CLI's hooks outside a run.
//!
//! Invariant: a denial has its reason in every key that any reader uses, and the reason begins with
//! `BLOCKED: `. Not in this file: the decision (by the project's own hooks or the guard), and the
//! hook of a run, which asks the runner.

use chrono::{DateTime, SecondsFormat, Utc};
use serde::Serialize;
use serde_json::{Map, Value, json};

use super::wire::{HookCall, WireError, denial, read_call};

/// A hook that works outside a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HookKind {
    /// Called before a tool call, which it may deny.
    PreToolUse,
    /// Called after a tool call, which it logs.
    PostToolUse,
    /// Checks a shell command with the XPIA defender.
    Xpia,
}

impl HookKind {
    /// Reads a hook type by its exact name.
    pub fn read(name: &str) -> Option<Self> {
        match name {
            "preToolUse" => Some(Self::PreToolUse),
            "postToolUse" => Some(Self::PostToolUse),
            "xpia" => Some(Self::Xpia),
            _ => None,
        }
    }
}

/// The log of `postToolUse`, relative to the working directory.
pub const SESSION_EVENTS: &str = "logs/session-events.jsonl";

/// The usage line for a missing or unknown hook type.
pub const HOOK_USAGE: &str = "Usage: ralph-copilot hook <preToolUse|postToolUse|xpia>";

/// The input of `preToolUse`, in any of the CLI's formats.
#[derive(Clone, Debug, PartialEq)]
pub struct HookInput {
    /// The call.
    pub call: HookCall,
    /// The session's working directory, if the input names one.
    pub cwd: Option<String>,
    /// The whole input.
    pub whole: Map<String, Value>,
}

/// Reads the input of `preToolUse` in Copilot's format (`toolName` with `toolArgs`, a string or
/// an object, or `toolInput`) or in Claude's (`tool_name`, `tool_input`), which the CLI sends
/// for events spelled `PreToolUse`.
///
/// # Errors
/// If it is not JSON, names no tool, or the arguments are not an object.
pub fn read_hook_input(input: &[u8]) -> Result<HookInput, WireError> {
    let whole: Map<String, Value> = serde_json::from_slice(input)?;
    let either = |names: &[&str]| {
        names.iter().find_map(|name| whole.get(*name)).cloned().unwrap_or(Value::Null)
    };
    let named = json!({
        "sessionId": either(&["sessionId", "session_id"]).as_str().unwrap_or_default(),
        "toolName": either(&["toolName", "tool_name"]),
        "toolArgs": either(&["toolArgs", "toolInput", "tool_input"]),
    });
    let call = read_call(named.to_string().as_bytes())?;
    let cwd = whole.get("cwd").and_then(Value::as_str).filter(|cwd| !cwd.is_empty());
    Ok(HookInput { call, cwd: cwd.map(str::to_owned), whole })
}

/// The output that denies a call.
pub fn blocked(reason: &str) -> String {
    denial(&blocked_reason(reason))
}

/// The reason with the prefix `BLOCKED: `, which is not repeated.
pub fn blocked_reason(reason: &str) -> String {
    const MARK: &str = "BLOCKED:";
    let reason = reason.trim();
    if reason.starts_with(MARK) { reason.to_owned() } else { format!("{MARK} {reason}") }
}

/// The output that leaves a call to the human, with the reason.
pub fn ask_human(reason: &str) -> String {
    json!({
        "permissionDecision": "ask",
        "permissionDecisionReason": reason,
        "message": reason,
    })
    .to_string()
}

/// A line of `logs/session-events.jsonl`. The fields are in the order of the keys and
/// arguments of `hooks/core/log-event.sh`.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SessionEvent {
    timestamp: String,
    agent: &'static str,
    model: &'static str,
    mode: &'static str,
    format: &'static str,
    event: String,
    status: String,
    attempt: u32,
    details: Value,
}

impl SessionEvent {
    /// Reads the input of `postToolUse`. Missing fields become `unknown`, since every call
    /// gets a line.
    pub fn read(input: &[u8], at: DateTime<Utc>) -> Self {
        let input: Value = serde_json::from_slice(input).unwrap_or_default();
        let text = |pointers: [&str; 2]| {
            let found = pointers.iter().find_map(|pointer| input.pointer(pointer)?.as_str());
            found.unwrap_or("unknown").to_owned()
        };
        Self {
            timestamp: at.to_rfc3339_opts(SecondsFormat::Secs, true),
            agent: "copilot",
            model: "unknown",
            mode: "tool",
            format: "text",
            event: text(["/toolName", "/tool_name"]),
            status: text(["/toolResult/resultType", "/tool_result/result_type"]),
            attempt: 0,
            details: json!({
                "cwd": input.get("cwd").and_then(Value::as_str).unwrap_or_default(),
                "timestamp": input.get("timestamp").cloned().unwrap_or_else(|| json!(0)),
            }),
        }
    }

    /// The line, without its newline.
    pub fn line(&self) -> String {
        // Only strings and numbers, which always serialize.
        serde_json::to_string(self).unwrap_or_default()
    }

    /// The arguments for `hooks/core/log-event.sh`.
    pub fn arguments(&self) -> [String; 8] {
        [
            self.agent.to_owned(),
            self.model.to_owned(),
            self.mode.to_owned(),
            self.format.to_owned(),
            self.event.clone(),
            self.status.clone(),
            self.attempt.to_string(),
            self.details.to_string(),
        ]
    }
}
