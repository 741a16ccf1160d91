//! The messages between a run and its workers, one JSON line each.

use serde::{Deserialize, Serialize};

use crate::agent::Denials;
use crate::model::{
    CheckResult, CriterionKey, EventKind, Evidence, Finding, Oid, Outcome, Stuck, TaskState,
};
use crate::verify::RefusedCommit;

/// An attempt at one criterion, for a worker whose tree is at the commit where it begins.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Assignment {
    /// The criterion.
    pub criterion: CriterionKey,
    /// 1 for the first attempt.
    pub attempt: u32,
    /// The number that prompts name.
    pub iteration: u32,
    /// The commit that the work is compared with.
    pub base: Oid,
    /// The task's state.
    pub state: TaskState,
    /// The findings of the last verdict on the criterion.
    pub feedback: Vec<Finding>,
    /// The results of the checks before the work.
    pub baseline: Vec<CheckResult>,
    /// What the project's commit hooks refuse.
    pub commit_hooks: Vec<RefusedCommit>,
    /// What commit subjects begin with, before ours.
    pub commit_prefix: String,
    /// The seconds that the run has left, if it has a limit.
    pub seconds: Option<u64>,
    /// The tokens that the run has left, if it has a limit.
    pub tokens: Option<u64>,
    /// The same in thousandths of an AI credit.
    pub credits: Option<u64>,
}

/// A worker's answer to an assignment.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WorkerAnswer {
    /// The work of the turn.
    HandedIn(Box<HandedIn>),
    /// The criterion is no longer open in the worker's tree.
    Obsolete,
    /// The worker cannot go on.
    Failed {
        /// Why.
        reason: String,
    },
}

/// The work of a turn, with the evidence from git and from the guard. No check ran yet.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct HandedIn {
    /// The criterion.
    pub criterion: CriterionKey,
    /// The commit that the work is compared with.
    pub base: Oid,
    /// The last commit.
    pub head: Oid,
    /// A commit on top of it with everything that was not committed.
    pub kept: Oid,
    /// The evidence.
    pub evidence: Evidence,
    /// The guard's denials.
    pub denials: Denials,
    /// Why the turn had to be ended, if it had to.
    pub stuck: Option<Stuck>,
    /// Why the worker stops, if it does: the turn may have been cut off.
    pub stopped: Option<Outcome>,
    /// What the turn added to progress.md.
    pub progress: String,
    /// Premium requests of the turn.
    pub premium_requests: u32,
    /// Milliseconds from the start of the assignment.
    pub millis: u64,
}

impl HandedIn {
    /// Is there something to keep?
    pub fn did_something(&self) -> bool {
        !self.evidence.commits.is_empty() || !self.evidence.uncommitted.is_empty()
    }
}

/// A line of a worker.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WorkerMessage {
    /// Something that happened in a turn.
    Event(Box<EventKind>),
    /// The answer to the assignment.
    Answer(WorkerAnswer),
}
