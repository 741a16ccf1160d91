//! HEAD against the working tree.
//!
//! Invariant: one walk over the tree; renames are not detected; a path that is marked "assumed
//! unchanged" is read anyway, because that mark can hide a change. Not in this file: the author of
//! a change.

use std::collections::BTreeSet;
use std::path::PathBuf;

use git2::{
    DiffOptions, ErrorCode, Index, IndexEntryExtendedFlag, IndexEntryFlag, IndexTime, Repository,
    StatusOptions, Statuses,
};

use super::git_repo::GitRepo;
use super::pipes::remove_pipes;
use super::plain::path;
use crate::model::{ChangeKind, PathChange};
use crate::verify::error::VerifyError;
use crate::verify::repo::Status;

impl GitRepo {
    pub(super) fn status_in(&self, repo: &Repository) -> Result<Status, VerifyError> {
        let statuses = self.look(
            repo,
            StatusOptions::new().include_untracked(true).recurse_untracked_dirs(true),
        )?;
        let mut status = Status::default();
        for entry in &statuses {
            let path = path(entry.path_bytes());
            match meaning(entry.status()) {
                Some(Seen::Tracked(kind)) => status.tracked.push(PathChange { path, kind }),
                Some(Seen::Untracked) => {
                    status.untracked.insert(path);
                }
                None => {}
            }
        }
        let hidden = self.hidden(repo)?;
        status.tracked.retain(|change| !hidden.left_out.contains(&change.path));
        status.tracked.extend(hidden.changed);
        status.tracked.sort();
        status.tracked.dedup_by(|a, b| a.path == b.path);
        Ok(status)
    }

    /// The ignored entries; a folder that is ignored as a whole is one.
    pub(super) fn ignored_in(&self, repo: &Repository) -> Result<Vec<PathBuf>, VerifyError> {
        let statuses = self.look(
            repo,
            StatusOptions::new()
                .include_ignored(true)
                .recurse_ignored_dirs(false)
                // An ignored file in a folder that holds nothing else is found only so.
                .include_untracked(true)
                .recurse_untracked_dirs(true),
        )?;
        let ignored = statuses.iter().filter(|entry| entry.status().is_ignored());
        Ok(ignored.map(|entry| path(entry.path_bytes())).collect())
    }

    /// Asks git. Files whose time is not conclusive are read once, and their time is recorded in
    /// the index, unless another process holds it.
    fn look<'r>(
        &self,
        repo: &'r Repository,
        options: &mut StatusOptions,
    ) -> Result<Statuses<'r>, VerifyError> {
        remove_pipes(&self.root);
        self.refuse_links(repo)?;
        options.renames_head_to_index(false).renames_index_to_workdir(false);
        let noted = repo.statuses(Some(options.update_index(true)));
        match noted {
            Err(error) if error.code() == ErrorCode::Locked => {
                repo.statuses(Some(options.update_index(false)))
            }
            other => other,
        }
        .map_err(self.failed("compare the working tree with HEAD"))
    }

    /// Checks the paths whose index flags hide them from `git status`.
    fn hidden(&self, repo: &Repository) -> Result<Hidden, VerifyError> {
        let index = repo.index().map_err(self.failed("read the index"))?;
        let mut shown = Index::new().map_err(self.failed("make an index"))?;
        let mut paths = DiffOptions::new();
        paths.disable_pathspec_match(true).include_typechange(true);
        let mut hidden = Hidden::default();
        let mut any = false;
        for mut entry in index.iter() {
            let assumed = entry.flags & IndexEntryFlag::VALID.bits() != 0;
            let skip = IndexEntryExtendedFlag::SKIP_WORKTREE.bits();
            let skipped = entry.flags_extended & skip != 0;
            if !assumed && !skipped {
                continue;
            }
            let path = path(&entry.path);
            if skipped && self.root.join(&path).symlink_metadata().is_err() {
                hidden.left_out.insert(path);
                continue;
            }
            any = true;
            paths.pathspec(entry.path.clone());
            entry.flags &= !IndexEntryFlag::VALID.bits();
            entry.flags_extended &= !skip;
            entry.mtime = IndexTime::new(0, 0);
            shown.add(&entry).map_err(self.failed("copy an index entry"))?;
        }
        if !any {
            return Ok(hidden);
        }
        let diff = repo
            .diff_index_to_workdir(Some(&shown), Some(&mut paths))
            .map_err(self.failed("compare hidden paths"))?;
        hidden.changed = super::history::changes(&diff);
        Ok(hidden)
    }
}

/// Changes hidden by flags of the index.
#[derive(Default)]
struct Hidden {
    /// Differs from the index.
    changed: Vec<PathChange>,
    /// Left out by a sparse checkout, on purpose: no deletion.
    left_out: BTreeSet<PathBuf>,
}

enum Seen {
    Tracked(ChangeKind),
    Untracked,
}

/// The meaning of git's flags for a path, HEAD against the working tree.
fn meaning(status: git2::Status) -> Option<Seen> {
    let has = |flags| status.intersects(flags);
    use git2::Status as S;
    if status == S::WT_NEW {
        return Some(Seen::Untracked);
    }
    let kind = if has(S::IGNORED) || status.is_empty() {
        return None;
    } else if has(S::INDEX_DELETED) || (has(S::WT_DELETED) && !has(S::INDEX_NEW)) {
        // Also entries that were removed only from the index and still exist.
        ChangeKind::Deleted
    } else if has(S::INDEX_NEW) {
        ChangeKind::Added
    } else {
        ChangeKind::Modified
    };
    Some(Seen::Tracked(kind))
}
