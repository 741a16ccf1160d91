//! HEAD against the working tree.
//!
//! Invariant: renames are not detected; a path that is marked "assumed unchanged" is read anyway,
//! because that mark can hide a change. Not in this file: the author of a change.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use git2::{
    AttrCheckFlags, Delta, DiffOptions, ErrorCode, Index, IndexEntry, IndexEntryExtendedFlag,
    IndexEntryFlag, IndexTime, Repository, StatusOptions,
};

use super::git_repo::GitRepo;
use super::pipes::remove_pipes;
use super::plain::{is_ignored, path};
use super::tracked::{folders_of, holds};
use crate::model::{ChangeKind, PathChange};
use crate::verify::error::VerifyError;
use crate::verify::repo::Status;

/// The attribute for files whose text git keeps in UTF-8.
pub(super) const ENCODING: &str = "working-tree-encoding";

/// What a look at the working tree is to find.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Sought {
    /// Changed and untracked files.
    Changes,
    /// Ignored files, too.
    All,
}

impl GitRepo {
    pub(super) fn status_in(&self, repo: &Repository) -> Result<Status, VerifyError> {
        let (found, index) = self.look(repo, Sought::Changes)?;
        self.status_of(repo, &index, found)
    }

    /// The status, and the ignored entries.
    pub(super) fn all_in(&self, repo: &Repository) -> Result<(Status, Vec<PathBuf>), VerifyError> {
        let (found, index) = self.look(repo, Sought::All)?;
        let ignored = ignored_of(&found);
        Ok((self.status_of(repo, &index, found)?, ignored))
    }

    fn status_of(
        &self,
        repo: &Repository,
        index: &Index,
        found: Flags,
    ) -> Result<Status, VerifyError> {
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
        let hidden = self.hidden(repo, index)?;
        status.tracked.retain(|change| !hidden.left_out.contains(&change.path));
        status.tracked.extend(hidden.changed);
        status.tracked.sort();
        status.tracked.dedup_by(|a, b| a.path == b.path);
        Ok(status)
    }

    /// The existing ignored files; a folder that is ignored as a whole is one entry.
    ///
    /// # Errors
    /// If the tree cannot be read.
    pub fn ignored(&self) -> Result<Vec<PathBuf>, VerifyError> {
        let repo = &*self.lock();
        Ok(ignored_of(&self.look(repo, Sought::All)?.0))
    }

    fn look(&self, repo: &Repository, sought: Sought) -> Result<(Flags, Index), VerifyError> {
        self.refuse_links(repo)?;
        self.look_at(repo, sought).map_err(self.failed("compare the working tree with HEAD"))
    }

    fn look_at(&self, repo: &Repository, sought: Sought) -> Result<(Flags, Index), git2::Error> {
        let repositories = remove_pipes(&self.root);
        let index = self.index_now(repo)?;
        let mut found = self.without_filtered(repo, &index, ask(repo, sought)?);
        // The library does not see a repository without a commit or a file, but `git add` fails.
        for path in repositories {
            let is_empty = || fs::read_dir(self.root.join(&path)).is_ok_and(|it| it.count() == 1);
            if index.get_path(&path, 0).is_none() && is_empty() && !is_ignored(repo, &path)? {
                found.entry(path).or_insert(git2::Status::WT_NEW);
            }
        }
        if sought == Sought::All {
            let beside = self.beside_tracked(repo, &index).into_iter();
            found.extend(beside.map(|path| (path, git2::Status::IGNORED)));
        }
        Ok((found, index))
    }

    /// The other entries of ignored folders with tracked files, which the library leaves out.
    fn beside_tracked(&self, repo: &Repository, index: &Index) -> Vec<PathBuf> {
        let folders = folders_of(index);
        let is_other = |path: &PathBuf| !folders.contains(path) && !holds(index, path);
        let inside =
            folders.iter().filter(|it| is_ignored(repo, it).unwrap_or(false)).flat_map(|folder| {
                let entries = fs::read_dir(self.root.join(folder)).into_iter().flatten();
                entries.filter_map(Result::ok).map(|entry| folder.join(entry.file_name()))
            });
        inside.filter(is_other).collect()
    }

    /// Files that a filter program made differ from their objects, which tells nothing, and a program
    /// that the repository names must not run here. So what git noted of them in the index counts,
    /// even at the time of the index.
    fn without_filtered(&self, repo: &Repository, index: &Index, mut found: Flags) -> Flags {
        found.retain(|path, flags| {
            let filter = || filter_of(repo, path, AttrCheckFlags::FILE_THEN_INDEX);
            if flags.is_wt_modified()
                && filter().is_ok_and(|name| name.is_some())
                && self.has_noted(index, path)
            {
                flags.remove(git2::Status::WT_MODIFIED);
            }
            !flags.is_empty()
        });
        found
    }

    /// The paths that `git status` leaves out, as the index says.
    ///
    /// # Errors
    /// If the index cannot be read.
    pub fn marked(&self) -> Result<BTreeSet<PathBuf>, VerifyError> {
        self.marked_in(&self.lock())
    }

