//! One iteration after its turn: evidence, checks, verdict, repairs, record.

use std::path::PathBuf;
use std::sync::Arc;

use super::EngineError;
use super::decide::{Consequence, Spent, after};
use super::evidence::worth_checking;
use super::iteration::{Completion, Iteration};
use super::ledger::Ledger;
use super::proof::ProofDepth;
use crate::agent::Denials;
use crate::model::{
    Blocked, BlockedKind, ChangeKind, CheckResult, CheckStatus, EventKind, Evidence, Finding,
    FindingKind, Outcome, Proof, Record as _, Repair, Stuck, Turn, TurnEnd, Verdict, VerdictResult,
    Weight,
};
use crate::sandbox::SandboxError;
use crate::sys::{Durability, FileMode, atomic};
use crate::task::{self, Tick};
use crate::verify::{
    KeepTick, RepairContext, Repairs, StateFiles, TASK, may_change, repair, worked,
};

/// The result of an evaluation.
#[derive(Debug, Default)]
pub(super) struct Evaluated {
    /// Set if the run ends here.
    pub(super) outcome: Option<Outcome>,
    /// The criterion is proven.
    pub(super) proven: bool,
}

impl Ledger {
    /// Collects the evidence of a turn, runs the checks, judges, and acts on the verdict.
    pub(super) async fn evaluate(
        &mut self,
        mut iteration: Iteration,
        turn: Turn,
        mut completion: Completion,
    ) -> Result<Evaluated, EngineError> {
        self.unlock()?;
        let denials = self.parts.gate.denials();
        self.denials.entry(iteration.criterion.key.clone()).or_default().extend(&denials);
        let mut collected = self.collect_evidence(&iteration, &turn)?;
        self.take_over_git_settings(&mut iteration, &mut collected.evidence)?;
        let mut could_not_run = None;
        if worth_checking(&collected.evidence, completion)
            && !self.judge(&collected.evidence).tampered()
        {
            let checks = Arc::clone(&self.parts.checks);
            self.check_work(&iteration, &mut collected, (checks.as_ref(), ProofDepth::Focus))
                .await?;
            self.record_checks(iteration.number, &collected.evidence.checks)?;
            let not_run = not_run(&collected.evidence.checks);
            if self.interrupted().is_some() || self.broken_holdout.is_some() {
                // The checks were ended early, which says nothing about the work.
                completion = Completion::CutOff;
            } else if not_run.is_some() {
                (completion, could_not_run) = (Completion::CutOff, not_run);
            }
        }
        let evidence = collected.evidence;
        let mut verdict = self.by_place(self.judge(&evidence));
        if worked(&evidence).is_none() {
            tell_denied(&mut verdict, &denials);
        }
        self.answer_missing(&mut verdict, &evidence);
        if let TurnEnd::Stuck(stuck) = &turn.end {
            tell_stuck(&mut verdict, stuck);
        }
        if iteration.criterion.recipe.is_some()
            && let Some(fault) = &turn.fault
        {
            tell_first(&mut verdict, FindingKind::RecipeFailed, fault.message.clone());
        }
        self.tell_of_hooks(&mut verdict).await?;
        let evaluated = self.conclude(&iteration, evidence, verdict, completion)?;
        if let Some(error) = self.holdout_error() {
            return Err(error);
        }
        match could_not_run {
            Some(said) if evaluated.outcome.is_none() => {
                Err(SandboxError::NotStarted { said }.into())
            }
            _ => Ok(evaluated),
        }
    }

