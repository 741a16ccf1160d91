//! A file in the task folder whose lines are buffered until they may be written.
//!
//! Invariant: the working tree does not change under the agent's turn; the file is only
//! appended to, by whole lines.

use std::collections::HashMap;
use std::path::PathBuf;

use crate::model::ReportError;
use crate::sys::append::{AppendFile, Tail, aside, rotate};
use crate::sys::{FileMode, SysError};

/// Bytes at which a log of ours is moved aside. It is committed again with every iteration,
/// so this also bounds the cost of an iteration.
const FULL: u64 = 256 << 10;

/// Lines that will be appended to a file.
#[derive(Debug)]
pub(super) struct BufferedFile {
    path: PathBuf,
    tail: Tail,
    lines: String,
    /// Write only lines that the file does not have yet.
    missing: bool,
}

impl BufferedFile {
    pub(super) fn new(path: PathBuf, tail: Tail) -> Self {
        Self { path, tail, lines: String::new(), missing: false }
    }

    /// From now on writes only lines that the file does not have yet: the events of a run that
    /// died are replayed from the first one.
    pub(super) fn only_missing(&mut self) {
        self.missing = true;
    }

    pub(super) fn push(&mut self, line: &str) {
        self.lines.push_str(line);
        self.lines.push('\n');
    }

    /// Appends the buffered lines; does not touch the file if there are none.
    pub(super) fn write(&mut self) -> Result<(), ReportError> {
        if self.lines.is_empty() {
            return Ok(());
        }
        if self.missing {
            self.leave_out_what_is_there();
        }
        let rotated = match self.tail {
            Tail::Torn => rotate(&self.path, FULL),
            // A file that people also write to is not moved.
            Tail::Open => Ok(()),
        };
        let opened =
            rotated.and_then(|()| AppendFile::open(&self.path, FileMode::Umask, self.tail));
        let written = opened.and_then(|mut file| {
            if file.cut() > 0 {
                tracing::warn!(path = %self.path.display(), bytes = file.cut(), "torn line cut off");
            }
            // The journal is on the disk, and these lines come from it again if they are lost.
            file.append(self.lines.as_bytes())
        });
        self.lines.clear();
        written.map_err(|error| match error {
            SysError::File { path, source, .. } => {
                ReportError { target: path.display().to_string(), source }
            }
            other @ (SysError::Locked { .. }
            | SysError::Spawn { .. }
            | SysError::Process { .. }) => ReportError {
                target: self.path.display().to_string(),
                source: std::io::Error::other(other),
            },
        })
    }

    fn leave_out_what_is_there(&mut self) {
        // If the file cannot be read, appending fails too, and that error is reported.
        // Bytes, since a line may be torn within a letter, and people write in any encoding.
        let read = |path| std::fs::read(path).unwrap_or_default();
        let there = match self.tail {
            Tail::Torn => [read(aside(&self.path)), read(self.path.clone())].concat(),
            Tail::Open => read(self.path.clone()),
        };
        let mut often: HashMap<&[u8], usize> = HashMap::new();
        for line in there.split_inclusive(|byte| *byte == b'\n') {
            if let Some(whole) = line.strip_suffix(b"\n") {
                *often.entry(whole).or_default() += 1;
            }
        }
        let lines = std::mem::take(&mut self.lines);
        for line in lines.lines() {
            match often.get_mut(line.as_bytes()) {
                Some(left) if *left > 0 => *left -= 1,
                Some(_) | None => self.push(line),
            }
        }
    }
}
