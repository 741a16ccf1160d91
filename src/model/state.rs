//! state.json: the state that must outlive the machine. Committed with the state update.

use std::fmt;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use strum::{Display, EnumString};

use super::{CheckResult, Criterion, CriterionKey, Oid, Proof, TestCount, all_passed};

/// The committed memory of a task.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskState {
    /// Format of this file; 1.
    pub version: u32,
    /// The last iteration number used; numbers only grow, across runs.
    pub iteration: u32,
    /// The commit before the task's first run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start: Option<Oid>,
    /// A tree with the harness that counts: the start's, and the humans' changes since.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub harness: Option<Oid>,
    /// How commands ended when they ran for the first time, before any work on their criterion.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub first_seen: Vec<FirstSeen>,
    /// The next number for `refs/ralph/<task>/attempts/<n>`.
    #[serde(default)]
    pub attempt_refs: u32,
    /// One entry for every criterion that was ever in focus.
    pub criteria: Vec<CriterionState>,
}

/// The end of a verify command that ran for the first time.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FirstSeen {
    /// The command.
    pub command: String,
    /// How it ended.
    pub status: FirstStatus,
    /// The counts of its test runners.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tests: Vec<TestCount>,
    /// Tests and configuration that it changes although no work is done, such as a cache that git
    /// tracks.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub wrote: Vec<PathBuf>,
    /// A commit or a tree with the harness that the command has to pass, besides the start's: a
    /// proof rested on new tests there that need other changed files.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub harness: Option<Oid>,
}

/// How a verify command ended before any work.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FirstStatus {
    /// It passed.
    Green,
    /// It failed.
    Red,
    /// It failed, for the test that it runs was not there.
    Missing,
}

/// The memory of a criterion.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CriterionState {
    /// The criterion.
    #[serde(flatten)]
    pub key: CriterionKey,
    /// Failed attempts since the last `retry`.
    #[serde(default)]
    pub attempts: u32,
    /// Used up its attempts: not selected until `retry`.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub blocked: bool,
    /// The agent says why it cannot be done: not selected until `retry`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub blocked_by: Option<Blocked>,
    /// Done, but waiting for a human's review: not selected until then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub held: Option<HeldWork>,
    /// An attempt left this commit with work in it: a later one, of another run or on another
    /// machine, needs no other as long as the branch has it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub worked: Option<Oid>,
    /// The proof of its pass.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub proof: Option<Proof>,
    /// How many of its hold-out checks passed with that, as in `2 of 2`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub holdout: Option<String>,
    /// The iteration that proved it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub iteration: Option<u32>,
}

/// Why an agent says that a criterion cannot be met as it is written.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Blocked {
    /// What stands in the way.
    pub kind: BlockedKind,
    /// The agent's words, without secrets.
    pub reason: String,
    /// A human let the agent try again.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub retried: bool,
    /// It was blocked by the same kind again: it stays so, unless a human names the criterion.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub again: bool,
}

/// What stands in the way of a criterion.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, Display, EnumString)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum BlockedKind {
    /// It contradicts its check, or itself.
    Contradiction,
    /// Something is missing on this machine.
    Missing,
    /// A decision is the human's.
    Decision,
}

impl Blocked {
    /// Longest reason that is kept, in characters.
    const REASON: usize = 500;

    /// What a line says that has the form `BLOCKED: <kind>: <reason>`.
    pub fn said(line: &str) -> Option<Self> {
        let (kind, reason) = line.strip_prefix("BLOCKED:")?.split_once(':')?;
        let kind = kind.trim().parse().ok()?;
        let reason = reason.trim_matches(|c: char| c.is_whitespace() || c == '*' || c == '_');
        let reason = reason.trim_end_matches('.').chars().take(Self::REASON).collect::<String>();
        (!reason.is_empty()).then_some(Self { kind, reason, retried: false, again: false })
    }
}

impl fmt::Display for Blocked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.kind, self.reason)
    }
}

impl CriterionState {
    /// Why the agent says that it cannot be done, until a human lets it try again.
    pub fn is_blocked_by(&self) -> Option<&Blocked> {
        self.blocked_by.as_ref().filter(|it| !it.retried && self.proof.is_none())
    }

    /// Does it wait for a human: stuck, blocked, or held for review?
    pub fn waits(&self) -> bool {
        self.blocked || self.is_blocked_by().is_some() || self.held.is_some()
    }
}

/// Work that waits for a human's review.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HeldWork {
    /// The ref that keeps it.
    pub name: String,
    /// The commit that it names.
    pub commit: Oid,
    /// The commit that the work began on.
    pub base: Oid,
    /// Why it waits, without secrets.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub reason: String,
}

/// Forgets which tests ran before any work, since the tests of the start are others now.
pub fn forget_tests(first_seen: &mut [FirstSeen]) {
    for seen in first_seen {
        seen.tests.clear();
    }
}

/// Remembers that checks have found the tests that were not there at the start: from now on they
/// are old ones. `apart` names the commit of tests that need more of its harness.
pub fn tests_are_there(first_seen: &mut [FirstSeen], checks: &[CheckResult], apart: Option<&Oid>) {
    for seen in first_seen {
        let found = checks.iter().any(|it| it.passed() && it.command == seen.command);
        let is_missing = seen.status == FirstStatus::Missing;
        match apart {
            _ if !found => {}
            // A test that was found stays what it was then.
            Some(_) if is_missing && seen.harness.is_some() => {}
            Some(commit) => seen.harness = Some(commit.clone()),
            None if is_missing && seen.harness.is_none() => seen.status = FirstStatus::Red,
            None => {}
        }
    }
}

impl TaskState {
    /// How a command ended when it ran for the first time.
    pub fn first_seen(&self, command: &str) -> Option<FirstStatus> {
        self.first_seen.iter().find(|seen| seen.command == command).map(|seen| seen.status)
    }

    /// Did the checks of a criterion pass before any work: when the task began, and in these
    /// results?
    pub fn passed_first(&self, criterion: &Criterion, before: &[CheckResult]) -> bool {
        let red = |status| matches!(status, FirstStatus::Red | FirstStatus::Missing);
        let was_red =
            criterion.verify.iter().any(|it| self.first_seen(&it.command).is_some_and(red));
        all_passed(criterion, before) && !was_red
    }

    /// The memory of a criterion, if there is any.
    pub fn find(&self, key: &CriterionKey) -> Option<&CriterionState> {
        self.criteria.iter().find(|entry| entry.key == *key)
    }

    /// Is a proof of a criterion recorded?
    pub fn is_proven(&self, key: &CriterionKey) -> bool {
        self.find(key).is_some_and(|entry| entry.proof.is_some())
    }

    /// The entry of a criterion, made on first use.
    pub fn entry(&mut self, key: &CriterionKey) -> &mut CriterionState {
        let at = self.criteria.iter().position(|entry| entry.key == *key).unwrap_or_else(|| {
            self.criteria.push(CriterionState { key: key.clone(), ..CriterionState::default() });
            self.criteria.len() - 1
        });
        &mut self.criteria[at]
    }
}