    /// Acts on a verdict: repairs, counts, records, commits the state, and decides whether the run
    /// continues.
    fn conclude(
        &mut self,
        iteration: &Iteration,
        evidence: Evidence,
        verdict: Verdict,
        completion: Completion,
    ) -> Result<Evaluated, EngineError> {
        if verdict.tampered() {
            // Everything else is left for the human to look at.
            self.take_back_ticks(&iteration.task);
            let reason = tampering(&verdict);
            self.record_verdict(iteration, evidence, verdict)?;
            return Ok(Evaluated { outcome: Some(Outcome::Tampered { reason }), proven: false });
        }
        let proven = matches!(verdict.result, VerdictResult::Pass(_));
        if proven {
            // Of a criterion that the agent called blocked, the box is still open.
            self.set_tick(&iteration.criterion.key, Tick::Done)?;
            self.learn(iteration, &evidence, &verdict)?;
        }
        let verdict_held = verdict.result == VerdictResult::Held;
        let is_blocked = verdict.result == VerdictResult::Blocked;
        let why = verdict.findings.first().map(|it| it.message.clone()).unwrap_or_default();
        let counts = completion == Completion::Whole || proven;
        let repairs = self.repair_after(iteration, &evidence, &verdict)?;
        let mut consequence = Consequence::Continue;
        if counts {
            consequence = self.count_verdict(iteration, &evidence, &verdict);
            if proven {
                self.keep_lesson(iteration, &evidence)?;
            }
            self.record_verdict(iteration, evidence, verdict)?;
        } else if verdict.repairs.iter().any(undoes_a_claim) {
            self.notice("the iteration was cut off; its unproven claims are undone")?;
        }
        if counts && verdict_held {
            self.hold(iteration, &why)?;
        }
        if counts && is_blocked {
            self.take_attempts_off(iteration)?;
        }
        let outcome = match consequence {
            Consequence::Continue => None,
            Consequence::Stop(outcome) => Some(outcome),
            Consequence::Block(then) => self.block(iteration, then)?,
        };
        if counts || repairs != Repairs::default() {
            self.commit_state()?;
        } else {
            // Nothing to commit now: the next iteration or the end of the run does it.
            self.worked_at_all = true;
        }
        self.last_head = Some(self.parts.repo.checkpoint()?.head);
        self.end_iteration(iteration, 0)?;
        Ok(Evaluated { outcome, proven })
    }

    /// Records checks that ended.
    pub(super) fn record_checks(
        &self,
        iteration: u32,
        checks: &[CheckResult],
    ) -> Result<(), EngineError> {
        for check in checks {
            let check = check.clone();
            self.parts.events.record(EventKind::CheckFinished { iteration, check })?;
        }
        Ok(())
    }

    /// Records the end of an iteration. A worker's turn took so many milliseconds before it.
    pub(super) fn end_iteration(
        &self,
        iteration: &Iteration,
        turn_millis: u64,
    ) -> Result<(), EngineError> {
        let took = u64::try_from(iteration.started.elapsed().as_millis()).unwrap_or(u64::MAX);
        self.parts.events.record(EventKind::IterationEnded {
            iteration: iteration.number,
            millis: turn_millis.saturating_add(took),
            premium_requests: iteration.premium_requests,
        })?;
        Ok(())
    }

    /// Learns from work that was proven, and is on the branch.
    pub(super) fn learn(
        &mut self,
        iteration: &Iteration,
        evidence: &Evidence,
        verdict: &Verdict,
    ) -> Result<(), EngineError> {
        let commit = self.parts.repo.checkpoint()?.head;
        let run = evidence.put_back.as_ref();
        let may_change = may_change(&iteration.task, Some(&iteration.criterion.key))?;
        self.learn_harness(&commit, run, &evidence.checks, &may_change)?;
        let in_room = verdict.result == VerdictResult::Pass(Proof::Check);
        let passed = evidence.checks.iter().filter(|check| in_room && check.passed());
        self.passed_at.extend(passed.map(|check| (check.command.clone(), commit.clone())));
        let changed = run.map_or(&[][..], |run| &run.harness);
        let old = changed.iter().filter(|change| change.kind != ChangeKind::Added);
        self.changed_harness.extend(old.map(|change| change.path.clone()));
        Ok(())
    }

    /// Makes the repairs that a verdict asks for, and remembers work that later attempts need
    /// not repeat.
    fn repair_after(
        &mut self,
        iteration: &Iteration,
        evidence: &Evidence,
        verdict: &Verdict,
    ) -> Result<Repairs, EngineError> {
        let key = &iteration.criterion.key;
        if let Some(commit) = worked(evidence) {
            self.state.entry(key).worked = Some(commit.clone());
        }
        if verdict.findings.iter().any(|finding| finding.kind == FindingKind::TaskTakenBack) {
            self.keep_task_file(iteration)?;
        }
        let repairs = self.repair(iteration, &verdict.repairs)?;
        self.tell_left(&repairs.left)?;
        if let Some(saved) = &repairs.saved {
            self.state.attempt_refs = saved.number.saturating_add(1);
            if verdict.repairs.contains(&Repair::BackToCheckpoint) {
                self.state.entry(key).worked = None;
            }
        }
        Ok(repairs)
    }

