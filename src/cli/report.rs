//! `report`: all that there is to say of a run, the morning after.

use std::path::Path;

use serde::{Serialize, Serializer};
use serde_json::Value;

use super::args::ReportArgs;
use super::context::{RepoContext, TaskContext};
use super::environment::redactor;
use super::failure::Failure;
use super::log::journal;
use super::print::to_file;
use super::print::{annotate, say, say_as_is};
use super::told::{Told, nothing_yet, unreadable};

use crate::engine::layout_of;
use crate::events::{IterationRow, Rollup, first};
use crate::model::EventKind;
use crate::report::{Night, html, markdown, room, text};
use crate::sys::{Durability, FileMode, atomic};
use crate::task::TASK_FILE;

/// The file that a step of a workflow writes its summary to.
const STEP_SUMMARY: &str = "GITHUB_STEP_SUMMARY";

/// Prints or writes the report of a run.
pub(super) fn report(directory: Option<&Path>, args: &ReportArgs) -> Result<u8, Failure> {
    let place = RepoContext::find(directory)?;
    let path = journal(&place, directory, args.of.as_deref())?;
    let night = night(&place, directory, &path)?;
    if args.json {
        let mut night = night;
        // Values of all iterations of a long run at once take much memory.
        let iterations = std::mem::take(&mut night.iterations).into_iter().map(Redacted).collect();
        let mut facts = redactor().redact_json(&serde_json::to_value(&night).unwrap_or_default());
        facts.as_object_mut().and_then(|facts| facts.remove("iterations"));
        let whole = Whole { facts, iterations };
        say_as_is(&serde_json::to_string_pretty(&whole).unwrap_or_default());
        return Ok(0);
    } else if args.md {
        let page = redactor().redact_str(&markdown(&night)).into_owned();
        say(&page);
        to_file(STEP_SUMMARY, &page)?;
        if let Ok(at) = TaskContext::find(directory, &night.task) {
            let file = at.layout.file(TASK_FILE).display().to_string();
            for row in night.criteria.iter().filter(|row| !row.checked) {
                let why =
                    row.reason.iter().map(|why| format!("{}: {}: {why}", row.standing, row.text));
                why.for_each(|why| annotate("error", Some((&file, row.line)), &why));
            }
        }
    } else if let Some(path) = &args.html {
        let page = redactor().redact_str(&html(&night)).into_owned();
        let path = place.cwd.join(path);
        atomic::write(&path, page.as_bytes(), Durability::Process, FileMode::Umask)?;
        say(&format!("wrote  {}", path.display()));
    } else {
        say(&text(&night, room().0));
    }
    Ok(0)
}

/// A report as JSON.
#[derive(Serialize)]
struct Whole {
    #[serde(flatten)]
    facts: Value,
    iterations: Vec<Redacted>,
}

/// An iteration that becomes a value, without secrets, when it is written.
struct Redacted(IterationRow);

impl Serialize for Redacted {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let row = serde_json::to_value(&self.0).map_err(serde::ser::Error::custom)?;
        redactor().redact_json(&row).serialize(serializer)
    }
}

/// The facts of the run with this journal.
pub(super) fn night(
    place: &RepoContext,
    directory: Option<&Path>,
    path: &Path,
) -> Result<Night, Failure> {
    let start = first(path).map_err(unreadable)?.map(|event| event.kind);
    let Some(EventKind::RunStarted { task, folder, .. }) = start else { return nothing_yet(None) };
    let layout = layout_of(&task, &folder);
    let at = TaskContext::find(directory, &task).ok().filter(|at| at.layout == layout);
    let told = at.as_ref().and_then(|at| Told::of(directory, at).ok());
    match &told {
        Some(told) if told.run.as_ref().is_some_and(|(journal, _)| journal == path) => {
            nothing_yet(told.night()?)
        }
        Some(told) => told.recorded(path, &Rollup::read(path).map_err(unreadable)?, Vec::new()),
        // The task is gone.
        None => {
            let run = Rollup::read(path).map_err(unreadable)?;
            let status = run.view.status(place.holder().as_ref());
            nothing_yet(Night::new(&run, None, status, Vec::new()))
        }
    }
}
