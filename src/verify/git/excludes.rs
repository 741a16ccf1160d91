//! git's own list of ignored files, `info/exclude`, which all worktrees of a repository share.
//!
//! Invariant: while a run watches the list, no process of this program changes it, since the
//! run would count the change as tampering. The locks are the kernel's: they end with the
//! process that holds them.

use std::collections::BTreeSet;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{ErrorKind, Write as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::git_repo::GitRepo;
use super::plain::read_or_empty;
use crate::verify::error::{VerifyError, io_error};

/// How often a lock is tried. Whoever adds patterns holds it for less.
const TRIES: u32 = 400;
/// How often it is tried before the list counts as watched.
const WATCHED: u32 = 50;
/// The time between two tries.
const PAUSE: Duration = Duration::from_millis(5);

/// A run's claim that the list is not changed.
#[derive(Debug)]
pub struct ExcludesWatch {
    _file: File,
}

/// The list, held alone: no run can begin to watch it before this is dropped.
#[derive(Debug)]
pub struct ExcludesLock {
    path: PathBuf,
    /// None if there is no list yet, and so no run that watches it.
    _file: Option<File>,
}

impl GitRepo {
    /// Adds the patterns that a run needs and watches the list from then on.
    ///
    /// # Errors
    /// If a pattern is missing and another run watches the list, or the file cannot be used.
    pub fn watch_excludes(&self, patterns: &[&str]) -> Result<ExcludesWatch, VerifyError> {
        self.exclude(patterns)?;
        let path = self.excludes_path();
        let file = File::open(&path).map_err(io_error("open", &path))?;
        match is_locked(&path, TRIES, || file.try_lock_shared())? {
            true => Ok(ExcludesWatch { _file: file }),
            false => Err(io_error("lock", &path)(ErrorKind::TimedOut.into())),
        }
    }

    /// Locks the list for a change; none while a run watches it.
    ///
    /// # Errors
    /// If the file cannot be opened or locked.
    pub fn lock_excludes(&self) -> Result<Option<ExcludesLock>, VerifyError> {
        let path = self.excludes_path();
        let file = match File::open(&path) {
            Ok(file) => file,
            Err(error) if error.kind() == ErrorKind::NotFound => {
                return Ok(Some(ExcludesLock { path, _file: None }));
            }
            Err(error) => return Err(io_error("open", &path)(error)),
        };
        let is_locked = is_locked(&path, WATCHED, || file.try_lock())?;
        Ok(is_locked.then_some(ExcludesLock { path, _file: Some(file) }))
    }

    /// Makes git ignore patterns in this clone, through `info/exclude`. Existing lines stay, and
    /// an existing pattern is not added again.
    ///
    /// # Errors
    /// If a pattern is missing and a run watches the file, or it cannot be written.
    pub fn exclude(&self, patterns: &[&str]) -> Result<(), VerifyError> {
        let path = self.excludes_path();
        if missing(&read_or_empty(&path)?, patterns).is_empty() {
            return Ok(());
        }
        match self.lock_excludes()? {
            Some(mut lock) => lock.add(patterns),
            None => Err(VerifyError::ExcludesWatched { path }),
        }
    }

    fn excludes_path(&self) -> PathBuf {
        self.common_dir.join("info/exclude")
    }
}

impl ExcludesLock {
    /// Adds the patterns that are not in the list yet; the rest of it is kept.
    ///
    /// # Errors
    /// If the file cannot be read or written.
    pub fn add(&mut self, patterns: &[&str]) -> Result<(), VerifyError> {
        let old = read_or_empty(&self.path)?;
        let mut new = missing(&old, patterns);
        if new.is_empty() {
            return Ok(());
        }
        if old.last().is_some_and(|&last| last != b'\n') {
            new.insert(0, b'\n');
        }
        let failed = io_error("write", &self.path);
        if let Some(folder) = self.path.parent() {
            fs::create_dir_all(folder).map_err(&failed)?;
        }
        let file = OpenOptions::new().create(true).append(true).open(&self.path);
        file.and_then(|mut file| file.write_all(&new)).map_err(failed)
    }
}

/// Takes a lock. False if another process holds it all the time.
fn is_locked(
    path: &Path,
    tries: u32,
    lock: impl Fn() -> Result<(), TryLockError>,
) -> Result<bool, VerifyError> {
    for _ in 0..tries {
        match lock() {
            Ok(()) => return Ok(true),
            Err(TryLockError::WouldBlock) => std::thread::sleep(PAUSE),
            Err(TryLockError::Error(source)) => return Err(io_error("lock", path)(source)),
        }
    }
    Ok(false)
}

/// The lines to add, for the patterns that are not in the list.
fn missing(list: &[u8], patterns: &[&str]) -> Vec<u8> {
    let lines: BTreeSet<&[u8]> =
        list.split(|&byte| byte == b'\n').map(<[u8]>::trim_ascii).collect();
    let new = patterns.iter().filter(|pattern| !lines.contains(pattern.as_bytes()));
    new.flat_map(|pattern| pattern.bytes().chain([b'\n'])).collect()
}
