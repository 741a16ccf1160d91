//! Helpers that read a tool call's arguments. Pure.

use serde_json::{Map, Value};

/// The command or arguments of a call, without the description that a model rephrases on
/// each attempt.
pub(super) fn wanted(input: &Value) -> String {
    match input.get("command") {
        Some(Value::String(command)) => command.clone(),
        Some(other) => other.to_string(),
        None => input.to_string(),
    }
}

/// Does the call have no arguments?
pub(super) fn is_empty(input: &Value) -> bool {
    input.is_null() || input.as_object().is_some_and(Map::is_empty)
}

/// Are these the arguments of a call that the Copilot CLI makes by itself, without a hook or
/// a permission request, to show the rest of a background shell's output?
pub(super) fn is_shell_echo(input: &Value) -> bool {
    let echo = |fields: &Map<String, Value>| {
        fields.contains_key("shellId")
            && fields.keys().all(|key| matches!(key.as_str(), "shellId" | "delay"))
    };
    input.as_object().is_some_and(echo)
}
