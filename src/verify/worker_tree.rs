//! The tree of a worker: a private repository with the ignored files, in which an agent works.
//!
//! Invariant: what was done in it stays until the next assignment, so it is saved before that. Its
//! objects are borrowed from the repository, which it never changes.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use super::checks::{CheckOptions, Checks};
use super::commit_hooks::CommitHooks;
use super::error::VerifyError;
use super::proof_room::ProofRoom;
use crate::model::Oid;

/// What a file takes on most disks is a multiple of this.
const BLOCK: u64 = 4096;

/// A worker's tree.
#[derive(Debug)]
pub struct WorkerTree {
    number: usize,
    room: ProofRoom,
    hooks: Option<CommitHooks>,
    /// Files of the human's that `git status` leaves out.
    marked: BTreeSet<PathBuf>,
}

impl WorkerTree {
    pub(super) fn new(
        number: usize,
        room: ProofRoom,
        hooks: Option<CommitHooks>,
        marked: BTreeSet<PathBuf>,
    ) -> Self {
        Self { number, room, hooks, marked }
    }

    /// The worker's number, from 1.
    pub fn number(&self) -> usize {
        self.number
    }

    /// The commit that is checked out in it, if there is one.
    pub fn head(&self) -> Option<Oid> {
        self.room.room.head()
    }

    /// Leaves only what runs nothing of git's folder, and HEAD where it is now.
    ///
    /// # Errors
    /// If a file cannot be written.
    pub(super) fn settle(&self) -> Result<(), VerifyError> {
        self.room.room.settle()
    }

    /// Its root.
    pub fn work(&self) -> &Path {
        self.room.room.work()
    }

    /// The disk space that it takes, in bytes.
    pub fn disk_use(&self) -> u64 {
        let (mut waiting, mut bytes) = (vec![self.work().to_owned()], 0);
        while let Some(folder) = waiting.pop() {
            for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
                match entry.metadata() {
                    Ok(meta) if meta.is_dir() => waiting.push(entry.path()),
                    Ok(meta) => bytes += meta.len().next_multiple_of(BLOCK),
                    Err(_) => {}
                }
            }
        }
        bytes
    }

    /// Folders of objects: where they are, and where the tree looks for them.
    pub fn borrowed(&self) -> Vec<(PathBuf, PathBuf)> {
        self.room.room.borrowed()
    }

    /// Begins on a commit. Ignored files stay as the last work left them.
    ///
    /// # Errors
    /// If the tree cannot be brought there.
    pub async fn begin(
        &mut self,
        commit: &Oid,
        to_run: (&dyn Checks, &CheckOptions),
    ) -> Result<(), VerifyError> {
        self.room.begin_again(commit, (self.hooks.as_ref(), &self.marked), to_run).await
    }
}
