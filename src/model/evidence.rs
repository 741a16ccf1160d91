//! The runner's own observations of a turn, as data for the judge.

use std::fmt;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize, Serializer};

use super::{Blocked, CheckResult, CriterionKey, Oid};

/// The branch and commit before the turn.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Checkpoint {
    /// The commit that HEAD pointed to.
    pub head: Oid,
    /// The full name of the branch, as in `refs/heads/main`.
    pub branch: String,
}

/// The state after a turn, compared with the checkpoint.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Evidence {
    /// The criterion that was asked for.
    pub focus: CriterionKey,
    /// The change of TASK.md.
    pub task_file: TaskFileChange,
    /// The change of the branch.
    pub history: History,
    /// A merge, rebase or the like that was begun and is not finished.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub in_progress: Option<String>,
    /// Commits since the checkpoint, oldest first.
    pub commits: Vec<CommitSeen>,
    /// Files with secrets, judged by their names, that these commits add.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub secrets: Vec<PathChange>,
    /// An earlier attempt at this same criterion left a commit that counts as work, or work on
    /// another one turned its checks green, which were red at the task's start.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub worked_before: bool,
    /// Changes the agent left uncommitted: neither state files, nor artefacts of
    /// checks, nor the human's.
    pub uncommitted: Vec<PathChange>,
    /// Those of them that are git repositories of their own.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub repositories: Vec<PathBuf>,
    /// Protected files that differ from the checkpoint.
    pub protected: Vec<PathChange>,
    /// Files that the human left in the tree and the agent committed, changed or removed.
    pub human: Vec<PathChange>,
    /// A commit has one of them.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub human_committed: bool,
    /// Files of the task folder that only the runner writes and that differ.
    pub state_files: Vec<PathChange>,
    /// The change of guardrails.md.
    #[serde(default)]
    pub guardrails: SignsChange,
    /// State files with changes that no commit holds.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub state_uncommitted: Vec<PathChange>,
    /// Hooks and agent settings that changed.
    pub settings: Vec<PathChange>,
    /// Programs on PATH, and configuration of tools in HOME, that are not as at the run's start.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub around: Vec<PathBuf>,
    /// Whether progress.md has a new entry with the iteration's date.
    pub progress: bool,
    /// Whether progress.md lost or changed lines that stood there before.
    pub progress_rewritten: bool,
    /// The last line that the agent added to progress.md says that the criterion cannot be met.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub blocked_by: Option<Blocked>,
    /// The verify commands, as the runner ran them after the turn.
    pub checks: Vec<CheckResult>,
    /// Those of them that were green and red on the same commit.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub flaky: Vec<String>,
    /// Files that commands changed and must not.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub wrote: Vec<CheckWrote>,
    /// Commands that pass whatever their tests expect.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unmoved: Vec<Unmoved>,
    /// The commands once more, with the harness put back; none if it did not change.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub put_back: Option<PutBackRun>,
    /// The hold-out checks, once everything else held.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub holdout: Vec<HoldOutCount>,
    /// The same commands before the work: for the focus, before its first attempt; for the others
    /// the best result of this run, so that a break is not forgiven because it existed one
    /// iteration ago. Empty without a baseline.
    pub before: Vec<CheckResult>,
    /// Commands that failed before the task's first run, and pass since.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub red_at_start: Vec<String>,
    /// Executed tool calls without a decision.
    pub undecided: Vec<String>,
    /// Criteria whose passing had been proven before, with their commands that passed.
    pub proven: Vec<CriterionKey>,
}

impl Evidence {
    /// Nothing but the criterion and the change of TASK.md: no work, and nothing against it.
    pub fn none(focus: CriterionKey, task_file: TaskFileChange) -> Self {
        Self { focus, task_file, ..Self::default() }
    }
}

/// Files that a verify command changed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CheckWrote {
    /// The command.
    pub command: String,
    /// The files.
    pub paths: Vec<PathChange>,
}

/// A verify command that passes whatever its tests expect.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Unmoved {
    /// The command.
    pub command: String,
    /// The criteria that it belongs to.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub criteria: Vec<CriterionKey>,
    /// Where it passes.
    #[serde(default)]
    pub with: MustFail,
    /// The files of tests that it passes with.
    pub paths: Vec<PathBuf>,
    /// The line of the only one that was changed, from 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<u64>,
}

/// A run in which a check must fail.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MustFail {
    /// The tests expect something else.
    #[default]
    OtherExpectation,
    /// The tests of the work meet the product of the start.
    OldProduct,
    /// The tests of the work assert nothing.
    NoAssertion,
}

