//! Earlier runs, read from their journals and the files beside them.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use super::EngineError;
use crate::events::{JournalError, find, first, journals, last, replay};
use crate::model::{
    CheckResult, CriterionKey, Event, EventKind, Obstacle, Oid, Outcome, VerdictResult,
};
use crate::sys::FileMode;
use crate::sys::append::{AppendFile, Tail};
use crate::verify::Layout;

/// The file in a run's folder whose modification time is the run's last sign of life.
pub const PULSE: &str = "pulse";
/// How often the file is touched.
pub const BEAT: Duration = Duration::from_secs(2);
/// Most earlier runs of a task whose journals are read for their failures.
const MOST_RUNS: usize = 20;
/// A file changed this long after a dead run's last sign of life was changed by someone else.
/// The run may have lived until the next beat, and its children a moment longer.
pub(super) const AFTER: Duration = Duration::from_secs(6);

/// The task of the last run, if that died. Its TASK.md may be gone.
///
/// # Errors
/// If the journals cannot be read.
pub fn dead_run_task(runs: &Path) -> Result<Option<Layout>, EngineError> {
    let mut journals = journals(runs)?.into_iter();
    let Some(journal) = journals.find(|journal| has_events(journal)) else { return Ok(None) };
    if ending(&journal).is_some() {
        return Ok(None);
    }
    Ok(first(&journal)?.and_then(|event| match &event.kind {
        EventKind::RunStarted { task, folder, .. } => Some(layout_of(task, folder)),
        _ => None,
    }))
}

/// Did a run record anything? One without an event changed nothing.
pub(super) fn has_events(journal: &Path) -> bool {
    journal.metadata().is_ok_and(|meta| meta.len() > 0)
}

/// The run's last sign of life.
pub(super) fn last_sign_of_life(journal: &Path) -> Option<SystemTime> {
    journal.with_file_name(PULSE).metadata().and_then(|meta| meta.modified()).ok()
}

/// Removes an incomplete record from a journal's end. Returns the message for the human.
pub(super) fn cut_torn_record(journal: &Path) -> Result<Option<String>, EngineError> {
    let cut = AppendFile::open(journal, FileMode::Owner, Tail::Torn)?.cut();
    let notice =
        || format!("the last run's journal ended in the middle of a record: removed {cut} bytes");
    Ok((cut > 0).then(notice))
}

/// The last iteration number of a task in its journals, which may be ahead of state.json.
pub(super) fn last_iteration(journals: &[PathBuf], layout: &Layout) -> Result<u32, EngineError> {
    for journal in journals {
        if !first(journal).ok().flatten().is_some_and(|event| is_of(layout, &event)) {
            continue;
        }
        if committed(journal) {
            return Ok(0);
        }
        let number = replay(journal, |_| {})?.iteration;
        if number > 0 {
            return Ok(number);
        }
    }
    Ok(0)
}

/// The checks that failed on each criterion in earlier runs of a task since it last passed. An
/// attempt whose checks did not fail counts, too.
pub(super) fn failed_before(
    run_folder: &Path,
    layout: &Layout,
) -> Result<HashMap<CriterionKey, Vec<CheckResult>>, EngineError> {
    let own = run_folder.file_name();
    let is_earlier = |journal: &PathBuf| journal.parent().and_then(Path::file_name) != own;
    let mut failed: HashMap<CriterionKey, Vec<CheckResult>> = HashMap::new();
    for journal in of_task(run_folder, layout)?.into_iter().filter(is_earlier) {
        replay(&journal, |event| {
            let EventKind::VerdictReached { criterion, evidence, verdict, .. } = &event.kind else {
                return;
            };
            match verdict.result {
                VerdictResult::Pass(_) => drop(failed.remove(criterion)),
                VerdictResult::Fail => {
                    let checks = evidence.checks.iter().filter(|check| !check.passed()).cloned();
                    failed.entry(criterion.clone()).or_default().extend(checks);
                }
                VerdictResult::Held | VerdictResult::Blocked | VerdictResult::Inconclusive => {}
            }
        })?;
    }
    Ok(failed)
}

