//! Held work is judged again at the start of a run, because a human may have allowed it.
//!
//! Invariant: no agent works on it, and the same path as a verdict proves it. Work that still needs
//! a review stays held.

use std::sync::Arc;

use super::EngineError;
use super::finish::argument;
use super::run::Run;
use crate::model::{CheckResult, CriterionKey, HeldWork, Oid, Proof, Task};
use crate::task::{self, Tick};
use crate::verify::{
    CheckPhase, PlannedCheck, Proved, TASK, VerifyError, Warmth, may_change, plan, reasons,
};

impl Run {
    /// Takes held work onto the branch whose checks pass now with the harness put back.
    pub(super) async fn judge_held(&mut self, task: &Task) -> Result<(), EngineError> {
        let by_hand = task.criteria.iter().map(|it| &it.key);
        let by_hand: Vec<CriterionKey> =
            by_hand.filter(|key| self.is_merged_by_hand(key)).cloned().collect();
        for CriterionKey { text, .. } in &by_hand {
            let accept = &self.parts.commands.accept;
            self.notice(&format!(
                "the held work on `{text}` is on this branch, but no check proves it, since its \
                 tests came with it; take it: {accept} {}",
                argument(text)
            ))?;
        }
        if self.rooms.is_none() {
            return Ok(());
        }
        let open = task.criteria.iter().filter(|criterion| !criterion.checked);
        let held = open.filter_map(|criterion| {
            let held = self.state.find(&criterion.key)?.held.clone()?;
            (!by_hand.contains(&criterion.key)).then(|| (criterion.key.clone(), held))
        });
        for (key, held) in held.collect::<Vec<_>>() {
            let merged = match self.parts.repo.merged(&held, &self.parts.layout) {
                Ok(merged) => merged,
                Err(error @ (VerifyError::Conflicts { .. } | VerifyError::NotFetched { .. })) => {
                    let hint = error.hint().unwrap_or_default();
                    self.notice(&format!("`{}` stays held: {error}; {hint}", key.text))?;
                    continue;
                }
                Err(error) => return Err(error.into()),
            };
            let proved = self.prove_held(task, &key, &merged).await?;
            if self.interrupted().is_some() {
                return Ok(());
            }
            if self.is_proven(&proved, &key) {
                self.take_held(&key, &held, &merged, &proved)?;
            } else {
                let why = reasons(&proved, &key, "with the held work").into_iter().next();
                let why = why.or_else(|| self.why_not(&proved)).unwrap_or_default();
                self.notice(&format!("`{}` stays held: {why}", key.text))?;
            }
        }
        Ok(())
    }

    /// Did a human bring held work onto the branch, and with it the tests that it changes?
    pub(super) fn is_merged_by_hand(&self, key: &CriterionKey) -> bool {
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
        merged: &Oid,
    ) -> Result<Proved, EngineError> {
        let everything = plan(task, CheckPhase::Baseline, self.baseline.millis());
        let planned: Vec<PlannedCheck> = everything
            .into_iter()
            .filter(|it| it.criteria.contains(key) || it.whole_task)
            .collect();
        self.notice(&format!("judging the held work on `{}` again", key.text))?;
        let checks = Arc::clone(&self.parts.checks);
        self.prove_at(Warmth::Warm, merged, (task, Some(key)), (&planned, checks.as_ref())).await
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
        parts.repo.land((branch, merged), &files, &message, &parts.identity)?;
        let may_change = may_change(&task, Some(key))?;
        self.learn_harness(merged, proved.put_back.as_ref(), &proved.checks, &may_change)?;
        let entry = self.state.entry(key);
        (entry.held, entry.proof) = (None, Some(Proof::Check));
        self.passed_since_proof = true;
        self.proven_since_commit.push((key.clone(), Proof::Check));
        self.notice(&format!("`{}` is proven by the work kept in {}", key.text, held.name))?;
        self.commit_state()?;
        self.last_head = Some(self.parts.repo.checkpoint()?.head);
        Ok(())
    }
}
