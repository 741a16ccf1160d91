//! A file without its content.

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

/// What tells a file from another one, and from itself before a change: programs cannot set the
/// change time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Stat {
    id: (u64, u64),
    mode: u32,
    size: u64,
    modified: (i64, i64),
    changed: (i64, i64),
}

impl Stat {
    /// Of a regular file.
    pub(super) fn of_file(path: &Path) -> Option<Self> {
        let meta = fs::symlink_metadata(path).ok().filter(fs::Metadata::is_file)?;
        Some(Self {
            id: (meta.dev(), meta.ino()),
            mode: meta.mode(),
            size: meta.size(),
            modified: (meta.mtime(), meta.mtime_nsec()),
            changed: (meta.ctime(), meta.ctime_nsec()),
        })
    }
}
