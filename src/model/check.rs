//! The result of a verify command that the runner ran.

use serde::{Deserialize, Serialize};

use super::CriterionKey;

/// One verify command, run once.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CheckResult {
    /// The command as written.
    pub command: String,
    /// The criteria it belongs to.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub criteria: Vec<CriterionKey>,
    /// It is also a command of the whole task (`verify` in the front matter).
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub whole_task: bool,
    /// How it went.
    pub status: CheckStatus,
    /// Milliseconds it took.
    pub millis: u64,
    /// The end of its output, both streams, redacted and bounded.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub output: String,
}

impl CheckResult {
    /// Whether the command succeeded.
    pub fn passed(&self) -> bool {
        self.status == CheckStatus::Passed
    }
}

/// The way in which a verify command ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CheckStatus {
    /// Exit code 0.
    Passed,
    /// Any other exit code.
    Failed(i32),
    /// Ended by a signal.
    Signalled(i32),
    /// Longer than its limit, in seconds; it was ended with all its children.
    TimedOut(u64),
    /// It could not be started.
    NotRun(String),
}
