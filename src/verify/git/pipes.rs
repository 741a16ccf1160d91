//! Files that git reads in every folder of a tree. Pipes of their names are removed, since libgit2
//! would wait for ever to read one.

use std::fs;
use std::path::{Path, PathBuf};

/// Their names.
const READ: [&str; 2] = [".gitignore", ".gitattributes"];

/// Is this the name of such a file?
pub(super) fn is_read(path: &Path) -> bool {
    READ.iter().any(|read| path.ends_with(read))
}

/// Every file of these names below a folder.
pub(super) fn pattern_files(root: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    walk(root, |path, _| found.push(path));
    found
}

/// Removes pipes, sockets and devices of these names; nothing is lost with them.
pub(super) fn remove_pipes(root: &Path) {
    walk(root, |path, kind| {
        if !kind.is_file() && !kind.is_symlink() {
            // If it cannot be removed, the limit of the run ends the wait.
            drop(fs::remove_file(path));
        }
    });
}

fn walk(root: &Path, mut visit: impl FnMut(PathBuf, fs::FileType)) {
    let mut waiting = vec![root.to_owned()];
    while let Some(folder) = waiting.pop() {
        for entry in fs::read_dir(&folder).into_iter().flatten().filter_map(Result::ok) {
            let Ok(kind) = entry.file_type() else { continue };
            let name = entry.file_name();
            if kind.is_dir() && name != ".git" {
                waiting.push(entry.path());
            } else if !kind.is_dir() && READ.iter().any(|read| name == *read) {
                visit(entry.path(), kind);
            }
        }
    }
}
