//! A working tree that holds HEAD and nothing else.
//!
//! Invariant: it lies outside the repository, has a git directory of its own that only
//! reads the repository's objects, and is gone when this value is dropped; a crash leaves
//! a directory in the system's temporary place and nothing in the repository. What does
//! NOT live here: how git fills it.

use std::path::{Path, PathBuf};

/// HEAD, checked out in a temporary directory.
#[derive(Debug)]
pub struct CleanTree {
    /// Dropping it removes the directory.
    _dir: tempfile::TempDir,
    work: PathBuf,
    notes: Vec<String>,
}

impl CleanTree {
    /// A root inside a temporary directory, and what the human should know of it.
    pub fn new(dir: tempfile::TempDir, work: PathBuf, notes: Vec<String>) -> Self {
        Self { _dir: dir, work, notes }
    }

    /// Its root.
    pub fn path(&self) -> &Path {
        &self.work
    }

    /// What differs from a fresh clone, for the human: submodules, what was linked in.
    pub fn notes(&self) -> &[String] {
        &self.notes
    }
}
