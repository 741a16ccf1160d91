//! What an agent wants to do, and what the guard says to it.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::SessionId;

/// Which of the two layers asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Asked {
    /// The CLI's `preToolUse` hook, over the run's socket.
    Hook,
    /// ACP's `session/request_permission`.
    Permission,
}

/// A tool call that is about to happen. Only `tool` and `input` are decided on:
/// titles and kinds are the model's own words.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ToolRequest {
    /// The session it belongs to.
    pub session: SessionId,
    /// ACP's `toolCallId`, where the layer knows it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub call: Option<String>,
    /// The tool's name (`bash`, `edit`, …), or ACP's kind where an agent gives no name.
    pub tool: String,
    /// The raw arguments.
    pub input: Value,
    /// The layer that asked.
    pub asked: Asked,
}

/// Yes or no; there is no third answer while nobody is watching.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Answer {
    /// It may run.
    Allow,
    /// It must not run.
    Deny,
}

/// Whether a call that ended had been decided by us.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Decided {
    /// It had.
    #[default]
    Yes,
    /// It only looked, and this agent does not ask for that.
    NotNeeded,
    /// It failed before it was asked for: nothing was done.
    NotAsked,
    /// It ran, and nobody had allowed it.
    Missing,
}

impl Decided {
    /// Whether it had; that needs no words in the journal.
    pub fn is_yes(&self) -> bool {
        *self == Self::Yes
    }
}

/// The guard's answer, with what made it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Decision {
    /// The answer.
    pub answer: Answer,
    /// The id of the rule that decided, as in `git.push`.
    pub rule: String,
    /// For the agent and the human: what was refused and what to do instead.
    /// For an allowed call: what it was understood to do.
    pub reason: String,
    /// Canonical paths that an allowed call writes, as far as its input tells.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub writes: Vec<PathBuf>,
    /// Refused only because nobody is watching: a human who is may say yes.
    #[serde(skip)]
    pub for_a_human: bool,
}

impl Decision {
    /// A yes.
    pub fn allow(rule: impl Into<String>, reason: impl Into<String>) -> Self {
        Self {
            answer: Answer::Allow,
            rule: rule.into(),
            reason: reason.into(),
            writes: Vec::new(),
            for_a_human: false,
        }
    }

    /// A no.
    pub fn deny(rule: impl Into<String>, reason: impl Into<String>) -> Self {
        Self { answer: Answer::Deny, ..Self::allow(rule, reason) }
    }

    /// Whether the call may run.
    pub fn allowed(&self) -> bool {
        self.answer == Answer::Allow
    }
}
