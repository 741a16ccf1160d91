//! The question about the harness, and the answer.

use std::collections::BTreeSet;
use std::path::PathBuf;

use globset::GlobSet;

use super::files::{EntryKind, SourceTree};
use super::table::Table;
use crate::model::InlineTest;

/// Two trees, and the task's statements about them.
#[derive(Clone, Copy)]
pub struct HarnessQuestion<'a> {
    /// The task's start, with later content of humans and accepted work laid over it.
    pub start: &'a dyn SourceTree,
    /// The commit to be proven.
    pub now: &'a dyn SourceTree,
    /// Every check that the verdict runs.
    pub checks: &'a [HarnessCheck<'a>],
    /// The task's `setup:` commands.
    pub setup: &'a [String],
    /// Conventions by ecosystem, with the configuration's own globs.
    pub table: &'a Table,
    /// Paths that the task allows to change (`may_change`): never put back.
    pub may_change: &'a GlobSet,
    /// Paths that the human protected: always put back.
    pub protect: &'a GlobSet,
}

/// A verify command.
#[derive(Clone, Copy, Debug)]
pub struct HarnessCheck<'a> {
    /// The shell line.
    pub command: &'a str,
    /// At the start it found its test missing, so that it is left out of the third run.
    pub missing_at_start: bool,
}

/// The changes for the third run, and the verdict's remarks about them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PutBack {
    /// Edits of the current tree, removals first. Empty: skip the third run.
    pub edits: Vec<TreeEdit>,
    /// Every harness file that differs from the start.
    pub changed: Vec<PathBuf>,
    /// Tests inside product files that changed. They are named, not put back.
    pub inline_tests: Vec<InlineTest>,
    /// Files of the start whose exit status decides a check, and what they load.
    pub judges: BTreeSet<PathBuf>,
    /// Judges that must run to their end.
    pub ends: Vec<JudgeEnd>,
    /// Judges that look like the product itself. They would always be held; `may_change` helps.
    pub judge_is_subject: BTreeSet<PathBuf>,
}

/// A judge that must run to its end, with a failure in two places.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JudgeEnd {
    /// The check.
    pub check: String,
    /// The judge: a script, or the check's own line.
    pub name: String,
    /// The check with a failure as the first thing: red, if what it decides counts.
    pub at_start: MarkedCheck,
    /// The check with a failure as the last thing: red, if it is reached.
    pub at_end: MarkedCheck,
}

/// A check in which a failure was planted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MarkedCheck {
    /// The shell line.
    pub command: String,
    /// The script with the failure, if it is in a script.
    pub edit: Option<TreeEdit>,
}

/// One change of the current tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TreeEdit {
    /// Write a file, whatever is there.
    Write {
        /// Relative to the root.
        path: PathBuf,
        /// Kind; for a link the bytes are its target.
        kind: EntryKind,
        /// Content. For a gitlink it is the id of its commit.
        bytes: Vec<u8>,
    },
    /// Remove a file or a link.
    Remove {
        /// Relative to the root.
        path: PathBuf,
    },
}

impl TreeEdit {
    /// The path that changes.
    pub fn path(&self) -> &PathBuf {
        match self {
            Self::Write { path, .. } | Self::Remove { path } => path,
        }
    }
}
