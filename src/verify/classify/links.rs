//! Symbolic links of a tree.

use std::path::{Path, PathBuf};

use super::files::{EntryKind, SourceTree, text};
use super::paths::{folder, normal};

/// Most links that are followed for one path.
const MOST: usize = 40;

/// The target of a path when all links in it are followed. `None` if it is outside the tree.
pub(in crate::verify) fn link_target(tree: &dyn SourceTree, path: &Path) -> Option<PathBuf> {
    let is_link =
        |path: &&Path| tree.paths().get(*path).is_some_and(|it| it.kind == EntryKind::Link);
    let mut path = path.to_owned();
    for _ in 0..MOST {
        let Some(link) = path.ancestors().filter(is_link).last() else { return Some(path) };
        let target = folder(link).join(text(tree, link)?);
        path = normal(&target.join(path.strip_prefix(link).ok()?))?;
    }
    None
}
