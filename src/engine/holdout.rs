//! The hold-out checks of a run: tried before any work, and told to the human alone.
//!
//! Invariant: what they run and print goes to one file outside of the agent's reach, and nowhere
//! else.

use std::path::Path;
use std::sync::Arc;

use super::EngineError;
use super::ledger::{HoldOut, Ledger};
use super::proof::{About, ProofDepth};
use super::prove::end_left_behind;
use super::run::Run;
use crate::model::{CheckStatus, CriterionKey, Task};
use crate::verify::{Proved, SourceTree as _, Warmth, log_hold_out};

impl Run {
    /// Stops the agent before the hold-out checks of a criterion: what the code under test learns
    /// there, it could tell a process of the agent, by locks on files that both see.
    pub(super) async fn stop_before_holdouts(&mut self, key: &CriterionKey) {
        let holdout = self.ledger.parts.holdout.as_ref();
        if holdout.is_some_and(|it| it.checks.has(key)) {
            self.worker.stop_agent().await;
            end_left_behind().await;
        }
    }
}

impl Ledger {
    /// The criteria whose hold-out checks belong to a proof.
    pub(super) fn held_back(&self, about: &About<'_>) -> Vec<CriterionKey> {
        let Some(HoldOut { checks, .. }) = &self.parts.holdout else { return Vec::new() };
        let criteria = about.task.criteria.iter().filter(|it| match about.depth {
            ProofDepth::Quick => false,
            ProofDepth::Focus => about.focus == Some(&it.key),
            ProofDepth::Unproven => it.checked,
            ProofDepth::HoldOuts => !it.checked,
        });
        criteria.map(|it| it.key.clone()).filter(|key| checks.has(key)).collect()
    }

    /// Runs the hold-out checks of open criteria on the task's start: those that pass there prove
    /// nothing, and one that cannot run ends the run.
    pub(super) async fn try_holdouts(&mut self, task: &Task) -> Result<(), EngineError> {
        let about = About::task(task, ProofDepth::HoldOuts);
        if self.held_back(&about).is_empty() {
            return Ok(());
        }
        let repo = Arc::clone(&self.parts.repo);
        let head = repo.checkpoint()?.head;
        // A shallow clone may lack the start.
        let start = self.state.start.clone().filter(|start| repo.files(start, &[]).is_ok());
        let start = start.unwrap_or(head);
        let checks = Arc::clone(&self.parts.checks);
        let proved = self.prove_at(Warmth::Warm, &start, about, (&[], checks.as_ref())).await?;
        if self.interrupted().is_some() {
            return Ok(());
        }
        let files = repo.files(&start, &[])?;
        let is_there = |path: &Path| files.paths().contains_key(path);
        let Some(HoldOut { checks, log }) = &mut self.parts.holdout else { return Ok(()) };
        match checks.tried(&proved.held_back, task, is_there) {
            Ok(told) => told.iter().try_for_each(|line| self.notice(line)),
            Err((ran, what)) => {
                log_hold_out(log, "before any work", ran)?;
                Err(EngineError::HoldOut { what, log: log.clone() })
            }
        }
    }

    /// Takes over what the hold-out checks of a proof said.
    pub(super) fn take_holdouts(&mut self, proved: &Proved) -> Result<(), EngineError> {
        for count in &proved.holdout {
            let told = count.holds().then(|| count.to_string());
            self.state.entry(&count.criterion).holdout = told;
        }
        if self.interrupted().is_some() || proved.held_back.is_empty() {
            return Ok(());
        }
        let task = self.task()?;
        for ran in proved.held_back.iter().filter(|ran| !ran.passed()) {
            if let Some(HoldOut { checks, log }) = &self.parts.holdout {
                log_hold_out(log, &format!("iteration {}", self.state.iteration), ran)?;
                // It ran when it was tried: whatever it prints now is the work's doing.
                let did_not_start = matches!(ran.status, CheckStatus::NotRun(_));
                let broken =
                    did_not_start.then(|| checks.cannot_run(ran, &task, |_| true)).flatten();
                self.broken_holdout = self.broken_holdout.take().or(broken);
            }
        }
        Ok(())
    }

    /// The error of a hold-out check that cannot run, if there is one.
    pub(super) fn holdout_error(&mut self) -> Option<EngineError> {
        let (what, holdout) = (self.broken_holdout.take()?, self.parts.holdout.as_ref()?);
        Some(EngineError::HoldOut { what, log: holdout.log.clone() })
    }

    /// Says at the end where the human finds what failed.
    pub(super) fn tell_holdouts(&self) -> Result<(), EngineError> {
        match &self.parts.holdout {
            Some(HoldOut { log, .. }) if log.exists() => self.notice(&format!(
                "the hold-out checks that failed, with their output: {}",
                log.display()
            )),
            _ => Ok(()),
        }
    }
}
