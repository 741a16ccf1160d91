//! The operating system at its edges.
//!
//! Invariant: this room knows nothing of tasks, criteria or agents; names of runs
//! come in as text. What to do about a failure is decided by whoever called.

pub mod append;
pub mod atomic;
pub mod clock;
pub mod confine;
pub mod crash;
pub mod depth;
pub mod env;
mod error;
pub mod guardian;
pub mod lock;
pub mod process;
pub mod shutdown;
pub mod tty;

pub use error::SysError;

/// What a write survives. Each costs what it promises: `Machine` waits for the disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Durability {
    /// The death of this process, at any instruction.
    Process,
    /// The loss of power, too: the content and the folder are synchronized.
    Machine,
}

/// Who may read a file that is made anew; an existing file keeps its mode.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileMode {
    /// The user alone (0600): everything below a run's folder.
    Owner,
    /// As the user's umask says (0666 without it): files that are committed.
    Umask,
}

impl FileMode {
    /// The mode to create a file with, before the umask.
    fn mode(self) -> u32 {
        match self {
            Self::Owner => 0o600,
            Self::Umask => 0o666,
        }
    }
}
