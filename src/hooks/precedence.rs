//! Combines the answers of the XPIA hook and the amplihack hook; XPIA comes first.
//!
//! Invariant: exactly the table below. The chosen answer is passed on unchanged, except that
//! the decision is put in lower case, which the CLI requires.
//!
//! | priority | source | accepted signal | result |
//! |---|---|---|---|
//! | 1 | XPIA | `permissionDecision` = allow, deny or ask | its payload, unchanged |
//! | 2 | amplihack | `permissionDecision` = allow, deny or ask | its payload, unchanged |
//! | 3 | amplihack | `block: true` | a denial with its message |
//! | 4 | none | no decision | `{}` |
//!
//! A missing hook decides nothing; a failed one denies. Running the hooks does NOT live here.

use serde_json::{Map, Value, json};

use super::adapter::{blocked, blocked_reason};
use super::output::{is_text, is_understood, objects};
use super::script::{ScriptEnd, ScriptRun};

/// The message of an amplihack block that has none.
const BLOCKED_BY_AMPLIHACK: &str = "Blocked by amplihack pre-tool-use hook.";

/// A JSON object from a hook's output, with its text.
#[derive(Clone, Debug, PartialEq)]
pub struct Payload {
    text: String,
    value: Map<String, Value>,
}

impl Payload {
    /// Takes an object from the output. `deny` and `ask` count in any case and are changed to
    /// lower case, which the CLI requires; `allow` counts only in lower case.
    fn new(text: &str, mut value: Map<String, Value>) -> Self {
        let said = value.get("permissionDecision").and_then(Value::as_str).unwrap_or_default();
        let word = said.trim().to_lowercase();
        if word == said || !["deny", "ask"].contains(&word.as_str()) {
            return Self { text: text.to_owned(), value };
        }
        value.insert("permissionDecision".to_owned(), Value::String(word));
        Self { text: Value::Object(value.clone()).to_string(), value }
    }

    /// The `permissionDecision`, if it is an accepted one.
    fn decision(&self) -> Option<&str> {
        let decision = self.value.get("permissionDecision")?.as_str()?;
        ["allow", "deny", "ask"].contains(&decision).then_some(decision)
    }

    /// Whether `block` is set, as amplihack does. Only clearly negative values count as no.
    fn blocks(&self) -> bool {
        match self.value.get("block") {
            None | Some(Value::Null | Value::Bool(false)) => false,
            Some(Value::Number(number)) => number.as_f64() != Some(0.0),
            Some(Value::String(text)) => !["", "false"].contains(&text.as_str()),
            Some(Value::Bool(true) | Value::Array(_) | Value::Object(_)) => true,
        }
    }

    fn denies(&self) -> bool {
        self.decision() == Some("deny") || self.blocks()
    }

    fn decides(&self) -> bool {
        self.decision().is_some() || self.blocks()
    }

    fn denial(reason: &str) -> Self {
        let text = blocked(reason);
        let value = serde_json::from_str(&text).unwrap_or_default();
        Self { text, value }
    }
}

/// The decision of a hook: the last denial in its output, else the last object that decides. A
/// hook that failed, or whose output cannot be read, denies.
pub fn payload_of(name: &str, ran: &ScriptRun) -> Option<Payload> {
    let found = objects(&ran.stdout);
    let found: Vec<Payload> =
        found.into_iter().map(|(text, value)| Payload::new(text, value)).collect();
    let deny = found.iter().rev().find(|payload| payload.denies());
    match &ran.end {
        _ if deny.is_some() => deny.cloned(),
        ScriptEnd::Exited(0) if !ran.cut && is_text(&ran.stdout) && is_understood(&ran.stdout) => {
            found.into_iter().rev().find(Payload::decides)
        }
        ScriptEnd::Exited(0) => Some(Payload::denial(&format!("cannot read the output of {name}"))),
        ScriptEnd::Exited(_)
        | ScriptEnd::Signalled(_)
        | ScriptEnd::TimedOut(_)
        | ScriptEnd::NotRun(_) => Some(Payload::denial(&ran.failure(name))),
    }
}

/// Applies the table. Returns none for its last row: no decision.
pub fn combine(xpia: Option<&Payload>, amplihack: Option<&Payload>) -> Option<String> {
    let decided = |payload: &&Payload| payload.decision().is_some();
    if let Some(payload) = xpia.filter(decided).or_else(|| amplihack.filter(decided)) {
        return Some(payload.text.clone());
    }
    let blocking = amplihack.filter(|payload| payload.blocks())?;
    let message = blocking.value.get("message").or_else(|| blocking.value.get("reason"));
    let message = message.and_then(Value::as_str).filter(|text| !text.is_empty());
    let message = message.unwrap_or(BLOCKED_BY_AMPLIHACK);
    let denial = json!({
        "permissionDecision": "deny",
        "permissionDecisionReason": blocked_reason(message),
        "message": message,
    });
    Some(denial.to_string())
}
