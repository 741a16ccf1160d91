//! What a run that died left behind, put in order before the next one begins.
//!
//! Invariant: all of it is on disk and committed before the next run has a journal, and
//! every step may be cut off and done again. An iteration counts as done once its state is
//! committed; what an unfinished one left is kept under a ref, and the tree goes back to
//! its checkpoint, so that it is done again from the start. Leftovers are told from the
//! human's work by the checkpoint in the dead run's journal: where anything speaks against
//! it (another branch, a commit that is not ours, a file that was changed after the run had
//! died, a run that began beside the human's own changes) nothing is touched, and the
//! ordinary look at the repository says what is in the way.

use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use super::EngineError;
use super::state::{self, STATE};
use crate::events::{Recount, RunStart, first, journals, last, recount};
use crate::model::{Event, EventKind, Outcome, Reporter, RunId};
use crate::sys::append::{AppendFile, Tail};
use crate::sys::{Access, atomic};
use crate::verify::{
    Fingerprints, Identity, Layout, Leftovers, PROGRESS, RECORDS, Repo, leftovers,
};

/// A file changed this long after the dead run's last word is somebody else's.
const AFTER: Duration = Duration::from_secs(60);

/// Where a run died.
pub struct Aftermath<'a> {
    /// The repository.
    pub repo: &'a dyn Repo,
    /// `.ralph/runs`.
    pub runs: &'a Path,
    /// Who commits.
    pub identity: &'a Identity,
    /// Reporters that write what is missing in a task's files, and only that.
    pub reporters: &'a dyn Fn(&Layout) -> Vec<Box<dyn Reporter>>,
}

/// What was found and put right.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Resumed {
    /// The last number of an iteration that an earlier run used, as far as journals tell;
    /// numbers go on after it.
    pub iteration: u32,
    /// For the human.
    pub notices: Vec<String>,
}

/// Puts in order what the last run left, whichever task it worked on. To be called with
/// the lock held.
///
/// # Errors
/// If a journal or the repository cannot be read, or the leftovers cannot be kept; then the
/// tree is as it was.
pub fn resume(here: &Aftermath<'_>, layout: &Layout) -> Result<Resumed, EngineError> {
    let mut notices = Vec::new();
    atomic::clear(&here.repo.root().join(layout.folder()))?;
    notices.extend(state::mend(here.repo, layout, here.runs)?);
    let mut journals = journals(here.runs)?;
    if let Some(newest) = journals.first() {
        notices.extend(cut(newest)?);
    }
    // A run that died before its first word did nothing.
    journals.retain(|journal| journal.metadata().is_ok_and(|meta| meta.len() > 0));
    if let Some(journal) = journals.first() {
        here.aftermath(journal, layout, &mut notices)?;
    }
    let iteration = newest_number(&journals, layout)?;
    Ok(Resumed { iteration, notices })
}

/// Cuts a journal back to its last whole record.
fn cut(journal: &Path) -> Result<Option<String>, EngineError> {
    let cut = AppendFile::open(journal, Access::Owner, Tail::Torn)?.cut();
    let notice = || {
        format!("the last run's journal ended in the middle of a record: {cut} bytes are cut off")
    };
    Ok((cut > 0).then(notice))
}

/// The number of the last iteration of a task that its journals know, and state.json
/// perhaps not.
fn newest_number(journals: &[PathBuf], layout: &Layout) -> Result<u32, EngineError> {
    for journal in journals {
        let of_this_task = |event: Event| matches!(&event.kind, EventKind::RunStarted { task, folder, .. } if is(layout, task, folder));
        if !first(journal).ok().flatten().is_some_and(of_this_task) {
            continue;
        }
        if committed(journal) {
            return Ok(0);
        }
        let number = recount(journal, |_| {})?.iteration;
        if number > 0 {
            return Ok(number);
        }
    }
    Ok(0)
}

fn is(layout: &Layout, task: &str, folder: &str) -> bool {
    *layout == layout_of(task, folder)
}

/// The layout of a task as its journal names it.
fn layout_of(task: &str, folder: &str) -> Layout {
    Layout::new(task, if folder == "." { "" } else { folder })
}

/// Whether a run ended with its state committed. After tampering everything stays.
fn committed(journal: &Path) -> bool {
    match last(journal) {
        Ok(Some(Event { kind: EventKind::RunEnded { outcome, .. }, .. })) => {
            !matches!(outcome, Outcome::Tampered { .. })
        }
        Ok(_) | Err(_) => false,
    }
}

