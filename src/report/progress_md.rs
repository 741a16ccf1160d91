//! The runner's own lines in progress.md: one per iteration, newest last.
//!
//! Invariant: appended only, and only when the state is about to be committed. The
//! agent's lines are its own.

use std::path::PathBuf;

use chrono::{DateTime, Utc};

use super::buffered_file::BufferedFile;
use super::format;
use crate::model::{CriterionKey, Event, EventKind, ReportError, Reporter};
use crate::sys::append::Tail;
use crate::sys::clock::Clock;

/// A line of progress.md: dated, and a Markdown list item.
pub fn line(clock: &Clock, time: DateTime<Utc>, text: &str) -> String {
    format!("- {} {}", clock.local(time).format("%F %H:%M"), format::one_line(text))
}

/// Writes the result of each iteration.
#[derive(Debug)]
pub struct ProgressMd {
    kept: BufferedFile,
    clock: Clock,
    open: Option<Open>,
}

/// An iteration without a line yet.
#[derive(Debug)]
struct Open {
    iteration: u32,
    criterion: CriterionKey,
    since: DateTime<Utc>,
    /// The time and result of the last turn.
    turn: Option<(DateTime<Utc>, String)>,
}

impl ProgressMd {
    /// Appends to this file, with dates of this clock's zone.
    pub fn new(path: PathBuf, clock: Clock) -> Self {
        Self { kept: BufferedFile::new(path, Tail::Open), clock, open: None }
    }

    /// Writes only lines that the file does not have yet, for the events of a run that died.
    #[must_use]
    pub fn only_missing(mut self) -> Self {
        self.kept.only_missing();
        self
    }

    /// Tells of an iteration that was cut short: it is recorded without a verdict.
    fn close(&mut self) {
        if let Some(Open { turn: Some((time, said)), iteration, criterion, .. }) = self.open.take()
        {
            let key = format::criterion(&criterion);
            self.push(time, &format!("iteration {iteration}: NO VERDICT {key}: {said}"));
        }
    }

    fn push(&mut self, time: DateTime<Utc>, text: &str) {
        self.kept.push(&line(&self.clock, time, text));
    }
}

impl Reporter for ProgressMd {
    fn name(&self) -> &'static str {
        "progress.md"
    }

    fn on_event(&mut self, event: &Event) -> Result<(), ReportError> {
        if let EventKind::IterationStarted { iteration, criterion, .. } = &event.kind {
            self.close();
            self.open = Some(Open {
                iteration: *iteration,
                criterion: criterion.clone(),
                since: event.began(),
                turn: None,
            });
        } else if let EventKind::TurnEnded { turn, .. } = &event.kind {
            if let Some(open) = &mut self.open {
                open.turn = Some((event.time, format::turn(turn)));
            }
        } else if let EventKind::VerdictReached {
            iteration,
            criterion,
            evidence,
            verdict,
            repairs,
        } = &event.kind
        {
            let since = self.open.take().map_or(event.time, |open| open.since);
            let millis = format::millis(since, event.time);
            let said = format::result(criterion, verdict, evidence, repairs, millis);
            self.push(event.time, &format!("iteration {iteration}: {said}"));
        } else if let EventKind::TaskCheckFailed { reason, .. } = &event.kind {
            self.push(event.time, &format::task_check_failed(reason));
        } else if let EventKind::CriterionBlocked { .. }
        | EventKind::CriterionSkipped { .. }
        | EventKind::CriterionHeld { .. }
        | EventKind::CriterionReopened { .. } = &event.kind
            && let Some(line) = format::standing(&event.kind)
        {
            self.push(event.time, &line);
        }
        Ok(())
    }

    fn flush(&mut self) -> Result<(), ReportError> {
        self.close();
        self.kept.write()
    }
}
