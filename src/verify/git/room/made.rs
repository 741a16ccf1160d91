//! A file that a filter program made, as it was then.

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

/// A file, without its content. Its change time cannot be set by programs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Made {
    inode: u64,
    size: u64,
    changed: (i64, i64),
}

impl Made {
    pub(super) fn of(path: &Path) -> Option<Self> {
        let meta = fs::symlink_metadata(path).ok().filter(fs::Metadata::is_file)?;
        let changed = (meta.ctime(), meta.ctime_nsec());
        Some(Self { inode: meta.ino(), size: meta.len(), changed })
    }
}
