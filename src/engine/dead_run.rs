//! Cleanup of the last iteration of a run that died.
//!
//! Invariant: the checkpoint in the dead run's journal distinguishes leftovers from the human's
//! work. If anything contradicts it (another branch, a foreign commit, a file that was changed
//! after the run died, a run that began beside the human's own changes), no file is put back; only
//! ticks without a verdict are removed from TASK.md.
//!
//! Invariant: a run removes only locks that were created during itself or the last run. How a
//! lock is known to be stale lives in `verify`.

use std::path::{Path, PathBuf};
use std::time::SystemTime;

use super::ledger::Ledger;
use super::past_runs::{AFTER, Resumed, ending, last_sign_of_life, layout_of};
use super::unjudged::open_again;
use super::{EngineError, state};
use crate::events::{CurrentIteration, Replay, RunStart, RunView, first, replay};
use crate::model::{CriterionKey, EventKind, Oid, Reporter, RunId};
use crate::sys::atomic;
use crate::task;
use crate::verify::{
    Fingerprints, GitRepo, Identity, Layout, Leftovers, PROGRESS, RECORDS, STATE, TASK, left_work,
    leftovers,
};

/// The input of resuming.
pub struct ResumeContext<'a> {
    /// The repository.
    pub repo: &'a GitRepo,
    /// `.ralph/runs`.
    pub runs: &'a Path,
    /// Who commits.
    pub identity: &'a Identity,
    /// Creates reporters that write only the lines missing in a task's files.
    pub reporters: &'a dyn Fn(&Layout) -> Vec<Box<dyn Reporter>>,
}

/// The file in a run's folder with the commit that is about to land.
pub(super) const LANDING_FILE: &str = "landing";

/// Who made the difference between the last checkpoint and now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ownership {
    Ours,
    Foreign,
}

/// How far the last iteration got.
#[derive(Clone, Copy, Debug)]
enum Progress<'d> {
    /// Its state is committed.
    Recorded,
    /// It must be done again.
    Unfinished(&'d CurrentIteration),
    /// It must be done again, and the tree is already back at its checkpoint.
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
    /// Its uncommitted paths.
    left: Vec<PathBuf>,
    /// Uncommitted files that are the human's: no agent worked in this tree.
    human: Fingerprints,
    /// The message of the commit that puts the iteration back.
    record: String,
}

