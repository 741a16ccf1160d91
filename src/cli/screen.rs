//! The reporters of a run: the files in the task's folder, and the screen.

use std::path::Path;

use super::print::{Unarmed, say};
use crate::engine::WorkerMessage;
use crate::model::{Event, ReportError, Reporter};
use crate::report::{ActivityLog, Console, CostLog, Detail, Json, LiveLines, Plain, ProgressMd};
use crate::sys::clock::Clock;
use crate::verify::{Layout, PROGRESS};

/// The format of events on the screen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Show {
    /// For people: live on a terminal, otherwise as plain lines.
    People,
    /// As JSON lines.
    Json,
    /// To the run whose worker this is.
    Run,
    /// Not at all.
    Nothing,
}

/// The reporters that write into the task's folder.
pub(super) fn reporters(root: &Path, layout: &Layout, clock: Clock) -> Vec<Box<dyn Reporter>> {
    let (progress, activity, cost) = files(root, layout, clock);
    vec![Box::new(progress), Box::new(activity), Box::new(cost)]
}

/// The same for the events of a run that died: they add only the lines that are missing.
pub(super) fn catching_up(root: &Path, layout: &Layout, clock: Clock) -> Vec<Box<dyn Reporter>> {
    let (progress, activity, cost) = files(root, layout, clock);
    vec![
        Box::new(progress.only_missing()),
        Box::new(activity.only_missing()),
        Box::new(cost.only_missing()),
    ]
}

fn files(root: &Path, layout: &Layout, clock: Clock) -> (ProgressMd, ActivityLog, CostLog) {
    let file = |name: &str| root.join(layout.file(name));
    (
        ProgressMd::new(file(PROGRESS), clock),
        ActivityLog::new(file("activity.log"), clock),
        CostLog::new(file("cost.log"), clock),
    )
}

/// The reporter that prints, and the live line, if it draws one.
pub(super) fn screen(
    show: Show,
    clock: Clock,
    detail: Detail,
) -> (Box<dyn Reporter>, Option<LiveLines>) {
    let out = || Box::new(Unarmed::new(std::io::stdout()));
    match show {
        Show::Json => (Box::new(Json::new(out())), None),
        Show::Run => (Box::new(TellRun), None),
        Show::Nothing => (Box::new(Json::new(Box::new(std::io::sink()))), None),
        Show::People => match Console::stdout(clock, detail) {
            Some(console) => {
                let live = console.live_lines();
                (Box::new(console), Some(live))
            }
            None => (Box::new(Plain::new(out(), clock, 100, detail)), None),
        },
    }
}

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
