//! The records of a test.

use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::model::{AuditEntry, EventKind, Record, RecordError};

/// Collects events, and refuses them when it is told to.
#[derive(Default)]
pub(super) struct RecordedEvents {
    pub(super) events: Mutex<Vec<EventKind>>,
    pub(super) audited: Mutex<Vec<AuditEntry>>,
    pub(super) full: AtomicBool,
}

impl Record for RecordedEvents {
    fn record(&self, kind: EventKind) -> Result<(), RecordError> {
        if self.full.load(Ordering::SeqCst) {
            let source = std::io::ErrorKind::StorageFull.into();
            return Err(RecordError { path: PathBuf::from("events.jsonl"), source });
        }
        self.events.lock().expect("events").push(kind);
        Ok(())
    }

    fn audit(&self, entry: &AuditEntry) -> Result<(), RecordError> {
        self.audited.lock().expect("entries").push(entry.clone());
        Ok(())
    }
}
