//! Locks of git that whoever died left behind.
//!
//! Invariant: only a run removes any, and only what came to be in its time, or in that of the
//! last one. How it is known that nobody holds one lives in `verify`.

use std::path::PathBuf;

use super::EngineError;
use super::run::Run;

impl Run {
    /// Removes them, and says so.
    pub(super) fn unlock(&self) -> Result<(), EngineError> {
        self.tell_unlocked(&self.parts.repo.unlock(None)?)
    }

    /// Says which were removed.
    pub(super) fn tell_unlocked(&self, locks: &[PathBuf]) -> Result<(), EngineError> {
        unlocked(locks).map_or(Ok(()), |message| self.notice(&message))
    }
}

/// What the human is told of locks that were removed.
pub(super) fn unlocked(locks: &[PathBuf]) -> Option<String> {
    let names: Vec<_> = locks.iter().map(|lock| lock.display().to_string()).collect();
    let told =
        || format!("removed, since the git that left it behind is gone: {}", names.join(", "));
    (!names.is_empty()).then(told)
}
