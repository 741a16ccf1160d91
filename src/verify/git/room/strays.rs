//! Leftovers of a check beside the files of the index that git does not see or cannot enter: empty
//! folders, pipes and sockets, closed folders, and very deep ones.
//!
//! Invariant: afterwards only ignored files lie in folders that hold nothing of the index. Folders
//! are opened before they are listed, no link is followed, and a folder's own pattern files are in
//! order before anything in it is asked about.

use std::ffi::OsString;
use std::fs::{self, FileType};
use std::path::{Path, PathBuf};

use git2::Repository;

use super::look::Look;
use super::{PrivateRepo, failed};
use crate::model::{ChangeKind, PathChange};
use crate::sys::{open_folder, remove_any};
use crate::verify::error::{VerifyError, io_error};
use crate::verify::git::pipes::{PatternFile, pattern};

/// libgit2 enters no more folders, one in the other, than 100.
const DEEPEST: usize = 90;

impl PrivateRepo {
    /// Removes them. Returns the entries that git would have listed, and those that it does not
    /// see.
    pub(super) fn remove_strays(
        &self,
        repo: &Repository,
        look: &Look,
    ) -> Result<Vec<PathChange>, VerifyError> {
        for path in &look.hiding {
            remove(&self.work.join(path))?;
        }
        let mut gone = Vec::new();
        for path in &look.special {
            if !self.is_ignored(repo, path)? {
                remove(&self.work.join(path))?;
                gone.push(path.clone());
            }
        }
        for folder in &look.others {
            if !self.is_ignored(repo, folder)? {
                self.clear(repo, folder, &mut gone)?;
            }
        }
        let change = |path| PathChange { path, kind: ChangeKind::Added };
        Ok(gone.into_iter().map(change).collect())
    }

    /// Removes everything in a folder except ignored files, and the folder if there are none.
    /// Returns whether the folder is gone.
    fn clear(
        &self,
        repo: &Repository,
        folder: &Path,
        gone: &mut Vec<PathBuf>,
    ) -> Result<bool, VerifyError> {
        let at = self.work.join(folder);
        if folder.components().count() > DEEPEST {
            remove(&at)?;
            gone.push(folder.to_owned());
            return Ok(true);
        }
        open_folder(&at);
        let mut entries = Vec::new();
        for entry in fs::read_dir(&at).map_err(io_error("list", &at))? {
            let entry = entry.map_err(io_error("list", &at))?;
            entries.push((entry.file_name(), entry.file_type().map_err(io_error("list", &at))?));
        }
        let is_pattern = |name: &OsString, kind: FileType| {
            !kind.is_dir() && pattern(&at, name, kind) == PatternFile::File
        };
        let patterns = entries.iter().filter(|(name, kind)| is_pattern(name, *kind));
        let patterns = patterns.map(|(name, _)| folder.join(name));
        self.put_back_patterns(repo, patterns.collect())?;
        let before = gone.len();
        let mut is_empty = true;
        for (name, kind) in &entries {
            let path = folder.join(name);
            if name != ".git" && self.is_ignored(repo, &path)? {
                is_empty = false;
            } else if kind.is_dir() && name != ".git" {
                is_empty &= self.clear(repo, &path, gone)?;
            } else {
                remove(&self.work.join(&path))?;
                gone.push(path);
            }
        }
        if is_empty {
            fs::remove_dir(&at).map_err(io_error("remove", &at))?;
            if gone.len() == before {
                gone.push(folder.to_owned());
            }
        }
        Ok(is_empty)
    }

    /// Removes a file or a folder of the room, if it is there.
    ///
    /// # Errors
    /// If it cannot be removed.
    pub fn remove(&self, path: &Path) -> Result<(), VerifyError> {
        remove(&self.work.join(path))
    }

    fn is_ignored(&self, repo: &Repository, path: &Path) -> Result<bool, VerifyError> {
        repo.is_path_ignored(path).map_err(failed("ask what git ignores", &self.work))
    }
}

fn remove(path: &Path) -> Result<(), VerifyError> {
    remove_any(path).map_err(io_error("remove", path))
}
