//! All that a report says of a run, folded from its events: the view of the run, and its iterations,
//! denials, and notices.
//!
//! Invariant: pure, and the only place that counts for reports.

use std::cell::Cell;
use std::collections::HashMap;
use std::ops::ControlFlow;
use std::path::Path;

use chrono::{DateTime, Utc};
use serde::Serialize;

use super::fold::RunView;
use super::replay::{first, last, read_but};
use super::{JournalError, JournalLine};
use crate::model::{
    Answer, CheckResult, CommitSeen, CriterionKey, Event, EventKind, Evidence, Finding, Tier,
    Usage, Verdict, VerdictResult,
};

/// A run, as a report needs it.
#[derive(Clone, Debug, Default)]
pub struct Rollup {
    /// Its state.
    pub view: RunView,
    /// The kernel's limits on the agent's commands.
    pub sandbox: Tier,
    /// Its iterations, in their order.
    pub iterations: Vec<IterationRow>,
    /// The guard's denials by rule, the most frequent first.
    pub denials: Vec<DenialRow>,
    /// Its notices, each once.
    pub notices: Vec<String>,
    /// The first line of its journal that could not be read.
    pub damage: Option<String>,
    /// The iteration of each criterion that was judged last, by its place.
    judged: HashMap<CriterionKey, usize>,
}

/// An iteration.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct IterationRow {
    /// Its number.
    pub iteration: u32,
    /// The criterion in focus.
    pub criterion: CriterionKey,
    /// Which attempt it was, from 1.
    pub attempt: u32,
    /// The worker whose turn it was; none in a run with one job.
    pub worker: Option<usize>,
    /// When its turn began.
    pub began: DateTime<Utc>,
    /// When it ended, or when the run was last heard of.
    pub ended: DateTime<Utc>,
    /// The verdict; none if it was cut off.
    pub result: Option<VerdictResult>,
    /// What the judge found.
    pub findings: Vec<Finding>,
    /// The checks of the verdict.
    pub checks: Vec<CheckResult>,
    /// The commits that it was about.
    pub commits: Vec<CommitSeen>,
    /// Calls that the guard denied.
    pub denied: u64,
    /// The failure that cut its turn off.
    pub fault: Option<String>,
    /// What its turns used, where the agent reported it.
    pub usage: Option<Usage>,
}

/// The denials of a rule.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct DenialRow {
    /// The rule.
    pub rule: String,
    /// How often.
    pub count: u64,
    /// The last reason.
    pub reason: String,
}

impl Rollup {
    /// Folds a journal.
    ///
    /// # Errors
    /// [`JournalError::Read`] if the file cannot be read.
    pub fn read(journal: &Path) -> Result<Self, JournalError> {
        let (mut rollup, finished) = (Self::default(), Cell::new(0));
        let skips = |kind: &str| match kind {
            "tool_finished" => {
                finished.set(finished.get() + 1);
                true
            }
            other => matches!(other, "activity" | "check_finished" | "tool_decided"),
        };
        rollup.damage = read_but(journal, skips, |line| {
            match line {
                JournalLine::Event(event) => {
                    rollup.view.calls_finished(finished.take());
                    rollup.apply(&event);
                }
                JournalLine::Unknown { .. } => {}
            }
            ControlFlow::Continue(())
        })?;
        rollup.view.calls_finished(finished.take());
        if let (None, Some(event)) = (&rollup.view.end, last(journal)?) {
            rollup.heard(&event);
        }
        Ok(rollup)
    }

    /// Folds its first and its last event, which tell how it began and ended; all of it if it did
    /// not end.
    ///
    /// # Errors
    /// As [`Rollup::read`].
    pub fn of_ends(journal: &Path) -> Result<Self, JournalError> {
        let end = last(journal)?.filter(|it| matches!(it.kind, EventKind::RunEnded { .. }));
        let Some((start, end)) = first(journal)?.zip(end) else { return Self::read(journal) };
        let mut rollup = Self::default();
        [start, end].iter().for_each(|event| rollup.apply(event));
        Ok(rollup)
    }

    /// The run is alive at this event.
    fn heard(&mut self, event: &Event) {
        if let Some(row) = self.iterations.last_mut().filter(|_| self.view.current.is_some()) {
            row.ended = event.time;
        }
        self.view.last_event = Some((event.seq, event.time));
    }

    /// Takes the next event.
    pub fn apply(&mut self, event: &Event) {
        self.heard(event);
        self.view.apply(event);
        // The view has the rest of what a report says.
        if let EventKind::RunStarted { sandbox, .. } = &event.kind {
            self.sandbox = *sandbox;
        } else if let EventKind::Notice { message } = &event.kind {
            if !passes(message) && !self.notices.contains(message) {
                self.notices.push(message.clone());
            }
        } else if let EventKind::IterationStarted {
            iteration, criterion, attempt, worker, ..
        } = &event.kind
        {
            self.iterations.push(IterationRow {
                iteration: *iteration,
                criterion: criterion.clone(),
                attempt: *attempt,
                worker: *worker,
                began: event.began(),
                ended: event.time,
                ..IterationRow::default()
            });
        } else if let EventKind::ToolDecided { answer: Answer::Deny, rule, reason, .. } =
            &event.kind
        {
            if let Some(row) = self.iterations.last_mut() {
                row.denied += 1;
            }
            self.deny(rule, reason);
        } else if let EventKind::TurnEnded { turn, .. } = &event.kind {
            if let Some(row) = self.iterations.last_mut() {
                row.fault = turn.fault.as_ref().map(|fault| fault.message.clone());
                row.usage = Usage::sum([row.usage, turn.usage]);
            }
        } else if let EventKind::VerdictReached { criterion, evidence, verdict, .. } = &event.kind {
            self.judged(criterion, evidence, verdict);
        }
    }

    fn judged(&mut self, criterion: &CriterionKey, evidence: &Evidence, verdict: &Verdict) {
        // Of each criterion, only the last checks are kept.
        let last = self.iterations.len().saturating_sub(1);
        let earlier = self.judged.insert(criterion.clone(), last);
        if let Some(row) = earlier.and_then(|it| self.iterations.get_mut(it)) {
            row.checks = Vec::new();
        }
        if let Some(row) = self.iterations.last_mut() {
            row.result = Some(verdict.result.clone());
            row.findings.clone_from(&verdict.findings);
            row.checks.clone_from(&evidence.checks);
            row.commits.clone_from(&evidence.commits);
        }
    }

    fn deny(&mut self, rule: &str, reason: &str) {
        let known = self.denials.iter_mut().find(|row| row.rule == rule);
        match known {
            Some(row) => {
                row.count += 1;
                reason.clone_into(&mut row.reason);
            }
            None => {
                let (rule, reason) = (rule.to_owned(), reason.to_owned());
                self.denials.push(DenialRow { rule, count: 1, reason });
            }
        }
        self.denials.sort_by_key(|row| std::cmp::Reverse(row.count));
    }
}

/// How the notices begin that tell only what happens now.
const PASSES: [&str; 3] = ["committing", "judging", "running"];

/// Does a notice tell only what happens now, as in "running every check again"?
fn passes(message: &str) -> bool {
    message.split(' ').next().is_some_and(|word| PASSES.contains(&word))
}

#[cfg(test)]
mod tests {
    use super::passes;

    #[test]
    fn a_notice_of_the_moment_passes_and_what_a_human_should_know_stays() {
        assert!(passes("running every check again in a new proof room"));
        assert!(!passes("watching hooks and agent settings that could widen permissions: .github"));
        assert!(!passes("nothing of the work could be saved"));
    }
}
