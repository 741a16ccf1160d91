//! HEAD against the working tree.
//!
//! Invariant: git looks only at the paths that may differ, all in one walk; renames are not
//! detected; a path that is marked "assumed unchanged" is read anyway, because that mark can hide a
//! change. Not in this file: the author of a change.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::PoisonError;

use git2::{
    AttrCheckFlags, Delta, DiffOptions, ErrorCode, FileMode, Index, IndexEntry,
    IndexEntryExtendedFlag, IndexEntryFlag, IndexTime, Repository, StatusOptions, StatusShow,
};

use super::git_repo::GitRepo;
use super::pipes::remove_pipes;
use super::plain::path;
use super::suspects::{Indexed, Sought, suspects};
use crate::model::{ChangeKind, PathChange};
use crate::verify::error::VerifyError;
use crate::verify::repo::Status;

/// The attribute for files whose text git keeps in UTF-8.
pub(super) const ENCODING: &str = "working-tree-encoding";

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

    /// The existing ignored files; a folder that is ignored as a whole is one entry.
    ///
    /// # Errors
    /// If the tree cannot be read.
    pub fn ignored(&self) -> Result<Vec<PathBuf>, VerifyError> {
        let repo = &*self.lock();
        Ok(ignored_of(&self.look(repo, Sought::Ignored)?))
    }

    /// Asks git about the paths that may differ.
    fn look(&self, repo: &Repository, sought: Sought) -> Result<Flags, VerifyError> {
        self.refuse_links(repo)?;
        self.look_at(repo, sought).map_err(self.failed("compare the working tree with HEAD"))
    }

    fn look_at(&self, repo: &Repository, sought: Sought) -> Result<Flags, git2::Error> {
        let mut seen = self.indexed.lock().unwrap_or_else(PoisonError::into_inner);
        let staged = |now: &Indexed| {
            if sought == Sought::Ignored || is_heads(repo, now)? {
                return Ok(Flags::new());
            }
            ask(repo, StatusShow::Index, sought, &[])
        };
        let (suspects, now, mut found) = suspects((&self.root, sought), seen.take(), repo, staged)?;
        let now = seen.insert(now);
        let Some(mut suspects) = suspects else {
            remove_pipes(&self.root);
            let found = ask(repo, StatusShow::IndexAndWorkdir, sought, &[])?;
            return Ok(self.without_filtered(repo, now, found));
        };
        suspects.retain(|path| {
            if now.holds(path) {
                return true;
            }
            if sought == Sought::Changes {
                return !is_ignored(repo, &self.root, path, &mut 64);
            }
            let whole = repo.is_path_ignored(path).unwrap_or_default();
            if whole {
                found.insert(path.clone(), git2::Status::IGNORED);
            }
            !whole
        });
        let noted = match self.few(now, &suspects) {
            Some(entries) => differing(repo, &entries, &suspects, sought)?,
            None => ask(repo, StatusShow::Workdir, sought, &suspects)?,
        };
        let noted = self.without_filtered(repo, now, noted);
        for (path, flags) in noted {
            *found.entry(path).or_insert(git2::Status::CURRENT) |= flags;
        }
        // The library does not see a repository without a commit or a file, but `git add` fails.
        let added = suspects.iter().filter(|path| !now.holds(path));
        for path in added.filter_map(|path| empty_repository(repo, &self.root, path, &mut 1_000)) {
            found.entry(path).or_insert(git2::Status::WT_NEW);
        }
        Ok(found)
    }

    /// Files that a filter program made differ from their objects, which tells nothing, and a program
    /// that the repository names must not run here. So what git noted of them in the index counts,
    /// even at the time of the index.
    fn without_filtered(&self, repo: &Repository, index: &Indexed, mut found: Flags) -> Flags {
        found.retain(|path, flags| {
            let filter = || filter_of(repo, path, AttrCheckFlags::FILE_THEN_INDEX);
            if flags.is_wt_modified()
                && filter().is_ok_and(|name| name.is_some())
                && index.has_noted(&self.root, path)
            {
                flags.remove(git2::Status::WT_MODIFIED);
            }
            !flags.is_empty()
        });
        found
    }

    /// The entries of some paths, if these are few files and paths that git does not track: so git
    /// need not read the whole index to look at them. What it finds unchanged is not noted there.
    fn few(&self, index: &Indexed, paths: &[PathBuf]) -> Option<Vec<IndexEntry>> {
        const FEW: usize = 32;
        let entry = |path: &PathBuf| {
            let entry = index.entry(path)?;
            let is_file = entry.mode != u32::from(FileMode::Commit);
            let is_folder = self.root.join(path).symlink_metadata().is_ok_and(|it| it.is_dir());
            (is_file && !is_folder).then(|| unmarked(entry))
        };
        let tracked = paths.iter().filter(|path| index.holds(path));
        if paths.len() > FEW { None } else { tracked.map(entry).collect() }
    }

    /// The paths that `git status` leaves out, as the index said at the last look.
    pub fn marked(&self) -> BTreeSet<PathBuf> {
        let seen = self.indexed.lock().unwrap_or_else(PoisonError::into_inner);
        let marked = seen.iter().flat_map(|index| &index.entries).filter(|it| is_marked(it));
        marked.map(|entry| path(&entry.path)).collect()
    }

    /// Checks the paths whose index flags hide them from `git status`.
    fn hidden(&self, repo: &Repository) -> Result<Hidden, VerifyError> {
        let mut hidden = Hidden::default();
        let mut shown = Vec::new();
        let seen = self.indexed.lock().unwrap_or_else(PoisonError::into_inner);
        for entry in seen.iter().flat_map(|index| &index.entries).filter(|it| is_marked(it)) {
            let path = path(&entry.path);
            let skip = IndexEntryExtendedFlag::SKIP_WORKTREE.bits();
            if entry.flags_extended & skip != 0 && self.root.join(&path).symlink_metadata().is_err()
            {
                hidden.left_out.insert(path);
                continue;
            }
            shown.push(unmarked(entry));
        }
        let paths: Vec<_> = shown.iter().map(|entry| path(&entry.path)).collect();
        let found = differing(repo, &shown, &paths, Sought::Changes)
            .map_err(self.failed("compare hidden paths"))?;
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

/// Does git ignore an untracked path, or everything below it? `most` is how many paths are looked
/// at.
fn is_ignored(repo: &Repository, root: &Path, path: &Path, most: &mut usize) -> bool {
    if repo.is_path_ignored(path).unwrap_or_default() {
        return true;
    }
    let at = root.join(path);
    if !at.symlink_metadata().is_ok_and(|meta| meta.is_dir()) || at.join(".git").exists() {
        return false;
    }
    let Ok(children) = fs::read_dir(&at) else { return false };
    children.into_iter().all(|child| {
        *most = most.saturating_sub(1);
        *most > 0 && child.is_ok_and(|it| is_ignored(repo, root, &path.join(it.file_name()), most))
    })
}

/// The first repository in an untracked folder that holds nothing but its git folder. `most` is how
/// many paths are looked at.
fn empty_repository(
    repo: &Repository,
    root: &Path,
    path: &Path,
    most: &mut usize,
) -> Option<PathBuf> {
    let at = root.join(path);
    *most = most.checked_sub(1)?;
    if !at.symlink_metadata().ok()?.is_dir() || repo.is_path_ignored(path).unwrap_or(true) {
        return None;
    }
    let mut names = fs::read_dir(&at).ok()?.filter_map(|it| it.ok().map(|it| it.file_name()));
    if at.join(".git").symlink_metadata().is_ok() {
        return names.all(|name| name == ".git").then(|| path.to_owned());
    }
    names.find_map(|name| empty_repository(repo, root, &path.join(name), most))
}

/// Is nothing staged?
fn is_heads(repo: &Repository, index: &Indexed) -> Result<bool, git2::Error> {
    match repo.head() {
        Ok(head) => index.is(repo, &head.peel_to_tree()?),
        Err(error) if error.code() == ErrorCode::UnbornBranch => Ok(index.entries.is_empty()),
        Err(error) => Err(error),
    }
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
    sought: Sought,
) -> Result<Flags, git2::Error> {
    if paths.is_empty() {
        return Ok(Flags::new());
    }
    let mut index = Index::new()?;
    entries.iter().try_for_each(|entry| index.add(entry))?;
    let mut options = DiffOptions::new();
    options
        .include_typechange(true)
        .include_ignored(sought != Sought::Changes)
        .include_untracked(true)
        .recurse_untracked_dirs(true)
        .disable_pathspec_match(true);
    for path in paths {
        options.pathspec(path);
    }
    let diff = repo.diff_index_to_workdir(Some(&index), Some(&mut options))?;
    let flags = |delta: git2::DiffDelta<'_>| {
        let flags = match delta.status() {
            Delta::Unmodified => return None,
            Delta::Ignored => git2::Status::IGNORED,
            Delta::Untracked => git2::Status::WT_NEW,
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
