//! The proof at the end: every ticked criterion must hold in a clean checkout.
//!
//! Invariant: a tick is a claim, whoever set it. Without a verdict, only the criterion's own checks
//! prove it, and only if it was ticked before the run.

use super::EngineError;
use super::decide::ticked_without_proof;
use super::run::Run;
use crate::model::{
    CheckResult, CheckStatus, CriterionKey, EventKind, Finding, FindingKind, Outcome, Proof,
    Record as _, Task, Weight,
};
use crate::task::{self, Tick};
use crate::verify::{CheckPhase, PlannedCheck, not_reproducible, plan, run_clean};

/// A check that failed at the end.
struct Broken {
    check: CheckResult,
    reason: String,
    kind: FindingKind,
}

impl Run {
    /// Runs every check in a clean checkout of HEAD, and opens criteria whose checks fail there.
    /// Returns the outcome if no criterion was opened.
    pub(super) async fn prove(&mut self, task: &Task) -> Result<Option<Outcome>, EngineError> {
        let planned = plan(task, CheckPhase::End, self.baseline.millis());
        let broken = self.broken(&planned).await?;
        if let Some(outcome) = self.interrupted() {
            // The checks were ended early, which says nothing about the work.
            return Ok(Some(outcome));
        }
        let mut unproven = Vec::new();
        let mut reopened = false;
        for broken in &broken {
            let owners = self.owners(broken);
            if owners.is_empty() {
                if self.was_red(&broken.check.command) && broken.check.criteria.is_empty() {
                    self.notice(&format!("{} It also failed before the work.", broken.reason))?;
                } else {
                    unproven.push(broken.reason.clone());
                }
            }
            for key in owners {
                if let Some(outcome) = self.reopen(task, &key, broken)? {
                    return Ok(Some(outcome));
                }
                reopened = true;
            }
        }
        if reopened {
            self.commit_state()?;
            return Ok(None);
        }
        self.prove_ticked_before(task, &broken);
        let blocked = task.criteria.iter().filter(|criterion| {
            !criterion.checked && self.state.find(&criterion.key).is_some_and(|entry| entry.blocked)
        });
        let blocked: Vec<_> =
            blocked.map(|criterion| format!("`{}`", criterion.key.text)).collect();
        if !blocked.is_empty() {
            unproven.insert(0, format!("blocked: {}.", blocked.join(", ")));
        }
        let names: Vec<_> = ticked_without_proof(task, &self.state)
            .map(|criterion| format!("`{}`", criterion.key.text))
            .collect();
        if !names.is_empty() {
            unproven.push(format!("ticked but not proven: {}.", names.join(", ")));
        }
        if unproven.is_empty() {
            return Ok(Some(Outcome::Proven));
        }
        Ok(Some(Outcome::Stuck { reason: unproven.join(" ") }))
    }

    /// Records the proof of criteria that were ticked before the run and whose own checks all
    /// passed in the clean checkout.
    fn prove_ticked_before(&mut self, task: &Task, broken: &[Broken]) {
        let failed = |key| broken.iter().any(|broken| broken.check.criteria.contains(key));
        let proven: Vec<_> = ticked_without_proof(task, &self.state)
            .filter(|criterion| !criterion.verify.is_empty() && !failed(&criterion.key))
            .filter(|criterion| !self.open_before.contains(&criterion.key))
            .map(|criterion| criterion.key.clone())
            .collect();
        for key in proven {
            self.state.entry(&key).proof = Some(Proof::Check);
            // There is state to commit, even without an iteration.
            self.worked_at_all = true;
        }
    }

