//! The proof at the end: every ticked criterion must hold in a new proof room.
//!
//! Invariant: a tick is a claim, whoever set it. Without a verdict, only the criterion's own checks
//! prove it, and only if it was ticked before the run.

use std::sync::Arc;
use std::time::Duration;

use super::EngineError;
use super::decide::{UNCLEAR, next_ready, open_criteria, ticked_without_proof};
use super::ledger::Ledger;
use super::order::{skipped, waited_for};
use super::past_runs::proven_here;
use super::proof::{About, ProofDepth};
use crate::model::{
    CheckResult, CheckStatus, Criterion, CriterionKey, CriterionState, EventKind, Finding,
    FindingKind, HoldOutCount, Outcome, Proof, Record as _, Task, Weight,
};
use crate::sys::process::sweep_orphans;
use crate::task::{self, Tick};
use crate::verify::{
    CheckPhase, HOLD_OUT, PlannedCheck, Proved, Reason, Warmth, assess, plan, said as output_says,
    worse,
};

/// Time limit for ending what the agent's commands left running.
const LEFT_BEHIND: Duration = Duration::from_secs(2);

/// A check that failed at the end.
struct Broken {
    check: CheckResult,
    reason: String,
    kind: FindingKind,
}

impl Broken {
    /// Whether a human decides on the work: it costs no attempt.
    fn is_for_review(&self) -> bool {
        matches!(self.kind, FindingKind::HarnessNeeded | FindingKind::Unmoved)
    }
}

/// The criteria that failing checks opened.
enum Opened {
    /// None; the reason why the task is still not proven.
    None { unproven: Vec<String> },
    /// At least one criterion.
    Some,
    /// A criterion that used up its attempts: the run stops.
    Stop(Outcome),
}

impl Ledger {
    /// Runs every check in a new proof room, after the agent is gone, and opens criteria whose checks
    /// fail there. Returns the outcome if no criterion was opened.
    pub(super) async fn prove(&mut self, task: &Task) -> Result<Option<Outcome>, EngineError> {
        let (opened, broken) = self.check_at_the_end(task).await?;
        let mut unproven = match opened {
            Opened::Stop(outcome) => return Ok(Some(outcome)),
            Opened::Some => {
                self.commit_state()?;
                return Ok(None);
            }
            Opened::None { unproven } => unproven,
        };
        self.prove_ticked_before(task, &broken);
        let (now, state) = (self.task()?, &self.state);
        if next_ready(&now, state).is_some() {
            // It waited for one that was ticked, and is proven now.
            self.commit_state()?;
            return Ok(None);
        }
        for broken in broken.iter().filter(|it| it.check.whole_task) {
            let (command, reason) = (broken.check.command.clone(), self.reason(broken));
            self.parts.events.record(EventKind::TaskCheckFailed { command, reason })?;
        }
        let waiting = |waits: fn(&Criterion, &CriterionState) -> bool| {
            let waiting = task.criteria.iter().filter(|criterion| {
                self.state.find(&criterion.key).is_some_and(|entry| waits(criterion, entry))
            });
            waiting.map(|criterion| criterion.key.quoted()).collect::<Vec<_>>()
        };
        let held = waiting(|_, entry| entry.held.is_some() && entry.proof.is_none());
        if !held.is_empty() {
            unproven.insert(0, format!("held for review: {}.", held.join(", ")));
        }
        let blocked = waiting(|it, entry| !it.checked && entry.blocked && entry.held.is_none());
        if !blocked.is_empty() {
            unproven.insert(0, format!("stuck: {}.", blocked.join(", ")));
        }
        let by = |it: &Criterion| Some(self.state.find(&it.key)?.is_blocked_by()?.to_string());
        let open = task.criteria.iter().filter(|criterion| !criterion.checked);
        let blocked = open.filter_map(|it| Some(format!("{} ({})", it.key.quoted(), by(it)?)));
        let blocked = blocked.collect::<Vec<_>>();
        if !blocked.is_empty() {
            unproven.insert(0, format!("blocked: {}.", blocked.join(", ")));
        }
        let skipped = skipped(task, &self.state);
        unproven.extend(
            skipped.iter().map(|it| format!("skipped: {}, {it}.", it.criterion.key.quoted())),
        );
        for criterion in open_criteria(task, &self.state) {
            let before: Vec<_> = waited_for(criterion, task, &self.state).collect();
            if !before.is_empty() {
                let names: Vec<_> = before.iter().map(|it| it.key.quoted()).collect();
                let (text, names) = (criterion.key.quoted(), names.join(", "));
                unproven.push(format!("not begun: {text}, since {names} before it is not proven."));
            }
        }
        let names: Vec<_> = ticked_without_proof(task, &self.state)
            .filter(|criterion| !self.is_held(&criterion.key))
            .map(|criterion| criterion.key.quoted())
            .collect();
        if !names.is_empty() {
            unproven.push(format!("ticked but not proven: {}.", names.join(", ")));
        }
        if unproven.is_empty() {
            return Ok(Some(Outcome::Proven));
        }
        let ended = |reason: String| match reason.ends_with(['.', '!', '?', '`']) {
            true => reason,
            false => format!("{reason}."),
        };
        let reasons: Vec<_> = unproven.into_iter().map(ended).collect();
        Ok(Some(Outcome::Stuck { reason: reasons.join(" ") }))
    }

