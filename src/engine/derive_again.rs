//! Proofs in state.json that no check tells of: what rests on commits alone or on a human's word
//! is derived again from the history before a run begins, and an open criterion has no proof.
//!
//! Invariant: an entry in state.json is a claim. Only a commit that changes the content of more than
//! the task's files, between the previous tick and the one of the criterion, proves it, or one that
//! says who accepted it. Claims about history that a shallow clone does not have are kept. Criteria with
//! checks are proven again at the run's end (`prove`).

use std::collections::BTreeSet;
use std::path::PathBuf;

use super::EngineError;
use super::past_runs::{Resumed, is_of};
use super::state;
use super::unjudged::ticked_at;
use crate::events::{first, replay};
use crate::model::{
    Criterion, CriterionKey, EventKind, Oid, Proof, TaskState, VerdictResult, one_line,
};
use crate::task;
use crate::verify::{Ancestor, GitRepo, Layout, STATE, StateFiles, TASK};

/// Takes proofs out of state.json that cannot be derived.
pub(super) fn derive_again(
    repo: &GitRepo,
    layout: &Layout,
    journals: &[PathBuf],
    resumed: &mut Resumed,
) -> Result<(), EngineError> {
    let mut state = state::load(repo, layout)?.state;
    let before = state.clone();
    let files = StateFiles::read(repo.root(), layout)?;
    let Some(bytes) = files.bytes(&layout.file(TASK)) else { return Ok(()) };
    let criteria = task::parse(layout.task(), bytes).criteria;
    let mut notices = Vec::new();
    for criterion in criteria.iter().filter(|it| !it.checked) {
        let key = &criterion.key;
        if state.is_proven(key) {
            let entry = state.entry(key);
            (entry.proof, entry.attempts, entry.blocked) = (None, 0, false);
            entry.blocked_by = None;
            notices.push(format!(
                "{} is open again, as its box is no longer ticked: its attempts start anew",
                key.quoted()
            ));
        }
    }
    let claimed = criteria.iter().filter_map(|it| Some((it, claim(it, &state)?)));
    let claimed: Vec<(&Criterion, Claim)> = claimed.filter(|(it, _)| it.checked).collect();
    if !claimed.is_empty() {
        let history = History::read(repo, layout, state.start.as_ref())?;
        for (Criterion { key, verify, .. }, claim) in claimed {
            let (is_shown, why) = match claim {
                Claim::Work => (
                    history.shows_work(repo, layout, key)?
                        || is_in_a_journal(journals, layout, key)?,
                    "is done, but no commit before its tick changes more than the task's files, \
                     white space, line endings, or file modes",
                ),
                Claim::Acceptance => (
                    history.shows_acceptance(key),
                    "was accepted, but no commit since the task's start says who accepted it",
                ),
            };
            if !is_shown {
                state.entry(key).proof = None;
                notices
                    .push(format!("state.json says that {} {why}: it is not proven", key.quoted()));
                continue;
            }
            let entry = state.entry(key);
            if verify.is_empty() && matches!(entry.proof, Some(Proof::Check | Proof::Tree)) {
                entry.proof = Some(Proof::Commit);
                notices.push(format!(
                    "{} has no check any more: it counts as committed, not as proven",
                    key.quoted()
                ));
            }
        }
    }
    resumed.notices.append(&mut notices);
    if state == before {
        return Ok(());
    }
    state::write(repo.root(), layout, &state)
}

/// What state.json says of a criterion.
enum Claim {
    /// Commits speak for it.
    Work,
    /// A human accepted it.
    Acceptance,
}

/// What a proof that no check tells of rests on.
fn claim(criterion: &Criterion, state: &TaskState) -> Option<Claim> {
    match state.find(&criterion.key)?.proof? {
        Proof::Accepted => Some(Claim::Acceptance),
        Proof::Check | Proof::Tree | Proof::Commit => {
            criterion.verify.is_empty().then_some(Claim::Work)
        }
    }
}

