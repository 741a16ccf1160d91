//! A tree of files.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::paths::{folder, normal};

/// A tree of files, read lazily: a commit or a checkout.
pub trait SourceTree {
    /// Every file by its path relative to the root.
    fn paths(&self) -> &BTreeMap<PathBuf, FileEntry>;

    /// The content of a file, or the target of a link. `None` for a gitlink and a missing file.
    fn read(&self, path: &Path) -> Option<Vec<u8>>;
}

/// A file without its content.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileEntry {
    /// Kind.
    pub kind: EntryKind,
    /// Git's blob id of the content, so that equal content is seen without reading.
    pub id: [u8; 20],
}

/// Kind of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EntryKind {
    /// An ordinary file.
    Regular {
        /// May be run.
        executable: bool,
    },
    /// A symbolic link.
    Link,
    /// A submodule's commit.
    Gitlink,
}

/// A file's content as text, with replacements for invalid UTF-8.
pub(super) fn text(files: &dyn SourceTree, path: &Path) -> Option<String> {
    files.read(path).map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
}

/// Most links that are followed for one path.
const MOST_LINKS: usize = 40;

/// The target of a path when all links in it are followed. `None` if it is outside the tree.
pub(in crate::verify) fn link_target(tree: &dyn SourceTree, path: &Path) -> Option<PathBuf> {
    let is_link =
        |path: &&Path| tree.paths().get(*path).is_some_and(|it| it.kind == EntryKind::Link);
    let mut path = path.to_owned();
    for _ in 0..MOST_LINKS {
        let Some(link) = path.ancestors().filter(is_link).last() else { return Some(path) };
        let target = folder(link).join(text(tree, link)?);
        path = normal(&target.join(path.strip_prefix(link).ok()?))?;
    }
    None
}