    /// Runs the checks, and returns those that fail.
    async fn broken(&mut self, planned: &[PlannedCheck]) -> Result<Vec<Broken>, EngineError> {
        let parts = &self.parts;
        let (repo, checks) = (parts.repo.as_ref(), parts.checks.as_ref());
        if planned.is_empty() {
            return Ok(Vec::new());
        }
        let options = self.check_options(repo.root());
        let environment = &parts.preflight.environment;
        self.notice("running every check again in a clean checkout of HEAD")?;
        let (clean, notes) =
            run_clean(repo, checks, planned, &options, &parts.layout, environment).await?;
        for check in &clean {
            let (iteration, check) = (self.state.iteration, check.clone());
            parts.events.record(EventKind::CheckFinished { iteration, check })?;
        }
        let red = |planned: &&PlannedCheck| {
            clean.iter().any(|check| check.command == planned.command && !check.passed())
        };
        // Run the failing ones in the working tree, too, to find out why they fail.
        let again: Vec<_> = planned.iter().filter(red).cloned().collect();
        let here = self.run_checks(checks, &again, &repo.status()?).await?;
        let only_there: Vec<_> = not_reproducible(&here.results, &clean).cloned().collect();
        self.artefacts.extend(here.artefacts);
        let describe = |check: CheckResult| {
            let how = status_of(&check);
            let (kind, reason) = if only_there.contains(&check) {
                let notes = notes.join("; ");
                let notes = if notes.is_empty() { notes } else { format!(" ({notes})") };
                let reason = format!(
                    "`{}` passes in the working tree but fails in a clean checkout of HEAD \
                     ({how}): it depends on something that is not committed{notes}.",
                    check.command
                );
                (FindingKind::NotReproducible, reason)
            } else {
                (FindingKind::Regression, format!("`{}` fails at the end ({how}).", check.command))
            };
            Broken { check, reason, kind }
        };
        Ok(clean.into_iter().filter(|check| !check.passed()).map(describe).collect())
    }

    /// The criteria that a failing check opens again: those that it had proven, or, for a check
    /// of the whole task, the one that was proven last.
    fn owners(&self, broken: &Broken) -> Vec<CriterionKey> {
        let proven =
            |key: &&CriterionKey| self.state.find(key).is_some_and(|entry| entry.proof.is_some());
        let own: Vec<_> = broken.check.criteria.iter().filter(proven).cloned().collect();
        if !own.is_empty() || !broken.check.whole_task || self.was_red(&broken.check.command) {
            return own;
        }
        let last = self
            .state
            .criteria
            .iter()
            .filter(|entry| entry.proof.is_some())
            .max_by_key(|entry| entry.iteration);
        last.map(|entry| entry.key.clone()).into_iter().collect()
    }

    fn was_red(&self, command: &str) -> bool {
        let before = self.baseline.before();
        before.iter().any(|check| check.command == command && !check.passed())
    }

    fn reopen(
        &mut self,
        task: &Task,
        key: &CriterionKey,
        broken: &Broken,
    ) -> Result<Option<Outcome>, EngineError> {
        self.set_tick(key, Tick::Open)?;
        let entry = self.state.entry(key);
        if entry.proof.take().is_none() {
            return Ok(None);
        }
        entry.attempts = entry.attempts.saturating_add(1);
        let attempts = entry.attempts;
        let finding =
            Finding { kind: broken.kind, weight: Weight::Fails, message: broken.reason.clone() };
        self.feedback.insert(key.clone(), vec![finding]);
        self.parts.events.record(EventKind::CriterionReopened {
            criterion: key.clone(),
            reason: broken.reason.clone(),
        })?;
        if attempts < self.parts.limits.attempts {
            return Ok(None);
        }
        if task::find(task, key).is_none() {
            return Ok(None);
        }
        self.block_criterion(key, self.state.iteration, &broken.reason, None)
    }
}

/// The end of a check in a few words.
fn status_of(check: &CheckResult) -> String {
    match &check.status {
        CheckStatus::Passed => "passed".to_owned(),
        CheckStatus::Failed(code) => format!("exit {code}"),
        CheckStatus::Signalled(signal) => format!("ended by signal {signal}"),
        CheckStatus::TimedOut(seconds) => format!("longer than {seconds} s"),
        CheckStatus::NotRun(why) => why.clone(),
    }
}
