//! What the audit says about one call of a hook.

use std::time::Duration;

use serde::Serialize;
use serde_json::Value;

use super::{Answer, Asked, SessionId};

/// What was going on. The names are those of the audit's key `hookType`.
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
    /// The agent reported an error of its own.
    Error,
}

/// One line of the audit before it is redacted and cut: what makes the line does both.
#[derive(Clone, Debug, PartialEq)]
pub struct AuditEntry {
    /// What was going on.
    pub hook: HookType,
    /// The session, where it is known.
    pub session: Option<SessionId>,
    /// The tool.
    pub tool: Option<String>,
    /// Its arguments, or the prompt.
    pub input: Option<Value>,
    /// What came of it, or the error's words.
    pub output: Option<Value>,
    /// What it took: the decision's time before a call, the call's own time after it.
    pub elapsed: Option<Duration>,
    /// What was decided.
    pub decision: Option<AuditDecision>,
}

/// A decision as the audit tells it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AuditDecision {
    /// Yes or no.
    pub answer: Answer,
    /// The id of the rule that decided.
    pub rule: String,
    /// Why.
    pub reason: String,
    /// Which layer asked, where there are two.
    pub asked: Option<Asked>,
}

impl AuditEntry {
    /// An entry with nothing but its kind; the rest is added by name.
    pub fn new(hook: HookType, session: Option<SessionId>) -> Self {
        Self { hook, session, tool: None, input: None, output: None, elapsed: None, decision: None }
    }
}
