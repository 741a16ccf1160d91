//! The fields of a provider's frames → typed messages.
//!
//! Not in this file: the effect of a message on sessions and calls, and whether it fits the
//! connection's state.

use serde::Deserialize as _;
use serde_json::{Map, Value};

use super::ids::SessionKey;
use super::limits::PROTOCOL_VERSION;
use super::problem::{CallFailure, ErrorCode, FailureCode, Problem};
use super::tool::{ProviderTool, is_provider_name, read_tools};
use crate::model::EventLevel;

/// The types that a provider may send.
#[derive(Clone, Copy, Debug, PartialEq, Eq, strum::EnumString)]
#[strum(serialize_all = "lowercase")]
pub(super) enum MessageKind {
    Auth,
    Hello,
    #[strum(serialize = "tool.result")]
    ToolResult,
    Push,
    #[strum(serialize = "tools.update")]
    ToolsUpdate,
    Goodbye,
}

/// A `hello`, whose tools may still conflict with others.
#[derive(Debug)]
pub(super) struct Hello {
    pub(super) name: String,
    pub(super) session: SessionKey,
    pub(super) tools: Vec<ProviderTool>,
}

/// Parses `hello`. The order decides which error is reported: version, name, session, tools.
pub(super) fn read_hello(
    map: &Map<String, Value>,
    session_of: impl FnOnce(&str) -> Option<SessionKey>,
) -> Result<Hello, Problem> {
    if map.get("protocolVersion").and_then(Value::as_u64) != Some(PROTOCOL_VERSION) {
        let message = format!("`protocolVersion` must be {PROTOCOL_VERSION}");
        return Err(Problem::new(ErrorCode::UnsupportedVersion, message));
    }
    let name = map.get("name").and_then(Value::as_str).filter(|name| is_provider_name(name));
    let name = name.ok_or_else(|| {
        Problem::invalid("`name` must have 1 to 64 letters, digits, underscores and hyphens")
    })?;
    let id = map.get("session").and_then(Value::as_str);
    let session = id.and_then(session_of).ok_or_else(|| {
        let message = match id {
            Some(id) => format!("Session {} does not exist", shorten(id)),
            None => "`session` must be the id of a session".to_owned(),
        };
        Problem::new(ErrorCode::InvalidSession, message)
    })?;
    let tools = map.get("tools").map_or_else(|| Ok(Vec::new()), read_tools)?;
    Ok(Hello { name: name.to_owned(), session, tools })
}

/// The beginning of a name that a provider sent, for a message.
fn shorten(text: &str) -> String {
    text.chars().take(64).collect()
}

/// Reads `tools.update`.
pub(super) fn read_update(
    map: &Map<String, Value>,
    session: &str,
) -> Result<Vec<ProviderTool>, Problem> {
    check_session(map, session)?;
    let tools = map.get("tools").ok_or_else(|| Problem::invalid("`tools` is missing"))?;
    read_tools(tools)
}

fn check_session(map: &Map<String, Value>, session: &str) -> Result<(), Problem> {
    match map.get("sessionId") {
        None => Ok(()),
        Some(id) if id == session => Ok(()),
        Some(_) => {
            let message = "`sessionId` is not the session of `hello`".to_owned();
            Err(Problem::new(ErrorCode::InvalidSession, message))
        }
    }
}

/// A `push`.
#[derive(Debug)]
pub(super) struct PushMessage {
    pub(super) level: EventLevel,
    pub(super) text: String,
    pub(super) stream: Option<String>,
    pub(super) metadata: Option<Map<String, Value>>,
}

/// Reads `push`.
pub(super) fn read_push(
    mut map: Map<String, Value>,
    session: &str,
) -> Result<PushMessage, Problem> {
    check_session(&map, session)?;
    let level = map.get("level").and_then(|level| EventLevel::deserialize(level).ok());
    let level =
        level.ok_or_else(|| Problem::invalid("`level` must be `keep`, `surface` or `inject`"))?;
    let text = match map.remove("event") {
        Some(Value::String(text)) if !text.is_empty() => text,
        Some(_) | None => return Err(Problem::invalid("`event` must be a non-empty string")),
    };
    let stream = match map.remove("stream") {
        None => None,
        Some(Value::String(name)) if !name.trim().is_empty() => Some(name),
        Some(_) => return Err(Problem::invalid("`stream` must be a name")),
    };
    let metadata = match map.remove("metadata") {
        None => None,
        Some(Value::Object(metadata)) => Some(metadata),
        Some(_) => return Err(Problem::invalid("`metadata` must be an object")),
    };
    Ok(PushMessage { level, text, stream, metadata })
}

/// A `tool.result`: the call that it names, and its content if that is valid.
#[derive(Debug)]
pub(super) struct ToolResult {
    pub(super) id: Option<String>,
    pub(super) content: Result<Result<Value, CallFailure>, Problem>,
}

/// Parses `tool.result`. A key counts as present, whatever its value.
pub(super) fn read_result(mut map: Map<String, Value>) -> ToolResult {
    let id = match map.remove("id") {
        Some(Value::String(id)) => Some(id),
        Some(_) | None => None,
    };
    let content = match (map.remove("data"), map.remove("error")) {
        (Some(data), None) => Ok(Ok(data)),
        (None, Some(Value::String(message))) => {
            let code = FailureCode::of_provider(map.get("errorCode").and_then(Value::as_str));
            Ok(Err(CallFailure { code, message }))
        }
        (None, Some(_)) => Err(Problem::invalid("`error` must be a string")),
        (Some(_), Some(_)) => Err(Problem::invalid("both `data` and `error` are present")),
        (None, None) => Err(Problem::invalid("neither `data` nor `error` is present")),
    };
    let missing = || Problem::invalid("`id` must be the id of a call");
    let content = if id.is_none() { Err(content.err().unwrap_or_else(missing)) } else { content };
    ToolResult { id, content }
}
