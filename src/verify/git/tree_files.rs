//! The files of a commit or a tree, read lazily.
//!
//! Invariant: libgit2 compares the content of every object that it reads with its name.

use std::cell::OnceCell;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use git2::Repository;

use super::known_trees::Entries;
use crate::verify::classify::{EntryKind, FileEntry, SourceTree};

/// A tree, with edits laid over it.
pub struct TreeFiles {
    pub(super) repo: Repository,
    /// Its id, if nothing is laid over it.
    pub(super) name: Option<[u8; 20]>,
    pub(super) entries: Entries,
    pub(super) edited: BTreeMap<PathBuf, Vec<u8>>,
    pub(super) unreadable: OnceCell<PathBuf>,
}

impl TreeFiles {
    /// A file whose object is gone or destroyed, if one was read.
    pub fn unreadable(&self) -> Option<&Path> {
        self.unreadable.get().map(PathBuf::as_path)
    }
}

impl SourceTree for TreeFiles {
    fn paths(&self) -> &BTreeMap<PathBuf, FileEntry> {
        &self.entries
    }

    fn name(&self) -> Option<[u8; 20]> {
        self.name
    }

    fn read(&self, path: &Path) -> Option<Vec<u8>> {
        if let Some(bytes) = self.edited.get(path) {
            return Some(bytes.clone());
        }
        let entry = self.entries.get(path).filter(|entry| entry.kind != EntryKind::Gitlink)?;
        let id = git2::Oid::from_bytes(&entry.id).ok()?;
        let blob = self.repo.find_blob(id);
        if blob.is_err() {
            self.unreadable.get_or_init(|| path.to_owned());
        }
        Some(blob.ok()?.content().to_vec())
    }
}