    /// Runs every check in a new proof room, whichever criteria are open, and opens criteria whose
    /// checks fail there. Returns the outcome if the run has to end.
    pub(super) async fn prove_so_far(
        &mut self,
        task: &Task,
    ) -> Result<Option<Outcome>, EngineError> {
        match self.check_at_the_end(task).await?.0 {
            Opened::Stop(outcome) => Ok(Some(outcome)),
            Opened::None { .. } | Opened::Some => Ok(None),
        }
    }

    /// Runs every check in a new proof room, and opens the criteria of those that fail.
    async fn check_at_the_end(
        &mut self,
        task: &Task,
    ) -> Result<(Opened, Vec<Broken>), EngineError> {
        end_left_behind().await;
        let planned = plan(task, CheckPhase::End, self.baseline.millis());
        let broken = self.broken(task, &planned).await?;
        if let Some(outcome) = self.interrupted() {
            // The checks were ended early, which says nothing about the work.
            return Ok((Opened::Stop(outcome), broken));
        }
        let opened = self.open_again(task, &broken)?;
        self.prove_seen_in_tree(task);
        Ok((opened, broken))
    }

    /// Opens the criteria of checks that fail.
    fn open_again(&mut self, task: &Task, broken: &[Broken]) -> Result<Opened, EngineError> {
        let mut unproven = Vec::new();
        let mut opened = false;
        for broken in broken {
            let owners = self.owners(broken);
            if owners.is_empty() {
                unproven.push(self.reason(broken));
            }
            for key in owners {
                if let Some(outcome) = self.reopen(task, &key, broken)? {
                    return Ok(Opened::Stop(outcome));
                }
                opened = true;
            }
        }
        Ok(if opened { Opened::Some } else { Opened::None { unproven } })
    }

    /// Why a check opens no criterion, and the task is not proven all the same.
    fn reason(&self, broken: &Broken) -> String {
        let Broken { check, reason, .. } = broken;
        if !check.whole_task || check.passed() || !self.is_no_worse(check) {
            return reason.clone();
        }
        format!(
            "{reason} It is a check of the whole task, and also failed before the work: add a \
             criterion for it, fix it yourself, or remove it from `verify`."
        )
    }

    /// Verifies a run that ends, after its agent is gone: its ticks are proven even if it ends
    /// early, and a branch that moved since the last proof proves nothing.
    pub(super) async fn prove_end(&mut self, outcome: Outcome) -> Result<Outcome, EngineError> {
        match outcome {
            Outcome::Proven if self.moved_since_proof()? => {
                let reason = "the branch moved after the last proof: run the task again.";
                Ok(Outcome::Stuck { reason: reason.to_owned() })
            }
            Outcome::Landed { .. }
            | Outcome::LimitReached { .. }
            | Outcome::Stuck { .. }
            | Outcome::AgentUnusable { .. }
            | Outcome::RateLimited { .. }
                if self.passed_since_proof || self.holds_claims()? =>
            {
                let task = self.task()?;
                self.prove_so_far(&task).await?;
                Ok(outcome)
            }
            Outcome::Proven
            | Outcome::Landed { .. }
            | Outcome::LimitReached { .. }
            | Outcome::Stuck { .. }
            | Outcome::AgentUnusable { .. }
            | Outcome::RateLimited { .. }
            | Outcome::Tampered { .. }
            | Outcome::CannotGoOn { .. }
            | Outcome::Interrupted { .. } => Ok(outcome),
        }
    }

