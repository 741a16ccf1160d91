//! The judge's verdict on an iteration.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// The verdict on one iteration.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Verdict {
    /// Pass, fail or inconclusive.
    pub result: VerdictResult,
    /// The findings, the weightiest first.
    pub findings: Vec<Finding>,
    /// The repairs that the runner makes.
    #[serde(rename = "mends")]
    pub repairs: Vec<Repair>,
}

impl Verdict {
    /// Whether tampering was found, which ends the run.
    pub fn tampered(&self) -> bool {
        self.findings.iter().any(|finding| finding.weight == Weight::Tampering)
    }
}

/// Whether the criterion is met.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum VerdictResult {
    /// Proven, with the kind of proof.
    Pass(Proof),
    /// Not proven; costs an attempt.
    Fail,
    /// Proven only with changed tests: a human has to review it. Costs no attempt.
    Held,
    /// The agent says why the criterion cannot be met; costs no attempt.
    Blocked,
    /// Undecidable; costs no attempt.
    Inconclusive,
}

/// The proof of a pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, strum::Display)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum Proof {
    /// Its own verify command was red before the work and is green now; there is also a commit.
    Check,
    /// The same, but its verify command was green in the working tree only, where the agent
    /// worked.
    Tree,
    /// A commit only: it has no verify command, or that was green already, or there is no baseline.
    Commit,
    /// A human accepted work that was held for review.
    Accepted,
}

/// One thing the judge found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Finding {
    /// Which.
    pub kind: FindingKind,
    /// Its effect on the verdict.
    pub weight: Weight,
    /// One sentence for the human and the next prompt.
    pub message: String,
}

/// The effect of a finding on the verdict.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Weight {
    /// Tampering: the run must end.
    Tampering,
    /// The criterion is not proven.
    Fails,
    /// A human has to review the work.
    Held,
    /// Nothing can be concluded.
    Unclear,
    /// Reported, without effect.
    Said,
}

/// Every kind of finding there is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FindingKind {
    /// The agent says why the criterion cannot be met as it is written.
    Blocked,
    /// The work does not fit what landed on the branch meanwhile.
    Clash,
    /// The box of the criterion is still open.
    NotTicked,
    /// Boxes of other criteria were ticked.
    OthersTicked,
    /// A tick was taken from another criterion.
    Unticked,
    /// Criteria were reworded, removed or added.
    CriteriaChanged,
    /// A verify command was changed or removed.
    VerifyChanged,
    /// Other text of TASK.md was changed.
    TaskTextChanged,
    /// The Markdown of TASK.md was formatted anew: its form is put back.
    TaskReformatted,
    /// TASK.md cannot be understood any more.
    TaskUnreadable,
    /// The human changed TASK.md meanwhile.
    TaskChangedByHuman,
    /// TASK.md changed beyond the tick, by an unknown author: the change is undone.
    TaskTakenBack,
    /// The branch has no commit since the checkpoint.
    NoCommit,
    /// No commit changes anything outside the state files.
    EmptyCommit,
    /// A commit does not carry this task's prefix.
    WrongPrefix,
    /// History was amended, rebased or reset.
    HistoryRewritten,
    /// HEAD is on another branch, or on none.
    WrongBranch,
    /// A merge, rebase or the like was begun and not finished.
    OperationInProgress,
    /// A file that holds secrets, by its name, was committed.
    SecretCommitted,
    /// Work was left uncommitted.
    Uncommitted,
    /// A check passes only thanks to something that is not in HEAD.
    NotReproducible,
    /// A verify command of this criterion or the task is red.
    CheckFailed,
    /// A check that the agent never sees is red.
    HoldOutFailed,
    /// A check was green and red on the same commit.
    Flaky,
    /// A check is red with the tests, scripts and configuration of the start.
    HarnessNeeded,
    /// A check is green whatever its tests expect.
    Unmoved,
    /// The harness changed, and the checks are green with the old one, too.
    HarnessChanged,
    /// The test that a check runs was written in this run.
    TestIsNew,
    /// A check changed a file that decides about checks.
    CheckWrote,
    /// The criterion's check was green before the work.
    GreenBefore,
    /// A check that was red before the work is still red.
    RedBefore,
    /// A criterion that passed before fails now.
    Regression,
    /// A protected file was changed.
    ProtectedChanged,
    /// The human's own files were committed, changed or removed.
    HumanWorkTouched,
    /// guardrails.md or old lines of progress.md were rewritten.
    StateRewritten,
    /// The runner's own records were changed.
    RecordsTampered,
    /// Hooks or agent settings were changed.
    SettingsChanged,
    /// Programs on PATH, or configuration of tools in HOME, are not as at the run's start.
    AroundChanged,
    /// A tool call ran without a decision.
    UndecidedCall,
    /// The runner had to end the turn: it hung, or did the same thing again and again.
    TurnStuck,
    /// The guard denied calls, and the work was not finished.
    Denied,
    /// The criterion's recipe failed, or its runner gave no answer.
    RecipeFailed,
    /// progress.md has no entry of this iteration.
    NoProgressEntry,
    /// Only a commit speaks for it, and checks are required.
    CheckRequired,
}

impl FindingKind {
    /// Does it only say that the work is not done, and not what is wrong with it?
    pub fn is_unfinished(self) -> bool {
        matches!(self, Self::NotTicked | Self::NoCommit | Self::EmptyCommit | Self::Uncommitted)
    }
}

/// A repair the runner makes, and says so.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Repair {
    /// Put back everything in TASK.md but the tick of the focus.
    RestoreTask {
        /// Is the tick of the focus kept?
        keep_tick: bool,
    },
    /// Save the attempt under its ref, then put branch and tree back to the checkpoint:
    /// history was rewritten or the work lies elsewhere.
    BackToCheckpoint,
    /// Keep the work under the criterion's ref, off the branch, until a human has reviewed it.
    Hold,
    /// Remove only the tick of the criterion in focus: the rest of TASK.md is the human's, and the
    /// tick has no proof.
    Untick,
    /// Put a file back to the checkpoint's content.
    RestoreFile(PathBuf),
    /// Write the missing progress line.
    ProgressLine,
    /// Commit state that the agent left uncommitted.
    StateCommit,
}
