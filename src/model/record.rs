//! Who keeps the events of a run.

use super::{AuditEntry, EventKind};

/// An event could not be written: the run must stop, for nothing may run unrecorded.
#[derive(Debug, thiserror::Error)]
#[error("cannot write {path}: {source}")]
pub struct RecordError {
    /// The file.
    pub path: std::path::PathBuf,
    /// Why.
    pub source: std::io::Error,
}

/// When a check for changes reads a whole file again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReadBack {
    /// If its metadata shows that another process touched it, and from time to time.
    IfTouched,
    /// In any case.
    Always,
}

/// Records events. The journal does it in a run; tests collect them.
pub trait Record: Send + Sync {
    /// Writes the event before it returns.
    ///
    /// # Errors
    /// If the journal cannot be written; the caller must stop the run.
    fn record(&self, kind: EventKind) -> Result<(), RecordError>;

    /// Writes an entry of the audit before it returns, if there is an audit. A run always has one.
    ///
    /// # Errors
    /// If the audit cannot be written; the caller must stop the run.
    fn audit(&self, _entry: &AuditEntry) -> Result<(), RecordError> {
        Ok(())
    }

    /// Returns the files in which other processes changed or removed recorded lines.
    fn changed(&self, _read_back: ReadBack) -> Vec<std::path::PathBuf> {
        Vec::new()
    }
}
