//! The data of one iteration: the facts from before its turn, and how the turn ended.

use chrono::NaiveDate;
use tokio::time::Instant;

use crate::model::{Checkpoint, Criterion, Fault, Oid, Outcome, Task, Turn};
use crate::verify::{Fingerprints, Protection, StateFiles};

/// Everything recorded before a turn, to compare the repository with afterwards.
pub(super) struct Iteration {
    pub(super) number: u32,
    pub(super) task: Task,
    pub(super) criterion: Criterion,
    /// 1 for the first attempt at the criterion.
    pub(super) attempt: u32,
    pub(super) checkpoint: Checkpoint,
    /// The commit before this run's first attempt at the criterion.
    pub(super) origin: Oid,
    pub(super) files: StateFiles,
    pub(super) settings: Fingerprints,
    /// No command of the turn can have changed git's settings.
    pub(super) spared_git: bool,
    pub(super) protection: Protection,
    pub(super) date: NaiveDate,
    pub(super) started: Instant,
    pub(super) premium_requests: u32,
    /// How often the in-turn check sent the agent back to work.
    pub(super) sent_back: u32,
}

/// The end of a turn, or the reason why there was none.
pub(super) enum TurnResult {
    /// The turn ended by itself, well or badly.
    Ended(Turn),
    /// The agent or its model failed.
    Failed(Option<Turn>, Fault),
    /// The run ends.
    Stopped(Option<Turn>, Outcome),
}

/// Whether a turn counts as an attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Completion {
    /// The agent ended it, or was stuck: it counts.
    Whole,
    /// A failure of the agent or the end of the run cut it off: it counts only if the criterion is
    /// proven anyway.
    CutOff,
}
