//! Removes the output of a check: ignored files that it wrote.
//!
//! Invariant: never follows a link, and never leaves the room.

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use super::PrivateRepo;
use crate::verify::error::VerifyError;

impl PrivateRepo {
    /// Removes the ignored files that were written since then. One that cannot be removed stays.
    ///
    /// # Errors
    /// If git cannot list them.
    pub fn remove_output(&mut self, since: SystemTime) -> Result<(), VerifyError> {
        for path in self.ignored()? {
            if let Err(error) = remove_written(&self.work.join(path), since) {
                tracing::debug!(%error, "output of a check stays");
            }
        }
        Ok(())
    }
}

fn remove_written(path: &Path, since: SystemTime) -> io::Result<()> {
    let meta = fs::symlink_metadata(path)?;
    if written(&meta) < since {
        if meta.is_dir() {
            return each_entry(path, since);
        }
        return Ok(());
    }
    if !meta.is_dir() {
        return fs::remove_file(path);
    }
    each_entry(path, since)?;
    // It was there before if anything stays in it.
    match fs::remove_dir(path) {
        Err(error) if error.kind() != io::ErrorKind::DirectoryNotEmpty => Err(error),
        _ => Ok(()),
    }
}

fn each_entry(folder: &Path, since: SystemTime) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        remove_written(&entry?.path(), since)?;
    }
    Ok(())
}

/// The last change of a file or its name, which no program can set.
fn written(meta: &fs::Metadata) -> SystemTime {
    let seconds = u64::try_from(meta.ctime()).unwrap_or_default();
    let nanos = u32::try_from(meta.ctime_nsec()).unwrap_or_default();
    UNIX_EPOCH + Duration::new(seconds, nanos)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_was_written_since_then_goes() {
        let dir = tempfile::tempdir().expect("a folder");
        let old = dir.path().join("build/old.o");
        fs::create_dir(dir.path().join("build")).expect("made");
        fs::write(&old, "1").expect("written");
        std::thread::sleep(Duration::from_millis(30));
        let since = SystemTime::now();
        std::thread::sleep(Duration::from_millis(30));
        fs::create_dir(dir.path().join("build/new")).expect("made");
        fs::write(dir.path().join("build/new/a.o"), "1").expect("written");
        remove_written(&dir.path().join("build"), since).expect("removed");
        assert!(old.is_file());
        assert!(!dir.path().join("build/new").exists());
    }
}
