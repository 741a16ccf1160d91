//! Detects that another process changed a file that this process appends to.
//!
//! Invariant: a line that was cut, edited or removed, and a file that was replaced or
//! removed, is noticed by the next check and stays noticed. Lines that other processes append
//! are theirs. The reaction to a change does not live here.
//!
//! A check costs one `stat` if the file is unchanged. The stamp that each write of
//! ours leaves (file, length, times of change) is compared with the one before the next write
//! and with the one at the check. Only if they differ is the file read again. The kernel's
//! clock ticks every few milliseconds, so an edit within the tick of our own write leaves
//! the stamp as it is. For that reason the file is also read again whenever it has doubled
//! since the last time, which costs no more than writing it did, and at the end of the run.

use std::collections::hash_map::{DefaultHasher, RandomState};
use std::fs::{File, Metadata};
use std::hash::{BuildHasher as _, Hasher as _};
use std::io::{self, Read};
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use crate::model::ReadBack;

/// Bytes that are read at once.
const PIECE: usize = 64 << 10;

/// The processes that may append to a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Writers {
    /// Only this process.
    One,
    /// Other processes of ours, too.
    Several,
}

/// A running digest of the lines that this process wrote to one file.
#[derive(Debug)]
pub(super) struct TamperLog {
    writers: Writers,
    /// Our lines, in order; other processes wrote the text between them.
    spans: Vec<Span>,
    /// The file after our last write, or when it was last read back.
    stamp: Stamp,
    /// Another process touched the file since it was last read back.
    touched: bool,
    /// A change was found.
    changed: bool,
    /// Bytes of ours, and how many of them the file held when it was last read back.
    written: u64,
    read_back: u64,
    /// A key known only to this process, so that no other line can be made to fit.
    key: RandomState,
}

/// Lines of ours that follow one another.
#[derive(Debug)]
struct Span {
    start: u64,
    bytes: u64,
    digest: DefaultHasher,
}

impl Span {
    fn end(&self) -> u64 {
        self.start + self.bytes
    }
}

/// Metadata that every change of a file changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Stamp {
    /// Device and number.
    file: (u64, u64),
    length: u64,
    /// Seconds and nanoseconds of the last write and of the last change of any kind.
    times: [i64; 4],
}

impl Stamp {
    fn of(file: &Metadata) -> Self {
        Self {
            file: (file.dev(), file.ino()),
            length: file.len(),
            times: [file.mtime(), file.mtime_nsec(), file.ctime(), file.ctime_nsec()],
        }
    }
}

impl TamperLog {
    /// Nothing is written yet to the file with this metadata.
    pub(super) fn new(file: &Metadata, writers: Writers) -> Self {
        Self {
            writers,
            spans: Vec::new(),
            stamp: Stamp::of(file),
            touched: false,
            changed: false,
            written: 0,
            read_back: 0,
            key: RandomState::new(),
        }
    }

    /// Adds the bytes that were just appended, with the file's metadata before and after.
    pub(super) fn wrote(&mut self, bytes: &[u8], before: &Metadata, after: &Metadata) {
        let length = bytes.len() as u64;
        let start = after.len().saturating_sub(length);
        let end = self.spans.last().map_or(0, Span::end);
        let grew = match self.writers {
            Writers::One => start == end,
            Writers::Several => start >= end,
        };
        let (before, after) = (Stamp::of(before), Stamp::of(after));
        self.changed |= !grew || after.file != self.stamp.file;
        self.touched |= before != self.stamp;
        self.stamp = after;
        self.written += length;
        match self.spans.last_mut().filter(|last| last.end() == start) {
            Some(last) => {
                last.digest.write(bytes);
                last.bytes += length;
            }
            None => {
                let mut digest = self.key.build_hasher();
                digest.write(bytes);
                self.spans.push(Span { start, bytes: length, digest });
            }
        }
    }

    /// Does the file no longer have the written content?
    pub(super) fn is_changed(&mut self, path: &Path, read_back: ReadBack) -> bool {
        self.is_changed_in(path, read_back, || File::open(path))
    }

    fn is_changed_in<R: Read>(
        &mut self,
        path: &Path,
        read_back: ReadBack,
        open: impl FnOnce() -> io::Result<R>,
    ) -> bool {
        if self.changed || self.spans.is_empty() {
            return self.changed;
        }
        let now = match path.symlink_metadata() {
            Ok(file) => Stamp::of(&file),
            Err(_) => return self.found(),
        };
        if now.file != self.stamp.file {
            return self.found();
        }
        let due = match read_back {
            ReadBack::Always => true,
            ReadBack::IfTouched => {
                self.touched || now != self.stamp || self.written >= 2 * self.read_back
            }
        };
        if due {
            let end = self.spans.last().map_or(0, Span::end);
            let alone = self.writers == Writers::Several || now.length == end;
            if !alone || !open().and_then(|file| self.stands_in(file)).unwrap_or(false) {
                return self.found();
            }
            // A change during the read makes another stamp.
            (self.stamp, self.touched, self.read_back) = (now, false, self.written);
        }
        false
    }

    fn found(&mut self) -> bool {
        self.changed = true;
        true
    }

