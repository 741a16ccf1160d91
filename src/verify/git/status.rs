//! HEAD against the working tree.
//!
//! Invariant: git looks only at the paths that may differ, all in one walk; renames are not
//! detected; a path that is marked "assumed unchanged" is read anyway, because that mark can hide a
//! change. Not in this file: the author of a change.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::PoisonError;

use git2::{
    DiffOptions, ErrorCode, Index, IndexEntry, IndexEntryExtendedFlag, IndexEntryFlag, IndexTime,
    Repository, StatusOptions, StatusShow,
};

use super::git_repo::GitRepo;
use super::pipes::remove_pipes;
use super::plain::path;
use super::suspects::{Sought, suspects};
use crate::model::{ChangeKind, PathChange};
use crate::verify::error::VerifyError;
use crate::verify::repo::Status;

impl GitRepo {
    pub(super) fn status_in(&self, repo: &Repository) -> Result<Status, VerifyError> {
        let found = self.look(repo, Sought::Changes)?;
        self.status_of(repo, found)
    }

    /// The status, and the ignored entries.
    pub(super) fn all_in(&self, repo: &Repository) -> Result<(Status, Vec<PathBuf>), VerifyError> {
        let found = self.look(repo, Sought::All)?;
        let ignored = ignored_of(&found);
        Ok((self.status_of(repo, found)?, ignored))
    }

    fn status_of(&self, repo: &Repository, found: Flags) -> Result<Status, VerifyError> {
        let mut status = Status::default();
        for (path, flags) in found {
            match meaning(flags) {
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
        Ok(ignored_of(&self.look(repo, Sought::Ignored)?))
    }

    /// Asks git about the paths that may differ.
    fn look(&self, repo: &Repository, sought: Sought) -> Result<Flags, VerifyError> {
        self.refuse_links(repo)?;
        self.look_at(repo, sought).map_err(self.failed("compare the working tree with HEAD"))
    }

    fn look_at(&self, repo: &Repository, sought: Sought) -> Result<Flags, git2::Error> {
        let mut index = repo.index()?;
        let mut seen = self.indexed.lock().unwrap_or_else(PoisonError::into_inner);
        let staged = || match sought {
            Sought::Ignored => Ok(Flags::new()),
            Sought::Changes | Sought::All => ask(repo, StatusShow::Index, sought, &[]),
        };
        let (suspects, now, mut found) =
            suspects((&self.root, sought), seen.as_ref(), &mut index, staged)?;
        *seen = Some(now);
        let Some(suspects) = suspects else {
            remove_pipes(&self.root);
            return ask(repo, StatusShow::IndexAndWorkdir, sought, &[]);
        };
        if !suspects.is_empty() {
            for (path, flags) in ask(repo, StatusShow::Workdir, sought, &suspects)? {
                *found.entry(path).or_insert(git2::Status::CURRENT) |= flags;
            }
        }
        Ok(found)
    }

    /// Checks the paths whose index flags hide them from `git status`.
    fn hidden(&self, repo: &Repository) -> Result<Hidden, VerifyError> {
        let mut shown = Index::new().map_err(self.failed("make an index"))?;
        let mut paths = DiffOptions::new();
        paths.disable_pathspec_match(true).include_typechange(true);
        let mut hidden = Hidden::default();
        let mut any = false;
        let seen = self.indexed.lock().unwrap_or_else(PoisonError::into_inner);
        for entry in seen.iter().flat_map(|index| &index.entries) {
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
            let entry = IndexEntry {
                mtime: IndexTime::new(0, 0),
                flags: entry.flags & !IndexEntryFlag::VALID.bits(),
                flags_extended: entry.flags_extended & !skip,
                path: entry.path.clone(),
                ..*entry
            };
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

/// Git's flags by path.
type Flags = BTreeMap<PathBuf, git2::Status>;

fn ignored_of(found: &Flags) -> Vec<PathBuf> {
    let ignored = found.iter().filter(|(_, flags)| flags.is_ignored());
    ignored.map(|(path, _)| path.clone()).collect()
}

/// Asks git about some paths, or about all. Changed files whose time is not conclusive are read
/// once, and their time is recorded in the index, unless another process holds it.
fn ask(
    repo: &Repository,
    show: StatusShow,
    sought: Sought,
    paths: &[PathBuf],
) -> Result<Flags, git2::Error> {
    let mut options = StatusOptions::new();
    options
        .show(show)
        .include_ignored(sought != Sought::Changes)
        .recurse_ignored_dirs(false)
        .include_untracked(true)
        .recurse_untracked_dirs(true)
        .renames_head_to_index(false)
        .renames_index_to_workdir(false)
        .disable_pathspec_match(true);
    for path in paths {
        options.pathspec(path);
    }
    let noted = repo.statuses(Some(options.update_index(sought != Sought::Ignored)));
    let statuses = match noted {
        Err(error) if error.code() == ErrorCode::Locked => {
            repo.statuses(Some(options.update_index(false)))
        }
        other => other,
    }?;
    Ok(statuses.iter().map(|entry| (path(entry.path_bytes()), entry.status())).collect())
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
