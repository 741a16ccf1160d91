//! The mode of files that are created.

/// The mode of a newly created file; an existing file keeps its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileMode {
    /// Owner only (0600), for everything in a run's folder.
    Owner,
    /// The mode 0666 without the bits of the umask, for files that are committed.
    Umask,
}

impl FileMode {
    /// The mode to create a file with, before the umask.
    pub(super) fn mode(self) -> u32 {
        match self {
            Self::Owner => 0o600,
            Self::Umask => 0o666,
        }
    }
}
