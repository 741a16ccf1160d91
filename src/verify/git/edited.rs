//! A tree with edits laid over it.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use git2::build::TreeUpdateBuilder;
use git2::{FileMode, ObjectType, Repository};

use crate::verify::classify::{EntryKind, TreeEdit};

/// What a path is to be in a tree; nothing if it is to be gone.
type Entry = Option<(git2::Oid, FileMode)>;

/// A tree with edits, in their order.
pub(super) fn edited(
    repo: &Repository,
    base: &git2::Tree<'_>,
    edits: &[TreeEdit],
) -> Result<git2::Oid, git2::Error> {
    let entry = |edit: &TreeEdit| -> Result<Entry, git2::Error> {
        let TreeEdit::Write { kind, bytes, .. } = edit else { return Ok(None) };
        let blob = |mode| Ok(Some((repo.blob(bytes)?, mode)));
        match kind {
            EntryKind::Regular { executable: false } => blob(FileMode::Blob),
            EntryKind::Regular { executable: true } => blob(FileMode::BlobExecutable),
            EntryKind::Link => blob(FileMode::Link),
            EntryKind::Gitlink => Ok(Some((git2::Oid::from_bytes(bytes)?, FileMode::Commit))),
        }
    };
    let entries = edits.iter().map(|edit| Ok((edit.path().clone(), entry(edit)?)));
    with_entries(repo, base, entries.collect::<Result<_, git2::Error>>()?)
}

/// A tree with other entries, in their order.
pub(super) fn with_entries(
    repo: &Repository,
    base: &git2::Tree<'_>,
    entries: Vec<(PathBuf, Entry)>,
) -> Result<git2::Oid, git2::Error> {
    let mut writes = BTreeMap::new();
    let mut removals = BTreeSet::new();
    for (path, entry) in entries {
        if let Some(entry) = entry {
            let above = path.ancestors().skip(1).filter(|above| !above.as_os_str().is_empty());
            removals.extend(above.filter(|above| is_file(base, above)).map(Path::to_owned));
            removals.extend(is_folder(base, &path).then(|| path.clone()));
            make_way(&mut writes, &path);
            writes.insert(path, entry);
        } else {
            writes.remove(&path);
            removals.extend(is_file(base, &path).then_some(path));
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
    for (path, (id, mode)) in &writes {
        update.upsert(path.as_os_str().as_encoded_bytes(), *id, *mode);
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
