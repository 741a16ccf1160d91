//! Held work is judged again at the start of a run, because a human may have allowed it.
//!
//! Invariant: no agent works on it, and the same path as a verdict proves it. Work that still needs
//! a review stays held.

use std::sync::Arc;

use super::EngineError;
use super::ledger::{Ledger, NextCommands};
use super::proof::{About, ProofDepth};
use super::stuck::ref_name;
use crate::model::{
    CheckResult, Criterion, CriterionKey, EventKind, HeldWork, Oid, Proof, Record as _, Task,
    TaskState,
};
use crate::task::{self, Tick};
use crate::verify::{
    CheckPhase, PlannedCheck, Proved, TASK, VerifyError, Warmth, may_change, plan, reasons,
};

/// The place of the work that is judged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum WorkSource {
    /// The ref that keeps it.
    Ref,
    /// The branch, with the same content: a human merged it, or a proof at the end held it.
    Merged,
    /// The branch, with other content: a human ticked the criterion.
    Other,
}

/// Lines about held work on criteria that TASK.md no longer has, as after a new wording.
pub fn orphaned_work(task: &Task, state: &TaskState) -> impl Iterator<Item = String> {
    let gone = state.criteria.iter().filter(|entry| task::find(task, &entry.key).is_none());
    gone.filter_map(|entry| {
        let HeldWork { base, name, .. } = entry.held.as_ref()?;
        Some(format!(
            "TASK.md no longer has {}, whose work is held: write it as it was to accept or retry \
             the work, or look at it: git diff {} {name}",
            entry.key.quoted(),
            base.short()
        ))
    })
}

impl Ledger {
    /// Takes held work onto the branch whose checks pass now with the harness put back.
    pub(super) async fn judge_held(&mut self, task: &Task) -> Result<(), EngineError> {
        for line in orphaned_work(task, &self.state) {
            self.notice(&line)?;
        }
        if self.rooms.is_none() {
            return Ok(());
        }
        let held = task.criteria.iter().filter_map(|criterion| {
            let entry = self.state.find(&criterion.key).filter(|entry| entry.proof.is_none())?;
            Some((criterion, entry.held.clone()?))
        });
        for (criterion, held) in held.collect::<Vec<_>>() {
            let key = &criterion.key;
            let source = match self.is_on_branch(key) {
                true => WorkSource::Merged,
                false if criterion.checked => WorkSource::Other,
                false => WorkSource::Ref,
            };
            let repo = &self.parts.repo;
            let commit = match repo.merged(&held, criterion.line, &self.parts.layout) {
                Ok(_) | Err(VerifyError::Conflicts { .. }) if source == WorkSource::Other => {
                    repo.checkpoint()?.head
                }
                Ok(merged) => merged,
                Err(error @ (VerifyError::Conflicts { .. } | VerifyError::NotFetched { .. })) => {
                    let hint = error.hint().unwrap_or_default();
                    self.notice(&format!("{} stays held: {error}; {hint}", key.quoted()))?;
                    continue;
                }
                Err(error) => return Err(error.into()),
            };
            let proved = self.prove_held(task, key, (&held, &commit), source).await?;
            if self.interrupted().is_some() {
                return Ok(());
            }
            match (self.is_proven(&proved, key), source) {
                // The proof at the end proves the tick.
                (true, WorkSource::Other) => self.state.entry(key).held = None,
                (true, WorkSource::Ref | WorkSource::Merged) => {
                    self.take_held(key, &held, &commit, &proved)?;
                }
                (false, _) => self.tell_still_held(criterion, &proved, source)?,
            }
        }
        Ok(())
    }

    fn tell_still_held(
        &self,
        Criterion { key, line, .. }: &Criterion,
        proved: &Proved,
        source: WorkSource,
    ) -> Result<(), EngineError> {
        let NextCommands { accept, retry, .. } = &self.parts.commands;
        let (at, way_out) = match source {
            WorkSource::Ref => ("with the held work", String::new()),
            WorkSource::Merged => (
                "with the held work",
                format!("; the work is on this branch; to take it as it is: {accept} {line}"),
            ),
            WorkSource::Other => (
                "on this branch",
                format!(
                    "; the box is ticked, but the branch has other work than the held one; to let \
                     it count, drop the held one: {retry} {line}"
                ),
            ),
        };
        let why = reasons(proved, key, at).into_iter().next();
        let why = why.or_else(|| self.why_not(proved)).unwrap_or_default();
        self.notice(&format!("{} stays held: {why}{way_out}", key.quoted()))
    }

    /// Is held work on the branch, with the tests that it changes? A human merged it, or a proof at
    /// the end held it.
    fn is_on_branch(&self, key: &CriterionKey) -> bool {
        let entry = self.state.find(key).filter(|entry| entry.proof.is_none());
        let Some(held) = entry.and_then(|entry| entry.held.as_ref()) else { return false };
        // A clone may not have the work.
        self.parts.repo.has_merged(held, &self.parts.layout).unwrap_or(false)
    }

