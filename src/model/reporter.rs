//! Whatever tells people and programs what happens.

use std::io;

use super::Event;

/// A reporter could not write. It is said once, and the reporter is switched off: the
/// journal, not a reporter, is what a run depends on.
#[derive(Debug, thiserror::Error)]
#[error("cannot write {target}: {source}")]
pub struct ReportError {
    /// The file, or the stream's name.
    pub target: String,
    /// Why.
    pub source: io::Error,
}

/// Whatever tells people and programs what happens. Fed with every event, in order,
/// after it stands in the journal.
pub trait Reporter: Send {
    /// Its name, for the notice when it fails.
    fn name(&self) -> &'static str;

    /// Takes an event. A reporter whose file lies in the working tree only keeps what it
    /// will write: the tree must not change under the agent's turn.
    ///
    /// # Errors
    /// If it cannot write; it is then not called again.
    fn on_event(&mut self, event: &Event) -> Result<(), ReportError>;

    /// Writes what it kept, just before the state is committed.
    ///
    /// # Errors
    /// If it cannot write; it is then not called again.
    fn flush(&mut self) -> Result<(), ReportError> {
        Ok(())
    }
}
