//! `log`: prints the events of a run, through the reporters of a live run.

use std::collections::BTreeSet;
use std::io::Write as _;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use super::args::LogArgs;
use super::command_names::start_command;
use super::context::{RepoContext, TaskContext};
use super::failure::Failure;
use super::print::{Unarmed, complain};
use super::runtime::runtime;
use super::told::{last_told, unreadable};
use crate::engine::runs_of;
use crate::events::{JOURNAL_FILE, JournalLine, follow, journals, read_but};
use crate::model::{Event, EventKind, ExitCode, Reporter};
use crate::report::{Detail, Json, Plain, StreamLines, details};
use crate::sys::clock::Clock;
use crate::task::TaskError;

/// Kinds of events that have no line; `tool_decided` if it allows a call.
const SILENT: [&str; 4] = ["activity", "prompt_sent", "tool_decided", "tool_finished"];

/// Prints a run's events.
pub(super) fn log(directory: Option<&Path>, args: &LogArgs) -> Result<u8, Failure> {
    let place = RepoContext::find(directory)?;
    let journal = journal(&place, directory, args.of.as_deref())?;
    let out = Box::new(Unarmed::new(std::io::stdout()));
    let mut reporter: Box<dyn Reporter> = if args.json {
        Box::new(Json::new(out))
    } else if args.stream.is_some() {
        Box::new(StreamLines::new(out, Clock::system()))
    } else {
        Box::new(Plain::new(out, Clock::system(), 100, Detail::Normal))
    };
    let is_text = !args.json && args.stream.is_none();
    let (mut streams, mut shown) = (BTreeSet::new(), false);
    let mut show = |line: JournalLine| match line {
        JournalLine::Event(event) => {
            if let EventKind::EventPushed { stream, .. } = &event.kind {
                streams.insert(stream.clone());
            }
            let is_shown = is_shown(&event, args.stream.as_deref());
            shown |= is_shown;
            // A closed stream ends the command without an error.
            !is_shown
                || reporter.on_event(&event).is_ok() && (!is_text || say_why(&event.kind).is_ok())
        }
        JournalLine::Unknown { .. } if args.stream.is_some() => true,
        JournalLine::Unknown { line, kind } => {
            let note = format!("event {line} has an unknown kind: {kind}");
            writeln!(std::io::stderr(), "{note}").is_ok()
        }
    };
    if args.follow {
        let alive = || place.holder().is_some();
        let mut closed = false;
        runtime()?
            .block_on(follow(&journal, alive, |line| closed = closed || !show(line)))
            .map_err(unreadable)?;
        return Ok(0);
    }
    // What has no line in a text need not be parsed.
    let skips = |kind: &str| is_text && SILENT.contains(&kind);
    let damage = read_but(&journal, skips, |line| match show(line) {
        true => ControlFlow::Continue(()),
        false => ControlFlow::Break(()),
    });
    if let Some(damage) = damage.map_err(unreadable)? {
        complain(&format!("note: {damage}"));
    }
    if let (Some(asked), false) = (&args.stream, shown) {
        let known = streams.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>();
        let known = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
        complain(&format!("nothing was pushed to `{asked}` in this run; its streams: {known}"));
    }
    Ok(0)
}

/// Prints what stopped a run. A live run ends with it as its error.
pub(super) fn say_why(kind: &EventKind) -> std::io::Result<()> {
    let EventKind::RunEnded { outcome, .. } = kind else { return Ok(()) };
    let lines: String = details(outcome).map(|line| format!("  {line}\n")).collect();
    Unarmed::new(std::io::stdout()).write_all(lines.as_bytes())
}

/// Is the event in the stream that was asked for, if one was?
fn is_shown(event: &Event, stream: Option<&str>) -> bool {
    match (&event.kind, stream) {
        (_, None) => true,
        (EventKind::EventPushed { stream, .. }, Some(asked)) => stream == asked,
        (_, Some(_)) => false,
    }
}

/// The journal of a named run, or of the last run that did something, of a task or of all.
pub(super) fn journal(
    place: &RepoContext,
    directory: Option<&Path>,
    named: Option<&str>,
) -> Result<PathBuf, Failure> {
    let runs = place.runs();
    let usage = |what: String, hint: String| Failure::new(ExitCode::Usage, what).hint(hint);
    let Some(named) = named else {
        let hint = || format!("runs are recorded in {}", runs.display());
        let newest = last_told(&journals(&runs).map_err(unreadable)?, place.holder().as_ref())?;
        return newest.ok_or_else(|| usage("no runs in this repository yet".to_owned(), hint()));
    };
    let is_name = !named.is_empty() && !named.contains(['/', '\\']) && named != "..";
    let of_run = runs.join(named).join(JOURNAL_FILE);
    if is_name && of_run.is_file() {
        return Ok(of_run);
    }
    match TaskContext::find(directory, named) {
        Ok(at) => {
            let journals = runs_of(&runs, &at.layout).map_err(unreadable)?;
            last_told(&journals, place.holder().as_ref())?.ok_or_else(|| {
                let task = at.layout.task();
                usage(
                    format!("task `{task}` has no runs yet"),
                    format!("`{}` starts one", start_command(directory, task)),
                )
            })
        }
        Err(failure) => {
            let available = match failure.source.downcast_ref::<TaskError>() {
                Some(TaskError::Missing { available, .. }) => available.join(", "),
                Some(_) | None => return Err(failure),
            };
            Err(usage(
                format!("no task or run named `{named}`; available tasks: {available}"),
                "`ralph-copilot status <task>` shows the name of a task's newest run".to_owned(),
            ))
        }
    }
}
