//! Stale lock files of git.
//!
//! Invariant: a run removes only locks that were created during itself or the last run. How a
//! lock is known to be stale lives in `verify`.

use std::path::PathBuf;

use super::EngineError;
use super::ledger::Ledger;

impl Ledger {
    /// Removes stale locks, and says so.
    pub(super) fn unlock(&self) -> Result<(), EngineError> {
        self.tell_unlocked(&self.parts.repo.unlock(None)?)
    }

    /// Reports removed locks.
    pub(super) fn tell_unlocked(&self, locks: &[PathBuf]) -> Result<(), EngineError> {
        unlocked(locks).map_or(Ok(()), |message| self.notice(&message))
    }
}

/// The message about removed locks, if there are any.
pub(super) fn unlocked(locks: &[PathBuf]) -> Option<String> {
    let names: Vec<_> = locks.iter().map(|lock| lock.display().to_string()).collect();
    let told =
        || format!("removed stale git locks, whose processes are gone: {}", names.join(", "));
    (!names.is_empty()).then(told)
}
