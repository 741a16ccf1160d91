//! Classifies errors in JSON: a JSON-RPC error, the CLI's `session.error` record, the report
//! of its `errorOccurred` hook, a provider's response body.
//!
//! Invariant: only a value that declares itself an error is read as one. A record of what the
//! model, the user or a tool said is not, whatever its text.

use serde_json::{Map, Value};

use super::reset::reset_of;
use super::status::{of_kind, of_status};
use super::{classify_message, reset_in};
use crate::model::{Fault, FaultClass};

/// ACP's code for a missing login.
const AUTH_REQUIRED: i64 = -32000;
/// ACP's code for a missing file or other resource.
const NOT_FOUND: i64 = -32002;
/// Levels of an error's fields that are searched.
const DEEP: usize = 6;

/// The failure that a JSON value reports, if it reports one.
pub fn classify_json(value: &Value) -> Option<Fault> {
    if let Value::String(text) = value {
        // JSON encoded twice; an ordinary quoted text is not an error.
        let inner: Value = serde_json::from_str(text).ok()?;
        return classify_json(&inner);
    }
    let error = error_in(value)?;
    let mut signs = Signs::default();
    signs.take(error, DEEP);
    let message = signs.message();
    let class = signs
        .statuses
        .iter()
        .find_map(|status| of_status(*status))
        .or_else(|| signs.kinds.iter().find_map(|kind| of_kind(kind)))
        .or_else(|| signs.words.iter().find_map(|words| said_in(words)))
        // Agents use these codes for other failures too, so their text is more reliable.
        .or(match signs.code {
            Some(AUTH_REQUIRED) => Some(FaultClass::Auth),
            Some(NOT_FOUND) => Some(FaultClass::FileNotFound),
            Some(_) | None => None,
        })
        .unwrap_or(FaultClass::Fatal);
    if is_of_a_tool(value)
        && !matches!(class, FaultClass::FileNotFound | FaultClass::PermissionDenied)
    {
        return None;
    }
    let reset = reset_of(value).or_else(|| signs.words.iter().find_map(|words| reset_in(words)));
    Some(Fault { reset, ..Fault::new(class, message) })
}

/// The class of an error's text. A text that only names the JSON-RPC code adds nothing.
fn said_in(words: &str) -> Option<FaultClass> {
    let name = words.trim().trim_end_matches('.').to_lowercase();
    let of_a_code = matches!(
        name.as_str(),
        "server error" | "internal error" | "invalid request" | "invalid params" | "parse error"
    );
    if of_a_code { None } else { classify_message(words) }
}

/// Does the CLI's hook report a tool's error? An error that a tool got from some server is
/// not a failure of the model.
fn is_of_a_tool(value: &Value) -> bool {
    value["errorContext"] == "tool_execution"
}

/// The HTTP status in a field: 429, 429.0, "429", "429 Too Many Requests".
fn status_in(field: &Value) -> Option<u64> {
    match field {
        Value::Number(number) => number.as_u64().or_else(|| {
            let (least, most) = (100.0, 599.0);
            let whole = number.as_f64().filter(|it| it.fract() == 0.0)?;
            #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "in range")]
            (least..=most).contains(&whole).then_some(whole as u64)
        }),
        Value::String(text) => text.split_whitespace().next()?.parse().ok(),
        Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => None,
    }
}

/// Does a record say only by its code or name that it is a rate limit: `{"code":"rate_limited"}`,
/// `{"type":"usage_limit_reached"}`?
fn is_limit(fields: &Map<String, Value>) -> bool {
    let ends = ["error", "reached", "exceeded", "exhausted"];
    let kind = |name: &str| fields.get(name).and_then(Value::as_str);
    let of_type = kind("type").filter(|it| ends.iter().any(|end| it.to_lowercase().ends_with(end)));
    let status = fields.get("code").and_then(status_in).and_then(of_status);
    let kinds = [kind("code"), kind("status"), of_type].into_iter().flatten().filter_map(of_kind);
    status.into_iter().chain(kinds).any(|class| class == FaultClass::RateLimit)
}

