//! What a run that died left behind, put in order before the next one begins.
//!
//! Invariant: all of it is on disk and committed before the next run has a journal, and
//! every step may be cut off and done again. An iteration counts as done once its state is
//! committed; what an unfinished one left is kept under a ref, and the tree goes back to
//! its checkpoint, so that it is done again from the start. Leftovers are told from the
//! human's work by the checkpoint in the dead run's journal: where anything speaks against
//! it (another branch, a commit that is not ours, a file that was changed after the run had
//! died, a run that began beside the human's own changes) no file but TASK.md is touched, of
//! that only the ticks that nobody judged, and the ordinary look at the repository says what
//! is in the way.

use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use super::EngineError;
use super::locks::unlocked;
use super::state;
use super::unjudged::{open_again, open_unjudged};
use crate::events::{CurrentIteration, Replay, RunStart, first, journals, last, replay};
use crate::model::{CriterionKey, Event, EventKind, Obstacle, Oid, Outcome, Reporter, RunId};
use crate::sys::append::{AppendFile, Tail};
use crate::sys::{FileMode, atomic};
use crate::task;
use crate::verify::{
    Fingerprints, Identity, Layout, Leftovers, PROGRESS, RECORDS, Repo, STATE, TASK, left_work,
    leftovers,
};

/// The file in a run's folder whose time says when the run was last alive.
pub const PULSE: &str = "pulse";
/// How often it is touched.
pub const BEAT: Duration = Duration::from_secs(2);
/// A file changed this long after the dead run's last sign of life is somebody else's:
/// between two beats it may have lived on, and its children for a moment longer.
const AFTER: Duration = Duration::from_secs(6);

/// Where a run died.
pub struct ResumeContext<'a> {
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
    /// Criteria at which an iteration that was never judged left a commit that counts.
    pub worked: Vec<(CriterionKey, Oid)>,
    /// For the human.
    pub notices: Vec<String>,
}

/// Puts in order what the last run left, whichever task it worked on, and adds what it did to
/// `resumed`, also where it fails then. To be called with the lock held.
///
/// # Errors
/// If a journal or the repository cannot be read, or the leftovers cannot be kept; then the
/// tree is as it was.
pub fn resume(
    here: &ResumeContext<'_>,
    layout: &Layout,
    resumed: &mut Resumed,
) -> Result<(), EngineError> {
    let notices = &mut resumed.notices;
    atomic::clear(&here.repo.root().join(layout.folder()))?;
    let mut journals = journals(here.runs)?;
    if let Some(newest) = journals.first() {
        notices.extend(cut(newest)?);
    }
    journals.retain(|journal| spoke(journal));
    if let Some(journal) = journals.first() {
        notices.extend(here.unlock(journal)?);
    }
    notices.extend(state::repair(here.repo, layout, here.runs)?);
    if let Some(journal) = journals.first() {
        here.resume_dead_run(journal, layout, resumed)?;
    }
    open_unjudged(here.repo, layout, resumed)?;
    resumed.iteration = newest_number(&journals, layout)?;
    Ok(())
}

/// The task of the last run, if that died: its TASK.md may have gone with it.
///
/// # Errors
/// If the journals cannot be read.
pub fn dead_run_task(runs: &Path) -> Result<Option<Layout>, EngineError> {
    let mut journals = journals(runs)?.into_iter();
    let Some(journal) = journals.find(|journal| spoke(journal)) else { return Ok(None) };
    if ending(&journal).is_some() {
        return Ok(None);
    }
    Ok(first(&journal)?.and_then(|event| match &event.kind {
        EventKind::RunStarted { task, folder, .. } => Some(layout_of(task, folder)),
        _ => None,
    }))
}

/// Whether a run said anything; one that died before its first word did nothing.
fn spoke(journal: &Path) -> bool {
    journal.metadata().is_ok_and(|meta| meta.len() > 0)
}

/// When the run last gave a sign of life.
fn beat(journal: &Path) -> Option<SystemTime> {
    journal.with_file_name(PULSE).metadata().and_then(|meta| meta.modified()).ok()
}

/// Cuts a journal back to its last whole record.
fn cut(journal: &Path) -> Result<Option<String>, EngineError> {
    let cut = AppendFile::open(journal, FileMode::Owner, Tail::Torn)?.cut();
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
        let number = replay(journal, |_| {})?.iteration;
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
    ending(journal).is_some_and(|outcome| !matches!(outcome, Outcome::Tampered { .. }))
}

/// How a run ended; none, if it died. One that could not write any more has left things as
/// they were, as if it had died.
fn ending(journal: &Path) -> Option<Outcome> {
    match last(journal) {
        Ok(Some(Event { kind: EventKind::RunEnded { outcome, .. }, .. })) => {
            Some(outcome).filter(|outcome| {
                !matches!(outcome, Outcome::CannotGoOn { obstacle: Obstacle::Write, .. })
            })
        }
        Ok(_) | Err(_) => None,
    }
}

