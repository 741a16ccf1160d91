//! The order of criteria: those that wait for another one, and those that are skipped since the
//! other one cannot be had.
//!
//! Invariant: pure. Nothing is stored: a retried or accepted criterion frees those after it.

use std::fmt;

use crate::model::{Criterion, CriterionState, CriterionSummary, Task, TaskState};

/// A criterion that is not worked on since an earlier one waits for a human.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Skipped<'t> {
    /// Which.
    pub criterion: &'t Criterion,
    /// The earlier one.
    pub because: &'t Criterion,
    /// What became of that one: `stuck`, `blocked`, or `held for review`.
    pub standing: &'static str,
}

impl fmt::Display for Skipped<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} before it is {}", self.because.key.quoted(), self.standing)
    }
}

/// May the work on a criterion begin: is everything that comes before it done?
pub(super) fn is_ready(criterion: &Criterion, task: &Task, state: &TaskState) -> bool {
    before(criterion, task).all(|it| is_done(it, state))
}

/// The open criteria that are skipped, in the order of the file, each with the nearest reason.
pub fn skipped<'t>(task: &'t Task, state: &TaskState) -> Vec<Skipped<'t>> {
    let open = task.criteria.iter().filter(|it| !it.checked && waits(it, state).is_none());
    open.filter_map(|criterion| {
        let mut next: Vec<&Criterion> = before(criterion, task).collect();
        let mut seen = Vec::new();
        while !next.is_empty() {
            let waits = |it: &&'t Criterion| Some((*it, waits(it, state)?));
            if let Some((because, standing)) = next.iter().find_map(waits) {
                return Some(Skipped { criterion, because, standing });
            }
            let not_done = next.iter().filter(|it| !it.checked);
            let earlier: Vec<&Criterion> = not_done.flat_map(|it| before(it, task)).collect();
            seen.append(&mut next);
            next = earlier.into_iter().filter(|it| !seen.contains(it)).collect();
        }
        None
    })
    .collect()
}

/// Where each criterion of a task stands.
pub fn standings(task: &Task, state: &TaskState) -> Vec<CriterionSummary> {
    let skipped = skipped(task, state);
    let criteria = task.criteria.iter().map(|criterion| {
        let entry = state.find(&criterion.key);
        let skipped = skipped.iter().find(|it| it.criterion.key == criterion.key);
        CriterionSummary {
            line: criterion.line,
            checked: criterion.checked,
            blocked: entry.is_some_and(|entry| entry.blocked),
            blocked_by: entry.and_then(|it| it.is_blocked_by()).map(ToString::to_string),
            held: entry.and_then(|entry| Some(entry.held.as_ref()?.name.clone())),
            skipped: skipped.is_some(),
            reason: entry
                .and_then(|entry| Some(entry.held.as_ref()?.reason.clone()))
                .filter(|reason| !reason.is_empty())
                .or_else(|| skipped.map(ToString::to_string)),
            proof: entry.and_then(|entry| entry.proof),
            attempts: entry.map_or(0, |entry| entry.attempts),
            key: criterion.key.clone(),
        }
    });
    criteria.collect()
}

/// The ticked criteria without a proof that an open one waits for.
pub(super) fn waited_for<'t>(
    criterion: &'t Criterion,
    task: &'t Task,
    state: &TaskState,
) -> impl Iterator<Item = &'t Criterion> {
    before(criterion, task).filter(|it| it.checked && !is_done(it, state))
}

fn before<'t>(criterion: &'t Criterion, task: &'t Task) -> impl Iterator<Item = &'t Criterion> {
    task.criteria.iter().filter(|it| criterion.after.contains(&it.key))
}

/// A tick is a claim: only what is recorded with it counts.
fn is_done(criterion: &Criterion, state: &TaskState) -> bool {
    criterion.checked && state.is_proven(&criterion.key)
}

/// Why a criterion waits for a human, if it does.
pub(super) fn waits(criterion: &Criterion, state: &TaskState) -> Option<&'static str> {
    match state.find(&criterion.key)? {
        _ if is_done(criterion, state) => None,
        CriterionState { held: Some(_), .. } => Some("held for review"),
        CriterionState { blocked: true, .. } if !criterion.checked => Some("stuck"),
        entry if entry.is_blocked_by().is_some() && !criterion.checked => Some("blocked"),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{CriterionKey, HeldWork, Oid, Proof};

    const TASK: &str = "- [ ] a\n  - id: a\n- [ ] b\n  - id: b\n  - after: a\n\
                        - [ ] c\n  - id: c\n  - after: b\n- [ ] d\n  - id: d\n- [ ] e\n  - after: c, d\n";

    fn task(ticked: &[&str]) -> Task {
        let mut text = TASK.to_owned();
        for name in ticked {
            text = text.replace(&format!("[ ] {name}"), &format!("[x] {name}"));
        }
        let task = crate::task::parse("t", text.as_bytes());
        assert_eq!(task.diagnostics, []);
        task
    }

    fn key(text: &str) -> CriterionKey {
        CriterionKey { text: text.to_owned(), occurrence: 0 }
    }

    fn told(task: &Task, state: &TaskState) -> Vec<String> {
        let told = |it: &Skipped<'_>| {
            format!("{} {} {}", it.criterion.key.text, it.because.key.text, it.standing)
        };
        skipped(task, state).iter().map(told).collect()
    }

    #[test]
    fn what_comes_after_a_stuck_or_held_one_is_skipped_and_free_again_later() {
        let mut state = TaskState::default();
        state.entry(&key("a")).blocked = true;
        let all = ["b a stuck", "c a stuck", "e a stuck"];
        assert_eq!(told(&task(&[]), &state), all);
        state.entry(&key("d")).held = Some(HeldWork {
            name: "refs/x".into(),
            commit: Oid::new("1".repeat(40)),
            base: Oid::new("1".repeat(40)),
            reason: String::new(),
        });
        let nearest = ["b a stuck", "c a stuck", "e d held for review"];
        assert_eq!(told(&task(&[]), &state), nearest);
        state.entry(&key("a")).blocked = false;
        assert_eq!(told(&task(&[]), &state), ["e d held for review"]);
        state.entry(&key("d")).proof = Some(Proof::Accepted);
        assert_eq!(told(&task(&["d"]), &state), Vec::<String>::new());
    }
}
