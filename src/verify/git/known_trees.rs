//! The files of recently read trees. A proof reads two: the start's, which stays the same, and the
//! commit's, which differs from the last one in a few files.
//!
//! Invariant: a tree's name is the hash of its content, so cached files never become stale.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use git2::{ObjectType, Oid, Repository, Tree, TreeWalkMode, TreeWalkResult};

use super::plain::path;
use super::tree_changes::tree_changes;
use crate::verify::classify::{EntryKind, FileEntry};

/// The files of a tree.
pub(super) type Entries = Arc<BTreeMap<PathBuf, FileEntry>>;

/// How many are remembered.
const TREES: usize = 3;

/// The trees that were read last, the latest at the end.
#[derive(Default)]
pub(super) struct KnownTrees(Mutex<Vec<(Oid, Entries)>>);

impl KnownTrees {
    /// The files of a tree.
    pub(super) fn entries(
        &self,
        repo: &Repository,
        tree: &Tree<'_>,
    ) -> Result<Entries, git2::Error> {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(at) = known.iter().position(|(id, _)| *id == tree.id()) {
            let found = known.remove(at);
            let entries = Arc::clone(&found.1);
            known.push(found);
            return Ok(entries);
        }
        // The oldest one makes way, and becomes the new one unless its files are still in use.
        let oldest = if known.len() < TREES { None } else { Some(known.remove(0)) };
        let oldest = oldest.and_then(|(id, it)| Some((id, Arc::try_unwrap(it).ok()?)));
        let from = oldest.or_else(|| known.last().map(|(id, it)| (*id, BTreeMap::clone(it))));
        let from = from.and_then(|(id, entries)| Some((repo.find_tree(id).ok()?, entries)));
        let entries = match from {
            Some((before, mut entries)) => {
                change(repo, &mut entries, &before, tree)?;
                entries
            }
            None => read(tree)?,
        };
        let entries = Arc::new(entries);
        known.push((tree.id(), Arc::clone(&entries)));
        Ok(entries)
    }
}

fn read(tree: &Tree<'_>) -> Result<BTreeMap<PathBuf, FileEntry>, git2::Error> {
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

/// Makes the files of a tree those of another.
fn change(
    repo: &Repository,
    entries: &mut BTreeMap<PathBuf, FileEntry>,
    before: &Tree<'_>,
    after: &Tree<'_>,
) -> Result<(), git2::Error> {
    for change in tree_changes(repo, Some(before), after)? {
        match change.new {
            Some(new) => {
                let entry = FileEntry { kind: kind(new.mode), id: bytes_of(new.id) };
                entries.insert(change.path, entry);
            }
            None => {
                entries.remove(&change.path);
            }
        }
    }
    Ok(())
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::verify::classify::TreeEdit;
    use crate::verify::git::edited::edited;

    /// Trees that differ in every way come out as a walk of each finds them.
    #[test]
    fn a_tree_that_is_told_from_another_has_the_files_of_a_walk() {
        let folder = tempfile::TempDir::new().expect("a folder");
        let repo = Repository::init(folder.path()).expect("a repository");
        let empty = repo.treebuilder(None).and_then(|it| it.write()).expect("an empty tree");
        let plain = EntryKind::Regular { executable: false };
        let write = |path: &str, kind, text: &str| TreeEdit::Write {
            path: path.into(),
            kind,
            bytes: text.into(),
        };
        let gone = |path: &str| TreeEdit::Remove { path: path.into() };
        let steps = [
            vec![write("a", plain, "1"), write("d/b", plain, "1"), write("d/c", plain, "1")],
            vec![write("a", plain, "2"), gone("d/b"), write("n/e/w", plain, "1")],
            vec![write("a", EntryKind::Link, "d/c"), gone("d/c"), write("d", plain, "now a file")],
            vec![write("d", EntryKind::Regular { executable: true }, "now a file")],
            vec![gone("d"), gone("n/e/w"), write("d/b", plain, "1")],
            vec![write("kit", EntryKind::Gitlink, "20 bytes of a commit")],
        ];
        let known = KnownTrees::default();
        let mut base = empty;
        for edits in steps {
            let tree = repo.find_tree(base).expect("a tree");
            base = edited(&repo, &tree, &edits).expect("another tree");
            let tree = repo.find_tree(base).expect("a tree");
            let found = known.entries(&repo, &tree).expect("its files");
            assert!(!found.is_empty());
            assert_eq!(*found, read(&tree).expect("its files"), "after {edits:?}");
        }
    }
}