    /// Whether state.json calls criteria proven whose proof nobody saw on this machine: in a fresh
    /// clone, or if an agent wrote it.
    fn holds_claims(&self) -> Result<bool, EngineError> {
        if self.proven_head.is_some() {
            return Ok(false);
        }
        // Whatever is wrong with TASK.md is no reason to end otherwise.
        let Ok(task) = self.task() else { return Ok(false) };
        let proven = |key| self.state.find(key).and_then(|entry| entry.proof);
        let has_check = |key| matches!(proven(key), Some(Proof::Check | Proof::Tree));
        let mut claimed = task.criteria.iter().filter(|it| it.checked && has_check(&it.key));
        let Some(first) = claimed.next() else { return Ok(false) };
        let seen = proven_here(&self.parts.run_folder, &self.parts.layout)?;
        Ok(std::iter::once(first).chain(claimed).any(|it| !seen.contains(&it.key)))
    }

    /// Whether the branch has other changes than the runner's own since the last proof.
    fn moved_since_proof(&self) -> Result<bool, EngineError> {
        let Some(proven) = &self.proven_head else { return Ok(false) };
        let repo = self.parts.repo.as_ref();
        let changes = repo.between(proven, &repo.checkpoint()?.head)?;
        Ok(changes.iter().any(|change| !self.parts.layout.is_state_file(&change.path)))
    }

    /// Records the proof of criteria that were ticked before the run and whose own checks all
    /// passed there.
    fn prove_ticked_before(&mut self, task: &Task, broken: &[Broken]) {
        let failed = |key| broken.iter().any(|broken| broken.check.criteria.contains(key));
        let proven: Vec<_> = ticked_without_proof(task, &self.state)
            .filter(|criterion| !criterion.verify.is_empty() && !failed(&criterion.key))
            .filter(|criterion| !self.open_before.contains(&criterion.key))
            .filter(|criterion| !self.is_held(&criterion.key))
            .map(|criterion| criterion.key.clone())
            .collect();
        let proof = self.place_proof();
        for key in proven {
            let entry = self.state.entry(&key);
            (entry.proof, entry.blocked) = (Some(proof), false);
            // There is state to commit, even without an iteration.
            self.worked_at_all = true;
        }
    }

    /// Runs the checks, and returns those that fail.
    async fn broken(
        &mut self,
        task: &Task,
        planned: &[PlannedCheck],
    ) -> Result<Vec<Broken>, EngineError> {
        let about = About::task(task, ProofDepth::Unproven);
        if planned.is_empty() && self.held_back(&about).is_empty() {
            return Ok(Vec::new());
        }
        let place = match self.rooms {
            Some(_) => "a new proof room",
            None => "the working tree",
        };
        self.notice(&format!("running every check again in {place}"))?;
        let checks = Arc::clone(&self.parts.checks);
        let status = self.parts.repo.status()?;
        self.proven_head = Some(self.parts.repo.checkpoint()?.head);
        let proved =
            self.run_proof(Warmth::Cold, about, (planned, checks.as_ref()), &status).await?;
        self.take_holdouts(&proved)?;
        if let Some(error) = self.holdout_error() {
            return Err(error);
        }
        self.passed_since_proof = false;
        self.record_checks(self.state.iteration, &proved.checks)?;
        let mut found = broken(&proved);
        for broken in &mut found {
            if self.passed_here(broken)? {
                let (command, how) = (&broken.check.command, broken.check.status.how());
                let said = output_says(&broken.check.output);
                broken.reason = format!(
                    "`{command}` passed, and fails in a new room on the same commit ({how}).{said}"
                );
                broken.kind = FindingKind::Flaky;
                continue;
            }
            let Broken { check, reason, .. } = broken;
            let before = self.baseline.red(&check.command).filter(|_| !check.passed());
            if let Some(worse) = before.and_then(|before| worse(&before.tests, &check.tests)) {
                reason.push_str(&format!(" It also failed before the work, but {worse}."));
            }
        }
        Ok(found)
    }

