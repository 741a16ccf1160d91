//! The folders of a proof room.

use std::path::PathBuf;

/// The folders of a room, for the sandbox of its processes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RoomPlace {
    /// The working tree.
    pub work: PathBuf,
    /// The repository's own working tree.
    pub own: PathBuf,
    /// Where commands see the room's tree: at the repository's own path, if that is possible.
    pub seen_at: PathBuf,
    /// Other parts of the room: HOME, temporary files, logs.
    pub folder: PathBuf,
    /// Folders of objects: where they are, and where the room looks for them.
    pub borrowed: Vec<(PathBuf, PathBuf)>,
    /// Paths of the tree that were too large to copy.
    pub shared: Vec<PathBuf>,
}
