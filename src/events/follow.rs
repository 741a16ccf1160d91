//! Reading a journal while it grows, for `log -f`.
//!
//! Invariant: gives every event once, in order, and ends: after the run's end, or when
//! the run is gone without one.

use std::path::Path;
use std::time::Duration;

use super::{Journal, JournalError, JournalLine};
use crate::model::EventKind;

/// The interval between two looks at the journal.
const LOOK: Duration = Duration::from_millis(200);

/// Hands every line of the journal to `on_line`, from the first on, until the run ended
/// (true) or `alive` returns false because the run is gone (false).
///
/// # Errors
/// As [`Journal::read_line`].
pub async fn follow(
    journal: &Path,
    mut alive: impl FnMut() -> bool,
    mut on_line: impl FnMut(JournalLine),
) -> Result<bool, JournalError> {
    let mut journal = Journal::open(journal)?;
    loop {
        // Ask before reading, so that the last lines of a run that just ended are still read.
        let living = alive();
        while let Some(line) = journal.read_line()? {
            let last = matches!(&line, JournalLine::Event(event)
                if matches!(event.kind, EventKind::RunEnded { .. }));
            on_line(line);
            if last {
                return Ok(true);
            }
        }
        if !living {
            return Ok(false);
        }
        tokio::time::sleep(LOOK).await;
    }
}
