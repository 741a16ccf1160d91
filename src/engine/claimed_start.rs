//! The task's start in state.json, if no run on this machine vouches for exactly that, as in a
//! fresh clone or after a pull: it is derived again from the history and with the checks.
//!
//! Invariant: a start that is too late makes an agent's changed tests count as old, and one that is
//! too early makes a human's tests count as new. So a claim that differs from the derived start
//! does not count, and a history with work needs no claim. Claims about history that a shallow
//! clone does not have are kept; a start that it shows to be wrong is not.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::EngineError;
use super::ledger::Ledger;
use super::past_runs::{Resumed, is_of};
use super::proof::{About, ProofDepth};
use super::state;
use crate::events::{find, first, journals};
use crate::model::{
    Checkpoint, CriterionKey, Event, EventKind, FirstSeen, FirstStatus, Oid, Task, TaskState,
    forget_tests,
};
use crate::verify::{
    CheckPhase, FirstWork, GitRepo, Layout, PlannedCheck, STATE, VerifyError, Warmth, first_seen,
    is_work, plan,
};

/// Puts the start, the harness, and earlier work in state.json right.
pub(super) fn derive_start(
    repo: &GitRepo,
    layout: &Layout,
    journals: &[PathBuf],
    resumed: &mut Resumed,
) -> Result<(), EngineError> {
    let mut state = state::load(repo, layout)?.state;
    let claimed = state.start.clone();
    let is_known = |start: &Oid| journals.iter().any(|journal| vouches(journal, layout, start));
    if claimed.as_ref().is_some_and(is_known) {
        return Ok(());
    }
    let Some(start) = shown_start(repo, layout, claimed.as_ref())? else { return Ok(()) };
    let mut wrong = Vec::new();
    match &claimed {
        Some(claimed) if *claimed != start => {
            wrong.push(format!("state.json says that the task began at {}", claimed.short()));
        }
        Some(_) => {}
        None => wrong.push("state.json does not say where the task began".into()),
    }
    if state.harness.take().is_some_and(|harness| repo.files(&harness, &[]).is_ok()) {
        wrong
            .push("state.json names tests and scripts that no run on this machine recorded".into());
    }
    let then = format!(
        ": the history shows that it began at {}, and tests and scripts are compared with that \
         commit",
        start.short()
    );
    resumed.notices.extend(wrong.into_iter().map(|claim| claim + &then));
    for key in without_work(repo, layout, &start, &state)? {
        state.entry(&key).worked = None;
        resumed.notices.push(format!(
            "state.json says that an attempt at {} left work in a commit, but the task has no \
             such commit since it began: it does not count",
            key.quoted()
        ));
    }
    state.start = Some(start);
    if state != state::load(repo, layout)?.state {
        state::write(repo.root(), layout, &state)?;
    }
    Ok(())
}

/// The start of the task in the history; none if the history does not contradict the claim.
fn shown_start(
    repo: &GitRepo,
    layout: &Layout,
    claimed: Option<&Oid>,
) -> Result<Option<Oid>, EngineError> {
    // Newest first; missing commits are older.
    let age = |commit: &Oid| -> Result<usize, VerifyError> {
        Ok(repo.ancestors(None)?.iter().position(|it| it.id == *commit).unwrap_or(usize::MAX))
    };
    match (repo.first_work(layout)?, claimed) {
        (FirstWork::On(commit), _) => Ok(Some(commit)),
        (FirstWork::None, Some(_)) => Ok(Some(repo.checkpoint()?.head)),
        (FirstWork::AtLatest(commit), Some(claimed)) => {
            Ok((age(claimed)? < age(&commit)?).then_some(commit))
        }
        (FirstWork::AtLatest(commit), None) => Ok(Some(commit)),
        (FirstWork::BeforeAll, Some(claimed)) if age(claimed)? < usize::MAX => {
            Err(EngineError::StartIsWork { start: claimed.clone() })
        }
        (FirstWork::None, None) | (FirstWork::BeforeAll | FirstWork::Unknown, _) => Ok(None),
    }
}

/// Did a run of the task get as far as an agent's turn here, and did it know this start?
fn vouches(journal: &Path, layout: &Layout, start: &Oid) -> bool {
    let begun = first(journal).ok().flatten().filter(|event| is_of(layout, event));
    let Some(EventKind::RunStarted { start: known, .. }) = begun.map(|event| event.kind) else {
        return false;
    };
    // A task's first run begins where its first turn does.
    let begins = |event: &Event| match &event.kind {
        EventKind::IterationStarted { checkpoint, .. } => Some(checkpoint.head.clone()),
        _ => None,
    };
    let turn = find(journal, begins).ok().flatten();
    turn.is_some_and(|head| known.unwrap_or(head) == *start)
}

