//! The landing of work that a worker handed in: merged onto the branch's tip, proven there, and only
//! then on the branch.
//!
//! Invariant: the branch moves by compare-and-swap, to a commit whose proof passed. What does not
//! land stays under its ref, and the next attempt begins with it.

use std::path::PathBuf;
use std::sync::Arc;

use tokio::time::Instant;

use super::EngineError;
use super::crew::{Delivery, Earlier, FileInTheWay};
use super::dead_run::LANDING_FILE;
use super::decide::Consequence;
use super::evaluate::{not_run, tampering, tell_denied, tell_stuck};
use super::evidence::worth_checking;
use super::iteration::{Completion, Iteration};
use super::ledger::Ledger;
use super::proof::{About, ProofDepth};
use super::run::Run;
use super::stuck::ref_name;
use crate::model::{
    CheckResult, CriterionKey, EventKind, Evidence, Finding, FindingKind, HeldWork, Oid, Outcome,
    Record as _, Repair, Task, Verdict, VerdictResult, Weight,
};
use crate::sandbox::SandboxError;
use crate::sys::{Durability, FileMode, atomic};
use crate::task::Tick;
use crate::verify::{CheckPhase, PROGRESS, SavedAttempt, VerifyError, Warmth, plan, worked};

/// What came of work that was handed in.
enum Landed {
    /// It was judged; the outcome if the run ends with it.
    Judged(Option<Outcome>),
    /// It is proven, and waits: for these files of the human's, or for the branch to be at rest.
    Waits(Box<Delivery>, Vec<FileInTheWay>),
}

/// Work on the tip of the branch.
enum Merged {
    /// The commit, on no branch.
    Fits(Oid),
    /// These files differ in both.
    Conflicts(String),
}

impl Run {
    /// Judges the work that was handed in first, and lands it if it is proven.
    pub(super) async fn land_next(&mut self) -> Result<(), EngineError> {
        let Some(workers) = self.workers.as_mut().filter(|it| !it.queue.is_empty()) else {
            return Ok(());
        };
        let delivery = workers.queue.remove(0);
        let (stopped, key) = (delivery.work.stopped.clone(), delivery.key.clone());
        let (before, began) = (self.ledger.last_head.clone(), Instant::now());
        let (turn, kept) = (delivery.work.millis, delivery.kept.clone());
        let outcome = match self.ledger.land(delivery).await {
            Ok(Landed::Judged(Some(outcome))) => Some(outcome),
            Ok(Landed::Judged(None)) => self.ledger.or_block(&key, stopped)?,
            Ok(Landed::Waits(delivery, files)) => {
                match files {
                    files if files.is_empty() => workers.queue.insert(0, *delivery),
                    files => workers.put_off.push((*delivery, files)),
                }
                self.ledger.or_block(&key, stopped)?
            }
            Err(error) => {
                // What could not run has said so.
                if let EngineError::Verify(_) = error {
                    self.ledger.tell_ref(&key, kept.as_ref(), "unfinished")?;
                }
                return Err(error);
            }
        };
        let landing = u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX);
        workers.took = (turn, landing);
        if self.ledger.last_head != before {
            // What was in the way may be gone.
            workers.try_again();
        }
        if let Some(outcome) = outcome {
            workers.ending.get_or_insert(outcome);
        }
        Ok(())
    }
}

