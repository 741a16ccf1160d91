//! An entry of the audit.

use std::time::Duration;

use serde::Serialize;
use serde_json::Value;

use super::{Answer, Asked, SessionId};

/// The kind of an entry. The names are the values of the audit's key `hookType`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum HookType {
    /// A tool call was decided.
    PreToolUse,
    /// A tool call ended.
    PostToolUse,
    /// A prompt was sent.
    Prompt,
    /// A session was opened.
    SessionStart,
    /// A session was closed.
    SessionEnd,
    /// The agent reported an error.
    Error,
}

/// One line of the audit, before it is redacted and cut.
#[derive(Clone, Debug, PartialEq)]
pub struct AuditEntry {
    /// The kind.
    pub hook: HookType,
    /// The session, if known.
    pub session: Option<SessionId>,
    /// The tool.
    pub tool: Option<String>,
    /// Its arguments, or the prompt.
    pub input: Option<Value>,
    /// The result, or the error message.
    pub output: Option<Value>,
    /// The time for the decision before a call, or of the call itself after it.
    pub elapsed: Option<Duration>,
    /// The decision.
    pub decision: Option<AuditDecision>,
}

/// A decision, as the audit shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AuditDecision {
    /// Yes or no.
    pub answer: Answer,
    /// The id of the rule that decided.
    pub rule: String,
    /// Why.
    pub reason: String,
    /// The layer that asked, if there are two.
    pub asked: Option<Asked>,
}

impl AuditEntry {
    /// An entry with nothing but its kind; the rest is added by name.
    pub fn new(hook: HookType, session: Option<SessionId>) -> Self {
        Self { hook, session, tool: None, input: None, output: None, elapsed: None, decision: None }
    }
}
