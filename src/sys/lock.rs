//! One run per working tree.
//!
//! Invariant: the kernel holds the lock, so it ends with its holder, however that dies;
//! what the file says is for messages and is never believed. The file stays behind: to
//! remove it would let two holders have two files of one name. A link in its place is
//! refused: an agent cannot lead our writes elsewhere.

use std::fmt;
use std::fs::{File, OpenOptions, TryLockError};
use std::io::{Read, Seek, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::time::Duration;

use rustix::fs::OFlags;

use super::{FileMode, SysError, crash};

/// Whoever only asks for the holder has the lock for a moment; to take it is tried again
/// this often before that counts as held.
const TRIES: u32 = 20;
/// The time between two tries.
const PAUSE: Duration = Duration::from_millis(5);

/// Who holds a lock, in its own words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Holder {
    /// Its process id.
    pub pid: u32,
    /// Its run.
    pub run: String,
}

impl fmt::Display for Holder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "run {} (process {})", self.run, self.pid)
    }
}

impl Holder {
    fn parse(text: &str) -> Option<Self> {
        let (pid, run) = text.lines().next()?.split_once(' ')?;
        Some(Self { pid: pid.parse().ok()?, run: run.to_owned() })
    }
}

/// The lock, held until it is dropped. Children do not inherit it: the descriptor is
/// closed on exec.
#[derive(Debug)]
pub struct TreeLock {
    _file: File,
}

impl TreeLock {
    /// Takes the lock for this process and writes its name into the file. The folder must
    /// be there.
    ///
    /// # Errors
    /// [`SysError::Locked`] if another process holds it; [`SysError::File`] if the file cannot
    /// be made, read or written.
    pub fn take(path: &Path, run: &str) -> Result<Self, SysError> {
        let mut file = open(path, OpenOptions::new().create(true))?;
        let mut tries = 0;
        loop {
            match file.try_lock() {
                Ok(()) => break,
                Err(TryLockError::WouldBlock) if tries < TRIES => {
                    tries += 1;
                    std::thread::sleep(PAUSE);
                }
                Err(TryLockError::WouldBlock) => {
                    return Err(SysError::Locked {
                        path: path.to_path_buf(),
                        holder: read(&mut file),
                    });
                }
                Err(TryLockError::Error(error)) => return Err(SysError::file("lock", path)(error)),
            }
        }
        crash::point("lock taken");
        file.set_len(0)
            .and_then(|()| file.rewind())
            .and_then(|()| writeln!(file, "{} {run}", std::process::id()))
            .map_err(SysError::file("write", path))?;
        crash::point("lock named");
        Ok(Self { _file: file })
    }

    /// Who holds the lock now; `None` if nobody does.
    ///
    /// # Errors
    /// If the file is there and cannot be opened or asked. A lock that is held by somebody
    /// whose name is not yet written is an [`SysError::Locked`].
    pub fn holder(path: &Path) -> Result<Option<Holder>, SysError> {
        let mut file = match open(path, &mut OpenOptions::new()) {
            Ok(file) => file,
            Err(SysError::File { source, .. }) if source.kind() == std::io::ErrorKind::NotFound => {
                return Ok(None);
            }
            Err(error) => return Err(error),
        };
        match file.try_lock_shared() {
            Ok(()) => Ok(None),
            Err(TryLockError::WouldBlock) => match read(&mut file) {
                Some(holder) => Ok(Some(holder)),
                None => Err(SysError::Locked { path: path.to_path_buf(), holder: None }),
            },
            Err(TryLockError::Error(error)) => Err(SysError::file("lock", path)(error)),
        }
    }
}

fn open(path: &Path, options: &mut OpenOptions) -> Result<File, SysError> {
    options
        .read(true)
        .write(true)
        .mode(FileMode::Owner.mode())
        .custom_flags(OFlags::NOFOLLOW.bits().cast_signed())
        .open(path)
        .map_err(SysError::file("open", path))
}