impl Aftermath<'_> {
    fn aftermath(
        &self,
        journal: &Path,
        wanted: &Layout,
        notices: &mut Vec<String>,
    ) -> Result<(), EngineError> {
        if matches!(last(journal), Ok(Some(Event { kind: EventKind::RunEnded { .. }, .. }))) {
            return Ok(());
        }
        let told = recount(journal, |_| {})?;
        if let Some(damage) = &told.damage {
            notices.push(format!("the last run's journal is damaged: {damage}"));
        }
        let start = told.view.start.clone();
        let of_start = start.as_ref().map(|start| layout_of(&start.task, &start.folder));
        let layout = of_start.unwrap_or_else(|| wanted.clone());
        let unknown = told.unknown.then(|| "it has events of a newer version".to_owned());
        let beginning = start.is_some() && told.iteration == told.view.last_iteration;
        if let Some(damage) = told.damage.as_ref().filter(|_| !beginning).or(unknown.as_ref())
            && told.iteration > state::known(self.repo, &layout)?.state.iteration
        {
            // To go on would be to take its claims for proven.
            return Err(EngineError::Damaged {
                iteration: told.iteration,
                damage: damage.clone(),
                folder: journal.parent().unwrap_or(journal).to_owned(),
            });
        }
        let Some(start) = start else { return Ok(()) };
        if self.repo.root().join(layout.folder()).is_dir() {
            atomic::clear(&self.repo.root().join(layout.folder()))?;
        }
        if !self.is_ours(&told, &start, &layout)? {
            return Ok(());
        }
        self.put_back(journal, &told, &layout, notices)
    }

    /// Whether everything between the last checkpoint and now is the dead run's.
    fn is_ours(
        &self,
        told: &Recount,
        start: &RunStart,
        layout: &Layout,
    ) -> Result<bool, EngineError> {
        let view = &told.view;
        let (Some((_, died)), Some(checkpoint)) = (view.last_event, &view.checkpoint) else {
            return Ok(false);
        };
        if start.human > 0 || view.last_iteration != told.iteration {
            return Ok(false);
        }
        match leftovers(self.repo, layout, checkpoint)? {
            Leftovers::Nothing | Leftovers::Ours => {}
            Leftovers::Foreign => return Ok(false),
        }
        let deadline = SystemTime::from(died) + AFTER;
        let later = self.repo.status()?.all().iter().any(|change| {
            let meta = std::fs::symlink_metadata(self.repo.root().join(&change.path));
            meta.and_then(|meta| meta.modified()).is_ok_and(|modified| modified > deadline)
        });
        Ok(!later)
    }

    fn put_back(
        &self,
        journal: &Path,
        told: &Recount,
        layout: &Layout,
        notices: &mut Vec<String>,
    ) -> Result<(), EngineError> {
        let repo = self.repo;
        let nobodys = Fingerprints::default();
        let mut state = state::known(repo, layout)?.state;
        let dirty = repo.status()?.all();
        let recorded = state.iteration >= told.iteration
            && !dirty.iter().any(|change| change.path == layout.file(STATE));
        // This was begun before, got as far as its commit, and was cut off itself.
        let record =
            format!("{} (iteration {} was cut off)", layout.state_message(), told.iteration);
        let current = told.view.current.as_ref();
        let put_back = match current {
            Some(current) => {
                let since = repo.since(&current.checkpoint, &layout.prefix())?;
                since.commits.iter().any(|commit| commit.subject == record)
            }
            None => false,
        };
        let unfinished = current.filter(|_| put_back || !recorded);
        let now = repo.checkpoint()?;
        let target = unfinished.filter(|_| !put_back).map_or(&now, |current| &current.checkpoint);
        let moved = target.head != now.head;
        let mut kept_number = None;
        if moved || !dirty.is_empty() {
            let number = told.iteration;
            let message = format!("{}iteration {number} was cut off", layout.prefix());
            let kept = repo.save_attempt(layout, state.attempt_refs.max(1), &message, &nobodys)?;
            repo.back_to(target, &nobodys)?;
            // The state as it was committed: what was on disk may have been ahead of it.
            state = state::known(repo, layout)?.state;
            kept_number = Some(kept.number);
            notices.push(format!(
                "the last run died in iteration {number}: what it left is kept under {}, and the tree is back at {}",
                kept.name,
                target.head.short()
            ));
        }
        let run = told.view.start.as_ref().map(|start| start.run.clone());
        self.tell(journal, layout, unfinished.map(|current| current.iteration), run)?;
        let before = state.clone();
        state.iteration = state.iteration.max(told.iteration);
        state.attempt_refs = state.attempt_refs.max(kept_number.map_or(0, |number| number + 1));
        if state != before {
            state::write(repo.root(), layout, &state)?;
        }
        let files: Vec<_> =
            [PROGRESS].iter().chain(&RECORDS).map(|name| layout.file(name)).collect();
        let message = if unfinished.is_some() { record } else { layout.state_message() };
        repo.commit_paths(&files, &message, self.identity)?;
        Ok(())
    }

    /// Writes the lines that the dead run had in memory. What it concluded of an iteration
    /// that is done again does not count.
    fn tell(
        &self,
        journal: &Path,
        layout: &Layout,
        unfinished: Option<u32>,
        run: Option<RunId>,
    ) -> Result<(), EngineError> {
        let mut reporters = (self.reporters)(layout);
        let mut open = false;
        recount(journal, |event| {
            open |= matches!(&event.kind, EventKind::IterationStarted { iteration, .. }
                if Some(*iteration) == unfinished);
            let concluded = matches!(
                event.kind,
                EventKind::VerdictReached { .. } | EventKind::CriterionBlocked { .. }
            );
            if !(open && concluded) {
                reporters.retain_mut(|reporter| reporter.on_event(event).is_ok());
            }
        })?;
        for mut reporter in reporters {
            if let Err(error) = reporter.flush() {
                tracing::warn!(?run, reporter = reporter.name(), %error, "lines of a dead run are lost");
            }
        }
        Ok(())
    }
}
