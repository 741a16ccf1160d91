//! Append-only files of whole records.
//!
//! Invariant: every record ends with a newline, and no record begins in the middle of a line. A
//! record torn by a crash or a full disk is cut off before the next write; in files that people
//! edit, it is closed with a newline instead. A symbolic link at the path is refused, so that an
//! agent cannot redirect our writes.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::fs::OFlags;

use super::crash;
use super::error::SysError;
use super::file_mode::FileMode;

/// How often the lock of a shared file is tried: for about 5 s in all.
const TRIES: u32 = 5_000;
/// Pause between two tries.
const PAUSE: Duration = Duration::from_millis(1);

/// How to treat a last line without a newline.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tail {
    /// Cut it off as a torn record. For files that only we write.
    Torn,
    /// Add the missing newline. For files that people edit.
    Open,
}

/// Renames a file of `full` bytes or more to its name plus `.1`, replacing an older one there.
///
/// # Errors
/// If the file cannot be inspected or renamed.
pub fn rotate(path: &Path, full: u64) -> Result<(), SysError> {
    match path.symlink_metadata() {
        Ok(meta) if meta.is_file() && meta.len() >= full => {}
        Ok(_) => return Ok(()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(SysError::file("inspect", path)(error)),
    }
    crash::point("rotate");
    std::fs::rename(path, aside(path)).map_err(SysError::file("rename", path))?;
    crash::point("rotated");
    Ok(())
}

/// Where [`rotate`] moves a file to.
pub fn aside(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".1");
    PathBuf::from(name)
}

/// A file opened for appending.
#[derive(Debug)]
pub struct AppendFile {
    path: PathBuf,
    file: File,
    tail: Tail,
    cut: u64,
    /// Was the last write incomplete? Then the tail must be repaired before the next one.
    unsure: bool,
}

impl AppendFile {
    /// Opens the file and repairs its tail. Creates a missing file, but not its folder.
    ///
    /// # Errors
    /// If the file cannot be opened, read or cut.
    pub fn open(path: &Path, access: FileMode, tail: Tail) -> Result<Self, SysError> {
        Self::with(path, access, tail, OpenOptions::new().create(true))?.with_repaired_tail()
    }

    /// Opens a file that several of our processes append to, locks it until this is dropped, and
    /// cuts off a torn record.
    ///
    /// # Errors
    /// If the file cannot be opened, locked, read or cut.
    pub fn shared(path: &Path, access: FileMode) -> Result<Self, SysError> {
        let opened = Self::with(path, access, Tail::Torn, OpenOptions::new().create(true))?;
        let mut tries = 0;
        loop {
            match opened.file.try_lock() {
                Ok(()) => return opened.with_repaired_tail(),
                Err(TryLockError::WouldBlock) if tries < TRIES => {
                    tries += 1;
                    std::thread::sleep(PAUSE);
                }
                Err(error) => return Err(SysError::file("lock", path)(error.into())),
            }
        }
    }

    /// Creates a file that must not exist yet.
    ///
    /// # Errors
    /// If it exists or cannot be created.
    pub fn create(path: &Path, access: FileMode) -> Result<Self, SysError> {
        Self::with(path, access, Tail::Torn, OpenOptions::new().create_new(true))?
            .with_repaired_tail()
    }

    fn with(
        path: &Path,
        access: FileMode,
        tail: Tail,
        options: &mut OpenOptions,
    ) -> Result<Self, SysError> {
        let file = options
            .read(true)
            .append(true)
            .mode(access.mode())
            .custom_flags(OFlags::NOFOLLOW.bits().cast_signed())
            .open(path)
            .map_err(SysError::file("open", path))?;
        Ok(Self { path: path.to_path_buf(), file, tail, cut: 0, unsure: false })
    }

    fn with_repaired_tail(mut self) -> Result<Self, SysError> {
        self.repair_tail()?;
        Ok(self)
    }

    /// The file's path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Metadata of the open file, even if its path now names another one.
    ///
    /// # Errors
    /// If they cannot be read.
    pub fn metadata(&self) -> Result<std::fs::Metadata, SysError> {
        self.file.metadata().map_err(SysError::file("inspect", &self.path))
    }

    /// Bytes of torn records cut off since the file was opened.
    pub fn cut(&self) -> u64 {
        self.cut
    }

    /// Appends whole lines with one write. A final newline is added where it is missing.
    ///
    /// # Errors
    /// If the write fails; the torn part is then cut off by the next call.
    pub fn append(&mut self, lines: &[u8]) -> Result<(), SysError> {
        if lines.is_empty() {
            return Ok(());
        }
        if self.unsure {
            self.repair_tail()?;
        }
        let mut whole;
        let record = if lines.ends_with(b"\n") {
            lines
        } else {
            whole = Vec::with_capacity(lines.len() + 1);
            whole.extend_from_slice(lines);
            whole.push(b'\n');
            &whole
        };
        self.unsure = true;
        crash::point("append");
        crash::torn("append, half of it", || {
            // The process ends here, so the result does not matter.
            drop(self.file.write_all(&record[..record.len() / 2]));
        });
        self.file.write_all(record).map_err(SysError::file("append to", &self.path))?;
        self.unsure = false;
        crash::point("appended");
        Ok(())
    }

    /// Waits until everything is on the disk.
    ///
    /// # Errors
    /// If the synchronization fails.
    pub fn sync(&self) -> Result<(), SysError> {
        self.file.sync_data().map_err(SysError::file("synchronize", &self.path))?;
        crash::point("synchronized");
        Ok(())
    }

