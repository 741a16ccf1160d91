//! The claims of a branch's commits about a task.
//!
//! Invariant: pure. Only the last tick of a criterion counts, so that second attempts pass.

use super::records::{records, same_but_ticks};
use super::seen::{Remark, RemarkKind, Seen};
use crate::model::{Criterion, CriterionKey, Oid, Proof, Task};
use crate::verify::layout::{Layout, STATE, TASK};

/// A criterion that is ticked at the head and was not at the start.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TickClaim {
    /// The criterion.
    pub key: CriterionKey,
    /// The commit that ticks it, by its place in the branch.
    pub at: usize,
    /// The commit where the work on it may have begun: the tick before, or the start.
    pub from: usize,
    /// The proof that the head's state.json claims.
    pub claimed: Option<Proof>,
}

/// The claims of a branch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Claims {
    /// The commit whose TASK.md counts.
    pub rules: usize,
    /// The commit before the work: checks must be red there, and its tests count.
    pub start: usize,
    /// The ticks, in the order of their commits.
    pub ticks: Vec<TickClaim>,
    /// Criteria that were ticked at the start already.
    pub before: Vec<CriterionKey>,
    /// Remarks.
    pub remarks: Vec<Remark>,
}

/// The claims of the commits, the base first; `None` if none of them has the task. With
/// `allow_accepted`, the TASK.md of the head counts. `same_form` says whether two versions of it
/// differ in nothing but ticks and the form of their Markdown, which a commit hook may change.
pub fn claims(
    seen: &[Seen],
    layout: &Layout,
    allow_accepted: bool,
    same_form: fn(&str, &str) -> bool,
) -> Option<Claims> {
    let added = seen.iter().position(|seen| seen.task.is_some())?;
    let first = seen[added].task.as_ref()?;
    let mut remarks = Vec::new();
    // A commit that adds the task with ticks in it holds the work, too.
    let holds_work = added > 0 && first.criteria.iter().any(|criterion| criterion.checked);
    let start = if holds_work { added - 1 } else { added };
    if added > 0 {
        let (kind, what) = (RemarkKind::Listed, "adds the task".to_owned());
        remarks.push(Remark { kind, at: added, what });
    }
    let head = seen.last()?.task.as_ref();
    let rules = match head {
        Some(_) if allow_accepted => seen.len() - 1,
        _ => added,
    };
    let is_as_added = head.is_some_and(|head| same_but_ticks(first, head));
    let edit = |at: usize, what: &str| match is_as_added {
        true => {
            let what = format!("{what}, which a later commit takes back");
            Remark { kind: RemarkKind::Listed, at, what }
        }
        false => human(at, what),
    };
    for at in added.max(1)..seen.len() {
        let (before, now) = (&seen[at - 1], &seen[at]);
        if let Some(old) = &before.task {
            match &now.task {
                Some(new) if same_but_ticks(old, new) || same_form(&old.source, &new.source) => {}
                Some(_) => remarks.push(edit(at, "changes TASK.md beyond ticks")),
                None => remarks.push(edit(at, "removes TASK.md")),
            }
        }
        records(before, now, at, (layout, first), &mut remarks);
    }
    let ticks = ticks(seen, start, added);
    let head_state = seen.last().and_then(|seen| seen.state.as_ref()?.as_ref().ok());
    let mut found: Vec<TickClaim> = Vec::new();
    let checked = |task: &Task, key: &CriterionKey| {
        task.criteria.iter().any(|criterion| criterion.key == *key && criterion.checked)
    };
    for (key, at) in &ticks {
        let is_last = !ticks.iter().any(|(other, later)| other == key && later > at);
        if !is_last || !head.is_some_and(|task| checked(task, key)) {
            continue;
        }
        let before = ticks.iter().map(|(_, other)| *other).filter(|other| other < at).max();
        let claimed = head_state.and_then(|state| state.find(key)?.proof);
        found.push(TickClaim { key: key.clone(), at: *at, from: before.unwrap_or(start), claimed });
    }
    for tick in found.iter().filter(|tick| tick.claimed == Some(Proof::Accepted)) {
        let what = format!("takes {} without proof: accepted by hand", tick.key.quoted());
        remarks.push(human(tick.at, &what));
    }
    let open = head.iter().flat_map(|task| &task.criteria).filter(|criterion| !criterion.checked);
    for Criterion { key, .. } in open {
        if head_state.and_then(|state| state.find(key)?.proof).is_some() {
            let files = [layout.file(STATE), layout.file(TASK)];
            let changes =
                |seen: &Seen| seen.commit.changes.iter().any(|it| files.contains(&it.path));
            let at = seen.iter().rposition(changes).unwrap_or(0);
            let what = format!("has a proof of {} in state.json and an open box", key.quoted());
            remarks.push(Remark { kind: RemarkKind::Listed, at, what });
        }
    }
    let ticked = first.criteria.iter().filter(|criterion| criterion.checked && !holds_work);
    let before = ticked.map(|criterion| criterion.key.clone()).collect();
    Some(Claims { rules, start, ticks: found, before, remarks })
}

impl Claims {
    /// The commit before the work.
    pub fn start_commit<'a>(&self, seen: &'a [Seen]) -> &'a Oid {
        &seen[self.start].commit.id
    }
}

fn human(at: usize, what: &str) -> Remark {
    Remark { kind: RemarkKind::Human, at, what: what.to_owned() }
}

/// Every tick that a commit sets, with its commit.
fn ticks(seen: &[Seen], start: usize, added: usize) -> Vec<(CriterionKey, usize)> {
    let checked = |task: Option<&Task>| -> Vec<CriterionKey> {
        let criteria = task.iter().flat_map(|task| &task.criteria);
        criteria.filter(|criterion| criterion.checked).map(|it| it.key.clone()).collect()
    };
    let mut found = Vec::new();
    for at in (start + 1).max(added)..seen.len() {
        let before = checked(seen[at - 1].task.as_ref());
        let now = checked(seen[at].task.as_ref());
        if at == start {
            continue;
        }
        found.extend(now.into_iter().filter(|key| !before.contains(key)).map(|key| (key, at)));
    }
    found
}
