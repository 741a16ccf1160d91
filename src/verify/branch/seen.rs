//! The task's files in a commit, and remarks about it.

use crate::model::{Task, TaskState};
use crate::verify::git::BranchCommit;

/// A commit, with its files of the task.
#[derive(Clone, Debug)]
pub struct Seen {
    /// The commit.
    pub commit: BranchCommit,
    /// The task; none if the commit holds no TASK.md.
    pub task: Option<Task>,
    /// The state; `Err` if state.json is invalid.
    pub state: Option<Result<TaskState, String>>,
    /// guardrails.md.
    pub signs: Option<String>,
}

/// Something about a commit that people should know.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Remark {
    /// How much it weighs.
    pub kind: RemarkKind,
    /// The commit, by its place in the branch.
    pub at: usize,
    /// Its action, as in `changes TASK.md`.
    pub what: String,
}

/// How much a remark weighs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RemarkKind {
    /// Nothing: it is only listed.
    Listed,
    /// A human may have done it, and an agent can imitate that: `--allow-accepted`.
    Human,
    /// It is not proven.
    Unproven,
    /// The base's own rules are others by now.
    Outdated,
    /// A record is false.
    Forged,
}