/// Whose the difference between the last checkpoint and now is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ownership {
    Ours,
    Foreign,
}

/// How far the last iteration got.
#[derive(Clone, Copy, Debug)]
enum Progress<'d> {
    /// Its state is committed, whatever it came to.
    Recorded,
    /// It is to be done again.
    Unfinished(&'d CurrentIteration),
    /// It is to be done again, and the tree is its checkpoint's already.
    PutBack(&'d CurrentIteration),
}

/// A run that died.
struct Dead<'d> {
    journal: &'d Path,
    told: &'d Replay,
    run: &'d RunId,
    layout: &'d Layout,
    ownership: Ownership,
    progress: Progress<'d>,
    /// Uncommitted paths of its.
    left: Vec<PathBuf>,
    /// The message of the commit with which the iteration is put back.
    record: String,
}

impl ResumeContext<'_> {
    /// Removes the locks of git that came to be while the last run lived, however it ended.
    fn unlock(&self, journal: &Path) -> Result<Option<String>, EngineError> {
        let (Some(began), Some(beat)) = (first(journal)?, beat(journal)) else { return Ok(None) };
        let lived = SystemTime::from(began.time)..=beat + AFTER;
        Ok(unlocked(&self.repo.unlock(Some(&lived))?))
    }

    fn resume_dead_run(
        &self,
        journal: &Path,
        wanted: &Layout,
        resumed: &mut Resumed,
    ) -> Result<(), EngineError> {
        if ending(journal).is_some() {
            return Ok(());
        }
        let told = replay(journal, |_| {})?;
        if let Some(damage) = &told.damage {
            resumed.notices.push(format!("the last run's journal is damaged: {damage}"));
        }
        let start = told.view.start.clone();
        let of_start = start.as_ref().map(|start| layout_of(&start.task, &start.folder));
        let layout = of_start.unwrap_or_else(|| wanted.clone());
        let unknown = told.unknown.then(|| "it has events of a newer version".to_owned());
        let beginning = start.is_some() && told.iteration == told.view.last_iteration;
        if let Some(damage) = told.damage.as_ref().filter(|_| !beginning).or(unknown.as_ref())
            && told.iteration > state::load(self.repo, &layout)?.state.iteration
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
        let Some(dead) = self.look(journal, &told, &start, &layout)? else { return Ok(()) };
        match dead.ownership {
            Ownership::Ours => self.put_back(&dead, resumed)?,
            Ownership::Foreign => self.take_back_ticks(&dead, resumed)?,
        }
        if layout == *wanted { self.there(&dead) } else { Ok(()) }
    }

    /// Whoever took TASK.md away: there is one to go back to.
    fn there(&self, dead: &Dead<'_>) -> Result<(), EngineError> {
        let path = dead.layout.file(TASK);
        let Some(checkpoint) = &dead.told.view.checkpoint else { return Ok(()) };
        let gone = self.repo.root().join(&path).symlink_metadata().is_err();
        if gone && self.repo.exists_at(&checkpoint.head, &path)? {
            let (iteration, commit) = (dead.told.iteration, checkpoint.head.clone());
            return Err(EngineError::TaskGone { path, iteration, commit });
        }
        Ok(())
    }

    /// What there is to be put in order; none if the run had begun no iteration.
    fn look<'d>(
        &self,
        journal: &'d Path,
        told: &'d Replay,
        start: &'d RunStart,
        layout: &'d Layout,
    ) -> Result<Option<Dead<'d>>, EngineError> {
        let (repo, view) = (self.repo, &told.view);
        let (Some((_, spoke)), Some(checkpoint)) = (view.last_event, &view.checkpoint) else {
            return Ok(None);
        };
        let state = state::load(repo, layout)?.state;
        let dirty = repo.status()?.all();
        let recorded = state.iteration >= told.iteration
            && !dirty.iter().any(|change| change.path == layout.file(STATE));
        let record =
            format!("{} (iteration {} was cut off)", layout.state_message(), told.iteration);
        let since = repo.since(checkpoint, &layout.prefix())?;
        // This was begun before, got as far as its commit, and was cut off itself.
        let put_back = since.commits.iter().any(|commit| commit.subject == record);
        let progress = match (put_back, recorded, &view.current) {
            (true, _, Some(current)) => Progress::PutBack(current),
            (false, false, Some(current)) => Progress::Unfinished(current),
            (_, true, _) | (_, _, None) => Progress::Recorded,
        };
        let lived = beat(journal).map_or(spoke.into(), |beat| beat.max(spoke.into()));
        let later = |path: &Path, than: SystemTime| {
            let meta = std::fs::symlink_metadata(repo.root().join(path));
            meta.and_then(|meta| meta.modified()).is_ok_and(|modified| modified > than)
        };
        let mut left: Vec<PathBuf> = dirty.into_iter().map(|change| change.path).collect();
        let mut ownership = match leftovers(repo, layout, checkpoint)? {
            Leftovers::Nothing | Leftovers::Ours if start.human == 0 => Ownership::Ours,
            Leftovers::Nothing | Leftovers::Ours | Leftovers::Foreign => Ownership::Foreign,
        };
        match progress {
            Progress::Unfinished(_) => {
                if left.iter().any(|path| later(path, lived + AFTER)) {
                    ownership = Ownership::Foreign;
                }
            }
            // What the run wrote down is as good as committed, whoever has touched it since;
            // and work that it had not yet put aside is older than its last word.
            Progress::Recorded | Progress::PutBack(_) => {
                left.retain(|path| !layout.is_state_file(path) && !later(path, lived));
            }
        }
        let run = &start.run;
        Ok(Some(Dead { journal, told, run, layout, ownership, progress, left, record }))
    }

    fn put_back(&self, dead: &Dead<'_>, resumed: &mut Resumed) -> Result<(), EngineError> {
        let (repo, layout) = (self.repo, dead.layout);
        let nobodys = Fingerprints::default();
        let now = repo.checkpoint()?;
        let number = dead.told.iteration;
        let mut attempt_refs = 0;
        let moves = match dead.progress {
            Progress::Unfinished(current) => current.checkpoint.head != now.head,
            Progress::Recorded | Progress::PutBack(_) => false,
        };
        if moves || !dead.left.is_empty() {
            let message = format!("{}iteration {number} was cut off", layout.prefix());
            let next = state::load(repo, layout)?.state.attempt_refs.max(1);
            let kept = repo.save_attempt(layout, next, &message, &nobodys)?;
            let head = match dead.progress {
                Progress::Unfinished(current) => {
                    repo.back_to(&current.checkpoint, &nobodys)?;
                    &current.checkpoint.head
                }
                Progress::Recorded | Progress::PutBack(_) => {
                    repo.restore(&now.head, &dead.left)?;
                    &now.head
                }
            };
            attempt_refs = kept.number.saturating_add(1);
            resumed.notices.push(format!(
                "the last run died in iteration {number}: what it left is kept under {}, and the tree is back at {}",
                kept.name,
                head.short()
            ));
        }
        self.tell(dead)?;
        // The state as it was committed: what had been on disk may have been ahead of it.
        let before = state::load(repo, layout)?.state;
        let mut state = before.clone();
        state.iteration = state.iteration.max(number);
        state.attempt_refs = state.attempt_refs.max(attempt_refs);
        if state != before {
            state::write(repo.root(), layout, &state)?;
        }
        let files: Vec<_> =
            [PROGRESS].iter().chain(&RECORDS).map(|name| layout.file(name)).collect();
        let message = match dead.progress {
            Progress::Recorded => layout.state_message(),
            Progress::Unfinished(_) | Progress::PutBack(_) => dead.record.clone(),
        };
        repo.commit_paths(&now.branch, &files, &message, self.identity)?;
        Ok(())
    }

    /// Somebody worked here since, so nothing is put back. What the dead iteration ticked was
    /// never judged all the same: it is open again.
    fn take_back_ticks(&self, dead: &Dead<'_>, resumed: &mut Resumed) -> Result<(), EngineError> {
        let Progress::Unfinished(current) = dead.progress else { return Ok(()) };
        let (repo, layout) = (self.repo, dead.layout);
        let file = layout.file(TASK);
        if let Some(commit) = left_work(repo, layout, &current.checkpoint)? {
            resumed.worked.push((current.criterion.clone(), commit));
        }
        let Some(before) = repo.held(&current.checkpoint.head, &file)? else { return Ok(()) };
        let before = task::parse(layout.task(), &before).criteria.into_iter();
        let state = state::load(repo, layout)?.state;
        let proven =
            |key: &CriterionKey| state.find(key).is_some_and(|entry| entry.proof.is_some());
        let open = before.filter(|criterion| !criterion.checked).map(|criterion| criterion.key);
        open_again(repo, layout, open.filter(|key| !proven(key)), &mut resumed.notices)
    }

    /// Writes the lines that the dead run had in memory. What it concluded of an iteration
    /// that is done again does not count.
    fn tell(&self, dead: &Dead<'_>) -> Result<(), EngineError> {
        let unfinished = match dead.progress {
            Progress::Unfinished(current) | Progress::PutBack(current) => Some(current.iteration),
            Progress::Recorded => None,
        };
        let mut reporters = (self.reporters)(dead.layout);
        let mut open = false;
        replay(dead.journal, |event| {
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
                tracing::warn!(run = %dead.run, reporter = reporter.name(), %error, "lines of a dead run are lost");
            }
        }
        Ok(())
    }
}
