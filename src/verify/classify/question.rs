//! The question about the harness, and the answer.

use std::collections::BTreeSet;
use std::path::PathBuf;

use globset::GlobSet;

use super::files::{EntryKind, SourceTree};
use super::table::Table;

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

/// The changes for the other runs, and the verdict's remarks about them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PutBack {
    /// Edits of the current tree that put the tests back, removals first. Empty: there is nothing to
    /// put back.
    pub edits: Vec<TreeEdit>,
    /// Paths among them that list what is built: new sources may need the new list.
    pub build: Vec<PathBuf>,
    /// Edits that put everything else back, so that the tests of the work meet the old product.
    pub product: Vec<TreeEdit>,
    /// Every harness file that differs from the start.
    pub changed: Vec<PathBuf>,
    /// Files of the start that checks name, and helpers that those load.
    pub judges: BTreeSet<PathBuf>,
    /// Scripts that must run to their end.
    pub ends: Vec<JudgeEnd>,
}

/// A script that must run to its end, with a failure in two places.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JudgeEnd {
    /// The check.
    pub check: String,
    /// The script.
    pub name: String,
    /// With a failure as the first thing: red, if what the script decides counts.
    pub at_start: TreeEdit,
    /// With a failure as the last thing: red, if it is reached.
    pub at_end: TreeEdit,
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
