//! Errors that come as JSON: a JSON-RPC error, a `session.error` record of the CLI, what
//! its `errorOccurred` hook reports, a provider's own body.
//!
//! Invariant: only what says of itself that it is an error is read as one. A record of
//! what the model, the user or a tool said is none, whatever its text.

use serde_json::{Map, Value};

use super::reset::reset_of;
use super::status::{of_kind, of_status};
use super::{classify_message, reset_in};
use crate::model::{Fault, FaultClass};

/// ACP's code for "nobody is logged in".
const AUTH_REQUIRED: i64 = -32000;
/// ACP's code for a file or another resource that is not there.
const NOT_FOUND: i64 = -32002;
/// How deep an error's fields are looked through.
const DEEP: usize = 6;

/// The failure that a JSON value tells of; none where it tells of something else.
pub fn classify_json(value: &Value) -> Option<Fault> {
    let error = error_in(value)?;
    let mut signs = Signs::default();
    signs.take(error, DEEP);
    let message = signs.message();
    let class = signs
        .statuses
        .iter()
        .find_map(|status| of_status(*status))
        .or_else(|| signs.kinds.iter().find_map(|kind| of_kind(kind)))
        .or(match signs.code {
            Some(AUTH_REQUIRED) => Some(FaultClass::Auth),
            Some(NOT_FOUND) => Some(FaultClass::FileNotFound),
            Some(_) | None => None,
        })
        .or_else(|| signs.words.iter().find_map(|words| classify_message(words)))
        .unwrap_or(FaultClass::Fatal);
    let reset = reset_of(value).or_else(|| signs.words.iter().find_map(|words| reset_in(words)));
    Some(Fault { reset, ..Fault::new(class, message) })
}

/// The part of a value that is the error.
fn error_in(value: &Value) -> Option<&Value> {
    let fields = value.as_object()?;
    let has = |name: &str| fields.contains_key(name);
    if let Some(kind) = fields.get("type").and_then(Value::as_str)
        && fields.get("data").is_some_and(Value::is_object)
    {
        // A record of the CLI: of all its kinds these alone are failures.
        let failed = matches!(kind, "session.error" | "model.call_failure");
        return failed.then(|| &value["data"]);
    }
    if has("errorContext") {
        return fields.get("error");
    }
    if let Some(Value::Object(_) | Value::String(_)) = fields.get("error") {
        // The frame's own status stands beside the error.
        return Some(value);
    }
    let itself = has("errorType")
        || has("errorKind")
        || (has("message") && (has("code") || has("status") || has("statusCode")));
    let refused = |name: &str| {
        fields.get(name).and_then(Value::as_u64).is_some_and(|status| (400..600).contains(&status))
    };
    (itself || refused("status") || refused("statusCode")).then_some(value)
}

/// What an error's fields say.
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
                // Providers' bodies are often handed on as a string.
                Ok(inner) if inner.is_object() && deep > 0 => self.take(&inner, deep - 1),
                Ok(_) | Err(_) => self.words.push(text.clone()),
            },
            Value::Array(items) if deep > 0 => {
                for item in items {
                    self.take(item, deep - 1);
                }
            }
            // What is too deep, and what has no words.
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
                    let text = field.as_str().and_then(|text| text.parse().ok());
                    self.statuses.extend(field.as_u64().or(text));
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
                | "cause" | "description" | "body" | "response" | "title" | "error_description" => {
                    self.take(field, deep - 1)
                }
                // What else an error carries (ids, headers, a stack) says nothing of its kind.
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