/// Criteria whose earlier work differs from state.json's claim.
fn without_work(
    repo: &GitRepo,
    layout: &Layout,
    start: &Oid,
    state: &TaskState,
) -> Result<Vec<CriterionKey>, VerifyError> {
    let claims = || state.criteria.iter().filter_map(|it| Some((&it.key, it.worked.as_ref()?)));
    if claims().next().is_none() {
        return Ok(Vec::new());
    }
    let from = Checkpoint { head: start.clone(), ..repo.checkpoint()? };
    let since = repo.since(&from, layout)?.commits;
    let mut without = Vec::new();
    for (key, worked) in claims() {
        match since.iter().find(|it| it.id == *worked) {
            Some(commit) if is_work(repo, commit, layout)? => {}
            Some(_) | None => without.push(key.clone()),
        }
    }
    Ok(without)
}

impl Ledger {
    /// Runs the checks at the task's start, if only state.json has their results, and commits the
    /// results that differ from its claims: the next run on this machine believes them.
    pub(super) async fn derive_first_seen(
        &mut self,
        task: &Task,
        tests_changed: bool,
    ) -> Result<(), EngineError> {
        let Some(start) = self.claimed_start()? else { return Ok(()) };
        let planned = plan(task, CheckPhase::Baseline, self.baseline.millis());
        let is_claimed = |check: &PlannedCheck| self.state.first_seen(&check.command).is_some();
        let planned: Vec<PlannedCheck> = planned.into_iter().filter(is_claimed).collect();
        if !planned.is_empty() && self.rooms.is_some() {
            let mut claimed = std::mem::take(&mut self.state.first_seen);
            let checks = Arc::clone(&self.parts.checks);
            let ran = (planned.as_slice(), checks.as_ref());
            let proved = self
                .prove_at(Warmth::Warm, &start, About::task(task, ProofDepth::Quick), ran)
                .await;
            let files = self.parts.repo.files(&start, &[])?;
            let proved = proved?;
            let ran = (proved.checks.as_slice(), proved.wrote.as_slice());
            let derived = first_seen(ran, &files, &self.parts.table);
            for seen in derived {
                let Some(claim) = claimed.iter_mut().find(|it| it.command == seen.command) else {
                    continue;
                };
                if let Some(ended) = softer_than(claim.status, seen.status) {
                    self.notice(&format!(
                        "state.json says otherwise, but before the work `{}` {ended}",
                        seen.command
                    ))?;
                }
                // A claim that makes a proof harder may stay: the test of a check may be there since.
                let status = match (claim.status, seen.status) {
                    (FirstStatus::Green, _) => FirstStatus::Green,
                    (FirstStatus::Red, FirstStatus::Missing) => FirstStatus::Red,
                    (_, derived) => derived,
                };
                *claim = FirstSeen { status, harness: claim.harness.take(), ..seen };
            }
            if tests_changed {
                forget_tests(&mut claimed);
            }
            self.state.first_seen = claimed;
        }
        if self.interrupted().is_none() && self.differs_from_committed()? {
            self.commit_state()?;
        }
        Ok(())
    }

    /// The start, if nothing on this machine vouches for state.json's claim.
    fn claimed_start(&self) -> Result<Option<Oid>, EngineError> {
        let Some(runs) = self.parts.run_folder.parent() else { return Ok(None) };
        let (Some(start), None) = (&self.state.start, &self.start_here) else { return Ok(None) };
        let vouches = |journal: &PathBuf| vouches(journal, &self.parts.layout, start);
        Ok(if journals(runs)?.iter().any(vouches) { None } else { Some(start.clone()) })
    }

    /// Does the committed state.json say something else of the start?
    fn differs_from_committed(&self) -> Result<bool, EngineError> {
        let repo = self.parts.repo.as_ref();
        let head = repo.checkpoint()?.head;
        let held = repo.held(&head, &self.parts.layout.file(STATE))?;
        let held = held.and_then(|held| serde_json::from_slice::<TaskState>(&held).ok());
        let Some(committed) = held else { return Ok(false) };
        let is_here = |harness: &Oid| repo.files(harness, &[]).is_ok();
        let worked = |key| self.state.find(key).and_then(|entry| entry.worked.as_ref());
        let mut entries = committed.criteria.iter();
        Ok(committed.start != self.state.start
            || committed.first_seen != self.state.first_seen
            || committed
                .harness
                .is_some_and(|it| Some(&it) != self.state.harness.as_ref() && is_here(&it))
            || entries.any(|it| it.worked.is_some() && it.worked.as_ref() != worked(&it.key)))
    }
}

/// How a check ended, if a claim makes a proof easier than that.
fn softer_than(claim: FirstStatus, derived: FirstStatus) -> Option<&'static str> {
    match (claim, derived) {
        (FirstStatus::Red | FirstStatus::Missing, FirstStatus::Green) => Some("passes"),
        (FirstStatus::Missing, FirstStatus::Red) => Some("finds a test"),
        (FirstStatus::Green, _)
        | (FirstStatus::Red, FirstStatus::Red | FirstStatus::Missing)
        | (FirstStatus::Missing, FirstStatus::Missing) => None,
    }
}
