//! One iteration after its turn: evidence, checks, verdict, repairs, record.

use std::path::Path;
use std::sync::Arc;

use super::EngineError;
use super::decide::{Consequence, after};
use super::iterate::Iteration;
use super::prompt_inputs;
use super::run::Run;
use crate::guard::secret_name;
use crate::model::{
    Attribution, ChangeKind, CriterionKey, EventKind, Evidence, Finding, FindingKind, History,
    OnStuck, Outcome, PathChange, ReadBack, Record as _, Repair, Stuck, TaskEdit, TaskFileChange,
    Turn, TurnEnd, Verdict, VerdictResult, Weight,
};
use crate::task;
use crate::verify::{
    CheckOptions, CheckPhase, CheckRun, Checks, Collected, Inputs, JudgeRules, KeepTick,
    PlannedCheck, RepairContext, Repairs, StateFiles, Status, collect, edited_meanwhile, judge,
    keep_list, plan, repair, run_checks, worked,
};

/// How a turn ended, as far as the count of attempts goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Completion {
    /// By the agent or for being stuck: it counts.
    Whole,
    /// By a failure of the agent or the end of the run: it counts only if it proved
    /// the criterion all the same.
    CutOff,
}

/// What settling came to.
#[derive(Debug, Default)]
pub(super) struct Evaluated {
    /// The run ends with it.
    pub(super) outcome: Option<Outcome>,
    /// The criterion is proven.
    pub(super) proven: bool,
}

impl Run {
    /// Judges a turn and draws the consequences.
    pub(super) async fn evaluate(
        &mut self,
        iteration: Iteration,
        turn: Turn,
        mut ending: Completion,
    ) -> Result<Evaluated, EngineError> {
        self.unlock()?;
        let mut collected = self.look(&iteration, &turn)?;
        let rules = JudgeRules {
            layout: &self.parts.layout.clone(),
            commits_alone: self.parts.commits_alone,
        };
        if worth_checking(&collected.evidence, ending)
            && !judge(&collected.evidence, &rules).tampered()
        {
            let checks = Arc::clone(&self.parts.checks);
            self.check_work(&iteration, &mut collected, checks.as_ref()).await?;
            for check in &collected.evidence.checks {
                let check = check.clone();
                let iteration = iteration.number;
                self.parts.events.record(EventKind::CheckFinished { iteration, check })?;
            }
            if self.interrupted().is_some() {
                // Its checks were ended, not the agent's work found wanting.
                ending = Completion::CutOff;
            }
        }
        let evidence = collected.evidence;
        let mut verdict = judge(&evidence, &rules);
        if let TurnEnd::Stuck(stuck) = &turn.end {
            tell_stuck(&mut verdict, stuck);
        }
        if iteration.criterion.recipe.is_some()
            && let Some(fault) = &turn.fault
        {
            tell_first(&mut verdict, FindingKind::RecipeFailed, fault.message.clone());
        }
        self.conclude(&iteration, evidence, verdict, ending)
    }

    pub(super) fn look(
        &self,
        iteration: &Iteration,
        turn: &Turn,
    ) -> Result<Collected, EngineError> {
        let parts = &self.parts;
        let focus = &iteration.criterion.key;
        let proven = self.state.criteria.iter().filter(|entry| entry.proof.is_some());
        let proven: Vec<_> = proven.map(|entry| entry.key.clone()).collect();
        let left = self.state.find(focus).and_then(|entry| entry.worked.as_ref());
        let worked_before = match left {
            Some(commit) => parts.repo.reaches(commit)?,
            None => false,
        };
        let mut collected = collect(
            parts.repo.as_ref(),
            &Inputs {
                layout: &parts.layout,
                focus,
                checkpoint: &iteration.checkpoint,
                origin: &iteration.origin,
                state: &iteration.files,
                settings: &iteration.settings,
                human: &parts.preflight.human,
                artefacts: &self.artefacts,
                protection: &iteration.protection,
                writes: &self.writes(iteration),
                edits: &self.edits(iteration),
                undecided: &turn.undecided,
                secret: &secret_name,
                date: &iteration.date.to_string(),
                before: &self.baseline.before(),
                proven: &proven,
                worked_before,
                compare: &self.compare(focus),
            },
        )?;
        collected.evidence.state_files.extend(self.changed_records(ReadBack::IfTouched));
        Ok(collected)
    }

