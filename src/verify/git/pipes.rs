//! Pipes with the names of git's own files: libgit2 would wait for ever to read one.

use std::fs;
use std::path::Path;

/// Files that git reads in every folder of a tree.
const READ: [&str; 2] = [".gitignore", ".gitattributes"];

/// Removes pipes, sockets and devices of these names; nothing is lost with them.
pub(super) fn remove_pipes(root: &Path) {
    let mut waiting = vec![root.to_owned()];
    while let Some(folder) = waiting.pop() {
        for entry in fs::read_dir(&folder).into_iter().flatten().filter_map(Result::ok) {
            let Ok(kind) = entry.file_type() else { continue };
            let name = entry.file_name();
            if kind.is_dir() && name != ".git" {
                waiting.push(entry.path());
            } else if !kind.is_dir()
                && !kind.is_file()
                && !kind.is_symlink()
                && READ.iter().any(|read| name == *read)
            {
                // If it cannot be removed, the limit of the run ends the wait.
                drop(fs::remove_file(entry.path()));
            }
        }
    }
}
