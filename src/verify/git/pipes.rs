//! Files that git reads in every folder of a tree. Pipes of their names, and links to pipes, are
//! removed, since libgit2 would wait for ever to read one.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};

/// Their names.
const READ: [&str; 2] = [".gitignore", ".gitattributes"];

/// Is this the name of such a file?
pub(super) fn is_read(path: &Path) -> bool {
    READ.iter().any(|read| path.ends_with(read))
}

/// The type of a file among those that git reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PatternFile {
    /// None of them.
    None,
    /// One of them.
    File,
    /// It was a pipe, and is removed.
    Removed,
}

/// Returns the type of a file in a folder, and removes a pipe, a socket, or a device; nothing is
/// lost with them.
pub(super) fn pattern(folder: &Path, name: &OsStr, kind: fs::FileType) -> PatternFile {
    if !READ.iter().any(|read| name == *read) {
        return PatternFile::None;
    }
    let path = &folder.join(name);
    let is_plain = |kind: fs::FileType| kind.is_file() || kind.is_dir();
    let leads_nowhere = || fs::metadata(path).map_or(true, |meta| is_plain(meta.file_type()));
    if kind.is_file() || kind.is_symlink() && leads_nowhere() {
        return PatternFile::File;
    }
    // If it cannot be removed, the limit of the run ends the wait.
    drop(fs::remove_file(path));
    PatternFile::Removed
}

/// Every file of these names below a folder. Pipes are removed.
pub(super) fn pattern_files(root: &Path) -> Vec<PathBuf> {
    walk(root).0
}

/// Removes pipes of these names. Returns the repositories below the folder, relative to it.
pub(super) fn remove_pipes(root: &Path) -> Vec<PathBuf> {
    let below = |path: PathBuf| Some(path.strip_prefix(root).ok()?.to_owned());
    walk(root).1.into_iter().filter_map(below).filter(|path| !path.as_os_str().is_empty()).collect()
}

/// The files of these names below a folder, and the folders with a `.git`.
fn walk(root: &Path) -> (Vec<PathBuf>, Vec<PathBuf>) {
    let (mut files, mut repositories) = (Vec::new(), Vec::new());
    let mut waiting = vec![root.to_owned()];
    while let Some(folder) = waiting.pop() {
        for entry in fs::read_dir(&folder).into_iter().flatten().filter_map(Result::ok) {
            let Ok(kind) = entry.file_type() else { continue };
            let name = entry.file_name();
            if name == ".git" {
                repositories.push(folder.clone());
            } else if kind.is_dir() {
                waiting.push(entry.path());
            } else if pattern(&folder, &name, kind) == PatternFile::File {
                files.push(entry.path());
            }
        }
    }
    (files, repositories)
}
