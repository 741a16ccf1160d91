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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hook_type_is_read_by_its_exact_name() {
        assert_eq!(HookKind::read("preToolUse"), Some(HookKind::PreToolUse));
        for name in ["", "PreToolUse", "pretooluse", "preToolUse ", "sessionStart", "XPIA"] {
            assert_eq!(HookKind::read(name), None, "{name:?}");
        }
    }

    #[test]
    fn every_input_format_gives_the_same_call() {
        let expected = json!({"command": "ls"});
        for input in [
            r#"{"toolName":"bash","toolArgs":"{\"command\":\"ls\"}","cwd":"/w"}"#,
            r#"{"toolName":"bash","toolArgs":{"command":"ls"},"cwd":"/w"}"#,
            r#"{"toolName":"bash","toolInput":{"command":"ls"},"cwd":"/w"}"#,
            r#"{"tool_name":"bash","tool_input":{"command":"ls"},"cwd":"/w"}"#,
        ] {
            let asked = read_hook_input(input.as_bytes()).expect(input);
            assert_eq!(
                (asked.call.tool.as_str(), &asked.call.input, asked.cwd.as_deref()),
                ("bash", &expected, Some("/w")),
                "{input}"
            );
        }
    }

    #[test]
    fn input_without_a_call_is_an_error() {
        for input in
            ["", "x", "[]", "{}", r#"{"toolName":7}"#, r#"{"toolName":"bash","toolArgs":"ls"}"#]
        {
            assert!(read_hook_input(input.as_bytes()).is_err(), "{input}");
        }
    }

    #[test]
    fn a_reason_is_prefixed_once() {
        assert_eq!(blocked_reason("no"), "BLOCKED: no");
        assert_eq!(blocked_reason(" BLOCKED: no\n"), "BLOCKED: no");
    }

    #[test]
    fn a_log_line_is_valid_json_with_any_input() {
        let at = "2026-11-21T23:59:50.123Z".parse().expect("time");
        let input = json!({
            "timestamp": 1_704_614_700_000_u64,
            "cwd": "/a \"b\"\n",
            "toolName": "ba\"sh",
            "toolResult": { "resultType": "success" },
        });
        let event = SessionEvent::read(input.to_string().as_bytes(), at);
        assert_eq!(
            event.line(),
            r#"{"timestamp":"2026-11-21T23:59:50Z","agent":"copilot","model":"unknown","mode":"tool","format":"text","event":"ba\"sh","status":"success","attempt":0,"details":{"cwd":"/a \"b\"\n","timestamp":1704614700000}}"#
        );
        let unknown = SessionEvent::read(b"not json", at);
        assert_eq!((unknown.event.as_str(), unknown.status.as_str()), ("unknown", "unknown"));
    }
}
