//! The standing of a criterion in words, for `status` and `check`.

use crate::model::{Criterion, CriterionState, Proof, TaskState};
use crate::report::{count, message};

/// The proof of a criterion. An open box tells of work to do, whatever was proven before.
pub(super) fn proof(criterion: &Criterion, state: &TaskState) -> Option<Proof> {
    state.find(&criterion.key).filter(|_| criterion.checked).and_then(|entry| entry.proof)
}

/// The standing of a criterion, if there is something to say.
pub(super) fn standing(criterion: &Criterion, state: &TaskState) -> Option<String> {
    let entry = state.find(&criterion.key);
    let said = match proof(criterion, state) {
        Some(Proof::Check | Proof::Tree) if has_new_check(criterion, state) => {
            "its check has changed since it was proven; the next run proves it again".to_owned()
        }
        Some(Proof::Check) => "proven by its check".to_owned(),
        Some(Proof::Tree) => "its check passed in the working tree only".to_owned(),
        Some(Proof::Commit) if criterion.verify.is_empty() => {
            "committed without a check".to_owned()
        }
        Some(Proof::Commit) => "committed; its check was not red before the work".to_owned(),
        Some(Proof::Accepted) => "accepted by a human".to_owned(),
        None => match entry {
            Some(CriterionState { held: Some(held), .. }) => {
                format!("held for review: git diff {} {}", held.base.short(), held.name)
            }
            Some(entry) if entry.blocked => {
                format!("stuck after {}", count(entry.attempts.into(), "attempt"))
            }
            Some(entry) if entry.is_blocked_by().is_some() => {
                let why = entry.is_blocked_by().map(ToString::to_string).unwrap_or_default();
                format!("blocked ({})", message(&why))
            }
            Some(entry) if entry.attempts > 0 => count(entry.attempts.into(), "failed attempt"),
            Some(_) | None if criterion.checked => "ticked but not proven".to_owned(),
            Some(_) | None => return None,
        },
    };
    Some(said)
}

/// Why the work on a criterion waits for a human, in one line.
pub(super) fn why_held(criterion: &Criterion, state: &TaskState) -> Option<String> {
    let entry = state.find(&criterion.key).filter(|_| proof(criterion, state).is_none())?;
    let reason = &entry.held.as_ref()?.reason;
    (!reason.is_empty()).then(|| format!("held because: {}", message(reason)))
}

/// Did a human change the check after it proved the criterion? The first run of each check is
/// known, except in a task that never had a baseline.
fn has_new_check(criterion: &Criterion, state: &TaskState) -> bool {
    let is_new = |command: &str| state.first_seen(command).is_none();
    !state.first_seen.is_empty()
        && (criterion.verify.is_empty() || criterion.verify.iter().any(|it| is_new(&it.command)))
}
