//! The files of a commit or a tree, whose content is read lazily.
//!
//! Invariant: libgit2 compares the content of every object that it reads with its name.

use std::cell::OnceCell;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use git2::{ObjectType, Oid, Repository, Tree, TreeWalkMode, TreeWalkResult};

use super::plain::path;
use crate::verify::classify::{EntryKind, FileEntry, SourceTree};

/// A tree, with edits laid over it.
pub struct TreeFiles {
    pub(super) repo: Repository,
    pub(super) entries: BTreeMap<PathBuf, FileEntry>,
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

/// The files of a tree.
pub(super) fn entries(tree: &Tree<'_>) -> Result<BTreeMap<PathBuf, FileEntry>, git2::Error> {
    // They come nearly in order, so a list of them becomes a map faster than one after the other.
    let mut entries = Vec::new();
    tree.walk(TreeWalkMode::PreOrder, |folder, entry| {
        if entry.kind() != Some(ObjectType::Tree) {
            let name = [folder.as_bytes(), entry.name_bytes()].concat();
            let found = FileEntry { kind: kind(entry.filemode()), id: bytes_of(entry.id()) };
            entries.push((path(&name), found));
        }
        TreeWalkResult::Ok
    })?;
    Ok(entries.into_iter().collect())
}

/// An id as entries have it.
pub(super) fn bytes_of(id: Oid) -> [u8; 20] {
    let mut name = [0; 20];
    name.copy_from_slice(&id.as_bytes()[..20]);
    name
}

/// The kind of a file, from git's mode.
pub(super) fn kind(mode: i32) -> EntryKind {
    match mode {
        0o120_000 => EntryKind::Link,
        0o160_000 => EntryKind::Gitlink,
        mode => EntryKind::Regular { executable: mode & 0o100 != 0 },
    }
}
