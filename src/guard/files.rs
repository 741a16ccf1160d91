//! The guard's questions to the file system: three questions, no change.
//!
//! `decide` stays a pure function over this trait. [`OsFiles`] is the one real
//! implementation and the only place of the room that touches the disk; it
//! reads and never writes.

use std::collections::HashMap;
use std::ffi::OsString;
use std::io;
use std::path::{Component, Path, PathBuf};
use std::time::SystemTime;

/// The kind of entry at a path, without following links.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FileKind {
    /// Nothing.
    Missing,
    /// A regular file, or anything else that is no folder and no link.
    File,
    /// A folder.
    Dir,
    /// A symbolic link and where it points, as written.
    Link(PathBuf),
    /// It cannot be told; treated as a reason to deny.
    Unknown,
}

/// The questions.
pub trait Files: Sync {
    /// The entry at an absolute path; the last component is not followed.
    fn kind(&self, path: &Path) -> FileKind;

    /// The bytes of a file.
    ///
    /// # Errors
    /// As the file system says.
    fn read(&self, path: &Path) -> io::Result<Vec<u8>>;

    /// The names in a folder, at most `most` of them.
    ///
    /// # Errors
    /// As the file system says.
    fn list(&self, path: &Path, most: usize) -> io::Result<Vec<String>>;

    /// When a file or folder was made, where the file system knows.
    fn born(&self, _path: &Path) -> Option<SystemTime> {
        None
    }
}

/// The file system of the machine.
#[derive(Clone, Copy, Debug, Default)]
pub struct OsFiles;

impl Files for OsFiles {
    fn kind(&self, path: &Path) -> FileKind {
        match std::fs::symlink_metadata(path) {
            Ok(meta) if meta.file_type().is_symlink() => {
                std::fs::read_link(path).map_or(FileKind::Unknown, FileKind::Link)
            }
            Ok(meta) if meta.is_dir() => FileKind::Dir,
            Ok(_) => FileKind::File,
            Err(error) => match error.kind() {
                io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => FileKind::Missing,
                _ => FileKind::Unknown,
            },
        }
    }

    fn read(&self, path: &Path) -> io::Result<Vec<u8>> {
        std::fs::read(path)
    }

    fn list(&self, path: &Path, most: usize) -> io::Result<Vec<String>> {
        std::fs::read_dir(path)?
            .take(most)
            .map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned()))
            .collect()
    }

    fn born(&self, path: &Path) -> Option<SystemTime> {
        std::fs::symlink_metadata(path).ok()?.created().ok()
    }
}

/// Where a path really leads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Real {
    /// Canonical path; missing components are kept as written.
    pub(super) path: PathBuf,
    /// Places of the links that were followed.
    pub(super) links: Vec<PathBuf>,
    /// The entry at the path.
    pub(super) kind: FileKind,
}

/// Links followed before a path counts as a loop; the kernel's own number.
const MOST_LINKS: usize = 40;

/// Follows every link of an absolute path. `None` means that it cannot be told
/// (a loop, a folder that may not be looked into).
pub(super) fn resolve(
    path: &Path,
    files: &dyn Files,
    seen: &mut HashMap<PathBuf, FileKind>,
) -> Option<Real> {
    let mut at = PathBuf::new();
    let mut todo: Vec<OsString> = Vec::new();
    for part in path.components() {
        match part {
            Component::Prefix(_) | Component::RootDir => at.push(part.as_os_str()),
            Component::CurDir => {}
            Component::ParentDir | Component::Normal(_) => todo.push(part.as_os_str().to_owned()),
        }
    }
    todo.reverse();
    let root = at.clone();
    let mut links = Vec::new();
    let mut kind = FileKind::Dir;
    while let Some(part) = todo.pop() {
        if part == ".." {
            at.pop();
            kind = FileKind::Dir;
            continue;
        }
        at.push(&part);
        kind = match seen.get(&at) {
            Some(kind) => kind.clone(),
            None => {
                let kind = files.kind(&at);
                seen.insert(at.clone(), kind.clone());
                kind
            }
        };
        match &kind {
            FileKind::Unknown => return None,
            FileKind::Missing | FileKind::File | FileKind::Dir => {}
            FileKind::Link(target) => {
                if links.len() == MOST_LINKS {
                    return None;
                }
                links.push(at.clone());
                at.pop();
                if target.is_absolute() {
                    at.clone_from(&root);
                }
                for part in target.components().rev() {
                    if let Component::Normal(_) | Component::ParentDir = part {
                        todo.push(part.as_os_str().to_owned());
                    }
                }
                kind = FileKind::Dir;
            }
        }
    }
    Some(Real { path: at, links, kind })
}
