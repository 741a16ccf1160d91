//! The state of files, without reading their content.
//!
//! Invariant: it includes the change time, which programs cannot set.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

/// Files and links, by their paths relative to the tree.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Stamps(BTreeMap<PathBuf, Stamp>);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Stamp {
    changed: (i64, i64),
    size: u64,
    inode: u64,
}

/// Looks at a path and everything in it. Unreadable entries are left out.
pub(super) fn scan(root: &Path, path: &Path) -> Stamps {
    let mut found = BTreeMap::new();
    let mut waiting = vec![path.to_owned()];
    while let Some(path) = waiting.pop() {
        let at = root.join(&path);
        let Ok(meta) = fs::symlink_metadata(&at) else { continue };
        if meta.is_dir() {
            let entries = fs::read_dir(&at).into_iter().flatten().filter_map(Result::ok);
            waiting.extend(entries.map(|entry| path.join(entry.file_name())));
        } else {
            let changed = (meta.ctime(), meta.ctime_nsec());
            found.insert(path, Stamp { changed, size: meta.len(), inode: meta.ino() });
        }
    }
    Stamps(found)
}

impl Stamps {
    pub(super) fn and(mut self, more: Self) -> Self {
        self.0.extend(more.0);
        self
    }

    /// In bytes.
    pub(super) fn size(&self) -> u64 {
        self.0.values().map(|stamp| stamp.size).sum()
    }

    /// The new or changed paths, and the missing ones.
    pub(super) fn differences<'a>(&'a self, now: &'a Self) -> (Vec<&'a Path>, Vec<&'a Path>) {
        let changed = now.0.iter().filter(|(path, stamp)| self.0.get(*path) != Some(stamp));
        let gone = self.0.keys().filter(|path| !now.0.contains_key(*path));
        (changed.map(|(path, _)| path.as_path()).collect(), gone.map(PathBuf::as_path).collect())
    }

    /// As they are kept: a NUL ends each.
    pub(super) fn bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        for (path, stamp) in &self.0 {
            let (seconds, nanos) = stamp.changed;
            bytes.extend(format!("{seconds} {nanos} {} {} ", stamp.size, stamp.inode).into_bytes());
            bytes.extend(path.as_os_str().as_bytes());
            bytes.push(0);
        }
        bytes
    }

    /// None if these are not stamps.
    pub(super) fn read(bytes: &[u8]) -> Option<Self> {
        let mut found = BTreeMap::new();
        for record in bytes.split(|byte| *byte == 0).filter(|record| !record.is_empty()) {
            let mut parts = record.splitn(5, |byte| *byte == b' ');
            let mut number = || std::str::from_utf8(parts.next()?).ok()?.parse::<i64>().ok();
            let (seconds, nanos, size, inode) = (number()?, number()?, number()?, number()?);
            let path = PathBuf::from(std::ffi::OsStr::from_bytes(parts.next()?));
            let changed = (seconds, nanos);
            let (size, inode) = (size.cast_unsigned(), inode.cast_unsigned());
            found.insert(path, Stamp { changed, size, inode });
        }
        Some(Self(found))
    }
}
