//! What this process wrote to a file that only grows, so that it can be told whether
//! somebody else changed it.
//!
//! Invariant: a line that was cut, edited or taken away, and a file that was replaced or
//! removed, is noticed at the next look, and stays noticed. What others append is theirs.
//! What is done about it does not live here.

use std::collections::hash_map::RandomState;
use std::fs::Metadata;
use std::hash::BuildHasher as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

/// Whether others may append to a file, too.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Writers {
    /// Only this process.
    One,
    /// Other processes of ours.
    Several,
}

/// The lines that this process wrote to one file.
#[derive(Debug)]
pub(super) struct TamperLog {
    writers: Writers,
    /// Device and number of the file.
    file: (u64, u64),
    lines: Vec<Line>,
    /// Something was wrong once.
    changed: bool,
    /// A key that nobody outside of this process knows: nobody can make a line to fit.
    key: RandomState,
}

#[derive(Debug)]
struct Line {
    start: u64,
    bytes: u64,
    hash: u64,
}

impl TamperLog {
    /// Nothing written yet to the file that this describes.
    pub(super) fn new(file: &Metadata, writers: Writers) -> Self {
        Self {
            writers,
            file: (file.dev(), file.ino()),
            lines: Vec::new(),
            changed: false,
            key: RandomState::new(),
        }
    }

    /// Notes what was just appended, with the file as it is after that.
    pub(super) fn wrote(&mut self, bytes: &[u8], file: &Metadata) {
        let length = bytes.len() as u64;
        let start = file.len().saturating_sub(length);
        let before = self.end();
        let grew = match self.writers {
            Writers::One => start == before,
            Writers::Several => start >= before,
        };
        self.changed |= !grew || self.file != (file.dev(), file.ino());
        self.lines.push(Line { start, bytes: length, hash: self.key.hash_one(bytes) });
    }

    /// Whether the file is no longer what was written.
    pub(super) fn is_changed(&mut self, path: &Path) -> bool {
        self.changed = self.changed || !self.stands(path);
        self.changed
    }

    fn end(&self) -> u64 {
        self.lines.last().map_or(0, |line| line.start + line.bytes)
    }

    fn stands(&self, path: &Path) -> bool {
        if self.lines.is_empty() {
            return true;
        }
        let same = |file: Metadata| self.file == (file.dev(), file.ino());
        if !path.symlink_metadata().is_ok_and(same) {
            return false;
        }
        let Ok(content) = std::fs::read(path) else { return false };
        let alone = self.writers == Writers::Several || content.len() as u64 == self.end();
        alone
            && self.lines.iter().all(|line| {
                let place = usize::try_from(line.start).ok().zip(usize::try_from(line.bytes).ok());
                let written = place.and_then(|(start, bytes)| content.get(start..start + bytes));
                written.is_some_and(|written| self.key.hash_one(written) == line.hash)
            })
    }
}

#[cfg(test)]
mod tests {
    use std::fs::{self, OpenOptions};
    use std::io::Write as _;

    use super::*;

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
                    ours.wrote(line.as_bytes(), &append(&path, line));
                }
                change(&path);
                assert_eq!(ours.is_changed(&path), expected, "{name}, {writers:?}");
            }
        }
    }

    #[test]
    fn what_was_taken_away_between_two_writes_stays_noticed() {
        let folder = tempfile::tempdir().expect("folder");
        let path = folder.path().join("log");
        let mut ours = TamperLog::new(&append(&path, ""), Writers::Several);
        ours.wrote(b"one\n", &append(&path, "one\n"));
        fs::remove_file(&path).expect("removed");
        ours.wrote(b"two\n", &append(&path, "two\n"));
        assert!(ours.is_changed(&path));
    }
}
