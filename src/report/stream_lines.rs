//! The events of one stream of a run's providers, for `log --stream`.

use std::io::Write;

use super::format::{harmless, sentence};
use crate::model::{Event, EventKind, ReportError, Reporter};
use crate::sys::clock::Clock;

/// Writes each event of the stream whole, with its time and its provider.
pub struct StreamLines {
    out: Box<dyn Write + Send>,
    clock: Clock,
}

impl StreamLines {
    /// Writes to the given stream, in this clock's zone.
    pub fn new(out: Box<dyn Write + Send>, clock: Clock) -> Self {
        Self { out, clock }
    }
}

impl Reporter for StreamLines {
    fn name(&self) -> &'static str {
        "stream"
    }

    fn on_event(&mut self, event: &Event) -> Result<(), ReportError> {
        let EventKind::EventPushed { provider, text, metadata, .. } = &event.kind else {
            return Ok(());
        };
        let time = self.clock.local(event.time).format("%F %T");
        // Further lines are indented, so that none looks like another event.
        let text = harmless(text.trim_end()).replace('\n', "\n  ");
        let more = metadata.as_ref().map_or_else(String::new, |it| format!(" {it}"));
        writeln!(self.out, "{time} {}: {text}{}", sentence(provider), harmless(&more))
            .and_then(|()| self.out.flush())
            .map_err(|source| ReportError { target: "standard output".to_owned(), source })
    }
}
