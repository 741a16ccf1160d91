//! A tree with edits laid over it.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use git2::build::TreeUpdateBuilder;
use git2::{FileMode, ObjectType, Repository};

use crate::verify::classify::{EntryKind, TreeEdit};

/// A tree with edits, in their order.
pub(super) fn edited(
    repo: &Repository,
    base: &git2::Tree<'_>,
    edits: &[TreeEdit],
) -> Result<git2::Oid, git2::Error> {
    let mut writes = BTreeMap::new();
    let mut removals = BTreeSet::new();
    for edit in edits {
        let path = edit.path();
        match edit {
            TreeEdit::Write { kind, bytes, .. } => {
                let above = path.ancestors().skip(1).filter(|above| !above.as_os_str().is_empty());
                removals.extend(above.filter(|above| is_file(base, above)));
                removals.extend(is_folder(base, path).then_some(path.as_path()));
                make_way(&mut writes, path);
                writes.insert(path.clone(), (*kind, bytes));
            }
            TreeEdit::Remove { .. } => {
                writes.remove(path);
                removals.extend(is_file(base, path).then_some(path.as_path()));
            }
        }
    }
    let mut tree = base.id();
    // A file where a folder was, or the other way round, is a removal first.
    if !removals.is_empty() {
        let mut update = TreeUpdateBuilder::new();
        let inside = |path: &Path| path.ancestors().skip(1).any(|it| removals.contains(it));
        for path in removals.iter().filter(|path| !inside(path)) {
            update.remove(path.as_os_str().as_encoded_bytes());
        }
        tree = update.create_updated(repo, base)?;
    }
    let mut update = TreeUpdateBuilder::new();
    for (path, (kind, bytes)) in &writes {
        let (id, mode) = match kind {
            EntryKind::Regular { executable: false } => (repo.blob(bytes)?, FileMode::Blob),
            EntryKind::Regular { executable: true } => {
                (repo.blob(bytes)?, FileMode::BlobExecutable)
            }
            EntryKind::Link => (repo.blob(bytes)?, FileMode::Link),
            EntryKind::Gitlink => (git2::Oid::from_bytes(bytes)?, FileMode::Commit),
        };
        update.upsert(path.as_os_str().as_encoded_bytes(), id, mode);
    }
    update.create_updated(repo, &repo.find_tree(tree)?)
}

/// Removes the entries that a file at a path would replace: a file where a folder has to be, and
/// all that is in a folder where the file has to be.
pub(super) fn make_way<V>(entries: &mut BTreeMap<PathBuf, V>, path: &Path) {
    for above in path.ancestors().skip(1) {
        entries.remove(above);
    }
    let below = entries.range(path.to_owned()..).map(|(other, _)| other);
    let below: Vec<PathBuf> = below
        .skip_while(|other| *other == path)
        .take_while(|other| other.starts_with(path))
        .cloned()
        .collect();
    for path in below {
        entries.remove(&path);
    }
}

fn is_file(tree: &git2::Tree<'_>, path: &Path) -> bool {
    tree.get_path(path).is_ok_and(|entry| entry.kind() != Some(ObjectType::Tree))
}

pub(super) fn is_folder(tree: &git2::Tree<'_>, path: &Path) -> bool {
    tree.get_path(path).is_ok_and(|entry| entry.kind() == Some(ObjectType::Tree))
}
