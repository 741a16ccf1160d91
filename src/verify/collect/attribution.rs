//! Who changed the task's files during a turn: the agent, or a human who works beside it.
//!
//! Invariant: if a call ran without a decision, every change is the agent's.

use std::path::Path;

use super::{Seen, compared, grown};
use crate::model::{Attribution, SignsChange, TaskEdit, TaskFileChange};
use crate::verify::{GUARDRAILS, StateFiles, TASK};

impl Seen<'_> {
    /// Did a call or a commit of the agent change a path? If calls ran without a decision, their
    /// writes are unknown, so the agent did.
    fn by_agent(&self, path: &Path) -> bool {
        let absolute = self.repo.root().join(path);
        !self.inputs.undecided.is_empty()
            || self.inputs.writes.contains(&absolute)
            || self.commits.iter().flat_map(|c| &c.paths).any(|change| change.path == path)
    }

    /// Did a human edit TASK.md while the agent only ticked, so that the agent's commit contains
    /// the human's edit? The guard saw the agent's own edits, so other changes are the human's,
    /// unless a command ran.
    fn by_human_too(&self) -> bool {
        let ticks_only = |edit: &TaskEdit| {
            let change = (self.inputs.compare)(&edit.before, &edit.after, Attribution::Agent);
            change.others_ticked.is_empty()
                && change.unticked.is_empty()
                && change.removed.is_empty()
                && change.added.is_empty()
                && !change.verify_changed
                && !change.text_changed
                && change.unreadable.is_none()
        };
        let edits = self.inputs.edits;
        self.inputs.undecided.is_empty()
            && edits.iter().filter(|edit| edit.unseen).all(ticks_only)
            && edits.iter().any(|edit| !edit.unseen && !ticks_only(edit))
    }

    /// The change to TASK.md, and who made it.
    pub(super) fn task_file(&self, now: &StateFiles) -> TaskFileChange {
        let path = self.inputs.layout.file(TASK);
        let same = self.inputs.state.prints().get(&path) == now.prints().get(&path);
        let by = match (same, self.by_agent(&path) && !self.by_human_too()) {
            (true, _) => Attribution::Unchanged,
            (false, true) => Attribution::Agent,
            (false, false) => Attribution::Human,
        };
        compared(self.inputs.compare, self.inputs.state, now, &path, by)
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