    /// Runs the checks of the criterion in focus and adds their results to the evidence. If a
    /// human edits TASK.md while they run, the edit is kept and becomes part of the evidence.
    pub(super) async fn check_work(
        &mut self,
        iteration: &Iteration,
        collected: &mut Collected,
        checks: &dyn Checks,
    ) -> Result<(), EngineError> {
        let focus = &iteration.criterion.key;
        let phase = CheckPhase::Iteration { focus, others: self.parts.regression_budget };
        let planned = plan(&iteration.task, phase, self.baseline.millis());
        let before = self.read_people_files()?;
        let ran = self.run_checks(checks, &planned, &collected.status).await?;
        let after = self.read_people_files()?;
        let edited = edited_meanwhile(
            &self.compare(focus),
            &self.parts.layout,
            &iteration.files,
            &before,
            &after,
        );
        if let Some(edited) = edited {
            collected.evidence.task_file = edited;
        }
        collected.evidence.checks = ran.results;
        // Whatever the commands left behind is theirs in later verdicts, too.
        self.artefacts.extend(ran.artefacts);
        Ok(())
    }

    fn read_people_files(&self) -> Result<StateFiles, EngineError> {
        Ok(StateFiles::read(self.parts.repo.root(), &self.parts.layout)?)
    }

    /// What the run wrote about itself, and somebody else changed.
    pub(super) fn changed_records(&self, read_back: ReadBack) -> Vec<PathChange> {
        let root = self.parts.repo.root();
        let changed =
            self.parts.gate.changed_records(read_back).into_iter().map(|path| PathChange {
                kind: if path.exists() { ChangeKind::Modified } else { ChangeKind::Deleted },
                path: path.strip_prefix(root).map(Path::to_owned).unwrap_or(path),
            });
        changed.collect()
    }

    /// Compares TASK.md before and after, in terms of criteria.
    fn compare(
        &self,
        focus: &CriterionKey,
    ) -> impl Fn(&[u8], &[u8], Attribution) -> TaskFileChange {
        let name = self.parts.layout.task();
        move |before, after, by| {
            task::compare(&task::parse(name, before), &task::parse(name, after), focus, by)
        }
    }

    /// What the turn wrote. A recipe's steps are not decided one by one, and so nobody
    /// knows what they wrote: every state file, then.
    fn writes(&self, iteration: &Iteration) -> Vec<std::path::PathBuf> {
        let parts = &self.parts;
        let mut writes = parts.gate.writes();
        if iteration.criterion.recipe.is_some() {
            let root = parts.repo.root();
            writes.extend(parts.layout.state_files().into_iter().map(|path| root.join(path)));
        }
        writes
    }

    /// What changed in TASK.md during the turn. Of what changed during a recipe nobody knows
    /// that it was not the recipe.
    fn edits(&self, iteration: &Iteration) -> Vec<TaskEdit> {
        let mut edits = self.parts.gate.task_edits();
        for edit in &mut edits {
            edit.unseen |= iteration.criterion.recipe.is_some();
        }
        edits
    }