    /// Cuts off or closes a last line without a newline.
    fn repair_tail(&mut self) -> Result<(), SysError> {
        let length = self.file.metadata().map_err(SysError::file("inspect", &self.path))?.len();
        let whole =
            whole_lines(&mut self.file, length).map_err(SysError::file("read", &self.path))?;
        if whole < length {
            match self.tail {
                Tail::Torn => {
                    crash::point("cut");
                    self.file.set_len(whole).map_err(SysError::file("cut", &self.path))?;
                    crash::point("was cut");
                    self.cut += length - whole;
                }
                Tail::Open => {
                    self.file.write_all(b"\n").map_err(SysError::file("append to", &self.path))?;
                }
            }
        }
        self.unsure = false;
        Ok(())
    }
}

/// The length up to and including the last newline. Reads backwards in blocks, so the cost
/// depends on the last line, not on the file's size.
fn whole_lines(file: &mut (impl Read + Seek), length: u64) -> io::Result<u64> {
    const BLOCK: u64 = 8192;
    let mut end = length;
    let mut block = Vec::new();
    while end > 0 {
        let start = end.saturating_sub(BLOCK);
        file.seek(SeekFrom::Start(start))?;
        block.clear();
        file.by_ref().take(end - start).read_to_end(&mut block)?;
        if let Some(at) = block.iter().rposition(|byte| *byte == b'\n') {
            return Ok(start + at as u64 + 1);
        }
        end = start;
    }
    Ok(0)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn every_torn_tail_is_cut_back_to_the_last_whole_record() {
        let folder = tempfile::tempdir().expect("folder");
        let path = folder.path().join("events.jsonl");
        let records = "{\"a\":1}\n{\"b\":22}\n{\"c\":333}\n";
        for length in 0..=records.len() {
            let left = &records[..length];
            fs::write(&path, left).expect("torn");
            let mut file = AppendFile::open(&path, FileMode::Owner, Tail::Torn).expect("open");
            file.append(b"{\"next\":true}").expect("append");
            let whole = left.rfind('\n').map_or(0, |at| at + 1);
            let expected = format!("{}{{\"next\":true}}\n", &left[..whole]);
            assert_eq!(fs::read_to_string(&path).expect("read"), expected);
            assert_eq!(file.cut(), (length - whole) as u64);
        }
    }

    #[test]
    fn a_tail_longer_than_a_block_and_one_of_zeros_are_found() {
        let folder = tempfile::tempdir().expect("folder");
        let path = folder.path().join("events.jsonl");
        let mut content = b"first\n".to_vec();
        content.extend(std::iter::repeat_n(0, 20_000));
        fs::write(&path, &content).expect("torn");
        let file = AppendFile::open(&path, FileMode::Owner, Tail::Torn).expect("open");
        assert_eq!(file.cut(), 20_000);
        assert_eq!(fs::read(&path).expect("read"), b"first\n");
    }

    #[test]
    fn a_full_file_is_rotated_and_replaces_the_older_one() {
        let folder = tempfile::tempdir().expect("folder");
        let path = folder.path().join("activity.log");
        rotate(&path, 4).expect("nothing to rotate");
        for (content, old) in
            [("1\n2", None), ("1\n2\n", Some("1\n2\n")), ("34\n\n", Some("34\n\n"))]
        {
            fs::write(&path, content).expect("log");
            rotate(&path, 4).expect("moved");
            let moved = fs::read_to_string(folder.path().join("activity.log.1")).ok();
            assert_eq!(moved.as_deref(), old);
            assert_eq!(path.exists(), old.is_none());
        }
    }

    #[test]
    fn a_line_typed_without_a_newline_is_closed_not_cut() {
        let folder = tempfile::tempdir().expect("folder");
        let path = folder.path().join("progress.md");
        fs::write(&path, "- by hand").expect("by hand");
        let mut file = AppendFile::open(&path, FileMode::Umask, Tail::Open).expect("open");
        file.append(b"- by us\n- twice\n").expect("append");
        assert_eq!(fs::read_to_string(&path).expect("read"), "- by hand\n- by us\n- twice\n");
        assert_eq!(file.cut(), 0);
    }

    #[test]
    fn create_makes_a_private_file_and_refuses_an_existing_one() {
        let folder = tempfile::tempdir().expect("folder");
        let path = folder.path().join("events.jsonl");
        AppendFile::create(&path, FileMode::Owner).expect("create");
        assert_eq!(fs::metadata(&path).expect("metadata").permissions().mode() & 0o777, 0o600);
        let error = AppendFile::create(&path, FileMode::Owner).expect_err("exists already");
        assert!(matches!(error, SysError::File { operation: "open", ref source, .. }
            if source.kind() == io::ErrorKind::AlreadyExists));
    }

    #[test]
    fn a_full_disk_is_an_error_with_the_path() {
        if !cfg!(target_os = "linux") {
            return;
        }
        let mut file = AppendFile {
            path: PathBuf::from("/dev/full"),
            file: OpenOptions::new().append(true).open("/dev/full").expect("device"),
            tail: Tail::Torn,
            cut: 0,
            unsure: false,
        };
        let error = file.append(b"record").expect_err("full");
        assert!(error.to_string().starts_with("cannot append to /dev/full: "), "{error}");
        assert!(file.unsure);
    }
}
