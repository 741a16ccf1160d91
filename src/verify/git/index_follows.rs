//! The index after a commit of the runner's own: some paths as in the tree, the rest left alone.

use std::fs;
use std::path::PathBuf;

use git2::{ObjectType, Repository, Tree};

use super::git_repo::GitRepo;
use super::locks::patiently;
use super::tracked::note_unchanged;
use crate::verify::error::{VerifyError, io_error};

impl GitRepo {
    /// Makes the index hold these paths as the tree does, and leaves the rest of it alone.
    pub(super) fn index_follows(
        &self,
        repo: &Repository,
        tree: &Tree<'_>,
        paths: &[PathBuf],
    ) -> Result<(), VerifyError> {
        patiently(|| {
            let mut index = self.index_now(repo)?;
            let mut stale = false;
            for path in paths {
                let held = tree.get_path(path).ok().filter(|e| e.kind() != Some(ObjectType::Tree));
                let staged = index.get_path(path, 0).map(|entry| (entry.id, entry.mode));
                let mode = |entry: &git2::TreeEntry<'_>| entry.filemode().unsigned_abs();
                if staged == held.as_ref().map(|entry| (entry.id(), mode(entry))) {
                    continue;
                }
                stale = true;
                if held.is_some() && self.root.join(path).symlink_metadata().is_ok() {
                    index.add_path(path)?;
                } else {
                    index.remove_path(path)?;
                }
            }
            if stale { index.write() } else { Ok(()) }
        })
        .map_err(self.failed("write the index"))
    }

    /// Writes what filters made of files that were checked out just now, and notes in the index that
    /// they are unchanged.
    pub(super) fn write_made(
        &self,
        repo: &Repository,
        made: &[(PathBuf, Vec<u8>)],
    ) -> Result<(), VerifyError> {
        if made.is_empty() {
            return Ok(());
        }
        for (path, bytes) in made {
            let at = self.root.join(path);
            fs::write(&at, bytes).map_err(io_error("write", &at))?;
        }
        let paths = || made.iter().map(|(path, _)| path);
        patiently(|| note_unchanged(&mut self.index_now(repo)?, &self.root, paths()))
            .map_err(self.failed("write the index"))
    }
}