    /// It has its own checks and they hold, and those of the whole task are no worse than before.
    fn is_proven(&self, proved: &Proved, key: &CriterionKey) -> bool {
        let with_old = proved.put_back.iter().flat_map(|run| &run.checks);
        let mut all = proved.checks.iter().chain(with_old);
        proved.checks.iter().any(|check| check.criteria.contains(key))
            && reasons(proved, key, "").is_empty()
            && all.all(|check| check.passed() || !check.whole_task || self.is_no_worse(check))
    }

    /// The check of the whole task that stands in the way.
    fn why_not(&self, proved: &Proved) -> Option<String> {
        let fails =
            |check: &&CheckResult| check.whole_task && !check.passed() && !self.is_no_worse(check);
        if let Some(check) = proved.checks.iter().find(fails) {
            return Some(format!("`{}`, which checks the whole task, fails", check.command));
        }
        let check = proved.put_back.iter().flat_map(|run| &run.checks).find(fails)?;
        Some(format!(
            "`{}`, which checks the whole task, fails with tests, scripts, and configuration as \
             they were",
            check.command
        ))
    }

    async fn prove_held(
        &mut self,
        task: &Task,
        key: &CriterionKey,
        (held, commit): (&HeldWork, &Oid),
        source: WorkSource,
    ) -> Result<Proved, EngineError> {
        let everything = plan(task, CheckPhase::Baseline, self.baseline.millis());
        let planned: Vec<PlannedCheck> = everything
            .into_iter()
            .filter(|it| it.criteria.contains(key) || it.whole_task)
            .collect();
        self.notice(&format!("judging the held work on {} again", key.quoted()))?;
        let checks = Arc::clone(&self.parts.checks);
        let harness = match self.harness() {
            // A human who brought the work changed the harness with it.
            Some(harness) if source != WorkSource::Ref => {
                let repo = self.parts.repo.as_ref();
                let changes = repo.between(&held.base, &held.commit)?.into_iter();
                let paths: Vec<_> = changes.map(|change| change.path).collect();
                Some(repo.laid_over(harness, &held.base, &paths)?)
            }
            harness => harness.cloned(),
        };
        let to_run = (planned.as_slice(), checks.as_ref());
        let about = About::work(task, (key, &held.base), ProofDepth::Focus);
        let proved =
            self.prove_against(harness.as_ref(), (Warmth::Warm, commit), about, to_run).await?;
        self.take_holdouts(&proved)?;
        self.holdout_error().map_or(Ok(proved), Err)
    }

    /// Holds a criterion whose check fails with the old harness at the end. Its commits stay on the
    /// branch, since later work may rest on them.
    pub(super) fn hold_at_end(&mut self, key: &CriterionKey, why: &str) -> Result<(), EngineError> {
        let kept = self.keep_for_review(key)?;
        let since = [self.passed_from.get(key), self.state.start.as_ref()];
        let base = since.into_iter().flatten().next().unwrap_or(&kept.1).clone();
        self.notice(&format!("held for review: {why}"))?;
        self.wait_for_review(key, kept, base, why)
    }

    /// Keeps the work so far on a criterion. Returns the ref and its commit.
    pub(super) fn keep_for_review(&self, key: &CriterionKey) -> Result<(String, Oid), EngineError> {
        let repo = self.parts.repo.as_ref();
        let name = self.parts.layout.held_ref(&ref_name(key));
        let commit = repo.checkpoint()?.head;
        repo.keep(&name, &commit)?;
        Ok((name, commit))
    }

    /// Records that the kept work on a criterion waits for a human.
    pub(super) fn wait_for_review(
        &mut self,
        key: &CriterionKey,
        (name, commit): (String, Oid),
        base: Oid,
        why: &str,
    ) -> Result<(), EngineError> {
        let reason = self.parts.gate.redactor().redact_str(why).into_owned();
        self.state.entry(key).held = Some(HeldWork { name: name.clone(), commit, base, reason });
        let (criterion, reason) = (key.clone(), why.to_owned());
        self.parts.events.record(EventKind::CriterionHeld { criterion, kept: name, reason })?;
        Ok(())
    }

    fn take_held(
        &mut self,
        key: &CriterionKey,
        held: &HeldWork,
        merged: &Oid,
        proved: &Proved,
    ) -> Result<(), EngineError> {
        let task = self.task()?;
        let Some(criterion) = task::find(&task, key) else { return Ok(()) };
        let ticked = task::tick(task.source.as_bytes(), criterion.mark, Tick::Done)?;
        let parts = &self.parts;
        let branch = &parts.preflight.checkpoint.branch;
        let message = format!("{}[{}] - work that was held", parts.layout.prefix(), key.text);
        let files = [(parts.layout.file(TASK), ticked)];
        parts.repo.land((branch, merged), [&files, &[]], &message, &parts.identity)?;
        let may_change = may_change(&task, Some(key))?;
        self.learn_harness(merged, proved.put_back.as_ref(), &proved.checks, &may_change)?;
        let entry = self.state.entry(key);
        (entry.held, entry.proof) = (None, Some(Proof::Check));
        self.passed_since_proof = true;
        self.proven_since_commit.push((key.clone(), Proof::Check));
        self.notice(&format!("{} is proven by the work kept in {}", key.quoted(), held.name))?;
        self.commit_state()?;
        self.last_head = Some(self.parts.repo.checkpoint()?.head);
        Ok(())
    }
}
