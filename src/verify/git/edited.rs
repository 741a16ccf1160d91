//! A tree with edits laid over it.

use git2::build::TreeUpdateBuilder;
use git2::{FileMode, Repository};

use crate::verify::harness::{EntryKind, TreeEdit};

/// A tree with edits.
pub(super) fn edited(
    repo: &Repository,
    base: &git2::Tree<'_>,
    edits: &[TreeEdit],
) -> Result<git2::Oid, git2::Error> {
    let mut tree = base.id();
    // A file where a folder was, or the other way round, is a removal first.
    let mut removals = TreeUpdateBuilder::new();
    let mut removes = false;
    let mut additions = TreeUpdateBuilder::new();
    for edit in edits {
        match edit {
            TreeEdit::Write { path, kind, bytes } => {
                let mode = match kind {
                    EntryKind::Regular { executable: false } => FileMode::Blob,
                    EntryKind::Regular { executable: true } => FileMode::BlobExecutable,
                    EntryKind::Link => FileMode::Link,
                    EntryKind::Gitlink => {
                        let name = path.as_os_str().as_encoded_bytes();
                        additions.upsert(name, git2::Oid::from_bytes(bytes)?, FileMode::Commit);
                        continue;
                    }
                };
                additions.upsert(path.as_os_str().as_encoded_bytes(), repo.blob(bytes)?, mode);
            }
            TreeEdit::Remove { path } if base.get_path(path).is_ok() => {
                removals.remove(path.as_os_str().as_encoded_bytes());
                removes = true;
            }
            TreeEdit::Remove { .. } => {}
        }
    }
    if removes {
        tree = removals.create_updated(repo, base)?;
    }
    additions.create_updated(repo, &repo.find_tree(tree)?)
}
