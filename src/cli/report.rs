//! `report`: all that there is to say of a run, the morning after.

use std::path::Path;

use super::args::ReportArgs;
use super::ci::to_file;
use super::command_names::start_command;
use super::context::{RepoContext, TaskContext};
use super::environment::redactor;
use super::failure::Failure;
use super::log::journal;
use super::print::{say, say_json};
use super::status::read_state;
use crate::engine::standings;
use crate::events::{Journal, JournalError, JournalLine, Rollup, RunStatus, journals};
use crate::model::ExitCode;
use crate::report::{Night, html, markdown, text};
use crate::sys::{Durability, FileMode, atomic};

/// The file that a step of a workflow writes its summary to.
const STEP_SUMMARY: &str = "GITHUB_STEP_SUMMARY";

/// Prints or writes the report of a run.
pub(super) fn report(directory: Option<&Path>, args: &ReportArgs) -> Result<u8, Failure> {
    let place = RepoContext::find(directory)?;
    let path = journal(&place, directory, args.of.as_deref())?;
    let night = night(&place, directory, &path)?;
    if args.json {
        say_json(&serde_json::to_value(&night).unwrap_or_default());
    } else if args.md {
        let page = redactor().redact_str(&markdown(&night)).into_owned();
        say(&page);
        to_file(STEP_SUMMARY, &page)?;
    } else if let Some(path) = &args.html {
        let page = redactor().redact_str(&html(&night)).into_owned();
        let path = place.cwd.join(path);
        atomic::write(&path, page.as_bytes(), Durability::Process, FileMode::Umask)?;
        say(&format!("wrote  {}", path.display()));
    } else {
        say(&text(&night));
    }
    Ok(0)
}

/// The facts of the run with this journal.
pub(super) fn night(
    place: &RepoContext,
    directory: Option<&Path>,
    path: &Path,
) -> Result<Night, Failure> {
    let invalid = |error| Failure::new(ExitCode::Invalid, error);
    let run = rollup(path).map_err(invalid)?;
    let before = before(place, path, &run).map_err(invalid)?;
    let status = run.view.status(place.holder().as_ref());
    let mut standing = Vec::new();
    let task = run.view.start.as_ref().filter(|_| run.view.end.is_none());
    let at = task.and_then(|start| TaskContext::find(directory, &start.task).ok());
    if let Some(at) = &at {
        standing = standings(&at.load()?, &read_state(at)?);
    }
    let night = Night::new(&run, before.as_ref(), status, standing);
    let mut night =
        night.ok_or_else(|| Failure::new(ExitCode::Invalid, "this run recorded nothing yet"))?;
    if let Some(at) = at.filter(|_| status == RunStatus::Died) {
        let start = start_command(directory, at.layout.task());
        night.next.push(format!("{start}  (goes on from there)"));
    }
    Ok(night)
}

fn rollup(path: &Path) -> Result<Rollup, JournalError> {
    let mut journal = Journal::open(path)?;
    let mut rollup = Rollup::default();
    while let Some(line) = journal.read_line()? {
        match line {
            JournalLine::Event(event) => rollup.apply(&event),
            JournalLine::Unknown { .. } => {}
        }
    }
    Ok(rollup)
}

/// The run of the same task before this one.
fn before(place: &RepoContext, path: &Path, run: &Rollup) -> Result<Option<Rollup>, JournalError> {
    let task = run.view.start.as_ref().map(|start| start.task.clone());
    let older = journals(&place.runs())?.into_iter().skip_while(|it| it != path).skip(1);
    for older in older {
        let earlier = rollup(&older)?;
        if earlier.view.start.as_ref().map(|start| &start.task) == task.as_ref() {
            return Ok(Some(earlier));
        }
    }
    Ok(None)
}