    fn conclude(
        &mut self,
        iteration: &Iteration,
        evidence: Evidence,
        verdict: Verdict,
        ending: Completion,
    ) -> Result<Evaluated, EngineError> {
        let key = iteration.criterion.key.clone();
        let proven = matches!(verdict.result, VerdictResult::Pass(_));
        let counts = ending == Completion::Whole || proven || verdict.tampered();
        if verdict.tampered() {
            // Everything stays as it is, for the human to look at.
            let reason = tampering(&verdict);
            self.record_verdict(iteration, evidence, verdict, Vec::new())?;
            return Ok(Evaluated { outcome: Some(Outcome::Tampered { reason }), proven: false });
        }
        if let Some(commit) = worked(&evidence) {
            self.state.entry(&key).worked = Some(commit.clone());
        }
        let repairs = self.repair(iteration, &verdict.repairs)?;
        self.tell_left(&repairs.left)?;
        if let Some(kept) = &repairs.saved {
            self.state.attempt_refs = kept.number.saturating_add(1);
            if verdict.repairs.contains(&Repair::BackToCheckpoint) {
                self.state.entry(&key).worked = None;
            }
        }
        match (&verdict.result, counts) {
            (VerdictResult::Pass(proof), _) => {
                let entry = self.state.entry(&key);
                entry.proof = Some(*proof);
                entry.iteration = Some(iteration.number);
                entry.worked = None;
                self.baseline.learn_passed(&evidence.checks);
                self.origins.remove(&key);
                self.feedback.remove(&key);
                self.spent.unclear = 0;
            }
            (VerdictResult::Fail, true) => {
                let entry = self.state.entry(&key);
                entry.attempts = entry.attempts.saturating_add(1);
                self.baseline.learn_open(&evidence.checks, &key);
                self.feedback.insert(key.clone(), verdict.findings.clone());
                self.spent.unclear = 0;
            }
            (VerdictResult::Inconclusive, true) => self.spent.unclear += 1,
            (VerdictResult::Fail | VerdictResult::Inconclusive, false) => {}
        }
        let consequence = if counts {
            let entry = self.state.entry(&key).clone();
            after(&verdict, &entry, &self.spent, &self.parts.limits)
        } else {
            Consequence::Continue
        };
        if counts {
            let repairs = verdict.repairs.clone();
            self.record_verdict(iteration, evidence, verdict, repairs)?;
        } else if verdict.repairs.iter().any(takes_back) {
            self.notice("the iteration was cut off; what it had claimed is taken back")?;
        }
        let outcome = match consequence {
            Consequence::Continue => None,
            Consequence::Stop(outcome) => Some(outcome),
            Consequence::Block(then) => self.block(iteration, then)?,
        };
        if counts || repairs != Repairs::default() {
            self.commit_state()?;
        } else {
            // Nothing came of it: it is written down with the next iteration, or the end.
            self.worked_at_all = true;
        }
        self.parts.events.record(EventKind::IterationEnded {
            iteration: iteration.number,
            millis: u64::try_from(iteration.started.elapsed().as_millis()).unwrap_or(u64::MAX),
            premium_requests: iteration.premium_requests,
        })?;
        Ok(Evaluated { outcome, proven })
    }

