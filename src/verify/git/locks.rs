//! Lock files of git: waits for them, and removes stale ones.
//!
//! Invariant: a lock is removed only if it appeared in a time that is ours, remains for two
//! seconds, and no git is at work here; one of a living git belongs to it, however long it takes.
//! Not in this file: which earlier time was a run's.

use std::fs;
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, SystemTime};

use git2::{ErrorCode, Repository};

use super::git_repo::GitRepo;
use super::plain::path;
use super::settings::files_below;
use crate::sys::process::may_be_at_work;
use crate::verify::error::{VerifyError, io_error};

/// Another git process holds its locks for milliseconds; a lock that is still there after
/// these two seconds is reported, if not removed.
const TRIES: u32 = 100;
const PAUSE: Duration = Duration::from_millis(20);
/// How often to look for a git at work here.
const LOOKS: u32 = 10;

/// Repeats an operation that fails because of another process's lock.
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

/// A lock as it was met.
pub(super) struct Lock {
    pub(super) path: PathBuf,
    written: SystemTime,
}

impl Lock {
    fn there(path: PathBuf) -> Option<Self> {
        let written = path.symlink_metadata().and_then(|meta| meta.modified()).ok()?;
        Some(Self { path, written })
    }

    /// Is there any lock?
    fn is_held(&self) -> bool {
        self.path.symlink_metadata().is_ok()
    }

    /// Is this very lock still there? It may have gone, and another one come.
    fn is_there(&self) -> bool {
        Self::there(self.path.clone()).is_some_and(|now| now.written == self.written)
    }
}

/// Locks that did not go away by themselves.
pub(super) struct Stayed {
    /// Stale: no process held them.
    pub(super) removed: Vec<PathBuf>,
    /// Held by another process.
    pub(super) held: Vec<PathBuf>,
}

impl GitRepo {
    /// The locks that are there and stay, although they were given the time to go.
    pub(super) fn staying(&self, repo: &Repository) -> Vec<Lock> {
        let mut locks: Vec<_> = self.locks(repo).into_iter().filter_map(Lock::there).collect();
        for _ in 1..TRIES {
            if locks.is_empty() {
                break;
            }
            thread::sleep(PAUSE);
            locks.retain(Lock::is_held);
        }
        locks
    }

    pub(super) fn unlock_in(
        &self,
        repo: &Repository,
        born: Option<&RangeInclusive<SystemTime>>,
    ) -> Result<Stayed, VerifyError> {
        let of_the_dead = born.is_some();
        let born = |time| born.map_or(time >= self.opened, |born| born.contains(&time));
        let (mut ours, mut others): (Vec<_>, Vec<_>) =
            self.staying(repo).into_iter().partition(|lock| born(lock.written) && lock.is_there());
        // These do not block a commit, but they block maintenance, or the writing of a ref of a run.
        let mut quiet = vec![self.common_dir.join("objects/maintenance.lock")];
        if of_the_dead {
            let refs = files_below(&self.common_dir, Path::new("refs/ralph"))?.into_iter();
            let locks = refs.filter(|file| file.extension().is_some_and(|it| it == "lock"));
            quiet.extend(locks.map(|file| self.common_dir.join(file)));
        }
        let mut quiet: Vec<_> = quiet.into_iter().filter_map(Lock::there).collect();
        quiet.retain(|lock| born(lock.written));
        let any = !ours.is_empty() || !quiet.is_empty();
        if any && self.git_stays_at_work() {
            others.append(&mut ours);
            quiet.clear();
        }
        ours.append(&mut quiet);
        ours.retain(Lock::is_there);
        others.retain(Lock::is_held);
        for lock in &ours {
            fs::remove_file(&lock.path).map_err(io_error("remove", &lock.path))?;
        }
        let paths = |locks: Vec<Lock>| locks.into_iter().map(|lock| lock.path).collect();
        Ok(Stayed { removed: paths(ours), held: paths(others) })
    }

    /// A git that ends while a lock stays did not hold it.
    fn git_stays_at_work(&self) -> bool {
        (0..LOOKS).all(|_| {
            let at_work = may_be_at_work("git", &[&self.root, &self.git_dir]);
            if at_work {
                thread::sleep(PAUSE);
            }
            at_work
        })
    }

    /// The locks that a commit takes, and any of which keeps us from one.
    fn locks(&self, repo: &Repository) -> Vec<PathBuf> {
        let mut locks = vec![self.git_dir.join("index.lock"), self.git_dir.join("HEAD.lock")];
        let head = repo.find_reference("HEAD").ok();
        if let Some(branch) = head.as_ref().and_then(|head| head.symbolic_target_bytes()) {
            locks.push(self.common_dir.join(path(&[branch, b".lock"].concat())));
        }
        locks
    }
}
