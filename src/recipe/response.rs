//! The runner's answer: one JSON object on standard output.
//!
//! Invariant: pure. Unknown fields are ignored. The defaults of missing fields never turn a
//! failure into a success. A field of the wrong type makes the whole answer invalid.

use serde_json::{Map, Value};

use crate::model::{RecipeStep, StepStatus};

/// Size limit of an answer, in bytes.
pub(super) const LARGEST: usize = 10 << 20;

/// Length at which an error cuts off an invalid answer, in characters.
const SHOWN: usize = 500;

/// A valid answer.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Response {
    pub(super) success: bool,
    pub(super) steps: Vec<RecipeStep>,
    pub(super) context: Map<String, Value>,
}

/// Parses an answer. The error names the problem.
pub(super) fn parse(bytes: &[u8]) -> Result<Response, String> {
    if bytes.len() > LARGEST {
        return Err(format!("more than {LARGEST} bytes"));
    }
    let text = String::from_utf8_lossy(bytes);
    let text = text.trim();
    if text.is_empty() {
        return Err("empty stdout".to_owned());
    }
    let value: Value =
        serde_json::from_str(text).map_err(|_| text.chars().take(SHOWN).collect::<String>())?;
    let Value::Object(mut fields) = value else { return Err("it is not a JSON object".to_owned()) };
    let success = match fields.remove("success") {
        None | Some(Value::Null) => false,
        Some(Value::Bool(success)) => success,
        Some(_) => return Err("`success` is neither true nor false".to_owned()),
    };
    let steps = match fields.remove("step_results") {
        None | Some(Value::Null) => Vec::new(),
        Some(Value::Array(steps)) => steps
            .into_iter()
            .enumerate()
            .map(|(at, it)| {
                step(it).ok_or_else(|| format!("`step_results[{at}]` is not an object"))
            })
            .collect::<Result<_, _>>()?,
        Some(_) => return Err("`step_results` is not a list".to_owned()),
    };
    let context = match fields.remove("context") {
        None | Some(Value::Null) => Map::new(),
        Some(Value::Object(context)) => context,
        Some(_) => return Err("`context` is not an object".to_owned()),
    };
    Ok(Response { success, steps, context })
}

fn step(value: Value) -> Option<RecipeStep> {
    let Value::Object(mut fields) = value else { return None };
    let mut text = |name: &str| match fields.remove(name) {
        None | Some(Value::Null) => None,
        Some(Value::String(text)) => Some(text),
        Some(other) => Some(other.to_string()),
    };
    let step_id = text("step_id").unwrap_or_else(|| "unknown".to_owned());
    let status = status(&text("status").unwrap_or_default());
    let (output, error) = (text("output").unwrap_or_default(), text("error").unwrap_or_default());
    let duration = fields.get("duration").and_then(Value::as_f64);
    Some(RecipeStep { step_id, status, output, error, duration })
}

/// Reads a status; unknown and missing ones count as failed.
fn status(word: &str) -> StepStatus {
    match word.to_ascii_lowercase().as_str() {
        "pending" => StepStatus::Pending,
        "running" => StepStatus::Running,
        "completed" => StepStatus::Completed,
        "skipped" => StepStatus::Skipped,
        "degraded" => StepStatus::Degraded,
        _ => StepStatus::Failed,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn missing_fields_have_defaults_and_unknown_ones_are_ignored() {
        let read = |text: &str| parse(text.as_bytes()).expect("an answer");
        assert_eq!(read("{}"), Response::default());
        assert_eq!(read(r#" {"success":true,"new":{"a":[1]}} "#).steps, []);
        let steps = read(
            r#"{"success":null,"step_results":[{},{"step_id":7,"output":null,"error":{"a":1}}]}"#,
        )
        .steps;
        assert_eq!((steps[0].step_id.as_str(), steps[0].status), ("unknown", StepStatus::Failed));
        assert_eq!((steps[1].step_id.as_str(), steps[1].output.as_str()), ("7", ""));
        assert_eq!(steps[1].error, r#"{"a":1}"#);
    }

    #[test]
    fn every_status_is_read_and_unknown_ones_count_as_failed() {
        for (word, expected) in [
            ("pending", StepStatus::Pending),
            ("running", StepStatus::Running),
            ("completed", StepStatus::Completed),
            ("Completed", StepStatus::Completed),
            ("skipped", StepStatus::Skipped),
            ("failed", StepStatus::Failed),
            ("degraded", StepStatus::Degraded),
            ("exploded", StepStatus::Failed),
            ("", StepStatus::Failed),
        ] {
            assert_eq!(status(word), expected, "{word}");
        }
    }
}
