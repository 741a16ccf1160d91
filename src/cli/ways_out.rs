//! The options of a human for a criterion that a run leaves open, for `status` and `check`.

use std::path::Path;

use super::command_names::{accept_command, tick_command};
use super::context::TaskContext;
use crate::model::{CheckResult, Criterion, CriterionState, TaskState};

/// The known facts about the criteria of a task.
pub(super) struct WaysOut<'a> {
    directory: Option<&'a Path>,
    at: &'a TaskContext,
    state: &'a TaskState,
    /// The results of the verify commands before any work of the newest run.
    before: Vec<CheckResult>,
}

impl<'a> WaysOut<'a> {
    /// From the task's state, and the checks before any work of its newest run.
    pub(super) fn new(
        directory: Option<&'a Path>,
        at: &'a TaskContext,
        state: &'a TaskState,
        before: Option<Vec<CheckResult>>,
    ) -> Self {
        Self { directory, at, state, before: before.unwrap_or_default() }
    }

    /// A line for a criterion, if there is something to say.
    pub(super) fn of(&self, criterion: &Criterion) -> Option<String> {
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
