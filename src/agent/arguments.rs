//! What a call's arguments say, whichever way they came: pure.

use serde_json::{Map, Value};

/// Longest text that is kept in the journal, in bytes.
const KEPT: usize = 4096;
/// Entries of a list or an object that are kept.
const MANY: usize = 100;
/// Levels that are kept.
const DEEP: usize = 16;

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

/// Long strings, lists and deep values cut, with the cut visible, so that one call cannot
/// fill the journal.
pub(super) fn bounded(value: &Value) -> Value {
    shallow(value, DEEP)
}

fn shallow(value: &Value, deep: usize) -> Value {
    match value {
        Value::String(text) if text.len() > KEPT => {
            let end = text.floor_char_boundary(KEPT);
            Value::String(format!("{}[… {} bytes left out …]", &text[..end], text.len() - end))
        }
        Value::Array(_) | Value::Object(_) if deep == 0 => {
            Value::String("[… left out …]".to_owned())
        }
        Value::Array(items) => {
            let mut kept: Vec<Value> =
                items.iter().take(MANY).map(|item| shallow(item, deep - 1)).collect();
            if items.len() > MANY {
                kept.push(format!("[… {} left out …]", items.len() - MANY).into());
            }
            Value::Array(kept)
        }
        Value::Object(fields) => {
            let shown = fields.iter().take(MANY);
            let mut kept: Map<String, Value> = shown
                .map(|(name, field)| (name.chars().take(200).collect(), shallow(field, deep - 1)))
                .collect();
            if fields.len() > MANY {
                kept.insert("[…]".to_owned(), format!("{} left out", fields.len() - MANY).into());
            }
            Value::Object(kept)
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => value.clone(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn arguments_in_the_journal_are_bounded_in_every_direction() {
        let long = "ä".repeat(10_000);
        let many: Vec<u32> = (0..1000).collect();
        let mut deep = json!("bottom");
        for _ in 0..1000 {
            deep = json!([deep]);
        }
        let wide: Map<String, Value> =
            (0..1000).map(|number| (number.to_string(), json!(number))).collect();
        let kept = bounded(&json!({"long": long, "many": many, "deep": deep, "wide": wide}));
        assert!(kept.to_string().len() < 10_000, "{}", kept.to_string().len());
        assert!(kept["long"].as_str().expect("text").ends_with("[… 15904 bytes left out …]"));
        assert_eq!(kept["many"].as_array().expect("list").len(), 101);
        assert_eq!(kept["many"][100], "[… 900 left out …]");
        assert_eq!(kept["wide"]["[…]"], "900 left out");
        let input = json!({"command": "ls", "list": [1, {"a": null}]});
        assert_eq!(bounded(&input), input, "what is ordinary stays as it is");
    }
}
