//! `log`: what happened in a run, told again by the reporters that told it first.

use std::io::Write as _;
use std::path::{Path, PathBuf};

use super::args::LogArgs;
use super::context::RepoContext;
use super::failure::{Failure, FailureKind};
use super::runtime;
use crate::events::{JOURNAL_FILE, Journal, JournalLine, follow, newest};
use crate::model::Reporter;
use crate::report::{Json, Plain};
use crate::sys::clock::Clock;

/// Prints a run's events.
pub(super) fn log(directory: Option<&Path>, args: &LogArgs) -> Result<u8, Failure> {
    let place = RepoContext::find(directory)?;
    let journal = journal(&place, args.run.as_deref())?;
    let out = Box::new(std::io::stdout());
    let mut reporter: Box<dyn Reporter> = if args.json {
        Box::new(Json::new(out))
    } else {
        Box::new(Plain::new(out, Clock::system(), 100))
    };
    let mut show = move |line: JournalLine| match line {
        // Whoever closed the stream does not want to read on.
        JournalLine::Event(event) => reporter.on_event(&event).is_ok(),
        JournalLine::Unknown { line, kind } => {
            let note = format!("event {line} is of a kind that this version does not know: {kind}");
            writeln!(std::io::stderr(), "{note}").is_ok()
        }
    };
    let invalid = |error| Failure::new(FailureKind::Invalid, error);
    if args.follow {
        let alive = || place.holder().is_some();
        let mut closed = false;
        runtime()?
            .block_on(follow(&journal, alive, |line| closed = closed || !show(line)))
            .map_err(invalid)?;
        return Ok(0);
    }
    let mut journal = Journal::open(&journal).map_err(invalid)?;
    while let Some(line) = journal.read_line().map_err(invalid)? {
        if !show(line) {
            break;
        }
    }
    Ok(0)
}

fn journal(place: &RepoContext, run: Option<&str>) -> Result<PathBuf, Failure> {
    let runs = place.runs();
    let journal = match run {
        Some(run) if run.contains(['/', '\\']) => {
            return Err(Failure::new(FailureKind::Usage, format!("`{run}` is no name of a run"))
                .hint(
                    "`ralph-copilot status <task>` shows the name; without one it is the newest",
                ));
        }
        Some(run) => Some(runs.join(run).join(JOURNAL_FILE)).filter(|path| path.is_file()),
        None => newest(&runs).map_err(|error| Failure::new(FailureKind::Invalid, error))?,
    };
    let missing = || {
        let what = run
            .map_or("there was no run here yet".to_owned(), |run| format!("there is no run {run}"));
        Failure::new(FailureKind::Usage, what).hint(format!("runs are kept in {}", runs.display()))
    };
    journal.ok_or_else(missing)
}