    /// Did a check that fails now pass in this run's room on a commit with the same work?
    fn passed_here(&self, broken: &Broken) -> Result<bool, EngineError> {
        let Some(passed) = self.passed_at.get(&broken.check.command) else { return Ok(false) };
        let is_red = broken.kind == FindingKind::Regression;
        let (Some(_), true, Some(head)) = (&self.rooms, is_red, &self.proven_head) else {
            return Ok(false);
        };
        let changes = self.parts.repo.between(passed, head)?;
        Ok(changes.iter().all(|change| self.parts.layout.is_state_file(&change.path)))
    }

    /// The criteria that a failing check opens again: those that it had proven, or, for a check
    /// of the whole task, the one that was proven last.
    fn owners(&self, broken: &Broken) -> Vec<CriterionKey> {
        let proven = |key: &&CriterionKey| self.state.is_proven(key);
        let own: Vec<_> = broken.check.criteria.iter().filter(proven).cloned().collect();
        // One criterion is held for the harness that a check of the whole task needs.
        let is_held = broken.is_for_review() && self.has_held();
        let is_whole = broken.check.whole_task && !is_held;
        if !own.is_empty() || !is_whole || self.is_no_worse(&broken.check) {
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

    /// Did a check fail before the work, too, and do no more of its tests fail now?
    pub(super) fn is_no_worse(&self, check: &CheckResult) -> bool {
        self.baseline
            .red(&check.command)
            .is_some_and(|before| worse(&before.tests, &check.tests).is_none())
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
        // There is state to commit, even without an iteration.
        self.worked_at_all = true;
        if broken.is_for_review() {
            self.hold_at_end(key, &broken.reason)?;
            return Ok(None);
        }
        let entry = self.state.entry(key);
        let goes_on = if broken.kind == FindingKind::Flaky {
            // It costs no attempt.
            let times = self.flaky_at_end.entry(key.clone()).or_default();
            *times += 1;
            *times < UNCLEAR
        } else {
            entry.attempts = entry.attempts.saturating_add(1);
            entry.attempts < self.parts.limits.attempts
        };
        let finding =
            Finding { kind: broken.kind, weight: Weight::Fails, message: broken.reason.clone() };
        self.feedback.insert(key.clone(), vec![finding]);
        self.parts.events.record(EventKind::CriterionReopened {
            criterion: key.clone(),
            reason: broken.reason.clone(),
        })?;
        if goes_on {
            return Ok(None);
        }
        if task::find(task, key).is_none() {
            return Ok(None);
        }
        self.block_criterion(key, self.state.iteration, &broken.reason, None)
    }
}

/// Ends what the commands of an agent that is gone left running: outside of a sandbox of its own, a
/// server that they started could answer for the code under test.
pub(super) async fn end_left_behind() {
    // The programs of providers are the human's, and go on.
    let swept = sweep_orphans(LEFT_BEHIND).await;
    if !swept.left.is_empty() {
        tracing::warn!(?swept, "processes of the run cannot be ended");
    }
}

/// The checks that prove nothing, each with the first reason.
fn broken(proved: &Proved) -> Vec<Broken> {
    let mut found: Vec<Broken> = Vec::new();
    for reason in assess(proved) {
        if let Reason::HoldOut(count) = reason {
            found.push(hold_out(&reason, count));
            continue;
        }
        let command = reason.command();
        let is_known = found.iter().any(|it| it.check.command == command);
        let check = proved.checks.iter().find(|check| check.command == command);
        let Some(check) = check.filter(|_| !is_known).cloned() else { continue };
        let mut said = reason.said("at the end");
        if let Reason::NeedsChanges(check, _) = reason {
            said.push_str(&format!(" ({}).{}", check.status.how(), output_says(&check.output)));
        }
        let end = if said.ends_with(['.', '!', '?']) { "" } else { "." };
        found.push(Broken { check, reason: format!("{said}{end}"), kind: reason.kind() });
    }
    found
}

/// Hold-out checks that fail: only their criterion is known.
fn hold_out(reason: &Reason<'_>, count: &HoldOutCount) -> Broken {
    let check = CheckResult {
        criteria: vec![count.criterion.clone()],
        ..CheckResult::new(HOLD_OUT, CheckStatus::Failed(1))
    };
    let mut reason = format!("{}.", reason.said("at the end"));
    reason[..1].make_ascii_uppercase();
    Broken { check, reason, kind: FindingKind::HoldOutFailed }
}
