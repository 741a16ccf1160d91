//! The lock that keeps a working tree to one run.
//!
//! Invariant: the kernel holds the lock, so it ends with the process that holds it. The text in
//! the file is for messages only. The file is never removed: otherwise two processes could lock
//! two files of the same name. A symbolic link at the path is refused, so that an agent cannot
//! redirect our writes.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{Read, Seek, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::time::Duration;

use rustix::fs::OFlags;

use super::crash;
use super::error::SysError;
use super::file_mode::FileMode;
pub use super::holder::Holder;

/// How often [`TreeLock::take`] tries: [`TreeLock::holder`] holds the lock for a moment, too.
const TRIES: u32 = 20;
/// Pause between two tries.
const PAUSE: Duration = Duration::from_millis(5);

/// The lock, released when dropped. Children do not inherit it: the descriptor is closed on
/// exec.
#[derive(Debug)]
pub struct TreeLock {
    _file: File,
}

impl TreeLock {
    /// Takes the lock for this process and writes its name into the file. The folder must exist.
    ///
    /// # Errors
    /// [`SysError::Locked`] if another process holds it; [`SysError::File`] if the file cannot
    /// be created, read or written.
    pub fn take(path: &Path, run: &str) -> Result<Self, SysError> {
        let mut file = open(path, OpenOptions::new().read(true).write(true).create(true))?;
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

    /// The current holder of the lock; `None` if it is free.
    ///
    /// # Errors
    /// If the file is there and cannot be opened or asked. A lock whose holder has not
    /// written its name yet is an [`SysError::Locked`].
    pub fn holder(path: &Path) -> Result<Option<Holder>, SysError> {
        // In an agent's sandbox it can only be read.
        let mut file = match open(path, OpenOptions::new().read(true)) {
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
    fn a_second_taker_learns_the_holder_and_gets_the_lock_once_it_is_released() {
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
            matches!(error, SysError::Locked { holder: Some(ref named), .. } if *named == holder)
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
    fn the_text_of_a_dead_holder_does_not_lock() {
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
    fn a_symbolic_link_at_the_path_is_refused() {
        let folder = tempfile::tempdir().expect("folder");
        let (path, elsewhere) = (folder.path().join("lock"), folder.path().join("elsewhere"));
        std::fs::write(&elsewhere, "the human's").expect("written");
        std::os::unix::fs::symlink(&elsewhere, &path).expect("linked");
        let error = TreeLock::take(&path, "run").expect_err("a link");
        assert!(matches!(error, SysError::File { operation: "open", .. }), "{error}");
        assert_eq!(std::fs::read_to_string(&elsewhere).expect("read"), "the human's");
    }

    #[test]
    fn a_child_does_not_inherit_the_lock() {
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
