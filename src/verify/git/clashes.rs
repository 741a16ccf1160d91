//! The files in which two pieces of work conflict: a three-way merge in memory.
//!
//! Invariant: nothing is written, to a repository or to a tree. The answer is a guess, because work
//! that is under way goes on.

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use git2::{Index, Repository, Tree};

use super::plain::path;
use super::tree_changes::tree_changes;
use crate::model::Oid;
use crate::verify::error::{VerifyError, paths_in_words};
use crate::verify::layout::Layout;

/// Larger files are not looked at, in bytes.
const LARGEST: u64 = 8 << 20;

/// The files in which work, in the repository at `root`, conflicts with other work. Each is what came
/// after a commit of the branch; without a second commit, all that is in the tree now. The task's own
/// files do not count.
///
/// # Errors
/// If git cannot read something.
pub fn clashes(
    root: &Path,
    work: (&Oid, Option<&Oid>),
    other: (&Oid, &Oid),
    layout: &Layout,
) -> Result<Option<String>, VerifyError> {
    let found = found(root, work, other, layout).map_err(|error| VerifyError::Git {
        operation: "compare a worker's tree",
        path: root.to_owned(),
        source: Box::new(error),
    })?;
    Ok((!found.is_empty()).then(|| paths_in_words(&found)))
}

fn found(
    root: &Path,
    (base, commit): (&Oid, Option<&Oid>),
    (their_base, theirs): (&Oid, &Oid),
    layout: &Layout,
) -> Result<Vec<PathBuf>, git2::Error> {
    let repo = Repository::open(root)?;
    let odb = repo.odb()?;
    // Objects are written to memory.
    let _memory = odb.add_new_mempack_backend(1000)?;
    let id = |oid: &Oid| git2::Oid::from_str(oid.as_str());
    let tree = |oid: &Oid| repo.find_commit(id(oid)?)?.tree();
    let changed = |base: &Oid, now: &Tree<'_>| -> Result<Vec<PathBuf>, git2::Error> {
        let changes = tree_changes(&repo, Some(&tree(base)?), now)?;
        Ok(changes.into_iter().map(|change| change.path).collect())
    };
    let theirs = tree(theirs)?;
    let mut both = changed(their_base, &theirs)?;
    both.retain(|path| !layout.is_state_file(path));
    let ours = match commit {
        Some(commit) => tree(commit)?,
        None => repo.find_tree(in_tree(&mut repo.index()?, root, &both)?)?,
    };
    let own = changed(base, &ours)?;
    both.retain(|path| own.contains(path));
    if both.is_empty() {
        return Ok(both);
    }
    let ancestor = repo.find_commit(repo.merge_base(id(base)?, id(their_base)?)?)?.tree()?;
    let merged = repo.merge_trees(&ancestor, &ours, &theirs, None)?;
    let conflicts = merged.conflicts()?.flatten();
    let conflicts = conflicts.filter_map(|it| it.our.or(it.their).or(it.ancestor));
    let conflicts: Vec<PathBuf> = conflicts.map(|entry| path(&entry.path)).collect();
    both.retain(|path| conflicts.contains(path));
    Ok(both)
}

/// The tree of an index in memory, with these files as they are in the working tree.
fn in_tree(index: &mut Index, root: &Path, paths: &[PathBuf]) -> Result<git2::Oid, git2::Error> {
    for path in paths {
        let is_folder =
            |above: &Path| fs::symlink_metadata(root.join(above)).is_ok_and(|it| it.is_dir());
        let meta = fs::symlink_metadata(root.join(path)).ok().filter(|_| {
            // A link that an agent made leads anywhere.
            path.ancestors().skip(1).all(is_folder)
        });
        match (meta, index.get_path(path, 0)) {
            (None, Some(_)) => index.remove_path(path)?,
            // One that is as git left it, whatever a filter made of it.
            (Some(meta), Some(known))
                if meta.size() == u64::from(known.file_size)
                    && meta.mtime() == i64::from(known.mtime.seconds()) => {}
            (Some(meta), _) if meta.is_file() && meta.len() <= LARGEST => index.add_path(path)?,
            (_, _) => {}
        }
    }
    index.write_tree()
}
