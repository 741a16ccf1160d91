//! Undoes a check's changes in the room.
//!
//! Invariant: afterwards HEAD, refs, the index, and all files and folders except ignored ones are
//! as [`PrivateRepo::hold`] left them. Git's folder is rewritten first, so that nothing in it hides
//! a change; then entries that git does not see are [removed](super::strays).

use std::path::{Path, PathBuf};

use git2::build::CheckoutBuilder;
use git2::{Delta, DiffOptions, ObjectType, Oid, Repository, StatusOptions};

use super::hold::remove;
use super::look::Look;
use super::tidied::Tidied;
use super::{Held, PrivateRepo, failed};
use crate::model::{ChangeKind, PathChange};
use crate::sys::{open_folder, open_up};
use crate::verify::error::{VerifyError, io_error};
use crate::verify::git::pipes::is_read;
use crate::verify::git::plain::path;

impl PrivateRepo {
    /// Puts everything back. Ignored files stay.
    ///
    /// # Errors
    /// If a file cannot be written.
    pub fn tidy(&mut self) -> Result<Tidied, VerifyError> {
        let Some(held) = self.held.clone() else { return Ok(Tidied::default()) };
        let mut tidied = Tidied::default();
        self.look_and_put_back(&held, &mut tidied)?;
        // Files that other patterns than the commit's hid are seen only now.
        if tidied.changed.iter().any(|change| is_read(&change.path)) {
            self.look_and_put_back(&held, &mut tidied)?;
        }
        for (at, module) in &mut self.modules {
            let inside = module.tidy()?.changed.into_iter();
            let inside = inside.map(|it| PathChange { path: at.join(it.path), kind: it.kind });
            tidied.changed.extend(inside);
        }
        Ok(tidied)
    }

    /// The ignored entries of the room; a folder that is ignored as a whole is one entry.
    ///
    /// # Errors
    /// If the tree cannot be read.
    pub fn ignored(&self) -> Result<Vec<PathBuf>, VerifyError> {
        let mut options = StatusOptions::new();
        options.include_ignored(true).include_untracked(true).recurse_untracked_dirs(true);
        let repo = self.open()?;
        let failed = failed("list the ignored files of the proof room", &self.work);
        let statuses = repo.statuses(Some(&mut options)).map_err(failed)?;
        let ignored = statuses.iter().filter(|entry| entry.status().is_ignored());
        let ignored = ignored.map(|entry| path(entry.path_bytes())).collect();
        Ok(ignored)
    }

    /// Does git ignore a path, or a folder that it is in? No file need be there.
    pub fn ignores(&self, path: &Path) -> bool {
        let Ok(repo) = self.open() else { return false };
        let mut above = path.ancestors().filter(|above| !above.as_os_str().is_empty());
        above.any(|above| {
            // `node_modules/` is a pattern for folders.
            let folder = above.join("");
            [above, &folder].iter().any(|it| repo.is_path_ignored(it).unwrap_or(false))
        })
    }

    fn look_and_put_back(&mut self, held: &Held, tidied: &mut Tidied) -> Result<(), VerifyError> {
        // A check may have closed it.
        open_folder(&self.work);
        open_up(&self.work.join(".git"));
        self.reset(Some(held.head), Some(&held.index))?;
        let failed = failed("put the proof room back", &self.work);
        let repo = self.open()?;
        let index = repo.index().map_err(&failed)?;
        let look = Look::at(&self.work, &index);
        self.put_patterns_back(&repo, &index, &look)?;
        tidied.changed.extend(self.remove_strays(&repo, &look)?);
        let mut changed = differences(&repo).map_err(&failed)?;
        changed.retain(|change| !self.is_as_made(&change.path));
        if changed.is_empty() {
            return Ok(());
        }
        let gone = io_error("put back", &self.work);
        // Another mode alone is put back, but no news: `chmod +x check.sh && ./check.sh`.
        let is_mode = |it: &PathChange| {
            let file = self.work.join(&it.path);
            let was = index.get_path(&it.path, 0).map(|entry| entry.id);
            it.kind == ChangeKind::Modified
                && file.symlink_metadata().is_ok_and(|it| it.is_file())
                && Oid::hash_file(ObjectType::Blob, file).ok() == was
        };
        let news: Vec<PathChange> = changed.iter().filter(|it| !is_mode(it)).cloned().collect();
        let mut written = Vec::new();
        for change in &changed {
            // libgit2 leaves a file alone that has the size and the time of the index.
            remove(&self.work, &change.path).map_err(&gone)?;
            match change.kind {
                ChangeKind::Added => {}
                ChangeKind::Modified | ChangeKind::Deleted => written.push(change.path.clone()),
            }
        }
        self.check_out(&repo, &written).map_err(&failed)?;
        tidied.waiting.extend(self.filtered(&repo, &written)?);
        self.keep_index()?;
        tidied.changed.extend(news);
        Ok(())
    }

    fn check_out(&self, repo: &Repository, written: &[PathBuf]) -> Result<(), git2::Error> {
        if written.is_empty() {
            return Ok(());
        }
        let mut checkout = CheckoutBuilder::new();
        checkout.force().disable_pathspec_match(true);
        for path in written {
            checkout.path(path.as_os_str().as_encoded_bytes());
        }
        repo.checkout_index(None, Some(&mut checkout))
    }
}

/// The differences between the index and the working tree.
fn differences(repo: &Repository) -> Result<Vec<PathChange>, git2::Error> {
    let mut options = DiffOptions::new();
    options.include_untracked(true).recurse_untracked_dirs(true).include_typechange(true);
    options.ignore_submodules(true);
    let diff = repo.diff_index_to_workdir(None, Some(&mut options))?;
    let changes = diff.deltas().filter_map(|delta| {
        let file = delta.new_file().path_bytes().or_else(|| delta.old_file().path_bytes())?;
        let kind = match delta.status() {
            Delta::Deleted => ChangeKind::Deleted,
            Delta::Added | Delta::Untracked => ChangeKind::Added,
            Delta::Unmodified | Delta::Ignored => return None,
            _ => ChangeKind::Modified,
        };
        Some(PathChange { path: path(file), kind })
    });
    Ok(changes.collect())
}
