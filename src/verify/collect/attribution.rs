//! Who changed the task's files during a turn: the agent, or a human who works beside it.
//!
//! Invariant: if a call ran without a decision, every change is the agent's. A change beyond the tick
//! is a human's only if no command of the agent can have made it.

use std::path::Path;

use super::{Seen, compared, grown};
use crate::model::{Attribution, SignsChange, TaskEdit, TaskFileChange};
use crate::verify::{GUARDRAILS, StateFiles, TASK};

impl Seen<'_> {
    /// Did a call or a commit of the agent change a path? If calls ran without a decision, their
    /// writes are unknown, so the agent did. If its commands cannot write the file, its commit may
    /// contain a human's changes.
    pub(super) fn by_agent(&self, path: &Path) -> bool {
        let absolute = self.repo.root().join(path);
        let commits = self.commits.iter().filter(|_| !self.inputs.sealed);
        !self.inputs.undecided.is_empty()
            || self.inputs.writes.contains(&absolute)
            || commits.flat_map(|commit| &commit.paths).any(|change| change.path == path)
    }

    /// The change to TASK.md, and its author. Compares the file before and now, whatever commits
    /// say.
    pub(super) fn task_file(&self, now: &StateFiles) -> TaskFileChange {
        let path = self.inputs.layout.file(TASK);
        let same = self.inputs.state.prints().get(&path) == now.prints().get(&path);
        let by = if same { Attribution::Unchanged } else { self.author(&path) };
        compared(self.inputs.compare, self.inputs.state, now, &path, by)
    }

    fn author(&self, path: &Path) -> Attribution {
        let inputs = self.inputs;
        let beyond = |edit: &TaskEdit| {
            (inputs.compare)(&edit.before, &edit.after, Attribution::Agent).is_beyond_tick()
        };
        // The guard denies the agent's own edits but the tick.
        let more_than_a_tick = inputs.edits.iter().any(beyond);
        let all_unseen = inputs.edits.iter().all(|edit| edit.unseen);
        let unseen_and_beyond = inputs.edits.iter().any(|edit| edit.unseen && beyond(edit));
        if !inputs.undecided.is_empty() {
            Attribution::Agent
        } else if !inputs.sealed && (all_unseen || unseen_and_beyond) {
            Attribution::Unknown
        } else if more_than_a_tick || !self.by_agent(path) {
            Attribution::Human
        } else {
            Attribution::Agent
        }
    }

    /// The change to guardrails.md: only a human may append to it.
    pub(super) fn guardrails(&self, now: &StateFiles) -> SignsChange {
        let path = self.inputs.layout.file(GUARDRAILS);
        let (before, after) = (self.inputs.state.prints().get(&path), now.prints().get(&path));
        if before == after {
            SignsChange::Unchanged
        } else if !self.by_agent(&path) && grown(self.inputs.state, now, &path).is_some() {
            SignsChange::AppendedByHuman
        } else {
            SignsChange::Rewritten
        }
    }
}