impl ResumeContext<'_> {
    /// Removes stale git locks that were created while the last run lived, however it ended.
    pub(super) fn unlock(&self, journal: &Path) -> Result<Option<String>, EngineError> {
        let (Some(began), Some(beat)) = (first(journal)?, last_sign_of_life(journal)) else {
            return Ok(None);
        };
        let lived = SystemTime::from(began.time)..=beat + AFTER;
        Ok(unlocked(&self.repo.unlock(Some(&lived))?))
    }

    /// Cleans up after a run, if it died.
    pub(super) fn resume_dead_run(
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
            // Continuing would take its claims for proven.
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
        let Some(dead) = self.inspect(journal, &told, &start, &layout)? else { return Ok(()) };
        match dead.ownership {
            Ownership::Ours => self.put_back(&dead, resumed)?,
            Ownership::Foreign => self.take_back_ticks(&dead, resumed)?,
        }
        if layout == *wanted { self.require_task_file(&dead) } else { Ok(()) }
    }

    /// Fails if TASK.md is gone and can be restored.
    fn require_task_file(&self, dead: &Dead<'_>) -> Result<(), EngineError> {
        let path = dead.layout.file(TASK);
        let Some(checkpoint) = &dead.told.view.checkpoint else { return Ok(()) };
        let gone = self.repo.root().join(&path).symlink_metadata().is_err();
        if gone && self.repo.exists_at(&checkpoint.head, &path)? {
            let (iteration, commit) = (dead.told.iteration, checkpoint.head.clone());
            return Err(EngineError::TaskGone { path, iteration, commit });
        }
        Ok(())
    }

    /// Finds the leftovers of a dead run; `None` if it had begun no iteration.
    fn inspect<'d>(
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
        // An agent can write the state, too: without a verdict in the journal it is not the run's.
        let judged = view.current.as_ref().is_none_or(|current| current.judged);
        let recorded = judged
            && state.iteration >= told.iteration
            && !dirty.iter().any(|change| change.path == layout.file(STATE));
        let record =
            format!("{} (iteration {} was cut off)", layout.state_message(), told.iteration);
        let since = repo.since(checkpoint, layout)?;
        // An earlier resume got as far as this commit, and was cut off itself.
        let put_back = since.commits.iter().any(|commit| commit.subject == record);
        let progress = match (put_back, recorded, &view.current) {
            (true, _, Some(current)) => Progress::PutBack(current),
            (false, false, Some(current)) => Progress::Unfinished(current),
            (_, true, _) | (_, _, None) => Progress::Recorded,
        };
        let lived = last_sign_of_life(journal).map_or(spoke.into(), |beat| beat.max(spoke.into()));
        let later = |path: &Path, than: SystemTime| {
            let meta = std::fs::symlink_metadata(repo.root().join(path));
            meta.and_then(|meta| meta.modified()).is_ok_and(|modified| modified > than)
        };
        let landing = self.landing(journal, view);
        let is_ours = |path: &PathBuf| {
            let of_landing = landing.as_ref().is_none_or(|paths| paths.contains(path));
            of_landing || layout.is_state_file(path)
        };
        let dirty = dirty.into_iter().map(|change| change.path);
        let (mut left, human): (Vec<PathBuf>, Vec<PathBuf>) = dirty.partition(is_ours);
        let human = Fingerprints::below(repo.root(), human)?;
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
            // State files that the run wrote count as committed, even if they were touched since;
            // other leftovers are older than the run's last event.
            Progress::Recorded | Progress::PutBack(_) => {
                left.retain(|path| !layout.is_state_file(path) && !later(path, lived));
            }
        }
        let run = &start.run;
        Ok(Some(Dead { journal, told, run, layout, ownership, progress, left, human, record }))
    }

    /// The paths of the landing that a run with workers was cut off in; none if all that differs in
    /// the tree is the run's.
    fn landing(&self, journal: &Path, view: &RunView) -> Option<Vec<PathBuf>> {
        let worker = view.current.as_ref().map(|current| current.worker);
        if !view.had_workers || worker == Some(None) {
            return None;
        }
        let note = std::fs::read_to_string(journal.with_file_name(LANDING_FILE)).ok();
        let Some((merged, current)) = note.map(Oid::new).zip(view.current.as_ref()) else {
            return Some(Vec::new());
        };
        // A torn note names no commit.
        let changes = self.repo.between(&current.checkpoint.head, &merged).unwrap_or_default();
        Some(changes.into_iter().map(|change| change.path).collect())
    }

    /// Saves the dead iteration's leftovers under a ref and puts the tree back to its checkpoint.
    fn put_back(&self, dead: &Dead<'_>, resumed: &mut Resumed) -> Result<(), EngineError> {
        let (repo, layout) = (self.repo, dead.layout);
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
            let kept = repo.save_attempt(layout, next, &message, &dead.human)?;
            let head = match dead.progress {
                Progress::Unfinished(current) => {
                    repo.back_to(&current.checkpoint, &dead.human)?;
                    &current.checkpoint.head
                }
                Progress::Recorded | Progress::PutBack(_) => {
                    repo.restore(&now.head, &dead.left)?;
                    &now.head
                }
            };
            attempt_refs = kept.number.saturating_add(1);
            resumed.notices.push(format!(
                "the last run died in iteration {number}: its leftovers are saved under {}, and the tree is back at {}",
                kept.name,
                head.short()
            ));
        }
        self.write_missing_lines(dead)?;
        // The committed state: the one on disk may have been ahead of it.
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

    /// Opens boxes that the dead iteration ticked. Nothing else is put back, because someone
    /// worked here since.
    fn take_back_ticks(&self, dead: &Dead<'_>, resumed: &mut Resumed) -> Result<(), EngineError> {
        let Progress::Unfinished(current) = dead.progress else { return Ok(()) };
        let (repo, layout) = (self.repo, dead.layout);
        let file = layout.file(TASK);
        let Some(before) = repo.held(&current.checkpoint.head, &file)? else { return Ok(()) };
        let before = task::parse(layout.task(), &before);
        // The journal's text is redacted, so a criterion that contains a secret is found by line.
        let focus = task::find(&before, &current.criterion)
            .or_else(|| task::at_line(&before, current.line));
        if let Some((focus, commit)) = focus.zip(left_work(repo, layout, &current.checkpoint)?) {
            resumed.worked.push((focus.key.clone(), commit));
        }
        let before = before.criteria.into_iter();
        let state = state::load(repo, layout)?.state;
        let proven = |key: &CriterionKey| state.is_proven(key);
        let open = before.filter(|criterion| !criterion.checked).map(|criterion| criterion.key);
        open_again(repo, layout, open.filter(|key| !proven(key)), &mut resumed.notices)
    }

    /// Writes the lines that the dead run had in memory, without the verdict on an iteration
    /// that is done again.
    fn write_missing_lines(&self, dead: &Dead<'_>) -> Result<(), EngineError> {
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

impl Ledger {
    /// Removes stale locks, and says so.
    pub(super) fn unlock(&self) -> Result<(), EngineError> {
        self.tell_unlocked(&self.parts.repo.unlock(None)?)
    }

    /// Reports removed locks.
    pub(super) fn tell_unlocked(&self, locks: &[PathBuf]) -> Result<(), EngineError> {
        unlocked(locks).map_or(Ok(()), |message| self.notice(&message))
    }
}

/// The message about removed locks, if there are any.
fn unlocked(locks: &[PathBuf]) -> Option<String> {
    let names: Vec<_> = locks.iter().map(|lock| lock.display().to_string()).collect();
    let told =
        || format!("removed stale git locks, whose processes are gone: {}", names.join(", "));
    (!names.is_empty()).then(told)
}
