//! The tree of a worker: a private repository with the ignored files, in which an agent works.
//!
//! Invariant: what was done in it stays until the next assignment, so it is saved before that. Its
//! objects are borrowed from the repository, which it never changes.

use std::fs;
use std::path::{Path, PathBuf};

use super::checks::{CheckOptions, Checks};
use super::commit_hooks::CommitHooks;
use super::error::{RepoProblem, VerifyError};
use super::fingerprint::Fingerprints;
use super::git::GitRepo;
use super::layout::Layout;
use super::proof_room::ProofRoom;
use super::repo::Repo as _;
use crate::model::Oid;

/// What a file takes on most disks is a multiple of this.
const BLOCK: u64 = 4096;

/// A worker's tree.
#[derive(Debug)]
pub struct WorkerTree {
    number: usize,
    room: ProofRoom,
    hooks: Option<CommitHooks>,
}

impl WorkerTree {
    pub(super) fn new(number: usize, room: ProofRoom, hooks: Option<CommitHooks>) -> Self {
        Self { number, room, hooks }
    }

    /// The worker's number, from 1.
    pub fn number(&self) -> usize {
        self.number
    }

    /// The commit that is checked out in it, if there is one.
    pub fn head(&self) -> Option<Oid> {
        self.room.head()
    }

    /// Commits what was done in it, on no branch, once nobody works there any more. Returns its HEAD
    /// if everything is committed. What lies in git's folder runs nothing: it is written anew first.
    ///
    /// # Errors
    /// If the tree cannot be read.
    pub fn save(
        &self,
        layout: &Layout,
        message: &str,
        human: &Fingerprints,
    ) -> Result<Oid, RepoProblem> {
        self.room.settle()?;
        let repo = GitRepo::discover(self.work())?;
        let head = repo.checkpoint()?.head;
        let kept = repo.save_attempt(layout, 1, message, human)?.commit;
        let changed = repo.between(&head, &kept)?;
        let is_work = changed.iter().any(|change| !layout.is_state_file(&change.path));
        Ok(if is_work { kept } else { head })
    }

    /// Its root.
    pub fn work(&self) -> &Path {
        self.room.work()
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
        self.room.borrowed()
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
        self.room.begin_again(commit, self.hooks.as_ref(), to_run).await
    }
}