impl Ledger {
    async fn land(&mut self, mut delivery: Delivery) -> Result<Landed, EngineError> {
        let completion = match delivery.work.stopped {
            Some(_) => Completion::CutOff,
            None => Completion::Whole,
        };
        let Some(iteration) = self.open_landing(&delivery)? else {
            return self.tell_kept(&delivery, "obsolete").map(|()| Landed::Judged(None));
        };
        if !self.parts.repo.reaches(&delivery.base)? {
            // A commit that the human took off the branch must not come back with the work.
            let what = delivery.key.quoted();
            self.notice(&format!(
                "the commit on which {what} was worked on is no longer in the branch's history: it \
                 is taken again"
            ))?;
            return self.leave(&iteration, &delivery, None).map(Landed::Judged);
        }
        let key = &delivery.key;
        self.denials.entry(key.clone()).or_default().extend(&delivery.work.denials);
        let mut evidence = self.evidence_of(&iteration, &delivery)?;
        let mut verdict = self.judge(&evidence);
        let (mut merged, mut clash, mut could_not_run) = (None, None, None);
        if worth_checking(&evidence, completion) && !verdict.tampered() {
            match self.merge(&delivery, iteration.criterion.line)? {
                Merged::Conflicts(paths) => {
                    clash = Some(format!(
                        "The work conflicts with what landed on the branch meanwhile, in {paths}."
                    ));
                }
                Merged::Fits(commit) => {
                    self.prove_landing(&iteration, &mut evidence, &commit, &delivery).await?;
                    verdict = self.by_place(self.judge(&evidence));
                    // Checks that a signal cut off say nothing of the sandbox.
                    could_not_run =
                        not_run(&evidence.checks).filter(|_| self.interrupted().is_none());
                    if verdict.result == VerdictResult::Fail && could_not_run.is_none() {
                        clash = self.red_only_together(&iteration, &evidence, &delivery).await?;
                    }
                    merged = Some(commit);
                }
            }
        }
        if let Some(error) = self.holdout_error() {
            self.leave(&iteration, &delivery, None)?;
            return Err(error);
        }
        let is_cut_off = self.interrupted().is_some();
        if is_cut_off || could_not_run.is_some() {
            return self
                .leave(&iteration, &delivery, could_not_run.filter(|_| !is_cut_off))
                .map(Landed::Judged);
        }
        if worked(&evidence).is_none() {
            tell_denied(&mut verdict, &delivery.work.denials);
        }
        self.answer_missing(&mut verdict, &evidence);
        if let Some(why) = clash {
            self.tell_clash(&mut verdict, &delivery, why);
        } else if let Some(stuck) = &delivery.work.stuck {
            tell_stuck(&mut verdict, stuck);
        }
        if completion == Completion::CutOff && !matches!(verdict.result, VerdictResult::Pass(_)) {
            return self.leave(&iteration, &delivery, None).map(Landed::Judged);
        }
        if let (VerdictResult::Pass(_), Some(merged)) = (&verdict.result, &merged) {
            let made = self.made_by_filters(&iteration.checkpoint.head, merged).await?;
            match self.bring_in(&iteration, (merged, &made), &delivery) {
                Ok(()) => {}
                Err(EngineError::Verify(
                    error @ (VerifyError::InTheWay { .. } | VerifyError::Moved { .. }),
                )) => {
                    let files = self.put_off(&iteration, &mut delivery, &error)?;
                    return Ok(Landed::Waits(Box::new(delivery), files));
                }
                Err(error) => return Err(error),
            }
        }
        self.conclude_landing(&iteration, &delivery, (evidence, verdict)).map(Landed::Judged)
    }

    /// Lets proven work wait until the branch is at rest again, or a file of the human's is no longer
    /// in its way. Returns these files.
    fn put_off(
        &mut self,
        iteration: &Iteration,
        delivery: &mut Delivery,
        error: &VerifyError,
    ) -> Result<Vec<FileInTheWay>, EngineError> {
        let what = delivery.key.quoted();
        let moved = matches!(error, VerifyError::Moved { .. });
        let hint = if moved { Some("it is tried again".to_owned()) } else { error.hint() };
        let hint = hint.map(|hint| format!("; {hint}")).unwrap_or_default();
        // A human who goes on to commit need not be told each time.
        if !(moved && delivery.counted) {
            self.notice(&format!("{what} is proven, and cannot land yet: {error}{hint}"))?;
        }
        let (worker, criterion) = (delivery.worker, delivery.key.clone());
        self.parts.events.record(EventKind::WorkerHandedIn { worker, criterion })?;
        self.end_iteration(iteration, delivery.work.millis)?;
        delivery.events.clear();
        (delivery.work.premium_requests, delivery.counted) = (0, true);
        let VerifyError::InTheWay { paths } = error else { return Ok(Vec::new()) };
        let root = self.parts.repo.root();
        Ok(paths.iter().map(|path| FileInTheWay::of(root, path)).collect())
    }