/// The commits since a task's start, newest first, with the ticked criteria of each.
struct History {
    commits: Vec<(Ancestor, BTreeSet<CriterionKey>)>,
    /// Does it reach back to the start?
    is_whole: bool,
}

impl History {
    fn read(repo: &GitRepo, layout: &Layout, start: Option<&Oid>) -> Result<Self, EngineError> {
        let (mut commits, mut is_whole) = (Vec::new(), false);
        for commit in repo.ancestors(None)? {
            is_whole = Some(&commit.id) == start;
            let ticked = ticked_at(repo, layout, Some(&commit.id))?;
            commits.push((commit, ticked));
            if is_whole {
                break;
            }
        }
        Ok(Self { commits, is_whole })
    }

    /// Does a commit of the work on a criterion change more than the task's files? Yes, too, if
    /// the history does not reach back to its tick.
    fn shows_work(
        &self,
        repo: &GitRepo,
        layout: &Layout,
        key: &CriterionKey,
    ) -> Result<bool, EngineError> {
        let commits = &self.commits;
        let open = commits.iter().position(|(_, ticked)| !ticked.contains(key));
        let (Some(before), Some((oldest, _))) = (open, commits.last()) else { return Ok(true) };
        // A tick that is not committed yet belongs to HEAD.
        let at = &commits[before.saturating_sub(1)].0.id;
        if let Some(from) = self.worked_before(repo, layout, key, before)? {
            return self.changes(repo, layout, &from, at);
        }
        let ticks = |newer: usize| commits[newer + 1].1.len() < commits[newer].1.len();
        let from = (before..commits.len() - 1).find(|newer| ticks(*newer));
        let from = from.map_or(&oldest.id, |newer| &commits[newer].0.id);
        self.changes(repo, layout, from, at)
    }

    /// Does a commit say that a human accepted the work on a criterion? Yes, too, if the history
    /// does not reach back to where the task began.
    fn shows_acceptance(&self, key: &CriterionKey) -> bool {
        let line = one_line(&key.text);
        let says = |commit: &Ancestor, name: &str, value: &str| {
            commit.trailers.iter().any(|(key, other)| key == name && other == value)
        };
        let accepts = |(commit, _): &(Ancestor, _)| {
            says(commit, "Ralph-Proof", "accepted") && says(commit, "Ralph-Criterion", &line)
        };
        !self.is_whole || self.commits.iter().any(accepts)
    }

    /// The commit before an earlier attempt's work, which the tick may rest on.
    fn worked_before(
        &self,
        repo: &GitRepo,
        layout: &Layout,
        key: &CriterionKey,
        before: usize,
    ) -> Result<Option<Oid>, EngineError> {
        let held = repo.held(&self.commits[before].0.id, &layout.file(STATE))?;
        let state = held.and_then(|held| serde_json::from_slice::<TaskState>(&held).ok());
        let worked = state.and_then(|state| state.find(key)?.worked.clone());
        let commit = self.commits.iter().find(|(commit, _)| Some(&commit.id) == worked.as_ref());
        Ok(commit.and_then(|(commit, _)| commit.parent.clone()))
    }

    fn changes(
        &self,
        repo: &GitRepo,
        layout: &Layout,
        from: &Oid,
        to: &Oid,
    ) -> Result<bool, EngineError> {
        Ok(repo.changes_content(Some(from), to, layout)?)
    }
}

/// Did a run on this machine come to a verdict that proves it?
fn is_in_a_journal(
    journals: &[PathBuf],
    layout: &Layout,
    key: &CriterionKey,
) -> Result<bool, EngineError> {
    for journal in journals {
        if !first(journal).ok().flatten().is_some_and(|event| is_of(layout, &event)) {
            continue;
        }
        let mut passed = false;
        replay(journal, |event| {
            passed |= matches!(&event.kind, EventKind::VerdictReached { criterion, verdict, .. }
                if criterion == key && matches!(verdict.result, VerdictResult::Pass(_)));
        })?;
        if passed {
            return Ok(true);
        }
    }
    Ok(false)
}
