//! Restoring paths, and the branch, to a commit.
//!
//! Invariant: changes only paths that differ; never the ones to keep, ignored files (except a link
//! in the place of a directory), a repository inside this one, or anything outside. The caller has
//! saved everything that is overwritten.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use git2::build::CheckoutBuilder;
use git2::{AttrCheckFlags, ErrorCode, ObjectType, Repository};

use super::git_repo::GitRepo;
use super::locks::patiently;
use super::plain::read_or_empty;
use super::status::{ENCODING, filter_of};
use crate::model::{Checkpoint, Oid};
use crate::sys::crash;
use crate::verify::error::{VerifyError, io_error};
use crate::verify::fingerprint::Fingerprints;

/// The place where git records its stash during an operation.
const AUTOSTASHES: [&str; 3] =
    ["rebase-merge/autostash", "rebase-apply/autostash", "MERGE_AUTOSTASH"];

impl GitRepo {
    /// Restores the checkpoint's branch and tree. `keep` is left as it is in the working tree, and
    /// so is everything that git ignores. Returns the paths that could not be restored because a
    /// kept file is in their way, or because they are repositories. Call it only after
    /// [`GitRepo::save_attempt`] succeeded.
    ///
    /// # Errors
    /// If a file or a ref cannot be written; calling it again is safe.
    pub fn back_to(
        &self,
        checkpoint: &Checkpoint,
        keep: &Fingerprints,
    ) -> Result<Vec<PathBuf>, VerifyError> {
        let repo = &*self.lock();
        let failed = self.failed("go back to the checkpoint");
        let commit = self.commit(repo, &checkpoint.head)?;
        let target = commit.tree().map_err(&failed)?;
        let committed = self.difference(repo, Some(&target), &self.head_tree(repo)?)?;
        let committed: BTreeSet<PathBuf> = committed.into_iter().map(|c| c.path).collect();
        let status = self.status_in(repo)?.all();
        let all: BTreeSet<PathBuf> =
            status.into_iter().map(|change| change.path).chain(committed.clone()).collect();
        let (kept, back): (Vec<_>, Vec<_>) =
            all.into_iter().partition(|path| keep.in_the_way(path));
        let mut left = self.restore_in(repo, &checkpoint.head, &back)?;
        crash::point("files put back");
        left.extend(kept.iter().filter(|path| !keep.contains(path)).cloned());
        // Kept files that had been committed are uncommitted again, as before.
        let uncommit: Vec<_> = kept.into_iter().filter(|path| committed.contains(path)).collect();
        patiently(|| {
            let mut index = self.index_now(repo)?;
            for path in &uncommit {
                self.take(&mut index, &target, path)?;
            }
            index.write()
        })
        .map_err(&failed)?;
        crash::point("index put back");
        let log = "ralph-copilot: back to the checkpoint";
        patiently(|| repo.reference(&checkpoint.branch, commit.id(), true, log).map(drop))
            .map_err(&failed)?;
        crash::point("branch put back");
        patiently(|| repo.set_head(&checkpoint.branch)).map_err(&failed)?;
        // A merge or rebase that was begun is over.
        self.keep_stashed(repo)?;
        repo.cleanup_state().map_err(&failed)?;
        crash::point("back");
        Ok(left)
    }

    /// Changes that a merge or a rebase stashed for its duration (`--autostash`) go to the stash,
    /// where git itself puts them when the operation is aborted.
    fn keep_stashed(&self, repo: &Repository) -> Result<(), VerifyError> {
        let failed = self.failed("keep what was stashed");
        for name in AUTOSTASHES {
            let text = read_or_empty(&self.git_dir.join(name))?;
            let Ok(id) = git2::Oid::from_str(String::from_utf8_lossy(&text).trim()) else {
                continue;
            };
            if repo.find_commit(id).is_ok() {
                repo.reference_ensure_log("refs/stash").map_err(&failed)?;
                repo.reference("refs/stash", id, true, "autostash").map_err(&failed)?;
            }
        }
        Ok(())
    }

    /// Sets a path in the index to its entry in a tree, without looking at the file.
    fn take(
        &self,
        index: &mut git2::Index,
        tree: &git2::Tree<'_>,
        path: &Path,
    ) -> Result<(), git2::Error> {
        match index.remove_path(path) {
            Err(error) if error.code() != ErrorCode::NotFound => return Err(error),
            Ok(()) | Err(_) => {}
        }
        let Ok(held) = tree.get_path(path) else { return Ok(()) };
        if held.kind() == Some(ObjectType::Tree) {
            return Ok(());
        }
        let zero = git2::IndexTime::new(0, 0);
        index.add(&git2::IndexEntry {
            ctime: zero,
            mtime: zero,
            dev: 0,
            ino: 0,
            mode: u32::try_from(held.filemode()).unwrap_or(0o100_644),
            uid: 0,
            gid: 0,
            file_size: 0,
            id: held.id(),
            flags: 0,
            flags_extended: 0,
            path: path.as_os_str().as_encoded_bytes().to_vec(),
        })
    }

