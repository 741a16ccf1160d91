//! What a call's arguments say, whichever way they came: pure.

use serde_json::{Map, Value};

/// What a call wants, without the words that a model finds anew for each try.
pub(super) fn wanted(input: &Value) -> String {
    match input.get("command") {
        Some(Value::String(command)) => command.clone(),
        Some(other) => other.to_string(),
        None => input.to_string(),
    }
}

/// Whether a call came without any.
pub(super) fn is_empty(input: &Value) -> bool {
    input.is_null() || input.as_object().is_some_and(Map::is_empty)
}

/// Whether they are those of a call that the Copilot CLI makes by itself, with no hook and no
/// request: it shows the rest of a background shell's output.
pub(super) fn is_shell_echo(input: &Value) -> bool {
    let echo = |fields: &Map<String, Value>| {
        fields.contains_key("shellId")
            && fields.keys().all(|key| matches!(key.as_str(), "shellId" | "delay"))
    };
    input.as_object().is_some_and(echo)
}
