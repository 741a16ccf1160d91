//! Repositories that a turn made inside the working tree.
//!
//! Invariant: nothing in them is run or deleted, and a repository of the human's is not touched.
//! Without its git folder, its files are ordinary ones: an attempt can hold them, and they can be
//! taken away.

use std::fs;
use std::path::{Path, PathBuf};

use git2::{ErrorCode, Repository};

use super::git_repo::GitRepo;
use super::locks::patiently;
use crate::model::Oid;
use crate::verify::error::{VerifyError, io_error};
use crate::verify::fingerprint::Fingerprints;

/// Where their git folders go, below the root.
const MOVED: &str = ".ralph/runs/repositories";

impl GitRepo {
    pub(super) fn is_added(
        &self,
        repo: &Repository,
        path: &Path,
        commit: &Oid,
        human: &Fingerprints,
    ) -> Result<bool, VerifyError> {
        let is_there = self.root.join(path).join(".git").symlink_metadata().is_ok();
        let ignored = repo.is_path_ignored(path).unwrap_or(true);
        let tree = self.commit(repo, commit)?.tree().map_err(self.failed("read a tree"))?;
        // A submodule of the start counts as there, and so does a path that cannot be read.
        let is_new = tree.get_path(path).is_err_and(|error| error.code() == ErrorCode::NotFound);
        Ok(is_there && is_new && !ignored && !human.in_the_way(path))
    }

    /// Makes plain folders of the repositories inside the tree that neither a commit nor `human`
    /// has: their git folders are moved to `.ralph/runs/repositories`.
    ///
    /// # Errors
    /// If one cannot be moved.
    pub fn dissolve(&self, commit: &Oid, human: &Fingerprints) -> Result<(), VerifyError> {
        let repo = &*self.lock();
        let linked = self.linked(repo).map_err(self.failed("read the index"))?;
        let untracked = self.status_in(repo)?.untracked;
        let mut added = Vec::new();
        for path in linked.into_iter().chain(untracked) {
            if self.is_added(repo, &path, commit, human)? {
                self.move_git(&path)?;
                added.push(path);
            }
        }
        if added.is_empty() {
            return Ok(());
        }
        // With a link to a commit in the index, git does not look at the files in the folder.
        patiently(|| {
            let mut index = self.index_now(repo)?;
            for path in &added {
                if index.get_path(path, 0).is_some() {
                    index.remove_path(path)?;
                }
            }
            index.write()
        })
        .map_err(self.failed("remove a repository from the index"))
    }

    /// Moves the git folder of a repository, or the file in its place, out of the tree.
    fn move_git(&self, path: &Path) -> Result<(), VerifyError> {
        let git = self.root.join(path).join(".git");
        let folder = self.root.join(MOVED);
        fs::create_dir_all(&folder).map_err(io_error("make", &folder))?;
        let name = path.to_string_lossy().replace('/', "-");
        let mut names = (1u32..).map(|number| folder.join(format!("{name}.{number}")));
        let to: PathBuf =
            names.find(|at| at.symlink_metadata().is_err()).unwrap_or_else(|| folder.join(&name));
        fs::rename(&git, &to).map_err(io_error("move", &git))
    }
}
