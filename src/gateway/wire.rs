//! The frames that the gateway sends. No key that the protocol does not name.

use serde::Serialize;
use serde_json::{Map, Value, json};

use super::ids::CallId;
use super::limits::PROTOCOL_VERSION;
use super::problem::Problem;

/// Why a call is cancelled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum CancelReason {
    Timeout,
    Interrupt,
}

/// A state of a session that is sent to providers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Lifecycle {
    Started,
    Idle,
    ShutdownPending { deadline_ms: u64 },
}

/// `sessions`, of (id, label, cwd).
pub(super) fn sessions<'s>(active: impl Iterator<Item = (&'s str, &'s str, &'s str)>) -> String {
    let active = active.map(|(id, label, cwd)| json!({"id": id, "label": label, "cwd": cwd}));
    let active: Vec<Value> = active.collect();
    json!({"type": "sessions", "active": active}).to_string()
}

pub(super) fn hello_ack(provider_id: &str, session: &str) -> String {
    json!({
        "type": "hello.ack",
        "protocolVersion": PROTOCOL_VERSION,
        "providerId": provider_id,
        "sessionId": session,
    })
    .to_string()
}

pub(super) fn tool_call(id: CallId, session: &str, tool: &str, args: Map<String, Value>) -> String {
    let id = id.to_string();
    json!({"type": "tool.call", "id": id, "sessionId": session, "tool": tool, "args": args})
        .to_string()
}

pub(super) fn tool_cancel(id: CallId, session: &str, reason: CancelReason) -> String {
    let id = id.to_string();
    json!({"type": "tool.cancel", "id": id, "sessionId": session, "reason": reason}).to_string()
}

pub(super) fn lifecycle(session: &str, state: Lifecycle) -> String {
    let frame =
        |state: &str| json!({"type": "session.lifecycle", "sessionId": session, "state": state});
    match state {
        Lifecycle::Started => frame("started"),
        Lifecycle::Idle => frame("idle"),
        Lifecycle::ShutdownPending { deadline_ms } => {
            let mut frame = frame("shutdown.pending");
            frame["deadline"] = deadline_ms.into();
            frame
        }
    }
    .to_string()
}

/// `error`, about a frame of type `reply_to`, to the provider that is bound as `provider_id`.
pub(super) fn error(
    problem: &Problem,
    reply_to: Option<&str>,
    provider_id: Option<&str>,
) -> String {
    let (code, message) = (problem.code.name(), &problem.message);
    let mut frame = json!({"type": "error", "code": code, "message": message});
    if let Some(kind) = reply_to {
        frame["replyTo"] = kind.into();
    }
    if let Some(id) = provider_id {
        frame["providerId"] = id.into();
    }
    frame.to_string()
}
