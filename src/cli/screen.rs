//! Who is told of a run: the files in the task's folder, and the screen.

use std::io::IsTerminal as _;
use std::path::Path;

use crate::model::{Premium, Reporter};
use crate::report::{ActivityLog, Console, CostLog, Json, Plain, ProgressMd};
use crate::sys::clock::Clock;
use crate::verify::{Layout, PROGRESS};

/// Where events are shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Show {
    /// To a person, or as plain lines where nobody watches.
    People,
    /// As JSON lines.
    Json,
}

/// The reporters that write into the task's folder.
pub(super) fn reporters(
    root: &Path,
    layout: &Layout,
    clock: Clock,
    premium: Premium,
) -> Vec<Box<dyn Reporter>> {
    let file = |name: &str| root.join(layout.file(name));
    vec![
        Box::new(ProgressMd::new(file(PROGRESS), clock)),
        Box::new(ActivityLog::new(file("activity.log"), clock)),
        Box::new(CostLog::new(file("cost.log"), clock, premium)),
    ]
}

/// The same, for the events of a run that died: they write what is missing in the files.
pub(super) fn catching_up(
    root: &Path,
    layout: &Layout,
    clock: Clock,
    premium: Premium,
) -> Vec<Box<dyn Reporter>> {
    let file = |name: &str| root.join(layout.file(name));
    vec![
        Box::new(ProgressMd::new(file(PROGRESS), clock).only_missing()),
        Box::new(ActivityLog::new(file("activity.log"), clock).only_missing()),
        Box::new(CostLog::new(file("cost.log"), clock, premium).only_missing()),
    ]
}

/// The reporter that prints.
pub(super) fn screen(show: Show, clock: Clock) -> Box<dyn Reporter> {
    let out = || Box::new(std::io::stdout());
    match show {
        Show::Json => Box::new(Json::new(out())),
        Show::People => match Console::stdout(clock) {
            Some(console) if std::io::stdout().is_terminal() => Box::new(console),
            Some(_) | None => Box::new(Plain::new(out(), clock, 100)),
        },
    }
}