    pub(super) fn restore_in(
        &self,
        repo: &Repository,
        commit: &Oid,
        paths: &[PathBuf],
    ) -> Result<Vec<PathBuf>, VerifyError> {
        let failed = self.failed("put files back");
        let commit = self.commit(repo, commit)?;
        let tree = commit.tree().map_err(&failed)?;
        let mut left = Vec::new();
        let mut back = Vec::new();
        let mut gone = Vec::new();
        for path in paths {
            match tree.get_path(path).ok().and_then(|entry| entry.kind()) {
                Some(ObjectType::Blob) => back.push(path),
                // Its content is another repository's business.
                Some(ObjectType::Commit) => left.push(path.clone()),
                _ => {
                    if self.root.join(path).join(".git").symlink_metadata().is_ok() {
                        left.push(path.clone());
                    } else {
                        gone.push(path);
                    }
                }
            }
        }
        self.refuse_filtered(repo, (&commit, &back))?;
        // Removals first: a file may stand where a directory has to be.
        for path in &gone {
            self.remove(path)?;
            crash::point("file removed");
        }
        patiently(|| {
            let mut index = self.index_now(repo)?;
            // This takes the stages of a conflict along.
            for path in &gone {
                match index.remove_path(path) {
                    Err(error) if error.code() != ErrorCode::NotFound => return Err(error),
                    Ok(()) | Err(_) => {}
                }
            }
            index.write()
        })
        .map_err(&failed)?;
        if !back.is_empty() {
            let mut options = CheckoutBuilder::new();
            options.force().disable_pathspec_match(true).update_index(true);
            options.recreate_missing(true).remove_untracked(false).remove_ignored(false);
            crash::point("check out");
            for path in back {
                self.make_way(path)?;
                options.path(path.as_path());
            }
            patiently(|| repo.checkout_tree(commit.as_object(), Some(&mut options)))
                .map_err(&failed)?;
        }
        Ok(left)
    }

    /// A program that the repository names must not run here, and without it a file would hold what
    /// git keeps of it: the next commit would take that for its content.
    pub(super) fn refuse_filtered(
        &self,
        repo: &Repository,
        (commit, paths): (&git2::Commit<'_>, &[&PathBuf]),
    ) -> Result<(), VerifyError> {
        let failed = self.failed("read attributes");
        let config = repo.config().and_then(|mut it| it.snapshot()).map_err(&failed)?;
        for path in paths {
            let filter = filter_of(repo, path, AttrCheckFlags::FILE_THEN_INDEX);
            let Some(filter) = filter.map_err(&failed)? else { continue };
            let runs = |what| config.get_str(&format!("filter.{filter}.{what}")).is_ok();
            if filter.starts_with(ENCODING) || runs("smudge") || runs("process") {
                return Err(VerifyError::Filtered {
                    path: path.to_path_buf(),
                    filter,
                    commit: Oid::new(commit.id().to_string()),
                });
            }
        }
        Ok(())
    }

    /// Removes anything in the place of a file to be written, and links in the place of its
    /// directories. Otherwise libgit2 would write into a link's target, a hard link, or a pipe.
    fn make_way(&self, path: &Path) -> Result<(), VerifyError> {
        if let Some(link) = self.link_above(path) {
            fs::remove_file(&link).map_err(io_error("remove", &link))?;
            return Ok(());
        }
        let at = self.root.join(path);
        match fs::symlink_metadata(&at) {
            Ok(meta) if !meta.is_dir() => fs::remove_file(&at).map_err(io_error("remove", &at)),
            // libgit2 makes way for itself where a directory stands.
            Ok(_) | Err(_) => Ok(()),
        }
    }

    /// The first link among the directories above a path: files below it are elsewhere.
    fn link_above(&self, path: &Path) -> Option<PathBuf> {
        let above: Vec<&Path> = path.ancestors().skip(1).collect();
        let mut above = above.iter().rev().map(|above| self.root.join(above)).skip(1);
        above.find(|above| fs::symlink_metadata(above).is_ok_and(|meta| meta.is_symlink()))
    }

    /// Removes a file or a link, and the directories that are empty without it.
    fn remove(&self, path: &Path) -> Result<(), VerifyError> {
        if self.link_above(path).is_some() {
            return Ok(());
        }
        let at = self.root.join(path);
        match fs::symlink_metadata(&at) {
            Ok(meta) if !meta.is_dir() => {
                fs::remove_file(&at).map_err(io_error("remove", &at))?;
            }
            Ok(_) | Err(_) => return Ok(()),
        }
        for above in path.ancestors().skip(1).take_while(|a| !a.as_os_str().is_empty()) {
            // It fails on the first directory that holds something else.
            if fs::remove_dir(self.root.join(above)).is_err() {
                break;
            }
        }
        Ok(())
    }
}
