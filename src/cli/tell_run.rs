//! A worker's messages to its run, on standard output.

use super::print::say;
use crate::engine::WorkerMessage;
use crate::model::{Event, ReportError, Reporter};

/// Sends a message.
pub(super) fn tell(message: &WorkerMessage) {
    match serde_json::to_string(message) {
        Ok(line) => say(&line),
        Err(error) => tracing::warn!(%error, "a message is lost"),
    }
}

/// Sends the events to the run. A worker records nothing but its turns.
pub(super) struct TellRun;

impl Reporter for TellRun {
    fn name(&self) -> &'static str {
        "worker"
    }

    fn on_event(&mut self, event: &Event) -> Result<(), ReportError> {
        tell(&WorkerMessage::Event(Box::new(event.kind.clone())));
        Ok(())
    }
}
