//! The paths that may differ from the index: git only needs to look at these.
//!
//! libgit2 asks for one file after the other, by its whole path. This walk lists folders with
//! several threads instead. Invariant: a path that is left out is in the index, and its file has the
//! inode, size, mode, and times that git noted, which are older than the index. Git alone says
//! whether and how the others differ.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::fs::{self, DirEntry, Metadata};
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use git2::{Index, IndexEntry, IndexEntryExtendedFlag, IndexTime, Oid};

use super::pipes::{PatternFile, pattern, remove_pipes};
use crate::sys::visit;

/// More paths than this are not faster than all of them.
const MOST: usize = 1_000;
/// The bits of an entry's flags that are not the length of its name.
const FLAGS: u16 = 0xf000;
/// A file without content.
const EMPTY: &str = "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391";

/// The paths of a working tree that git needs to look at. `None` if it has to look at all of them:
/// too many may differ, a folder is odd, or the index is not on disk.
pub(super) fn suspects(root: &Path, index: &Index, entries: &[IndexEntry]) -> Option<Vec<PathBuf>> {
    let written = index.path().and_then(|path| fs::metadata(path).ok())?;
    let older = Older(time(written.mtime(), written.mtime_nsec())?);
    let mut found = Found::default();
    let root_folder = Folder { prefix: Vec::new(), entries };
    for part in visit(root_folder, |folder, found| folder.look(root, &older, found)) {
        found.add(part);
    }
    let plain = found.paths.iter().all(|path| is_plain(path));
    if found.odd || found.paths.len() > MOST || !plain {
        return None;
    }
    found.folders.iter().for_each(|folder| remove_pipes(folder));
    Some(found.paths.into_iter().map(|path| PathBuf::from(OsStr::from_bytes(&path))).collect())
}

/// Would git take the path literally?
fn is_plain(path: &[u8]) -> bool {
    !path.starts_with(b"!")
        && !path.starts_with(b"#")
        && !path.iter().any(|byte| b"\\*?[".contains(byte) || byte.is_ascii_whitespace())
}

/// The time of an index: what was noted at the same time may have changed since.
struct Older(IndexTime);

/// A folder of the index.
struct Folder<'i> {
    /// Its path with a slash, or nothing for the root.
    prefix: Vec<u8>,
    entries: &'i [IndexEntry],
}

#[derive(Default)]
struct Found {
    paths: Vec<Vec<u8>>,
    /// Folders among them.
    folders: Vec<PathBuf>,
    /// A folder cannot be listed, or is a repository of its own.
    odd: bool,
}

impl Found {
    fn add(&mut self, more: Self) {
        self.paths.extend(more.paths);
        self.folders.extend(more.folders);
        self.odd |= more.odd;
    }
}

impl<'i> Folder<'i> {
    /// Compares the folder's files, and returns the folders in it.
    fn look(self, root: &Path, older: &Older, found: &mut Found) -> Vec<Self> {
        let folder = root.join(OsStr::from_bytes(&self.prefix));
        let Some(mut children) = list(&folder) else {
            found.odd = true;
            return Vec::new();
        };
        let is_repository = children.remove(b".git".as_slice()).is_some();
        found.odd |= is_repository && !self.prefix.is_empty();
        let (mut rest, mut folders) = (self.entries, Vec::new());
        while let Some(entry) = rest.first() {
            let name = &entry.path[self.prefix.len()..];
            let Some(end) = name.iter().position(|byte| *byte == b'/') else {
                rest = &rest[1..];
                let child = children.remove(name).and_then(|child| child.metadata().ok());
                if !child.is_some_and(|meta| older.is_as_noted(entry, &meta)) {
                    found.paths.push(entry.path.clone());
                }
                continue;
            };
            let prefix = &entry.path[..=self.prefix.len() + end];
            let below = rest.iter().take_while(|entry| entry.path.starts_with(prefix)).count();
            let (entries, others) = rest.split_at(below);
            rest = others;
            let child = children.remove(&name[..end]);
            if child.is_some_and(|child| child.file_type().is_ok_and(|kind| kind.is_dir())) {
                folders.push(Self { prefix: prefix.to_vec(), entries });
            } else {
                found.paths.push(prefix[..prefix.len() - 1].to_vec());
            }
        }
        for (name, child) in children {
            found.paths.push([self.prefix.as_slice(), &name].concat());
            if child.file_type().is_ok_and(|kind| kind.is_dir()) {
                found.folders.push(child.path());
            }
        }
        folders
    }
}

/// The entries of a folder by name, without pipes in the place of files that git reads.
fn list(folder: &Path) -> Option<HashMap<Vec<u8>, DirEntry>> {
    let mut children = HashMap::new();
    for child in fs::read_dir(folder).ok()? {
        let child = child.ok()?;
        let name = child.file_name();
        if pattern(folder, &name, child.file_type().ok()?) != PatternFile::Removed {
            children.insert(name.into_vec(), child);
        }
    }
    Some(children)
}

impl Older {
    /// Is the file as git noted it, at a time after which a change would show?
    fn is_as_noted(&self, entry: &IndexEntry, meta: &Metadata) -> bool {
        let extended =
            IndexEntryExtendedFlag::SKIP_WORKTREE | IndexEntryExtendedFlag::INTENT_TO_ADD;
        let flagged = entry.flags & FLAGS != 0 || entry.flags_extended & extended.bits() != 0;
        // A size of 0 also marks a file that git has to read.
        let sized = entry.file_size != 0 || Oid::from_str(EMPTY).is_ok_and(|id| entry.id == id);
        !flagged
            && sized
            && mode(meta) == Some(entry.mode)
            && entry.file_size == low(meta.size())
            && entry.ino == low(meta.ino())
            && time(meta.mtime(), meta.mtime_nsec()) == Some(entry.mtime)
            && time(meta.ctime(), meta.ctime_nsec()) == Some(entry.ctime)
            && pair(&entry.mtime) < pair(&self.0)
    }
}

/// The mode of a file or a link in an index.
fn mode(meta: &Metadata) -> Option<u32> {
    let kind = meta.file_type();
    let executable = meta.mode() & 0o100 != 0;
    match (kind.is_file(), kind.is_symlink()) {
        (true, _) if executable => Some(0o100_755),
        (true, _) => Some(0o100_644),
        (_, true) => Some(0o120_000),
        _ => None,
    }
}

/// The part of a number that an index holds.
fn low(number: u64) -> u32 {
    (number & u64::from(u32::MAX)) as u32
}

fn time(seconds: i64, nanos: i64) -> Option<IndexTime> {
    Some(IndexTime::new(i32::try_from(seconds).ok()?, u32::try_from(nanos).ok()?))
}

fn pair(time: &IndexTime) -> (i32, u32) {
    (time.seconds(), time.nanoseconds())
}
