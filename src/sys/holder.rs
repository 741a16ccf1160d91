//! The holder of a lock, for messages.
//!
//! Locking itself lives in `lock`.

use std::fmt;

/// The holder of a lock, as it wrote itself into the lock file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Holder {
    /// The process id.
    pub pid: u32,
    /// The name of its run.
    pub run: String,
}

impl fmt::Display for Holder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "run {} (process {})", self.run, self.pid)
    }
}

impl Holder {
    /// Reads the first line of a lock file.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let (pid, run) = text.lines().next()?.split_once(' ')?;
        Some(Self { pid: pid.parse().ok()?, run: run.to_owned() })
    }
}
