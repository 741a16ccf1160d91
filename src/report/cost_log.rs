//! cost.log: one line for each request to the agent's model.
//!
//! Invariant: appended only, when the state is about to be committed; a prompt that was
//! sent has its line, also when nothing came back.

use std::fmt::Write as _;
use std::path::PathBuf;

use chrono::{DateTime, Utc};

use super::buffered_file::BufferedFile;
use super::format;
use crate::model::{Credits, Event, EventKind, ReportError, Reporter, Turn, Usage};
use crate::sys::append::Tail;
use crate::sys::clock::Clock;

/// Writes `[timestamp] Iteration n: model=…, premium=true, tokens=…`.
#[derive(Debug)]
pub struct CostLog {
    kept: BufferedFile,
    clock: Clock,
    model: Option<String>,
    /// The prompt that has no answer yet.
    asked: Option<UnansweredPrompt>,
}

/// A prompt whose turn has not ended.
#[derive(Debug)]
struct UnansweredPrompt {
    iteration: u32,
    time: DateTime<Utc>,
    premium: bool,
}

impl CostLog {
    /// Appends to this file, with times of this clock's zone.
    pub fn new(path: PathBuf, clock: Clock) -> Self {
        Self { kept: BufferedFile::new(path, Tail::Torn), clock, model: None, asked: None }
    }

    /// Writes only lines that the file does not have yet, for the events of a run that died.
    #[must_use]
    pub fn only_missing(mut self) -> Self {
        self.kept.only_missing();
        self
    }

    /// The line of the prompt that was sent last, if it has none yet.
    fn settle(&mut self, turn: Option<&Turn>) {
        let Some(UnansweredPrompt { iteration, time, premium }) = self.asked.take() else { return };
        let model = self.model.as_deref().map_or_else(|| "default".to_owned(), format::sentence);
        let mut line = format!(
            "[{}] Iteration {iteration}: model={model}, premium={}",
            self.clock.local(time).format("%F %T%:z"),
            premium && turn.is_none_or(Turn::reached_model)
        );
        if let Some(Usage { total, cached, credits, .. }) = turn.and_then(|turn| turn.usage) {
            // Writing to a String does not fail.
            let _ = write!(line, ", tokens={total}");
            if cached > 0 {
                let _ = write!(line, ", cached={cached}");
            }
            match credits {
                Some(Credits::Milli(milli)) => {
                    let _ = write!(line, ", credits={}.{:03}", milli / 1000, milli % 1000);
                }
                Some(Credits::Unknown) => line.push_str(", credits=unknown"),
                None => {}
            }
        }
        self.kept.push(&line);
    }
}

impl Reporter for CostLog {
    fn name(&self) -> &'static str {
        "cost.log"
    }

    fn on_event(&mut self, event: &Event) -> Result<(), ReportError> {
        if let EventKind::RunStarted { model, .. } = &event.kind {
            self.model.clone_from(model);
        } else if let EventKind::PromptSent { iteration, model, premium, .. } = &event.kind {
            self.settle(None);
            if model.is_some() {
                self.model.clone_from(model);
            }
            let (iteration, premium) = (*iteration, *premium);
            self.asked = Some(UnansweredPrompt { iteration, time: event.time, premium });
        } else if let EventKind::TurnEnded { turn, .. } = &event.kind {
            self.settle(Some(turn));
        }
        Ok(())
    }

    fn flush(&mut self) -> Result<(), ReportError> {
        self.settle(None);
        self.kept.write()
    }
}
