//! Redacts and bounds the texts that are recorded.
//!
//! Invariant: a text is redacted whole and cut afterwards, since half a secret is not
//! recognized as one. A text on which the redaction fails is not shown at all.

use std::panic::{AssertUnwindSafe, catch_unwind};

use serde_json::{Map, Value};

use crate::model::{EachText as _, EditText, EventKind, Keep, Redact};

/// The stand-in for a text on which the redaction failed.
const UNREDACTABLE: &str = "[REDACTED]";
/// Longest text in the arguments of a call, in bytes.
const LONGEST: usize = 4096;
/// Entries of a list or an object in the arguments of a call.
const MANY: usize = 100;
/// Levels of the arguments of a call.
const DEEP: usize = 16;

/// The event as it may leave the program.
pub(super) fn event(redact: &dyn Redact, mut kind: EventKind) -> EventKind {
    kind.each_text(Keep::All, &mut Redacting(redact));
    kind
}

/// The value without its secrets.
pub(super) fn json(redact: &dyn Redact, value: &Value) -> Value {
    catch_unwind(AssertUnwindSafe(|| redact.json(value))).unwrap_or_else(|_| UNREDACTABLE.into())
}

/// The text without its secrets.
fn text(redact: &dyn Redact, text: &str) -> String {
    catch_unwind(AssertUnwindSafe(|| redact.text(text))).unwrap_or_else(|_| UNREDACTABLE.to_owned())
}

struct Redacting<'r>(&'r dyn Redact);

impl EditText for Redacting<'_> {
    fn text(&mut self, words: &mut String, keep: Keep) {
        *words = text(self.0, words);
        match keep {
            Keep::All => {}
            Keep::Start(bytes) => words.truncate(words.floor_char_boundary(bytes)),
            Keep::End(bytes) => {
                let from = words.ceil_char_boundary(words.len().saturating_sub(bytes));
                drop(words.drain(..from));
            }
        }
    }

    fn json(&mut self, value: &mut Value) {
        *value = bounded(&json(self.0, value), DEEP);
    }
}

/// Cuts long texts, lists and deep values, and says so, so that one call cannot fill the
/// journal.
fn bounded(value: &Value, deep: usize) -> Value {
    match value {
        Value::String(text) if text.len() > LONGEST => {
            let end = text.floor_char_boundary(LONGEST);
            Value::String(format!("{}[… {} bytes left out …]", &text[..end], text.len() - end))
        }
        Value::Array(_) | Value::Object(_) if deep == 0 => {
            Value::String("[… left out …]".to_owned())
        }
        Value::Array(items) => {
            let mut kept: Vec<Value> =
                items.iter().take(MANY).map(|item| bounded(item, deep - 1)).collect();
            if items.len() > MANY {
                kept.push(format!("[… {} left out …]", items.len() - MANY).into());
            }
            Value::Array(kept)
        }
        Value::Object(fields) => {
            let shown = fields.iter().take(MANY);
            let mut kept: Map<String, Value> = shown
                .map(|(name, field)| (name.chars().take(200).collect(), bounded(field, deep - 1)))
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
        let kept = bounded(&json!({"long": long, "many": many, "deep": deep, "wide": wide}), DEEP);
        assert!(kept.to_string().len() < 10_000, "{}", kept.to_string().len());
        assert!(kept["long"].as_str().expect("text").ends_with("[… 15904 bytes left out …]"));
        assert_eq!(kept["many"].as_array().expect("list").len(), 101);
        assert_eq!(kept["many"][100], "[… 900 left out …]");
        assert_eq!(kept["wide"]["[…]"], "900 left out");
        let input = json!({"command": "ls", "list": [1, {"a": null}]});
        assert_eq!(bounded(&input, DEEP), input, "what is ordinary stays as it is");
    }
}
