//! What the index holds: the tracked paths, the submodules among them, and how files were when git
//! last read them.

use std::collections::{BTreeSet, HashSet};
use std::fs::{self, Metadata};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use git2::{FileMode, Index, IndexEntry, IndexTime, Repository, Submodule};

use super::GitRepo;
use super::plain::path;
use crate::verify::VerifyError;

/// The kernel's clock for files stands still this long.
const TICK: Duration = Duration::from_millis(20);

impl GitRepo {
    /// All paths that git tracks, relative to the root.
    ///
    /// # Errors
    /// If the index cannot be read.
    pub fn all_tracked(&self) -> Result<Vec<PathBuf>, VerifyError> {
        let index = self.index_now(&self.lock()).map_err(self.failed("read the index"))?;
        Ok(index.iter().map(|entry| path(&entry.path)).collect())
    }

    /// Those of these paths, relative to the root, that git tracks.
    ///
    /// # Errors
    /// If the index cannot be read.
    pub fn tracked(&self, paths: BTreeSet<PathBuf>) -> Result<BTreeSet<PathBuf>, VerifyError> {
        let index = self.index_now(&self.lock()).map_err(self.failed("read the index"))?;
        Ok(paths.into_iter().filter(|path| holds(&index, path)).collect())
    }

    /// The submodules. libgit2 takes its time to find them, so that it is asked only where there may
    /// be some.
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
        let linked = index.iter().filter(|entry| entry.mode == u32::from(FileMode::Commit));
        Ok(linked.map(|entry| path(&entry.path)).collect())
    }

    /// The index as it is now. It is read each time: libgit2 tells a newer one by its sum alone, which
    /// `index.skipHash` leaves out.
    pub(super) fn index_now(&self, repo: &Repository) -> Result<Index, git2::Error> {
        let mut index = repo.index()?;
        index.read(true)?;
        Ok(index)
    }

    /// Is a file as git noted it in the index when it last read it, possibly at the very time of the
    /// index?
    pub(super) fn has_noted(&self, index: &Index, path: &Path) -> bool {
        let meta = fs::symlink_metadata(self.root.join(path)).ok();
        let written = fs::metadata(self.git_dir.join("index")).ok();
        let written = written.and_then(|meta| time(meta.mtime(), meta.mtime_nsec()));
        let found = index.get_path(path, 0).zip(meta).zip(written);
        found.is_some_and(|((entry, meta), written)| {
            let as_now = noted(IndexEntry { path: Vec::new(), ..entry }, &meta);
            let is_same = |now: IndexEntry| {
                now.ino == entry.ino
                    && now.file_size == entry.file_size
                    && now.mtime == entry.mtime
                    && now.ctime == entry.ctime
            };
            meta.is_file() && entry.mtime <= written && as_now.is_some_and(is_same)
        })
    }
}

/// Does an index have a path? One in conflict is there at other stages.
pub(super) fn holds(index: &Index, path: &Path) -> bool {
    (0..=3).any(|stage| index.get_path(path, stage).is_some())
}

/// The folders that hold the files of an index, the root among them.
pub(super) fn folders_of(index: &Index) -> HashSet<PathBuf> {
    let mut folders = HashSet::new();
    for entry in index.iter() {
        for above in path(&entry.path).ancestors().skip(1) {
            if !folders.insert(above.to_owned()) {
                break;
            }
        }
    }
    folders
}

/// Notes in the index that these files, at paths below `root`, are unchanged, and writes it.
pub(super) fn note_unchanged<'p>(
    index: &mut Index,
    root: &Path,
    paths: impl Iterator<Item = &'p PathBuf>,
) -> Result<(), git2::Error> {
    // None of them may be as young as the index.
    std::thread::sleep(TICK);
    for path in paths {
        let meta = fs::symlink_metadata(root.join(path)).ok();
        let found = index.get_path(path, 0).zip(meta);
        if let Some(entry) = found.and_then(|(entry, meta)| noted(entry, &meta)) {
            index.add(&entry)?;
        }
    }
    index.write()
}

/// An entry that says of its file that it is unchanged.
fn noted(entry: IndexEntry, meta: &Metadata) -> Option<IndexEntry> {
    Some(IndexEntry {
        ctime: time(meta.ctime(), meta.ctime_nsec())?,
        mtime: time(meta.mtime(), meta.mtime_nsec())?,
        dev: low(meta.dev()),
        ino: low(meta.ino()),
        uid: meta.uid(),
        gid: meta.gid(),
        file_size: low(meta.size()),
        ..entry
    })
}

/// The part of a number that an index holds.
fn low(number: u64) -> u32 {
    (number & u64::from(u32::MAX)) as u32
}

fn time(seconds: i64, nanos: i64) -> Option<IndexTime> {
    Some(IndexTime::new(i32::try_from(seconds).ok()?, u32::try_from(nanos).ok()?))
}
