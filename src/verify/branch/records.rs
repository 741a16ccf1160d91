//! The records of a task, from one commit to the next: state.json, guardrails.md, and the titles of
//! the runner's commits.
//!
//! Invariant: pure. A proof never changes, and goes only with its tick.

use super::seen::{Remark, RemarkKind, Seen};
use crate::model::{CriterionKey, Proof, Task, TaskState};
use crate::verify::layout::Layout;

/// Adds remarks about the commit at `at`. `first` is the task as the branch found or added it.
pub(super) fn records(
    before: &Seen,
    now: &Seen,
    at: usize,
    (layout, first): (&Layout, &Task),
    remarks: &mut Vec<Remark>,
) {
    let mut remark = |kind, what: String| remarks.push(Remark { kind, at, what });
    if layout.is_state_message(&now.commit.subject) {
        // The runner's first commit contains the human's prepared files of the task's folder.
        let other = now.commit.changes.iter().find(|it| !it.path.starts_with(layout.folder()));
        if let Some(other) = other {
            let what = format!(
                "has the title of the runner's commits and changes {}",
                other.path.display()
            );
            remark(RemarkKind::Forged, what);
        }
    }
    let (old, new) = (state(before), state(now));
    if let Some(Err(why)) = &now.state {
        remark(RemarkKind::Forged, format!("holds a state.json that is invalid: {why}"));
    } else if let Some(old) = old {
        if new.is_some_and(|new| new.iteration < old.iteration) {
            remark(RemarkKind::Forged, "sets state.json back to an earlier iteration".to_owned());
        }
        for entry in old.criteria.iter().filter(|entry| entry.proof.is_some()) {
            let mut criteria = now.task.iter().flat_map(|task| &task.criteria);
            let is_ticked = criteria.any(|it| it.key == entry.key && it.checked);
            let still = new.and_then(|new| new.find(&entry.key)?.proof);
            // A proof room confirmed a result of the working tree.
            let is_seen = entry.proof == Some(Proof::Tree) && still == Some(Proof::Check);
            // Only the commit is left where the check that proved it is gone.
            let is_less = still == Some(Proof::Commit)
                && now.task.as_ref().is_some_and(|now| !same_checks(first, now, &entry.key));
            if still != entry.proof && !is_seen && !is_less && is_ticked {
                let what = match still {
                    Some(_) => "changes the proof of",
                    None => "removes the proof of",
                };
                remark(RemarkKind::Forged, format!("{what} {}", entry.key.quoted()));
            }
        }
    }
    if let Some(old) = &before.signs {
        let new = now.signs.as_deref().unwrap_or_default();
        if !grew(old, new) {
            remark(RemarkKind::Human, "removes lines of guardrails.md".to_owned());
        }
    }
}

fn state(seen: &Seen) -> Option<&TaskState> {
    seen.state.as_ref()?.as_ref().ok()
}

/// Are all lines of the old text in the new one, in their order?
fn grew(old: &str, new: &str) -> bool {
    let mut new = new.lines();
    old.lines().filter(|line| !line.trim().is_empty()).all(|line| new.any(|other| other == line))
}

/// Do two versions of TASK.md differ in nothing but ticks?
pub(super) fn same_but_ticks(old: &Task, new: &Task) -> bool {
    blank(old) == blank(new)
}

/// The text with every box open.
fn blank(task: &Task) -> Vec<u8> {
    let mut bytes = task.source.as_bytes().to_vec();
    for criterion in &task.criteria {
        if let Some(mark) = bytes.get_mut(criterion.mark) {
            *mark = b' ';
        }
    }
    bytes
}

/// Does a criterion have the same checks in two versions of TASK.md?
pub(super) fn same_checks(old: &Task, new: &Task, key: &CriterionKey) -> bool {
    let checks = |task: &Task| {
        let own = task.criteria.iter().find(|criterion| criterion.key == *key)?;
        Some(own.verify.iter().map(|it| it.command.clone()).collect::<Vec<_>>())
    };
    checks(old) == checks(new)
}
