//! Proofs in state.json that rest on commits alone, and that no journal on this machine tells of:
//! they are derived again from the history before a run begins.
//!
//! Invariant: an entry in state.json is a claim. Only a commit that changes more than the task's
//! files, between the previous tick and the one of the criterion, proves it. Claims about history
//! that a shallow clone does not have are kept. Criteria with checks are proven again at the run's
//! end (`prove`).

use std::collections::BTreeSet;
use std::path::PathBuf;

use super::EngineError;
use super::past_runs::is_of;
use super::resumed::Resumed;
use super::state;
use super::unjudged::ticked_at;
use crate::events::{first, replay};
use crate::model::{CriterionKey, EventKind, Oid, Proof, TaskState, VerdictResult};
use crate::task;
use crate::verify::{Ancestor, Layout, Repo, STATE, StateFiles, TASK};

/// Takes proofs out of state.json that cannot be derived.
pub(super) fn derive_again(
    repo: &dyn Repo,
    layout: &Layout,
    journals: &[PathBuf],
    resumed: &mut Resumed,
) -> Result<(), EngineError> {
    let mut state = state::load(repo, layout)?.state;
    let claimed = claimed(repo, layout, &state)?;
    if claimed.is_empty() {
        return Ok(());
    }
    let history = History::read(repo, layout, state.start.as_ref())?;
    let mut refused = Vec::new();
    for key in claimed {
        if !history.shows_work(repo, layout, &key)? && !is_in_a_journal(journals, layout, &key)? {
            refused.push(key);
        }
    }
    if refused.is_empty() {
        return Ok(());
    }
    for key in refused {
        state.entry(&key).proof = None;
        resumed.notices.push(format!(
            "state.json says that `{}` is proven, but no commit before its tick changes anything \
             but the task's files: it is not proven",
            key.text
        ));
    }
    state::write(repo.root(), layout, &state)
}

/// The ticked criteria without checks that state.json calls proven.
fn claimed(
    repo: &dyn Repo,
    layout: &Layout,
    state: &TaskState,
) -> Result<Vec<CriterionKey>, EngineError> {
    let files = StateFiles::read(repo.root(), layout)?;
    let Some(bytes) = files.bytes(&layout.file(TASK)) else { return Ok(Vec::new()) };
    let by_commit = |key: &CriterionKey| match state.find(key).and_then(|entry| entry.proof) {
        Some(Proof::Check | Proof::Tree | Proof::Commit) => true,
        // A criterion that a human accepted needs no work in the history.
        Some(Proof::Accepted) | None => false,
    };
    let criteria = task::parse(layout.task(), bytes).criteria.into_iter();
    let claimed = criteria.filter(|it| it.checked && it.verify.is_empty() && by_commit(&it.key));
    Ok(claimed.map(|criterion| criterion.key).collect())
}

/// The commits since a task's start, newest first, with the ticked criteria of each.
struct History {
    commits: Vec<(Ancestor, BTreeSet<CriterionKey>)>,
}

impl History {
    fn read(repo: &dyn Repo, layout: &Layout, start: Option<&Oid>) -> Result<Self, EngineError> {
        let mut commits = Vec::new();
        for commit in repo.ancestors(None)? {
            let is_start = Some(&commit.id) == start;
            let ticked = ticked_at(repo, layout, Some(&commit.id))?;
            commits.push((commit, ticked));
            if is_start {
                break;
            }
        }
        Ok(Self { commits })
    }

    /// Does a commit of the work on a criterion change more than the task's files? Yes, too, if
    /// the history does not reach back to its tick.
    fn shows_work(
        &self,
        repo: &dyn Repo,
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

    /// The commit before an earlier attempt's work, which the tick may rest on.
    fn worked_before(
        &self,
        repo: &dyn Repo,
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
        repo: &dyn Repo,
        layout: &Layout,
        from: &Oid,
        to: &Oid,
    ) -> Result<bool, EngineError> {
        let changes = repo.between(from, to)?;
        Ok(changes.iter().any(|change| !layout.is_state_file(&change.path)))
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