/// The criteria that a run on this machine proved, this one included, and that none opened again.
pub(super) fn proven_here(
    run_folder: &Path,
    layout: &Layout,
) -> Result<HashSet<CriterionKey>, EngineError> {
    let mut proven = HashSet::new();
    for journal in of_task(run_folder, layout)? {
        replay(&journal, |event| match &event.kind {
            EventKind::VerdictReached { criterion, verdict, .. }
                if matches!(verdict.result, VerdictResult::Pass(_)) =>
            {
                proven.insert(criterion.clone());
            }
            EventKind::CriterionReopened { criterion, .. }
            | EventKind::CriterionHeld { criterion, .. } => drop(proven.take(criterion)),
            _ => {}
        })?;
    }
    Ok(proven)
}

/// The journals of the newest runs of a task, oldest first.
fn of_task(run_folder: &Path, layout: &Layout) -> Result<Vec<PathBuf>, EngineError> {
    let mut newest = runs_of(run_folder.parent().unwrap_or(run_folder), layout)?;
    newest.truncate(MOST_RUNS);
    newest.reverse();
    Ok(newest)
}

/// The journals of a task's runs, the newest first.
///
/// # Errors
/// If the folder of the runs cannot be read.
pub fn runs_of(runs: &Path, layout: &Layout) -> Result<Vec<PathBuf>, JournalError> {
    let is_ours = |journal: &PathBuf| {
        first(journal).ok().flatten().is_some_and(|event| is_of(layout, &event))
    };
    Ok(journals(runs)?.into_iter().filter(is_ours).collect())
}

/// Did a run get to a verdict, or did its agent write something, or did it die in an iteration? One
/// that did nothing of it says nothing about the task.
///
/// # Errors
/// If the journal cannot be read.
pub fn did_work(journal: &Path) -> Result<bool, JournalError> {
    let ended = last(journal)?.is_some_and(|it| matches!(it.kind, EventKind::RunEnded { .. }));
    let found = find(journal, |event| match &event.kind {
        // An agent that wrote something may have left work, however the turn ended.
        EventKind::ToolFinished { call, .. } if call.kind == "edit" || call.kind == "execute" => {
            Some(())
        }
        EventKind::VerdictReached { .. }
        | EventKind::CriterionReopened { .. }
        | EventKind::TaskCheckFailed { .. } => Some(()),
        EventKind::IterationStarted { .. } | EventKind::WorkerStarted { .. } if !ended => Some(()),
        _ => None,
    });
    Ok(found?.is_some())
}

/// Is this the start of a run of the task?
pub(super) fn is_of(layout: &Layout, event: &Event) -> bool {
    matches!(&event.kind, EventKind::RunStarted { task, folder, .. }
        if *layout == layout_of(task, folder))
}

/// A task's layout from the names in its journal.
pub fn layout_of(task: &str, folder: &str) -> Layout {
    Layout::new(task, if folder == "." { "" } else { folder })
}

/// Did a run end with its state committed? After tampering nothing is committed.
fn committed(journal: &Path) -> bool {
    ending(journal).is_some_and(|outcome| !matches!(outcome, Outcome::Tampered { .. }))
}

/// The outcome of a run; `None` if it died. A run that could no longer write left everything as
/// it was, as if it had died.
pub(super) fn ending(journal: &Path) -> Option<Outcome> {
    match last(journal) {
        Ok(Some(Event { kind: EventKind::RunEnded { outcome, .. }, .. })) => {
            Some(outcome).filter(|outcome| {
                !matches!(outcome, Outcome::CannotGoOn { obstacle: Obstacle::Write, .. })
            })
        }
        Ok(_) | Err(_) => None,
    }
}

/// The findings and repairs of resuming.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Resumed {
    /// The last iteration number in the journals of earlier runs; numbers continue after it.
    pub iteration: u32,
    /// Criteria for which an iteration without a verdict left a commit that counts.
    pub worked: Vec<(CriterionKey, Oid)>,
    /// Messages for the human.
    pub notices: Vec<String>,
}
