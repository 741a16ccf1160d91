//! The outcome of a run.

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

use super::turn::is_zero;
use super::{Credits, CriterionKey, ExitCode, Fault, Proof};

/// The reason for the end of a run. Only `Proven` is success, and of a run without an agent, that
/// everything landed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "outcome", rename_all = "snake_case")]
pub enum Outcome {
    /// Every criterion is proven, committed, or accepted; the summary says which.
    Proven,
    /// What other machines handed in was taken, and no agent worked.
    Landed {
        /// The criteria of it that are done now.
        landed: usize,
        /// All of its criteria.
        of: usize,
    },
    /// A limit was reached first.
    LimitReached {
        /// Which.
        limit: Limit,
    },
    /// A criterion used up its attempts, or the run finished with criteria skipped.
    Stuck {
        /// The cause.
        reason: String,
    },
    /// The agent cannot be used.
    AgentUnusable {
        /// The fault.
        fault: Fault,
    },
    /// Rate limited for longer than `--max-wait`.
    RateLimited {
        /// The agent's words.
        message: String,
        /// When to go on.
        resume_at: DateTime<Utc>,
        /// Whether `resume_at` is estimated.
        estimated: bool,
    },
    /// Tampering was detected.
    Tampered {
        /// The finding.
        reason: String,
    },
    /// Ended by a signal.
    Interrupted {
        /// The signal's number.
        signal: i32,
    },
    /// A part that a run cannot do without failed.
    CannotGoOn {
        /// The kind of obstacle.
        obstacle: Obstacle,
        /// The explanation.
        reason: String,
    },
}

/// A part that a run cannot do without.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Obstacle {
    /// The task, a template or a setting is not usable any more.
    Invalid,
    /// The repository is not usable any more.
    Repository,
    /// State or journal cannot be written, or not be read.
    Write,
    /// The agent's program.
    Agent,
}

impl Obstacle {
    /// Its exit code.
    pub fn exit_code(self) -> ExitCode {
        match self {
            Self::Agent => ExitCode::Agent,
            Self::Invalid => ExitCode::Invalid,
            Self::Repository => ExitCode::Repository,
            Self::Write => ExitCode::Write,
        }
    }
}

impl Outcome {
    /// The number of its exit code.
    pub fn exit_code(&self) -> u8 {
        let code = match self {
            Self::Proven => ExitCode::Proven,
            Self::Landed { landed, of } if landed == of => ExitCode::Proven,
            Self::Landed { .. } => ExitCode::Stuck,
            Self::LimitReached { .. } => ExitCode::Limit,
            Self::Stuck { .. } => ExitCode::Stuck,
            Self::AgentUnusable { .. } => ExitCode::Agent,
            Self::RateLimited { .. } => ExitCode::RateLimited,
            Self::Tampered { .. } => ExitCode::Tampering,
            Self::Interrupted { signal: 1 } => ExitCode::Sighup,
            Self::Interrupted { signal: 15 } => ExitCode::Sigterm,
            Self::Interrupted { .. } => ExitCode::Sigint,
            Self::CannotGoOn { obstacle, .. } => obstacle.exit_code(),
        };
        code.number()
    }
}

/// Which limit ended a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Limit {
    /// `--max-iterations`.
    Iterations,
    /// `--max-duration`.
    Duration,
    /// `--max-premium-requests`.
    PremiumRequests,
    /// `--max-tokens`.
    Tokens,
    /// `--max-ai-credits`.
    AiCredits,
}

/// The final state of a run, for the table.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunSummary {
    /// Criteria in the order of the file.
    pub criteria: Vec<CriterionSummary>,
    /// Iterations of this run.
    pub iterations: u32,
    /// Milliseconds of wall time.
    pub millis: u64,
    /// Premium requests of this run.
    pub premium_requests: u32,
    /// Tokens of this run, where the agent reported them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens: Option<u64>,
    /// Those of them that the provider had cached.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub cached: u64,
    /// AI credits of this run, where the agent reported what they follow from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub credits: Option<Credits>,
    /// Whether the agent's calls could run unasked.
    #[serde(default, skip_serializing_if = "is_false")]
    pub unasked: bool,
    /// The next steps, in the user's terms.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub next: Vec<String>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands a reference")]
fn is_false(value: &bool) -> bool {
    !value
}

/// One line of the table.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CriterionSummary {
    /// Which.
    #[serde(flatten)]
    pub key: CriterionKey,
    /// 1-based line in TASK.md.
    pub line: usize,
    /// Whether its box is ticked.
    pub checked: bool,
    /// Whether it used up its attempts.
    pub blocked: bool,
    /// Why the agent says that it cannot be met, as in `missing: protoc`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub blocked_by: Option<String>,
    /// The ref that keeps its work until a human has reviewed it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub held: Option<String>,
    /// Whether nobody worked on it since one before it waits for a human.
    #[serde(default, skip_serializing_if = "is_false")]
    pub skipped: bool,
    /// Why it waits for the review, or is skipped.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Its proof; `None` for a tick without one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub proof: Option<Proof>,
    /// Failed attempts.
    pub attempts: u32,
}
