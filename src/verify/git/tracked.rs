//! What the index holds: the tracked paths, and the submodules among them.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::{MutexGuard, PoisonError};

use git2::{FileMode, Repository, Submodule};

use super::GitRepo;
use super::plain::path;
use super::suspects::Indexed;
use crate::verify::VerifyError;

impl GitRepo {
    /// All paths that git tracks, relative to the root.
    ///
    /// # Errors
    /// If the index cannot be read.
    pub fn all_tracked(&self) -> Result<Vec<PathBuf>, VerifyError> {
        let index = self.index_now(&self.lock()).map_err(self.failed("read the index"))?;
        let entries = index.iter().flat_map(|index| &index.entries);
        Ok(entries.map(|entry| path(&entry.path)).collect())
    }

    /// Those of these paths, relative to the root, that git tracks.
    ///
    /// # Errors
    /// If the index cannot be read.
    pub fn tracked(&self, paths: BTreeSet<PathBuf>) -> Result<BTreeSet<PathBuf>, VerifyError> {
        let index = self.index_now(&self.lock()).map_err(self.failed("read the index"))?;
        let held = |path: &PathBuf| index.iter().any(|index| index.tracks(path));
        Ok(paths.into_iter().filter(held).collect())
    }

    /// The submodules. libgit2 reads the whole index to find them, which takes its time, so that it
    /// is asked only where there may be some.
    pub(super) fn submodules<'r>(
        &self,
        repo: &'r Repository,
    ) -> Result<Vec<Submodule<'r>>, git2::Error> {
        let is_named = self.root.join(".gitmodules").symlink_metadata().is_ok();
        if is_named || !self.linked(repo)?.is_empty() { repo.submodules() } else { Ok(Vec::new()) }
    }

    /// The paths of the index that hold commits of other repositories.
    pub(super) fn linked(&self, repo: &Repository) -> Result<Vec<PathBuf>, git2::Error> {
        let index = self.index_now(repo)?;
        let entries = index.iter().flat_map(|index| &index.entries);
        let linked = entries.filter(|entry| entry.mode == u32::from(FileMode::Commit));
        Ok(linked.map(|entry| path(&entry.path)).collect())
    }

    /// The index as it is now, which is read again only if it changed.
    pub(super) fn index_now(
        &self,
        repo: &Repository,
    ) -> Result<MutexGuard<'_, Option<Indexed>>, git2::Error> {
        let mut seen = self.indexed.lock().unwrap_or_else(PoisonError::into_inner);
        if !seen.as_ref().is_some_and(|seen| seen.is_current(repo)) {
            *seen = Some(Indexed::read(repo)?);
        }
        Ok(seen)
    }
}
