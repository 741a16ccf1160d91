//! Lock files of git: waited for, and removed where nobody is left to do it.
//!
//! Invariant: a lock goes only if it came to be in a time that is ours, stays for two seconds,
//! and no git is at work here; one of a living git is the other's, however long it takes.
//! What does NOT live here: which other time than this process's was a run's.

use std::fs;
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, SystemTime};

use git2::{ErrorCode, Repository};

use super::GitRepo;
use crate::sys::process::may_be_at_work;
use crate::verify::error::VerifyError;

/// Another git process holds its locks for milliseconds; a lock that is still there after
/// these two seconds is reported, if not removed.
const TRIES: u32 = 100;
const PAUSE: Duration = Duration::from_millis(20);

/// Repeats what fails because of somebody else's lock.
pub(super) fn patiently<T>(
    mut attempt: impl FnMut() -> Result<T, git2::Error>,
) -> Result<T, git2::Error> {
    for _ in 1..TRIES {
        match attempt() {
            Err(error) if error.code() == ErrorCode::Locked => thread::sleep(PAUSE),
            other => return other,
        }
    }
    attempt()
}

/// Gives a lock of somebody else the time to go; says whether it is gone.
pub(super) fn released(lock: &Path) -> bool {
    let held = || lock.symlink_metadata().is_ok();
    for _ in 1..TRIES {
        if !held() {
            return true;
        }
        thread::sleep(PAUSE);
    }
    !held()
}

/// A lock as it was met.
struct Lock {
    path: PathBuf,
    written: SystemTime,
}

impl Lock {
    fn there(path: PathBuf) -> Option<Self> {
        let written = path.symlink_metadata().and_then(|meta| meta.modified()).ok()?;
        Some(Self { path, written })
    }

    /// Whether this very lock is there: it may have gone, and another one come.
    fn is_there(&self) -> bool {
        Self::there(self.path.clone()).is_some_and(|now| now.written == self.written)
    }
}

impl GitRepo {
    pub(super) fn unlock_in(
        &self,
        repo: &Repository,
        born: Option<&RangeInclusive<SystemTime>>,
    ) -> Result<Vec<PathBuf>, VerifyError> {
        let born = |time| born.map_or(time >= self.opened, |born| born.contains(&time));
        let mut locks: Vec<_> = self.locks(repo).into_iter().filter_map(Lock::there).collect();
        locks.retain(|lock| born(lock.written));
        for _ in 1..TRIES {
            locks.retain(Lock::is_there);
            if locks.is_empty() {
                return Ok(Vec::new());
            }
            thread::sleep(PAUSE);
        }
        if may_be_at_work("git", &[&self.root, &self.git_dir]) {
            return Ok(Vec::new());
        }
        locks.retain(Lock::is_there);
        for lock in &locks {
            fs::remove_file(&lock.path).map_err(Self::io("remove", &lock.path))?;
        }
        Ok(locks.into_iter().map(|lock| lock.path).collect())
    }

    /// The locks that a commit takes, and any of which keeps us from one.
    pub(super) fn locks(&self, repo: &Repository) -> Vec<PathBuf> {
        let mut locks = vec![self.git_dir.join("index.lock"), self.git_dir.join("HEAD.lock")];
        let head = repo.find_reference("HEAD").ok();
        if let Some(branch) = head.as_ref().and_then(|head| head.symbolic_target_bytes()) {
            locks.push(self.common_dir.join(super::path(&[branch, b".lock"].concat())));
        }
        locks
    }
}
