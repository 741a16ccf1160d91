//! A tool call that an agent requests, and the guard's decision.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::SessionId;

/// The layer that asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Asked {
    /// The CLI's `preToolUse` hook, over the run's socket.
    Hook,
    /// ACP's `session/request_permission`.
    Permission,
    /// The run's own MCP server, about a call that no layer before it decided.
    Server,
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

/// The answer to a tool call. An unattended run has no third one.
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
    /// It ran without being asked for, as `--unasked allow` permits.
    Unasked,
    /// It ran without permission.
    Missing,
}

impl Decided {
    /// Whether it had; that needs no words in the journal.
    pub fn is_yes(&self) -> bool {
        *self == Self::Yes
    }
}

/// The guard's answer, with the rule and the reason.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Decision {
    /// The answer.
    pub answer: Answer,
    /// The id of the rule that decided, as in `git.push`.
    pub rule: String,
    /// For a denied call: the refused part and the alternative, for the agent and the human.
    /// For an allowed call: its effect.
    pub reason: String,
    /// Canonical paths that an allowed call writes, as far as its input shows.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub writes: Vec<PathBuf>,
    /// Denied only because the run is unattended: a human at the terminal may approve it.
    #[serde(skip)]
    pub for_a_human: bool,
    /// The call would run in the session's sandbox.
    #[serde(skip)]
    pub sandboxed: bool,
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
            sandboxed: false,
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
