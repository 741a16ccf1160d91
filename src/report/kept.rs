//! Lines for a file in the task folder, kept until they may be written.
//!
//! Invariant: the working tree does not change under the agent's turn; the file is only
//! appended to, by whole lines.

use std::path::PathBuf;

use crate::model::ReportError;
use crate::sys::append::{AppendFile, Tail};
use crate::sys::{Access, Error};

/// Lines that will be appended to a file.
#[derive(Debug)]
pub(super) struct Kept {
    path: PathBuf,
    tail: Tail,
    lines: String,
}

impl Kept {
    pub(super) fn new(path: PathBuf, tail: Tail) -> Self {
        Self { path, tail, lines: String::new() }
    }

    pub(super) fn push(&mut self, line: &str) {
        self.lines.push_str(line);
        self.lines.push('\n');
    }

    /// Appends what was kept; touches nothing if that is nothing.
    pub(super) fn write(&mut self) -> Result<(), ReportError> {
        if self.lines.is_empty() {
            return Ok(());
        }
        let written = AppendFile::open(&self.path, Access::Umask, self.tail).and_then(|mut file| {
            if file.cut() > 0 {
                tracing::warn!(path = %self.path.display(), bytes = file.cut(), "torn line cut off");
            }
            file.append(self.lines.as_bytes())
        });
        self.lines.clear();
        written.map_err(|error| match error {
            Error::File { path, source, .. } => {
                ReportError { target: path.display().to_string(), source }
            }
            other @ (Error::Locked { .. } | Error::Spawn { .. } | Error::Process { .. }) => {
                ReportError {
                    target: self.path.display().to_string(),
                    source: std::io::Error::other(other),
                }
            }
        })
    }
}
