//! The state of a task for `status`, `report`, and `check`: what TASK.md and state.json say now, and
//! what the journal of its last run tells.
//!
//! Invariant: the three commands take every word about a criterion from here, so that they agree.

use std::path::{Path, PathBuf};

use super::command_names::{accept_command, again_command, next_commands, quoted, tick_command};
use super::context::TaskContext;
use super::failure::Failure;
use super::print::say;
use super::standing::{proof, standing, why_held};
use crate::engine::{
    did_work, lesson_about, load_state, runs_of, sign_about, skipped, standings, steps_now,
};
use crate::events::{IterationRow, JournalError, Rollup, RunStatus, last};
use crate::model::{
    CheckResult, Criterion, CriterionState, CriterionSummary, EventKind, ExitCode, Task, TaskState,
    VerdictResult,
};
use crate::report::{Night, NightCriterion, count, ended, message, night_criteria};
use crate::sys::lock::Holder;

/// A task and its runs.
pub(super) struct Told<'a> {
    directory: Option<&'a Path>,
    at: &'a TaskContext,
    pub(super) task: Task,
    pub(super) state: TaskState,
    pub(super) holder: Option<Holder>,
    /// The journals of its runs, the newest first.
    pub(super) journals: Vec<PathBuf>,
    /// The last run that did something, or else the last one: its journal and what it tells.
    pub(super) run: Option<(PathBuf, Rollup)>,
}

/// Names a failure to read a journal.
pub(super) fn unreadable(error: JournalError) -> Failure {
    Failure::new(ExitCode::Invalid, error)
}

/// The content of state.json, or the initial state. If the file is broken, its last committed
/// version; the next run repairs it.
pub(super) fn read_state(at: &TaskContext) -> Result<TaskState, Failure> {
    Ok(load_state(&at.place.repo, &at.layout).map_err(Failure::from)?.state)
}

/// The journal to tell of: that of the run at work, or of the last one that did something. A later
/// run that did nothing would hide it.
pub(super) fn last_told(
    journals: &[PathBuf],
    holder: Option<&Holder>,
) -> Result<Option<PathBuf>, Failure> {
    let Some(newest) = journals.first() else { return Ok(None) };
    let name = newest.parent().and_then(Path::file_name);
    if holder.is_some_and(|holder| name.is_some_and(|name| name == holder.run.as_str())) {
        return Ok(Some(newest.clone()));
    }
    for journal in journals {
        if did_work(journal).map_err(unreadable)? {
            return Ok(Some(journal.clone()));
        }
    }
    Ok(Some(newest.clone()))
}

impl<'a> Told<'a> {
    pub(super) fn of(directory: Option<&'a Path>, at: &'a TaskContext) -> Result<Self, Failure> {
        let (task, state, holder) = (at.load()?, read_state(at)?, at.place.holder());
        let journals = runs_of(&at.place.runs(), &at.layout).map_err(unreadable)?;
        let journal = last_told(&journals, holder.as_ref())?;
        let mut run = journal
            .map(|journal| Ok((journal.clone(), Rollup::read(&journal)?)))
            .transpose()
            .map_err(unreadable)?;
        if let Some((_, Rollup { view, .. })) = &mut run {
            match view.status(holder.as_ref()) {
                RunStatus::Waiting => {}
                RunStatus::Running => view.waiting = None,
                // A dead run is no longer waiting, even if that was its last event.
                RunStatus::Ended | RunStatus::Died => {
                    view.waiting = None;
                    view.nobody_works();
                }
            }
        }
        Ok(Self { directory, at, task, state, holder, journals, run })
    }

    /// Its status.
    pub(super) fn status(&self) -> Option<RunStatus> {
        self.run.as_ref().map(|(_, run)| run.view.status(self.holder.as_ref()))
    }

    /// The criteria as they are on this branch, those that wait for a human first.
    pub(super) fn criteria(&self) -> Vec<NightCriterion> {
        let nothing = Rollup::default();
        let run = self.run.as_ref().map_or(&nothing, |(_, run)| run);
        let mut criteria = night_criteria(&standings(&self.task, &self.state), run);
        self.explain(&mut criteria);
        criteria
    }