    /// Keeps the current TASK.md in the run's folder, before a change of it is undone.
    fn keep_task_file(&mut self, iteration: &Iteration) -> Result<(), EngineError> {
        let (parts, path) = (&self.parts, self.parts.layout.file(TASK));
        let now = StateFiles::read(parts.repo.root(), &parts.layout)?;
        let kept = parts.run_folder.join(format!("TASK.md.{}", iteration.number));
        if let Some(bytes) = now.bytes(&path) {
            atomic::write(&kept, bytes, Durability::Machine, FileMode::Owner)?;
            self.notice(&format!(
                "the change to {} was undone and is kept in {}; to make it yours, edit the file \
                 while no run is active",
                path.display(),
                kept.display()
            ))?;
            self.kept_tasks.push(kept);
        }
        Ok(())
    }

    /// If the agent misses a program that is there, the next prompt says so, once.
    pub(super) fn answer_missing(&mut self, verdict: &mut Verdict, evidence: &Evidence) {
        let missing = evidence.blocked_by.as_ref().filter(|it| it.kind == BlockedKind::Missing);
        let Some(Blocked { reason, .. }) =
            missing.filter(|_| verdict.result == VerdictResult::Blocked)
        else {
            return;
        };
        let named = match reason.strip_prefix('`').and_then(|rest| rest.split_once('`')) {
            Some((named, _)) => named,
            None => reason,
        };
        let found = (!named.contains(char::is_whitespace)).then(|| which::which(named).ok());
        let Some(path) = found.flatten() else { return };
        if self.answered.insert((evidence.focus.clone(), named.to_owned())) {
            let message = format!("`{named}` is on this machine: {}.", path.display());
            let finding = Finding { kind: FindingKind::Blocked, weight: Weight::Unclear, message };
            verdict.findings.insert(0, finding);
            verdict.result = VerdictResult::Inconclusive;
        }
    }

    /// Counts a verdict in the state and in the run's budget, and returns the consequence.
    pub(super) fn count_verdict(
        &mut self,
        iteration: &Iteration,
        evidence: &Evidence,
        verdict: &Verdict,
    ) -> Consequence {
        let key = &iteration.criterion.key;
        match &verdict.result {
            VerdictResult::Pass(proof) => {
                let entry = self.state.entry(key);
                entry.proof = Some(*proof);
                entry.iteration = Some(iteration.number);
                entry.worked = None;
                self.passed_since_proof = true;
                self.proven_since_commit.push((key.clone(), *proof));
                self.baseline.learn_passed(&evidence.checks);
                self.passed_from.extend(self.origins.remove_entry(key));
                // Attempts at another criterion are not undone across this work.
                self.origins.clear();
                self.feedback.remove(key);
            }
            VerdictResult::Fail => {
                let entry = self.state.entry(key);
                entry.attempts = entry.attempts.saturating_add(1);
                self.baseline.learn_open(&evidence.checks, key);
                self.note_failure(key, evidence);
                self.feedback.insert(key.clone(), verdict.findings.clone());
            }
            VerdictResult::Held => {
                self.feedback.remove(key);
            }
            VerdictResult::Blocked => {
                let entry = self.state.entry(key);
                let before = entry.blocked_by.as_ref().filter(|it| it.retried).map(|it| it.kind);
                entry.blocked_by = evidence.blocked_by.clone().map(|mut now| {
                    let redactor = self.parts.gate.redactor();
                    now.reason = redactor.redact_str(&now.reason).into_owned();
                    now.again = before == Some(now.kind);
                    now
                });
            }
            VerdictResult::Inconclusive => {
                let tells =
                    |it: &Finding| matches!(it.kind, FindingKind::Flaky | FindingKind::Blocked);
                if verdict.findings.iter().any(tells) {
                    self.feedback.insert(key.clone(), verdict.findings.clone());
                }
            }
        }
        // With several workers, others are judged in between.
        let unclear = self.unclear.entry(key.clone()).or_default();
        let is_unclear = verdict.result == VerdictResult::Inconclusive;
        *unclear = if is_unclear { *unclear + 1 } else { 0 };
        let is_blocked = verdict.result == VerdictResult::Blocked;
        self.spent.blocked = if is_blocked { self.spent.blocked + 1 } else { 0 };
        let spent = Spent { unclear: *unclear, ..self.spent };
        let entry = self.state.entry(key).clone();
        let consequence = after(verdict, &entry, &spent, &self.parts.limits);
        if matches!(consequence, Consequence::Block(_)) {
            self.unclear.remove(key);
        }
        consequence
    }