/// Verify commands run with the harness as it was.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PutBackRun {
    /// The files of the harness that differ from it at the commit.
    pub harness: Vec<PathChange>,
    /// New tests, and files that list what is built, without which the checks fail.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rests_on: Vec<PathBuf>,
    /// The results.
    pub checks: Vec<CheckResult>,
    /// Commands whose test was not there at the task's start: they have no old one to pass.
    pub left_out: Vec<String>,
    /// Tests that the work took out, in a few words, if a check fails.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub missing: Option<String>,
    /// The new tests need files that changed, too: they fail where only the changed ones are as they
    /// were.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub apart: bool,
}

/// The hold-out checks of a criterion, without their content.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HoldOutCount {
    /// The criterion.
    pub criterion: CriterionKey,
    /// How many passed.
    pub passed: usize,
    /// How many ran, without those that also passed before any work.
    pub of: usize,
}

impl HoldOutCount {
    /// Did all of them pass?
    pub fn holds(&self) -> bool {
        self.passed == self.of
    }
}

impl fmt::Display for HoldOutCount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} of {}", self.passed, self.of)
    }
}

/// The author of a change to TASK.md.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Attribution {
    /// Unchanged.
    #[default]
    Unchanged,
    /// The agent.
    Agent,
    /// A human: the agent's commands could not have made the change.
    Human,
    /// Unknown: a command of the agent may have made the change.
    Unknown,
}

/// A change of TASK.md between two looks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TaskEdit {
    /// The bytes before.
    pub before: Vec<u8>,
    /// The bytes after.
    pub after: Vec<u8>,
    /// A command with unknown writes was running, or had run in the turn: its leftovers may have
    /// made the change.
    pub unseen: bool,
}

/// guardrails.md before and after the turn.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SignsChange {
    /// The same bytes.
    #[default]
    Unchanged,
    /// Old signs stand as they were and something follows them, and neither a call nor a
    /// commit of the agent did it.
    AppendedByHuman,
    /// A call or a commit of the agent changed it, or old signs are gone.
    Rewritten,
}

/// TASK.md before and after, in terms of criteria.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskFileChange {
    /// Who changed it.
    pub by: Attribution,
    /// The focus was open and is ticked now.
    pub focus_ticked: bool,
    /// Other criteria that were ticked.
    pub others_ticked: Vec<CriterionKey>,
    /// Criteria that lost their tick.
    pub unticked: Vec<CriterionKey>,
    /// Criteria that no longer exist with this text.
    pub removed: Vec<CriterionKey>,
    /// Criteria that were not there before.
    pub added: Vec<CriterionKey>,
    /// Verify commands differ, of a criterion or of the task.
    pub verify_changed: bool,
    /// Any other difference of the text.
    pub text_changed: bool,
    /// Only the form of the Markdown differs, as after a formatter.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub reformatted: bool,
    /// The file cannot be read or understood any more, and why.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unreadable: Option<String>,
}

impl TaskFileChange {
    /// Does it change more than the tick of the criterion in focus?
    pub fn is_beyond_tick(&self) -> bool {
        !self.others_ticked.is_empty()
            || !self.unticked.is_empty()
            || !self.removed.is_empty()
            || !self.added.is_empty()
            || self.verify_changed
            || self.text_changed
            || self.unreadable.is_some()
    }

    /// No change.
    pub fn none(by: Attribution) -> Self {
        Self { by, ..Self::default() }
    }
}

/// The change of the branch since the checkpoint.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum History {
    /// Same branch; the checkpoint is an ancestor of HEAD or HEAD itself.
    #[default]
    Straight,
    /// Same branch, but it no longer contains the checkpoint's commit.
    Rewritten,
    /// HEAD is on another branch.
    OtherBranch(String),
    /// HEAD is on no branch.
    Detached,
}

/// A commit made since the checkpoint.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CommitSeen {
    /// Its id.
    pub id: Oid,
    /// The first line of its message.
    pub subject: String,
    /// Whether the subject is marked with `ralph(<task>): `, at most behind a type or a ticket.
    pub ours: bool,
    /// It is a merge, or came with one: other work, made elsewhere.
    pub merge: bool,
    /// Paths changed against its first parent, without the state files; a long list
    /// is cut.
    pub paths: Vec<PathChange>,
    /// It changes nothing in these paths but white space, line endings, and modes, or nothing else
    /// is left of it at the end of the turn.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub formatting: bool,
}

/// One path that differs.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct PathChange {
    /// Relative to the repository, `/`-separated. In JSON, bytes that are not UTF-8 are
    /// shown as U+FFFD.
    #[serde(serialize_with = "lossy")]
    pub path: PathBuf,
    /// How.
    pub kind: ChangeKind,
}

/// A path need not be UTF-8, and a journal that cannot be written would end the run.
fn lossy<S: Serializer>(path: &Path, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&path.to_string_lossy())
}

/// How a path differs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ChangeKind {
    /// It was not there.
    Added,
    /// Its content, mode or type is another.
    Modified,
    /// It is gone.
    Deleted,
}