    /// Says of each criterion what there is to say, and what a human can do.
    fn explain(&self, criteria: &mut [NightCriterion]) {
        let skipped = skipped(&self.task, &self.state);
        let before = self.run.as_ref().map(|(_, run)| run.view.baseline.clone());
        let ways_out = WaysOut::new(self.directory, self.at, &self.state, before);
        for it in criteria {
            let of_line = |line| self.task.criteria.iter().find(|known| known.line == line);
            let Some(criterion) = of_line(it.line) else { continue };
            it.said = standing(criterion, &self.state).unwrap_or_else(|| it.standing.to_owned());
            it.next = ways_out.of(criterion);
            let skipped = skipped.iter().find(|other| other.criterion.key == criterion.key);
            if let Some(why) = why_held(criterion, &self.state) {
                it.reason = Some(why);
            } else if let Some(why) = skipped {
                it.said = format!("skipped: {why}");
                it.reason = None;
            } else if criterion.checked && proof(criterion, &self.state).is_some() {
                it.reason = None;
            } else if it.reason.is_none() && it.standing == "stuck" {
                // The run that tried it last is not this one.
                it.reason = sign_about(self.at.place.root(), &self.at.layout, &it.text);
            }
        }
    }

    /// The report of its last run.
    pub(super) fn night(&self) -> Result<Option<Night>, Failure> {
        let Some((journal, run)) = &self.run else { return Ok(None) };
        let mut night = match self.elsewhere() {
            Some(elsewhere) => {
                let mut night = self.recorded(journal, run, Vec::new())?;
                night.elsewhere = Some(elsewhere);
                night
            }
            None => {
                let mut night = self.recorded(journal, run, standings(&self.task, &self.state))?;
                self.explain(&mut night.criteria);
                night
            }
        };
        let mut at_end = run.view.end.as_ref().map(|end| end.summary.criteria.clone());
        let newest = self.journals.first().filter(|newest| *newest != journal);
        if let Some(newest) = newest
            && let Some(event) = last(newest).map_err(unreadable)?
            && let EventKind::RunEnded { outcome, summary, .. } = event.kind
        {
            let (run, why) = (event.run.as_str(), message(&ended(&outcome, &summary)));
            night.later = Some(format!("a later run, {run}, did nothing: {why}"));
            night.next = summary.next;
            at_end = Some(summary.criteria);
        }
        // What a human did since then counts.
        if night.elsewhere.is_none()
            && at_end.is_some_and(|it| it != standings(&self.task, &self.state))
        {
            night.next = self.next();
        }
        if night.status == RunStatus::Died {
            let start = again_command(self.directory, self.at.layout.task(), self.flags());
            night.next.push(format!("{start} (goes on from there)"));
        }
        Ok(Some(night))
    }

    /// The flags of its last run.
    fn flags(&self) -> &[String] {
        let start = self.run.as_ref().and_then(|(_, run)| run.view.start.as_ref());
        start.map_or(&[], |start| &start.flags)
    }

    /// The next steps, as the task stands now.
    pub(super) fn next(&self) -> Vec<String> {
        let (layout, flags) = (&self.at.layout, self.flags().to_vec());
        let commands = next_commands(self.directory, layout.task(), None, flags);
        steps_now(&self.task, &self.state, layout, &commands)
    }

