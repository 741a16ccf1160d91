//! A worker's tree, seen at the repository's own path by this process and its children.
//!
//! Invariant: nobody else sees it there, and the repository itself cannot be reached by its path.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::namespaces::{bind, own_namespace};

/// Shows `tree` at `root`. `borrowed` are folders of objects below `root`, and the links to them,
/// which are all below one folder: they lead to the same objects as before. Call it while this
/// process has one thread.
///
/// # Errors
/// If the kernel does not allow it.
pub fn see_at(tree: &Path, root: &Path, borrowed: &[(PathBuf, PathBuf)]) -> io::Result<()> {
    own_namespace()?;
    if let Some(links) = borrowed.first().and_then(|(_, link)| link.parent()) {
        let seen = links.with_extension("seen");
        for (from, link) in borrowed {
            let Ok(below) = link.strip_prefix(links) else { continue };
            let at = seen.join(below);
            fs::create_dir_all(&at)?;
            bind(from, &at)?;
        }
        bind(&seen, links)?;
    }
    bind(tree, root)
}
