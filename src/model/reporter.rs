//! Reporters: they show events to people and programs.

use std::io;

use super::Event;

/// A reporter could not write. This is reported once, and the reporter is switched off: the
/// run depends on the journal, not on a reporter.
#[derive(Debug, thiserror::Error)]
#[error("cannot write {target}: {source}")]
pub struct ReportError {
    /// The file, or the stream's name.
    pub target: String,
    /// Why.
    pub source: io::Error,
}

/// Shows events to people or programs. Receives every event, in order, after it was written to
/// the journal.
pub trait Reporter: Send {
    /// Its name, for the notice when it fails.
    fn name(&self) -> &'static str;

    /// Takes an event. A reporter whose file is in the working tree only buffers its lines,
    /// because the tree must not change during the agent's turn.
    ///
    /// # Errors
    /// If it cannot write; it is then not called again.
    fn on_event(&mut self, event: &Event) -> Result<(), ReportError>;

    /// Writes the buffered lines, just before the state is committed.
    ///
    /// # Errors
    /// If it cannot write; it is then not called again.
    fn flush(&mut self) -> Result<(), ReportError> {
        Ok(())
    }
}