    /// The report of any of its runs.
    pub(super) fn recorded(
        &self,
        journal: &Path,
        run: &Rollup,
        now: Vec<CriterionSummary>,
    ) -> Result<Night, Failure> {
        let older = self.journals.iter().skip_while(|it| *it != journal).skip(1);
        let mut before = None;
        for older in older {
            if did_work(older).map_err(unreadable)? {
                before = Some(Rollup::of_ends(older).map_err(unreadable)?);
                break;
            }
        }
        let status = run.view.status(self.holder.as_ref());
        let mut night = nothing_yet(Night::new(run, before.as_ref(), status, now))?;
        let start = run.view.start.as_ref().map(|start| &start.checkpoint);
        // What workers did lands under other ids than theirs.
        let is_last = self.run.as_ref().is_some_and(|(last, _)| last == journal);
        let tip = start.filter(|_| is_last && night.head.is_some());
        let tip = tip.and_then(|it| self.at.place.repo.revision(&it.branch).ok().flatten());
        let (start, tip) = (start.map(|it| &it.head), tip.or_else(|| night.head.clone()));
        night.work = start.zip(tip.as_ref()).and_then(|ends| {
            let passed = |row: &&IterationRow| matches!(row.result, Some(VerdictResult::Pass(_)));
            let passed = run.iterations.iter().filter(passed);
            let commits: usize = passed.map(|row| row.commits.len()).sum();
            let [files, added, removed] =
                self.at.place.repo.diffstat(ends, &self.at.layout).ok()?;
            let (commits, files) = (count(commits as u64, "commit"), count(files as u64, "file"));
            Some(format!("{commits}, {files} changed (+{added} −{removed})"))
        });
        let texts = night.criteria.iter().map(|it| it.text.as_str());
        let root = self.at.place.root();
        night.lessons = texts.filter_map(|text| lesson_about(root, text)).collect();
        Ok(night)
    }

    /// Where the work of the run is, if HEAD does not have it: then the boxes do not show it either.
    pub(super) fn elsewhere(&self) -> Option<String> {
        let (_, run) = self.run.as_ref()?;
        let full = &run.view.start.as_ref()?.checkpoint.branch;
        let repo = &self.at.place.repo;
        let is_here = repo.checkpoint().is_ok_and(|now| now.branch == *full);
        let head = repo.revision(full).ok().flatten().filter(|_| !is_here)?;
        let name = full.strip_prefix("refs/heads/").unwrap_or(full);
        (!repo.reaches(&head).unwrap_or(true)).then(|| {
            format!(
                "its work is on the branch {name}, which this one does not have; to see it: git \
                 switch {}",
                quoted(name)
            )
        })
    }
}

/// Prints the next steps of a task.
pub(super) fn say_next(told: &Told<'_>) {
    let steps = told.next().into_iter().map(|step| format!("\nNext: {step}"));
    say(&steps.collect::<String>());
}

/// A report of a run, unless that recorded nothing.
pub(super) fn nothing_yet(night: Option<Night>) -> Result<Night, Failure> {
    night.ok_or_else(|| Failure::new(ExitCode::Invalid, "this run recorded nothing yet"))
}

/// The known facts about the criteria of a task.
struct WaysOut<'a> {
    directory: Option<&'a Path>,
    at: &'a TaskContext,
    state: &'a TaskState,
    /// The results of the verify commands before any work of the newest run.
    before: Vec<CheckResult>,
}

impl<'a> WaysOut<'a> {
    /// From the task's state, and the checks before any work of its newest run.
    fn new(
        directory: Option<&'a Path>,
        at: &'a TaskContext,
        state: &'a TaskState,
        before: Option<Vec<CheckResult>>,
    ) -> Self {
        Self { directory, at, state, before: before.unwrap_or_default() }
    }

    /// A line for a criterion, if there is something to say.
    fn of(&self, criterion: &Criterion) -> Option<String> {
        let entry = self.state.find(&criterion.key).filter(|it| it.proof.is_none())?;
        let (name, line) = (self.at.layout.task(), criterion.line);
        if self.is_merged(entry) {
            let accept = accept_command(self.directory, name);
            return Some(format!(
                "its held work is on this branch; to take it as it is: {accept} {line}"
            ));
        }
        let is_stuck =
            !criterion.checked && entry.held.is_none() && (entry.blocked || entry.attempts > 0);
        (is_stuck && self.state.passed_first(criterion, &self.before)).then(|| {
            let tick = tick_command(self.directory, name);
            format!(
                "its check passed before any work; if you agree that it is met, tick it, and \
                 commit: {tick} {line}"
            )
        })
    }

    fn is_merged(&self, entry: &CriterionState) -> bool {
        let merged = |held| self.at.place.repo.has_merged(held, &self.at.layout).unwrap_or(false);
        entry.held.as_ref().is_some_and(merged)
    }
}