    /// Whether every span has its digest.
    fn stands_in(&self, mut file: impl Read) -> io::Result<bool> {
        let (mut at, mut buffer) = (0, vec![0; PIECE]);
        for span in &self.spans {
            at += io::copy(&mut file.by_ref().take(span.start - at), &mut io::sink())?;
            let (mut left, mut digest) = (span.bytes, self.key.build_hasher());
            while left > 0 {
                let most = usize::try_from(left).map_or(PIECE, |left| left.min(PIECE));
                let read = file.read(&mut buffer[..most])?;
                if read == 0 {
                    return Ok(false);
                }
                digest.write(&buffer[..read]);
                left -= read as u64;
                at += read as u64;
            }
            if at != span.end() || digest.finish() != span.digest.finish() {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::fs::{self, OpenOptions};
    use std::io::Write as _;
    use std::time::SystemTime;

    use super::*;

    fn write(log: &mut TamperLog, path: &Path, line: &str) {
        let before = append(path, "");
        log.wrote(line.as_bytes(), &before, &append(path, line));
    }

    fn append(path: &Path, text: &str) -> Metadata {
        let mut file = OpenOptions::new().create(true).append(true).open(path).expect("file");
        file.write_all(text.as_bytes()).expect("written");
        file.metadata().expect("metadata")
    }

    #[test]
    fn every_change_of_our_lines_is_noticed_and_what_others_append_is_not() {
        type Change = fn(&Path);
        let changes: [(&str, Change, bool, bool); 6] = [
            ("nothing", |_| {}, false, false),
            ("appended", |path| assert!(append(path, "theirs\n").is_file()), true, false),
            ("removed", |path| fs::remove_file(path).expect("removed"), true, true),
            ("cut", |path| fs::write(path, "old\none\n").expect("cut"), true, true),
            ("edited", |path| fs::write(path, "old\none\ntwa\n").expect("edited"), true, true),
            (
                "replaced",
                |path| {
                    let other = path.with_extension("new");
                    fs::copy(path, &other).expect("copied");
                    fs::rename(&other, path).expect("replaced");
                },
                true,
                true,
            ),
        ];
        for (name, change, alone, among_others) in changes {
            for (writers, expected) in [(Writers::One, alone), (Writers::Several, among_others)] {
                let folder = tempfile::tempdir().expect("folder");
                let path = folder.path().join("log");
                // Of the lines before the first of ours nothing is claimed where others write.
                if writers == Writers::Several {
                    append(&path, "old\n");
                }
                let file = append(&path, "");
                let mut ours = TamperLog::new(&file, writers);
                for line in ["one\n", "two\n"] {
                    write(&mut ours, &path, line);
                }
                change(&path);
                // As if the kernel's clock had ticked since we wrote.
                if let Ok(file) = OpenOptions::new().append(true).open(&path) {
                    file.set_modified(SystemTime::UNIX_EPOCH).expect("a time");
                }
                let found = ours.is_changed(&path, ReadBack::IfTouched);
                assert_eq!(found, expected, "{name}, {writers:?}");
            }
        }
    }

    #[test]
    fn what_was_taken_away_between_two_writes_stays_noticed() {
        let folder = tempfile::tempdir().expect("folder");
        let path = folder.path().join("log");
        let mut ours = TamperLog::new(&append(&path, ""), Writers::Several);
        write(&mut ours, &path, "one\n");
        fs::remove_file(&path).expect("removed");
        write(&mut ours, &path, "two\n");
        assert!(ours.is_changed(&path, ReadBack::IfTouched));
    }

    #[test]
    fn an_edit_that_leaves_no_trace_in_the_stamp_is_found_when_all_is_read_back() {
        let folder = tempfile::tempdir().expect("folder");
        let path = folder.path().join("log");
        let mut log = TamperLog::new(&append(&path, ""), Writers::One);
        for line in ["one\n", "two\n", "three\n"] {
            write(&mut log, &path, line);
            assert!(!log.is_changed(&path, ReadBack::IfTouched), "{line}");
        }
        fs::write(&path, "one\ntwa\nthree\n").expect("edited");
        log.stamp = Stamp::of(&fs::metadata(&path).expect("metadata"));
        assert!(!log.is_changed(&path, ReadBack::IfTouched), "as if within one tick");
        assert!(log.is_changed(&path, ReadBack::Always));
    }

    #[test]
    fn checks_read_no_more_than_was_written_some_times_over() {
        struct Counting<'c>(File, &'c Cell<u64>);

        impl Read for Counting<'_> {
            fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
                let read = self.0.read(buffer)?;
                self.1.set(self.1.get() + read as u64);
                Ok(read)
            }
        }

        let folder = tempfile::tempdir().expect("folder");
        let path = folder.path().join("log");
        let mut log = TamperLog::new(&append(&path, ""), Writers::One);
        let (line, read) = ("x".repeat(999) + "\n", Cell::new(0));
        for _ in 0..1000 {
            write(&mut log, &path, &line);
            let open = || Ok(Counting(File::open(&path)?, &read));
            assert!(!log.is_changed_in(&path, ReadBack::IfTouched, open));
        }
        assert!(read.get() <= 2_000_000, "{} bytes were read to check 1,000,000", read.get());
    }
}
