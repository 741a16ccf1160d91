//! The event stream as JSON lines.
//!
//! Invariant: the output is the same as the journal, line by line.

use std::io::Write;

use crate::model::{Event, ReportError, Reporter};

/// Writes each event as one line of JSON.
pub struct Json {
    out: Box<dyn Write + Send>,
}

impl Json {
    /// Writes to the given stream, and flushes it after each event.
    pub fn new(out: Box<dyn Write + Send>) -> Self {
        Self { out }
    }
}

impl Reporter for Json {
    fn name(&self) -> &'static str {
        "json"
    }

    fn on_event(&mut self, event: &Event) -> Result<(), ReportError> {
        let failed = |source| ReportError { target: "standard output".to_owned(), source };
        let mut line = serde_json::to_vec(event).map_err(|error| failed(error.into()))?;
        line.push(b'\n');
        self.out.write_all(&line).and_then(|()| self.out.flush()).map_err(failed)
    }
}