fn read(file: &mut File) -> Option<Holder> {
    let mut text = String::new();
    file.take(4096).read_to_string(&mut text).ok()?;
    Holder::parse(&text)
}

#[cfg(test)]
mod tests {
    use std::process::{Command, Stdio};

    use super::*;

    #[test]
    fn the_second_is_told_who_holds_it_and_gets_it_when_the_first_is_gone() {
        let folder = tempfile::tempdir().expect("folder");
        let path = folder.path().join("lock");
        assert_eq!(TreeLock::holder(&path).expect("no file"), None);
        let first = TreeLock::take(&path, "20261121T140301Z-7").expect("free");
        let holder = Holder { pid: std::process::id(), run: "20261121T140301Z-7".to_owned() };
        assert_eq!(TreeLock::holder(&path).expect("held"), Some(holder.clone()));
        let error = TreeLock::take(&path, "other").expect_err("held");
        assert_eq!(
            error.to_string(),
            format!(
                "{} is held by run 20261121T140301Z-7 (process {})",
                path.display(),
                std::process::id()
            )
        );
        assert!(
            matches!(error, SysError::Locked { holder: Some(ref told), .. } if *told == holder)
        );
        drop(first);
        // A child that another test is starting has the descriptor until its exec.
        let now_free = (0..TRIES).any(|_| match TreeLock::holder(&path) {
            Ok(None) => true,
            Ok(Some(_)) | Err(_) => {
                std::thread::sleep(PAUSE);
                false
            }
        });
        assert!(now_free);
        TreeLock::take(&path, "a").expect("free again");
    }

    #[test]
    fn what_a_dead_holder_left_in_the_file_locks_nobody_out() {
        let folder = tempfile::tempdir().expect("folder");
        let path = folder.path().join("lock");
        std::fs::write(&path, "1 a-run-with-a-very-long-name-that-died\n").expect("stale");
        assert_eq!(TreeLock::holder(&path).expect("free"), None);
        let _lock = TreeLock::take(&path, "new").expect("free");
        let text = std::fs::read_to_string(&path).expect("read");
        assert_eq!(text, format!("{} new\n", std::process::id()));
    }

    #[test]
    fn a_holder_without_a_name_still_holds() {
        let folder = tempfile::tempdir().expect("folder");
        let path = folder.path().join("lock");
        let lock = TreeLock::take(&path, "run").expect("free");
        std::fs::write(&path, "").expect("nameless");
        let error = TreeLock::take(&path, "other").expect_err("held");
        assert_eq!(error.to_string(), format!("{} is held by another run", path.display()));
        assert!(matches!(TreeLock::holder(&path), Err(SysError::Locked { holder: None, .. })));
        drop(lock);
    }

    #[test]
    fn a_link_in_its_place_is_not_followed() {
        let folder = tempfile::tempdir().expect("folder");
        let (path, elsewhere) = (folder.path().join("lock"), folder.path().join("elsewhere"));
        std::fs::write(&elsewhere, "the human's").expect("written");
        std::os::unix::fs::symlink(&elsewhere, &path).expect("linked");
        let error = TreeLock::take(&path, "run").expect_err("a link");
        assert!(matches!(error, SysError::File { operation: "open", .. }), "{error}");
        assert_eq!(std::fs::read_to_string(&elsewhere).expect("read"), "the human's");
    }

    #[test]
    fn a_child_does_not_inherit_it() {
        let folder = tempfile::tempdir().expect("folder");
        let path = folder.path().join("lock");
        let lock = TreeLock::take(&path, "run").expect("free");
        let mut child = Command::new("cat").stdin(Stdio::piped()).spawn().expect("cat");
        drop(lock);
        let taken = TreeLock::take(&path, "next");
        assert_eq!(child.try_wait().expect("child"), None);
        child.kill().expect("kill");
        child.wait().expect("wait");
        taken.expect("free although the child lives");
    }
}