    fn merge(&self, delivery: &Delivery, line: usize) -> Result<Merged, EngineError> {
        let held = HeldWork {
            name: delivery.kept_as().to_owned(),
            commit: delivery.work.head.clone(),
            base: delivery.base.clone(),
            reason: String::new(),
        };
        match self.parts.repo.merged(&held, line, &self.parts.layout) {
            Ok(commit) => Ok(Merged::Fits(commit)),
            Err(VerifyError::Conflicts { paths, .. }) => Ok(Merged::Conflicts(paths)),
            Err(error) => Err(error.into()),
        }
    }

    /// Runs the checks of the criterion and of the task, and those of all that landed since the work
    /// began, or of some that were proven before.
    async fn prove_landing(
        &mut self,
        iteration: &Iteration,
        evidence: &mut Evidence,
        merged: &Oid,
        delivery: &Delivery,
    ) -> Result<(), EngineError> {
        let focus = &iteration.criterion.key;
        let (others, turn) = (self.parts.regression_budget, iteration.number);
        let millis = self.baseline.millis();
        let since = self.landed_since(&iteration.task, &delivery.base)?;
        let phase = match since.is_empty() {
            true => CheckPhase::Iteration { focus, others, turn },
            false => CheckPhase::Landing { focus, since: &since },
        };
        let planned = plan(&iteration.task, phase, millis);
        let checks = Arc::clone(&self.parts.checks);
        let about =
            About::work(&iteration.task, (focus, &iteration.checkpoint.head), ProofDepth::Focus);
        let proved =
            self.prove_at(Warmth::Warm, merged, about, (&planned, checks.as_ref())).await?;
        self.add_proof(iteration, evidence, proved)?;
        self.record_checks(iteration.number, &evidence.checks)
    }

    /// Criteria that were proven after this commit.
    fn landed_since(&self, task: &Task, base: &Oid) -> Result<Vec<CriterionKey>, EngineError> {
        let then =
            super::unjudged::ticked_at(self.parts.repo.as_ref(), &self.parts.layout, Some(base))?;
        let now = task.criteria.iter().filter(|it| it.checked && !then.contains(&it.key));
        Ok(now.map(|it| it.key.clone()).collect())
    }

    /// Are the checks that fail on the tip green where the work was done? Then neither side is to
    /// blame.
    async fn red_only_together(
        &mut self,
        iteration: &Iteration,
        evidence: &Evidence,
        delivery: &Delivery,
    ) -> Result<Option<String>, EngineError> {
        if iteration.checkpoint.head == delivery.base {
            return Ok(None);
        }
        let key = &iteration.criterion.key;
        let red: Vec<&CheckResult> = evidence
            .checks
            .iter()
            .filter(|check| !check.passed() && !self.is_no_worse(check))
            .collect();
        if red.is_empty() {
            return Ok(None);
        }
        // Those of criteria that landed meanwhile are green on the tip, where they were proven.
        let since = self.landed_since(&iteration.task, &delivery.base)?;
        let mut own = plan(&iteration.task, CheckPhase::Baseline, self.baseline.millis());
        own.retain(|it| {
            let landed = !it.whole_task && it.criteria.iter().all(|it| since.contains(it));
            (!landed || it.criteria.contains(key))
                && red.iter().any(|check| check.command == it.command)
        });
        let checks = Arc::clone(&self.parts.checks);
        let about = About::task(&iteration.task, ProofDepth::Quick);
        let alone = self
            .prove_at(Warmth::Warm, &delivery.work.head, about, (&own, checks.as_ref()))
            .await?;
        let green = |check: &&&CheckResult| {
            own.iter().all(|it| it.command != check.command)
                || alone.checks.iter().any(|it| it.command == check.command && it.passed())
        };
        let together: Vec<_> =
            red.iter().filter(green).map(|it| format!("`{}`", it.command)).collect();
        if together.len() < red.len() {
            return Ok(None);
        }
        Ok(Some(format!(
            "{} fails on the work together with what landed on the branch meanwhile, and on neither \
             alone.",
            together.join(", ")
        )))
    }

