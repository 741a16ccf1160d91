//! The files that differ between two trees.
//!
//! Invariant: folders that are the same in both are not read, so the time depends on the changes
//! and not on the number of files. No renames are looked for.

use std::collections::BTreeMap;
use std::path::PathBuf;

use git2::{ObjectType, Oid, Repository, Tree};

use super::plain::path;

/// A file, a link or a submodule in a tree.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct TreeFile {
    pub(super) mode: i32,
    pub(super) id: Oid,
}

/// The bits of a mode that tell files, links, and submodules apart.
const KIND: i32 = 0o170_000;

impl TreeFile {
    /// Is the other one a file as well, or a link as well?
    pub(super) fn is_alike(self, other: Self) -> bool {
        self.mode & KIND == other.mode & KIND
    }

    /// Is it a file, and not a link or a submodule?
    pub(super) fn is_regular(self) -> bool {
        self.mode & KIND == 0o100_000
    }
}

/// A path with another file in the second tree, or in only one of them.
pub(super) struct TreeChange {
    pub(super) path: PathBuf,
    pub(super) old: Option<TreeFile>,
    pub(super) new: Option<TreeFile>,
}

/// An entry of a folder in both trees: a file or another folder in each.
#[derive(Default)]
struct Side {
    file: Option<TreeFile>,
    folder: Option<Oid>,
}

/// The changes from one tree to another; from none, all files are new.
pub(super) fn tree_changes(
    repo: &Repository,
    old: Option<&Tree<'_>>,
    new: &Tree<'_>,
) -> Result<Vec<TreeChange>, git2::Error> {
    let mut changes = Vec::new();
    let mut waiting = vec![(Vec::new(), old.map(Tree::id), Some(new.id()))];
    while let Some((folder, old, new)) = waiting.pop() {
        let mut entries = BTreeMap::<Vec<u8>, [Side; 2]>::new();
        for (side, id) in [old, new].into_iter().enumerate() {
            let Some(id) = id else { continue };
            for entry in &repo.find_tree(id)? {
                let found = &mut entries.entry(entry.name_bytes().to_vec()).or_default()[side];
                match entry.kind() {
                    Some(ObjectType::Tree) => found.folder = Some(entry.id()),
                    _ => found.file = Some(TreeFile { mode: entry.filemode(), id: entry.id() }),
                }
            }
        }
        for (name, [old, new]) in entries {
            let name = [folder.as_slice(), &name].concat();
            if old.file != new.file {
                changes.push(TreeChange { path: path(&name), old: old.file, new: new.file });
            }
            if old.folder != new.folder {
                waiting.push(([&name, b"/".as_slice()].concat(), old.folder, new.folder));
            }
        }
    }
    Ok(changes)
}