    pub(super) fn record_verdict(
        &self,
        iteration: &Iteration,
        evidence: Evidence,
        verdict: Verdict,
    ) -> Result<(), EngineError> {
        let repairs = if verdict.tampered() { Vec::new() } else { verdict.repairs.clone() };
        self.parts.events.record(EventKind::VerdictReached {
            iteration: iteration.number,
            criterion: iteration.criterion.key.clone(),
            evidence: Box::new(evidence),
            verdict,
            repairs,
        })?;
        Ok(())
    }

    fn repair(&self, iteration: &Iteration, wanted: &[Repair]) -> Result<Repairs, EngineError> {
        let parts = &self.parts;
        let key = &iteration.criterion.key;
        let name = parts.layout.task();
        let restore_task = |keep: KeepTick| match keep {
            KeepTick::Yes => task::restore(&iteration.task, Some(key)),
            KeepTick::No => task::restore(&iteration.task, None),
        };
        let untick = |bytes: &[u8]| {
            let now = task::parse(name, bytes);
            task::find(&now, key)
                .filter(|criterion| criterion.checked)
                .and_then(|criterion| task::tick(bytes, criterion.mark, Tick::Open).ok())
                .unwrap_or_else(|| bytes.to_vec())
        };
        Ok(repair(
            parts.repo.as_ref(),
            wanted,
            &RepairContext {
                layout: &parts.layout,
                checkpoint: &iteration.checkpoint,
                origin: &iteration.origin,
                state: &iteration.files,
                human: &parts.preflight.human,
                number: self.state.attempt_refs.max(1),
                identity: &parts.identity,
                restore_task: &restore_task,
                untick: &untick,
            },
        )?)
    }

    /// Reports paths that could not be put back.
    pub(super) fn tell_left(&self, left: &[PathBuf]) -> Result<(), EngineError> {
        if left.is_empty() {
            return Ok(());
        }
        let paths: Vec<_> = left.iter().map(|path| path.display().to_string()).collect();
        self.notice(&format!(
            "not restored, because your own files are in the way or it is a repository: {}",
            paths.join(", ")
        ))
    }
}

/// Why a check could not run, if one could not.
pub(super) fn not_run(checks: &[CheckResult]) -> Option<String> {
    checks.iter().find_map(|check| {
        let CheckStatus::NotRun(why) = &check.status else { return None };
        Some(why.clone())
    })
}

/// Adds that the turn had to be ended. Proven work stays proven; otherwise this finding comes
/// first, for the next attempt.
pub(super) fn tell_stuck(verdict: &mut Verdict, stuck: &Stuck) {
    let message = format!("The turn had to be ended: {stuck}. Do not wait, and do not repeat it.");
    tell_first(verdict, FindingKind::TurnStuck, message);
}

/// Adds what the guard denied, if it may be why the work is not finished.
pub(super) fn tell_denied(verdict: &mut Verdict, denials: &Denials) {
    let first = verdict.findings.first().map(|finding| finding.kind);
    let is_unfinished = first.is_some_and(FindingKind::is_unfinished);
    if verdict.result == VerdictResult::Fail && is_unfinished && !denials.is_empty() {
        let said = denials.to_string().replacen("the", "The", 1);
        tell_first(verdict, FindingKind::Denied, format!("{said}."));
    }
}

/// Adds a finding before all others if the verdict is a failure, and after them otherwise.
fn tell_first(verdict: &mut Verdict, kind: FindingKind, message: String) {
    let finding = |weight| Finding { kind, weight, message };
    match verdict.result {
        VerdictResult::Fail if !verdict.tampered() => {
            verdict.findings.insert(0, finding(Weight::Fails));
        }
        VerdictResult::Pass(_)
        | VerdictResult::Fail
        | VerdictResult::Held
        | VerdictResult::Blocked
        | VerdictResult::Inconclusive => {
            verdict.findings.push(finding(Weight::Said));
        }
    }
}

/// Does a repair undo something that the agent claimed?
fn undoes_a_claim(repair: &Repair) -> bool {
    match repair {
        Repair::RestoreTask { .. }
        | Repair::BackToCheckpoint
        | Repair::Hold
        | Repair::Untick
        | Repair::RestoreFile(_) => true,
        Repair::ProgressLine | Repair::StateCommit => false,
    }
}

pub(super) fn tampering(verdict: &Verdict) -> String {
    let found = verdict.findings.iter().filter(|finding| finding.weight == Weight::Tampering);
    found.map(|finding| finding.message.as_str()).collect::<Vec<_>>().join(" ")
}
