//! The events of a gateway, as JSON lines and as lines for people.

use serde_json::{Value, json};

use crate::gateway::{CallOutcome, GatewayEvent, PushedEvent};
use crate::model::EventLevel;

/// The lines of an event. An injected push has two.
pub(super) fn json_lines(event: &GatewayEvent) -> Vec<Value> {
    match event {
        GatewayEvent::Bound { session, provider, provider_id } => vec![json!({
            "event": "bound", "session": session, "provider": provider, "provider_id": provider_id,
        })],
        GatewayEvent::Unbound { session, provider, provider_id, reason } => vec![json!({
            "event": "unbound", "session": session, "provider": provider,
            "provider_id": provider_id, "reason": reason,
        })],
        GatewayEvent::Called { id, label, .. } => {
            vec![json!({"event": "call", "id": id, "as": label})]
        }
        GatewayEvent::Ended { id, label, outcome, .. } => {
            vec![result_line(id.as_deref(), label.as_deref(), outcome)]
        }
        GatewayEvent::Pushed(push) => push_lines(push),
        GatewayEvent::ToolsChanged { session, tools } => {
            vec![json!({"event": "tools_changed", "session": session, "tools": tools})]
        }
    }
}

fn result_line(id: Option<&str>, label: Option<&str>, outcome: &CallOutcome) -> Value {
    let mut line = json!({"event": "result", "id": id, "as": label});
    match outcome {
        Ok(data) => {
            line["bytes"] = size(data).into();
            line["data"] = Value::clone(data);
        }
        Err(failure) => {
            line["error_code"] = failure.code.name().into();
            line["error"] = failure.message.clone().into();
        }
    }
    line
}

/// The size of data as an agent would get it, uncut.
fn size(data: &Value) -> usize {
    data.as_str().map_or_else(|| data.to_string().len(), str::len)
}

fn push_lines(push: &PushedEvent) -> Vec<Value> {
    let mut lines = vec![json!({
        "event": "push",
        "session": push.session,
        "provider": push.provider,
        "level": push.level,
        "text": push.text,
        "stream": push.stream,
        "metadata": push.metadata,
        "surfaced": push.level != EventLevel::Keep,
        "injected": push.injected.is_some(),
    })];
    lines.extend(
        push.injected
            .as_ref()
            .map(|text| json!({"event": "inject", "session": push.session, "text": text})),
    );
    lines
}

/// Longest text of a line for people.
const SHOWN: usize = 200;

/// The event for people.
pub(super) fn plain_line(event: &GatewayEvent) -> String {
    match event {
        GatewayEvent::Bound { session, provider, provider_id } => {
            format!("{provider} ({provider_id}) is bound to {session}")
        }
        GatewayEvent::Unbound { session, provider, provider_id, reason } => {
            format!("{provider} ({provider_id}) has left {session}: {reason}")
        }
        GatewayEvent::Called { id, tool, .. } => format!("{id}: {tool} called"),
        GatewayEvent::Ended { id, tool, outcome, .. } => {
            let id = id.as_ref().map(|id| format!("{id}: ")).unwrap_or_default();
            match outcome {
                Ok(data) => format!("{id}{tool} returned {} bytes", size(data)),
                Err(failure) => format!("{id}{tool} failed: {}", shorten(&failure.to_string())),
            }
        }
        GatewayEvent::Pushed(push) => {
            format!("{} → {} ({}): {}", push.provider, push.stream, push.level, shorten(&push.text))
        }
        GatewayEvent::ToolsChanged { session, tools } if tools.is_empty() => {
            format!("{session} has no tools")
        }
        GatewayEvent::ToolsChanged { session, tools } => {
            format!("{session} has the tools {}", tools.join(", "))
        }
    }
}

/// The beginning of a text, on one line.
fn shorten(text: &str) -> String {
    let line: String = text.chars().take(SHOWN).collect();
    let more = if line.len() < text.len() { "…" } else { "" };
    format!("{}{more}", line.replace(['\n', '\r'], " "))
}