    /// Says that work does not fit what landed meanwhile. The first time, it costs no attempt.
    fn tell_clash(&mut self, verdict: &mut Verdict, delivery: &Delivery, why: String) {
        let (result, weight) = match self.clashed.insert(delivery.key.clone()) {
            true => (VerdictResult::Inconclusive, Weight::Unclear),
            false => (VerdictResult::Fail, Weight::Fails),
        };
        let message = format!("{why} The work is kept: `git show {}`.", delivery.kept_as());
        verdict.result = result;
        verdict.findings.insert(0, Finding { kind: FindingKind::Clash, weight, message });
    }

    /// What filters make of the files that differ between two commits: they run in the room alone.
    async fn made_by_filters(
        &mut self,
        before: &Oid,
        merged: &Oid,
    ) -> Result<Vec<(PathBuf, Vec<u8>)>, EngineError> {
        let changed = self.parts.repo.between(before, merged)?;
        let paths: Vec<PathBuf> = changed.into_iter().map(|change| change.path).collect();
        let checks = Arc::clone(&self.parts.checks);
        let options = self.check_options(self.parts.repo.root());
        let Some(rooms) = &mut self.rooms else { return Ok(Vec::new()) };
        Ok(rooms.warm()?.made(merged, &paths, (checks.as_ref(), &options)).await?)
    }

    /// Moves the branch and the tree to the proven commit, and ticks the criterion.
    fn bring_in(
        &mut self,
        iteration: &Iteration,
        (merged, made): (&Oid, &[(PathBuf, Vec<u8>)]),
        delivery: &Delivery,
    ) -> Result<(), EngineError> {
        let parts = &self.parts;
        let key = &iteration.criterion.key;
        let branch = &parts.preflight.checkpoint.branch;
        let message =
            format!("{}[{}] - by worker {}", parts.layout.prefix(), key.text, delivery.worker);
        // After a crash, what is this landing's is told from what is the human's. If the note is torn,
        // the landing has not begun.
        let note = parts.run_folder.join(LANDING_FILE);
        std::fs::write(&note, merged.as_str()).map_err(|source| {
            let operation = "write";
            VerifyError::Io { operation, path: note, source }
        })?;
        parts.repo.land((branch, merged), [&[], made], &message, &parts.identity)?;
        self.set_tick(key, Tick::Done)?;
        let path = self.parts.repo.root().join(self.parts.layout.file(PROGRESS));
        if !delivery.work.progress.is_empty() {
            let mut bytes = std::fs::read(&path).unwrap_or_default();
            bytes.extend_from_slice(delivery.work.progress.as_bytes());
            atomic::write(&path, &bytes, Durability::Machine, FileMode::Umask)?;
        }
        Ok(())
    }

