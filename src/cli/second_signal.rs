//! The duties of a second signal: skip a wait, remove files.

use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio_util::sync::CancellationToken;

/// Steps that a second signal skips, and leftovers that it must remove.
#[derive(Debug, Default)]
pub(super) struct SecondSignal(Mutex<Duties>);

#[derive(Debug, Default)]
struct Duties {
    wait: Option<CancellationToken>,
    files: Vec<PathBuf>,
}

impl SecondSignal {
    /// From now on a signal skips this wait, instead of ending the run at once.
    pub(super) fn skips(&self, wait: CancellationToken) {
        self.lock().wait = Some(wait);
    }

    /// The wait is over.
    pub(super) fn skips_nothing(&self) {
        self.lock().wait = None;
    }

    /// These files go with the run, however it ends.
    pub(super) fn removes(&self, files: impl IntoIterator<Item = PathBuf>) {
        self.lock().files.extend(files);
    }

    /// The files are gone, or another's.
    pub(super) fn removes_nothing(&self) {
        self.lock().files.clear();
    }

    /// Skips the wait, if there is one; a further signal finds none.
    pub(super) fn skip(&self) -> bool {
        self.lock().wait.take().is_some_and(|wait| {
            wait.cancel();
            true
        })
    }

    /// Removes the files.
    pub(super) fn clean_up(&self) {
        for file in self.lock().files.drain(..) {
            // One that is gone needs no removal; of the rest the next owner takes care.
            drop(std::fs::remove_file(file));
        }
    }

    fn lock(&self) -> MutexGuard<'_, Duties> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