    pub(super) fn marked_in(&self, repo: &Repository) -> Result<BTreeSet<PathBuf>, VerifyError> {
        let index = self.index_now(repo).map_err(self.failed("read the index"))?;
        Ok(index.iter().filter(is_marked).map(|entry| path(&entry.path)).collect())
    }

    /// Checks the paths whose index flags hide them from `git status`.
    fn hidden(&self, repo: &Repository, index: &Index) -> Result<Hidden, VerifyError> {
        let mut hidden = Hidden::default();
        let mut shown = Vec::new();
        for entry in index.iter().filter(is_marked) {
            let path = path(&entry.path);
            let skip = IndexEntryExtendedFlag::SKIP_WORKTREE.bits();
            if entry.flags_extended & skip != 0 && self.root.join(&path).symlink_metadata().is_err()
            {
                hidden.left_out.insert(path);
                continue;
            }
            shown.push(unmarked(&entry));
        }
        let paths: Vec<_> = shown.iter().map(|entry| path(&entry.path)).collect();
        let found = differing(repo, &shown, &paths).map_err(self.failed("compare hidden paths"))?;
        hidden.changed.extend(found.into_iter().filter_map(|(path, flags)| {
            match meaning(flags)? {
                Seen::Tracked(kind) => Some(PathChange { path, kind }),
                Seen::Untracked => None,
            }
        }));
        Ok(hidden)
    }
}

/// Does `git status` leave the file of this entry out?
fn is_marked(entry: &IndexEntry) -> bool {
    entry.flags & IndexEntryFlag::VALID.bits() != 0
        || entry.flags_extended & IndexEntryExtendedFlag::SKIP_WORKTREE.bits() != 0
}

/// What only git makes a file of a path with: a filter program, or another encoding, which the
/// library does not know.
pub(super) fn filter_of(
    repo: &Repository,
    path: &Path,
    from: AttrCheckFlags,
) -> Result<Option<String>, git2::Error> {
    let is_ours = |name: &str| ["utf-8", "utf8"].contains(&name.to_ascii_lowercase().as_str());
    if let Some(encoding) = repo.get_attr(path, ENCODING, from)?.filter(|name| !is_ours(name)) {
        return Ok(Some(format!("{ENCODING}={encoding}")));
    }
    Ok(repo.get_attr(path, "filter", from)?.map(str::to_owned))
}

/// An entry that git reads the file of, whatever its marks and times say.
fn unmarked(entry: &IndexEntry) -> IndexEntry {
    let skip = IndexEntryExtendedFlag::SKIP_WORKTREE.bits();
    IndexEntry {
        mtime: IndexTime::new(0, 0),
        flags: entry.flags & !IndexEntryFlag::VALID.bits(),
        flags_extended: entry.flags_extended & !skip,
        path: entry.path.clone(),
        ..*entry
    }
}

/// Asks git about some paths, all of whose entries are given.
fn differing(
    repo: &Repository,
    entries: &[IndexEntry],
    paths: &[PathBuf],
) -> Result<Flags, git2::Error> {
    if paths.is_empty() {
        return Ok(Flags::new());
    }
    let mut index = Index::new()?;
    entries.iter().try_for_each(|entry| index.add(entry))?;
    let mut options = DiffOptions::new();
    options.include_typechange(true).disable_pathspec_match(true);
    for path in paths {
        options.pathspec(path);
    }
    let diff = repo.diff_index_to_workdir(Some(&index), Some(&mut options))?;
    let flags = |delta: git2::DiffDelta<'_>| {
        let flags = match delta.status() {
            Delta::Unmodified | Delta::Ignored | Delta::Untracked => return None,
            Delta::Deleted => git2::Status::WT_DELETED,
            _ => git2::Status::WT_MODIFIED,
        };
        let bytes = delta.new_file().path_bytes().or_else(|| delta.old_file().path_bytes())?;
        Some((path(bytes), flags))
    };
    Ok(diff.deltas().filter_map(flags).collect())
}

/// Git's flags by path.
type Flags = BTreeMap<PathBuf, git2::Status>;

fn ignored_of(found: &Flags) -> Vec<PathBuf> {
    let ignored = found.iter().filter(|(_, flags)| flags.is_ignored());
    ignored.map(|(path, _)| path.clone()).collect()
}

/// Asks git about all paths. Changed files whose time is not conclusive are read; where ignored files
/// are sought, too, no agent works, and their time is recorded in the index, unless another process
/// holds it.
fn ask(repo: &Repository, sought: Sought) -> Result<Flags, git2::Error> {
    let mut options = StatusOptions::new();
    options
        .include_ignored(sought == Sought::All)
        .recurse_ignored_dirs(false)
        .include_untracked(true)
        .recurse_untracked_dirs(true)
        .renames_head_to_index(false)
        .renames_index_to_workdir(false);
    let noted = repo.statuses(Some(options.update_index(sought == Sought::All)));
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