    /// Counts, records, and commits what came of the work, and decides whether the run continues.
    fn conclude_landing(
        &mut self,
        iteration: &Iteration,
        delivery: &Delivery,
        (evidence, mut verdict): (Evidence, Verdict),
    ) -> Result<Option<Outcome>, EngineError> {
        let key = &iteration.criterion.key;
        if verdict.tampered() {
            let reason = tampering(&verdict);
            self.record_verdict(iteration, evidence, verdict)?;
            self.tell_kept(delivery, "doubtful")?;
            self.doubtful = Some((delivery.base.clone(), delivery.kept_as().to_owned()));
            return Ok(Some(Outcome::Tampered { reason }));
        }
        let passed = matches!(verdict.result, VerdictResult::Pass(_));
        // A turn that was cut off counts if its work does.
        self.spent.iterations += u32::from(passed && delivery.work.stopped.is_some());
        if passed {
            self.learn(iteration, &evidence, &verdict)?;
        }
        let is_held = verdict.result == VerdictResult::Held;
        let why = verdict.findings.first().map(|it| it.message.clone()).unwrap_or_default();
        let is_clash = verdict.findings.first().is_some_and(|it| it.kind == FindingKind::Clash);
        let consequence = if is_clash && verdict.result == VerdictResult::Inconclusive {
            self.feedback.insert(key.clone(), verdict.findings.clone());
            Consequence::Continue
        } else {
            self.count_verdict(iteration, &evidence, &verdict)
        };
        // What must not stay cannot be put back in a tree that another criterion has by now: the next
        // attempt begins anew.
        let goes_on = !verdict
            .repairs
            .iter()
            .any(|repair| matches!(repair, Repair::BackToCheckpoint | Repair::RestoreFile(_)));
        // Everything else that it asks for never came to this tree.
        verdict.repairs.retain(|repair| *repair == Repair::ProgressLine);
        match delivery.kept.as_ref().filter(|_| goes_on && !passed && !is_held) {
            Some(kept) => {
                let (base, commit) = (delivery.base.clone(), delivery.work.head.clone());
                let (kept, worked) = (kept.commit.clone(), worked(&evidence).is_some());
                self.attempts.insert(key.clone(), Earlier { base, commit, kept, worked });
            }
            None => drop(self.attempts.remove(key)),
        }
        if passed {
            self.keep_lesson(iteration, &evidence)?;
        }
        self.record_verdict(iteration, evidence, verdict)?;
        if is_held {
            let name = self.parts.layout.held_ref(&ref_name(key));
            self.parts.repo.keep(&name, &delivery.work.head)?;
            let kept = (name, delivery.work.head.clone());
            self.wait_for_review(key, kept, delivery.base.clone(), &why)?;
        }
        if let Some(kept) = delivery.kept.as_ref().filter(|_| passed || is_held) {
            // The branch has it, or the other ref.
            self.parts.repo.release(&kept.name, &kept.commit)?;
        }
        let outcome = match consequence {
            Consequence::Continue => None,
            Consequence::Stop(outcome) => Some(outcome),
            Consequence::Block(_) => {
                let kept = delivery.kept.as_ref().map(|kept| kept.name.clone());
                let why = self.last_failure(key);
                self.block_criterion(key, iteration.number, &why, kept)?
            }
        };
        self.commit_state()?;
        // Without it, nothing in the tree counts as a landing's.
        drop(std::fs::remove_file(self.parts.run_folder.join(LANDING_FILE)));
        self.last_head = Some(self.parts.repo.checkpoint()?.head);
        self.end_iteration(iteration, delivery.work.millis)?;
        Ok(outcome)
    }

    /// Leaves work unjudged, under its ref: the checks could not run, or were cut off.
    fn leave(
        &mut self,
        iteration: &Iteration,
        delivery: &Delivery,
        could_not_run: Option<String>,
    ) -> Result<Option<Outcome>, EngineError> {
        self.tell_kept(delivery, "unfinished")?;
        self.worked_at_all = true;
        self.end_iteration(iteration, delivery.work.millis)?;
        match could_not_run {
            Some(said) => Err(SandboxError::NotStarted { said }.into()),
            None => Ok(None),
        }
    }

    /// Says where work is kept.
    pub(super) fn tell_kept(
        &mut self,
        delivery: &Delivery,
        which: &str,
    ) -> Result<(), EngineError> {
        self.tell_ref(&delivery.key, delivery.kept.as_ref(), which)
    }

    fn tell_ref(
        &mut self,
        key: &CriterionKey,
        kept: Option<&SavedAttempt>,
        which: &str,
    ) -> Result<(), EngineError> {
        let Some(kept) = kept else { return Ok(()) };
        if which == "unfinished" {
            self.unfinished.push(kept.name.clone());
        }
        self.notice(&format!("{which} work on {} is kept in {}", key.quoted(), kept.name))
    }
}