    fn record_verdict(
        &self,
        iteration: &Iteration,
        evidence: Evidence,
        verdict: Verdict,
        repairs: Vec<Repair>,
    ) -> Result<(), EngineError> {
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
                .and_then(|criterion| task::tick(bytes, criterion.mark, task::Tick::Open).ok())
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

    /// A criterion used up its attempts.
    pub(super) fn block(
        &mut self,
        iteration: &Iteration,
        then: OnStuck,
    ) -> Result<Option<Outcome>, EngineError> {
        let key = iteration.criterion.key.clone();
        let entry = self.state.entry(&key);
        entry.blocked = true;
        let attempts = entry.attempts;
        let why = self.feedback.get(&key).and_then(|findings| findings.first());
        let why = why.map_or_else(|| "it was not proven".to_owned(), |it| it.message.clone());
        self.add_sign(iteration, attempts, &why)?;
        let kept = match then {
            OnStuck::Stop => None,
            OnStuck::Skip => Some(self.stash_attempt(iteration)?),
        };
        self.parts.events.record(EventKind::CriterionBlocked {
            criterion: key.clone(),
            then,
            kept,
        })?;
        Ok(match then {
            OnStuck::Skip => None,
            OnStuck::Stop => {
                let reason =
                    format!("`{}` failed {}: {why}", key.text, prompt_inputs::attempts(attempts));
                Some(Outcome::Stuck { reason })
            }
        })
    }

    /// Keeps all of a criterion's attempts under a ref and puts the branch back to where
    /// it stood before the first of them. What people read in the task's folder stays.
    fn stash_attempt(&mut self, iteration: &Iteration) -> Result<String, EngineError> {
        let parts = &self.parts;
        let repo = parts.repo.as_ref();
        let message = format!("{}put aside", parts.layout.prefix());
        let number = self.state.attempt_refs.max(1);
        let kept = repo.save_attempt(&parts.layout, number, &message, &parts.preflight.human)?;
        let files = self.read_state_files()?;
        let mut origin = iteration.checkpoint.clone();
        origin.head = iteration.origin.clone();
        let left = repo.back_to(&origin, &parts.preflight.human)?;
        self.tell_left(&left)?;
        self.write_state_files(&files)?;
        self.state.attempt_refs = kept.number.saturating_add(1);
        self.origins.remove(&iteration.criterion.key);
        self.state.entry(&iteration.criterion.key).worked = None;
        Ok(kept.name)
    }

    /// Runs verify commands in the working tree.
    pub(super) async fn run_checks(
        &self,
        checks: &dyn Checks,
        planned: &[PlannedCheck],
        status: &Status,
    ) -> Result<CheckRun, EngineError> {
        let parts = &self.parts;
        let options = self.check_options(parts.repo.root());
        let repo = parts.repo.as_ref();
        let keep = keep_list(repo.root(), &parts.preflight.human, parts.layout.peoples_files())?;
        let ran = run_checks(repo, checks, planned, &options, status, &keep).await?;
        self.tell_unlocked(&ran.unlocked)?;
        if let Some(tree) = &ran.as_it_was {
            let paths: Vec<_> = ran.put_back.iter().map(|it| it.display().to_string()).collect();
            self.notice(&format!(
                "put back, because it changed while verify commands ran: {}; as it was then: \
                 git show {}:PATH",
                paths.join(", "),
                tree.short()
            ))?;
        }
        Ok(ran)
    }

    /// What stays as it is although it was to be put back.
    pub(super) fn tell_left(&self, left: &[std::path::PathBuf]) -> Result<(), EngineError> {
        if left.is_empty() {
            return Ok(());
        }
        let paths: Vec<_> = left.iter().map(|path| path.display().to_string()).collect();
        self.notice(&format!(
            "not put back, because your own files are in the way or it is a repository: {}",
            paths.join(", ")
        ))
    }

    pub(super) fn check_options(&self, dir: &std::path::Path) -> CheckOptions {
        CheckOptions {
            dir: dir.to_owned(),
            limit: self.parts.verify_limit,
            env: self.parts.check_environment.clone(),
        }
    }
}

/// Says that the turn had to be ended. Work that is proven stays proven; else it is the
/// first thing that the next attempt should know.
fn tell_stuck(verdict: &mut Verdict, stuck: &Stuck) {
    let message = format!("The turn had to be ended: {stuck}. Do not wait, and do not repeat it.");
    tell_first(verdict, FindingKind::TurnStuck, message);
}

/// Says what went wrong before anything else, unless the work is proven all the same.
fn tell_first(verdict: &mut Verdict, kind: FindingKind, message: String) {
    let finding = |weight| Finding { kind, weight, message };
    match verdict.result {
        VerdictResult::Fail if !verdict.tampered() => {
            verdict.findings.insert(0, finding(Weight::Fails));
        }
        VerdictResult::Pass(_) | VerdictResult::Fail | VerdictResult::Inconclusive => {
            verdict.findings.push(finding(Weight::Said));
        }
    }
}

/// Whether running the checks can change anything: there is something to check, on the
/// branch where it has to be. Elsewhere everything is put back whatever they say.
pub(super) fn worth_checking(evidence: &Evidence, ending: Completion) -> bool {
    if evidence.history != History::Straight || evidence.in_progress.is_some() {
        return false;
    }
    let ticked = evidence.task_file.focus_ticked;
    let worked = !evidence.commits.is_empty() || evidence.worked_before;
    match ending {
        Completion::Whole => ticked || worked,
        Completion::CutOff => ticked && worked,
    }
}

/// Whether a repair undoes something that was claimed.
fn takes_back(repair: &Repair) -> bool {
    match repair {
        Repair::RestoreTask { .. }
        | Repair::BackToCheckpoint
        | Repair::Untick
        | Repair::RestoreFile(_) => true,
        Repair::ProgressLine | Repair::StateCommit => false,
    }
}

fn tampering(verdict: &Verdict) -> String {
    let found = verdict.findings.iter().filter(|finding| finding.weight == Weight::Tampering);
    found.map(|finding| finding.message.as_str()).collect::<Vec<_>>().join(" ")
}