/// The part of a value that is the error; the last of several.
fn error_in(value: &Value) -> Option<&Value> {
    if let Value::Array(items) = value {
        return items.iter().rev().filter(|item| item.is_object()).find_map(error_in);
    }
    let fields = value.as_object()?;
    let has = |name: &str| fields.contains_key(name);
    if let Some(kind) = fields.get("type").and_then(Value::as_str)
        && fields.get("data").is_some_and(Value::is_object)
    {
        // Of the CLI's kinds of records, only these are failures.
        let failed = matches!(kind, "session.error" | "model.call_failure");
        return failed.then(|| &value["data"]);
    }
    if has("errorContext") {
        return fields.get("error");
    }
    if let Some(Value::Object(_) | Value::String(_)) = fields.get("error") {
        // The frame's own status is next to the error.
        return Some(value);
    }
    let itself = has("errorType")
        || has("errorKind")
        || (has("message") && (has("code") || has("status") || has("statusCode")))
        || is_limit(fields);
    let refused = |name: &str| {
        fields.get(name).and_then(status_in).is_some_and(|status| (400..600).contains(&status))
    };
    (itself || refused("status") || refused("statusCode")).then_some(value)
}

/// The fields of an error that help to classify it.
#[derive(Default)]
struct Signs {
    statuses: Vec<u64>,
    kinds: Vec<String>,
    words: Vec<String>,
    /// The code of the JSON-RPC error itself.
    code: Option<i64>,
}

impl Signs {
    fn take(&mut self, value: &Value, deep: usize) {
        match value {
            Value::Object(fields) if deep > 0 => self.fields(fields, deep),
            Value::String(text) => match serde_json::from_str::<Value>(text) {
                // A provider's body is often passed on as a string.
                Ok(inner) if inner.is_object() && deep > 0 => self.take(&inner, deep - 1),
                Ok(_) | Err(_) => self.words.push(text.clone()),
            },
            Value::Array(items) if deep > 0 => {
                for item in items {
                    self.take(item, deep - 1);
                }
            }
            // Too deep, or without text.
            Value::Object(_)
            | Value::Array(_)
            | Value::Null
            | Value::Bool(_)
            | Value::Number(_) => {}
        }
    }

    fn fields(&mut self, fields: &Map<String, Value>, deep: usize) {
        for (name, field) in fields {
            match name.as_str() {
                "statusCode" | "status_code" | "status" | "httpStatus" | "http_status" => {
                    match (status_in(field), field.as_str()) {
                        (None, Some(kind)) => self.kinds.push(kind.to_owned()),
                        (status, _) => self.statuses.extend(status),
                    }
                }
                "errorType" | "errorKind" | "error_type" | "type" | "kind" | "errno" | "name" => {
                    self.kinds.extend(field.as_str().map(str::to_owned));
                }
                "code" => match (field.as_i64(), field.as_str()) {
                    (Some(code @ 100..=599), _) => {
                        self.statuses.push(code.unsigned_abs());
                    }
                    (Some(code), _) => self.code = self.code.or(Some(code)),
                    (None, Some(kind)) => match kind.parse::<u64>() {
                        Ok(status) => self.statuses.push(status),
                        Err(_) => self.kinds.push(kind.to_owned()),
                    },
                    (None, None) => {}
                },
                "message" | "error" | "errorMessage" | "data" | "details" | "detail" | "reason"
                | "additionalDetails" | "cause" | "description" | "body" | "response" | "title"
                | "error_description" => self.take(field, deep - 1),
                // Other fields (ids, headers, a stack) do not help.
                _ => {}
            }
        }
    }

    fn message(&self) -> String {
        let mut told: Vec<&str> = Vec::new();
        for words in &self.words {
            if !told.contains(&words.as_str()) {
                told.push(words);
            }
        }
        if !told.is_empty() {
            return told.join(": ");
        }
        let status = self.statuses.first().map(|status| format!("HTTP status {status}"));
        status.or_else(|| self.kinds.first().cloned()).unwrap_or_default()
    }
}
