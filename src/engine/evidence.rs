//! The evidence of a turn: git, the state files, the guard's records, and the checks.
//!
//! Invariant: the verdict and the in-turn check use the same functions, so that a human's edit
//! is kept in both.

use std::path::{Path, PathBuf};

use super::EngineError;
use super::crew::Delivery;
use super::iteration::{Completion, Iteration};
use super::ledger::Ledger;
use super::proof::{About, ProofDepth};
use crate::agent::AgentKind;
use crate::guard::committed_secret;
use crate::model::{
    Attribution, ChangeKind, CheckResult, Checkpoint, CriterionKey, EventKind, Evidence,
    FirstStatus, History, PathChange, ProofMode, ReadBack, Record as _, TaskEdit, TaskFileChange,
    Tier, Turn, Verdict,
};
use crate::task;
use crate::verify::{
    CheckOptions, CheckPhase, CheckRun, Checks, Collected, Inputs, JudgeRules, PlannedCheck,
    Proved, Purpose, StateFiles, Status, VerifyError, Warmth, collect, collect_commits,
    edited_meanwhile, is_git_setting, judge, keep_list, plan, run_checks,
};

impl Ledger {
    /// Gathers the evidence of a turn. The checks run later, in [`Self::check_work`].
    pub(super) fn collect_evidence(
        &self,
        iteration: &Iteration,
        turn: &Turn,
    ) -> Result<Collected, EngineError> {
        let parts = &self.parts;
        let at = (&iteration.checkpoint, turn);
        let mut collected =
            self.with_inputs(iteration, at, |inputs| collect(parts.repo.as_ref(), inputs))?;
        collected.evidence.state_files.extend(self.changed_records(ReadBack::IfTouched));
        collected.evidence.around = parts.around.changed()?;
        self.restore_bytecode(&mut collected)?;
        Ok(collected)
    }

    /// Restores the bytecode that Python caches beside its modules, where git sees it: each run of
    /// the tests rewrites it, so it is no work.
    fn restore_bytecode(&self, collected: &mut Collected) -> Result<(), EngineError> {
        let is_bytecode = |path: &Path| {
            path.extension().is_some_and(|it| it == "pyc")
                && path.parent().is_some_and(|it| it.ends_with("__pycache__"))
        };
        let left = &mut collected.evidence.uncommitted;
        let bytecode = left.extract_if(.., |change| is_bytecode(&change.path));
        let bytecode: Vec<PathBuf> = bytecode.map(|change| change.path).collect();
        if !bytecode.is_empty() {
            let repo = &self.parts.repo;
            repo.restore(&repo.checkpoint()?.head, &bytecode)?;
            collected.status.tracked.retain(|change| !bytecode.contains(&change.path));
            collected.status.untracked.retain(|path| !bytecode.contains(path));
        }
        Ok(())
    }

    /// The evidence of work that was handed in: a worker's own, or, from another machine, what its
    /// commits tell.
    pub(super) fn evidence_of(
        &self,
        iteration: &Iteration,
        delivery: &Delivery,
    ) -> Result<Evidence, EngineError> {
        if !delivery.from_afar {
            return Ok(delivery.work.evidence.clone());
        }
        let (head, branch) = (delivery.base.clone(), iteration.checkpoint.branch.clone());
        let (begun, turn) = (Checkpoint { head, branch }, Turn::default());
        self.with_inputs(iteration, (&begun, &turn), |inputs| {
            collect_commits(self.parts.repo.as_ref(), inputs, &delivery.work.head)
        })
    }

    /// What is known of a turn besides its results.
    fn with_inputs<T>(
        &self,
        iteration: &Iteration,
        (checkpoint, turn): (&Checkpoint, &Turn),
        collect: impl FnOnce(&Inputs<'_>) -> Result<T, VerifyError>,
    ) -> Result<T, EngineError> {
        let parts = &self.parts;
        let focus = &iteration.criterion.key;
        let proven = self.state.criteria.iter().filter(|entry| entry.proof.is_some());
        let proven: Vec<_> = proven.map(|entry| entry.key.clone()).collect();
        let left = self.state.find(focus).and_then(|entry| entry.worked.as_ref());
        let worked_before = match left {
            Some(commit) => parts.repo.reaches(commit)?,
            None => false,
        };
        let everything = plan(&iteration.task, CheckPhase::Baseline, self.baseline.millis());
        let collected = collect(&Inputs {
            layout: &parts.layout,
            focus,
            checkpoint,
            origin: &iteration.origin,
            state: &iteration.files,
            settings: &iteration.settings,
            human: &parts.preflight.human,
            artefacts: &self.artefacts,
            protection: &iteration.protection,
            writes: &self.writes(iteration),
            sealed: self.is_sealed(iteration),
            edits: &self.edits(iteration),
            undecided: &turn.undecided,
            secret: &committed_secret,
            date: &iteration.date.to_string(),
            before: &self.baseline.of(&everything),
            proven: &proven,
            worked_before,
            compare: &self.compare(focus),
        })?;
        Ok(collected)
    }

    /// Changes of git's settings that no command of the turn can have made are the human's.
    pub(super) fn take_over_git_settings(
        &self,
        iteration: &mut Iteration,
        evidence: &mut Evidence,
    ) -> Result<(), EngineError> {
        let is_humans = |change: &PathChange| iteration.spared_git && is_git_setting(&change.path);
        if !evidence.settings.iter().any(is_humans) {
            return Ok(());
        }
        evidence.settings.retain(|change| !is_humans(change));
        let now = self.parts.repo.settings()?;
        for path in iteration.settings.take_over(&now, is_git_setting) {
            let message = format!("{} was changed outside of the sandbox", path.display());
            self.parts.events.record(EventKind::Notice { message })?;
        }
        Ok(())
    }

    /// Runs the checks of the criterion in focus and adds their results to the evidence. If a
    /// human edits TASK.md while they run, the edit is kept and becomes part of the evidence.
    pub(super) async fn check_work(
        &mut self,
        iteration: &Iteration,
        collected: &mut Collected,
        (checks, depth): (&dyn Checks, ProofDepth),
    ) -> Result<(), EngineError> {
        let focus = &iteration.criterion.key;
        let (others, turn) = (self.parts.regression_budget, iteration.number);
        let phase = CheckPhase::Iteration { focus, others, turn };
        let planned = plan(&iteration.task, phase, self.baseline.millis());
        let before = StateFiles::read(self.parts.repo.root(), &self.parts.layout)?;
        let proof = self
            .run_proof(
                Warmth::Warm,
                About::work(&iteration.task, (focus, &iteration.origin), depth),
                (&planned, checks),
                &collected.status,
            )
            .await?;
        let after = StateFiles::read(self.parts.repo.root(), &self.parts.layout)?;
        let edited = edited_meanwhile(
            &self.compare(focus),
            &self.parts.layout,
            &iteration.files,
            (&before, &after),
            self.author_meanwhile(),
        );
        if let Some(edited) = edited {
            collected.evidence.task_file = edited;
        }
        self.add_proof(iteration, &mut collected.evidence, proof)
    }

    /// Adds the results of a proof to the evidence.
    pub(super) fn add_proof(
        &mut self,
        iteration: &Iteration,
        evidence: &mut Evidence,
        proof: Proved,
    ) -> Result<(), EngineError> {
        let red = proof.checks.iter().map(|check| &check.command).filter(|command| {
            matches!(self.state.first_seen(command), Some(FirstStatus::Red | FirstStatus::Missing))
        });
        evidence.red_at_start = red.cloned().collect();
        evidence.worked_before |=
            self.other_work_met_it(iteration, &proof.checks, &evidence.red_at_start)?;
        self.take_holdouts(&proof)?;
        evidence.holdout = proof.holdout;
        evidence.checks = proof.checks;
        evidence.flaky = proof.flaky;
        evidence.wrote = proof.wrote;
        evidence.unmoved = proof.unmoved;
        evidence.put_back = proof.put_back;
        Ok(())
    }

    /// Did work on something else, since the task's start, turn the criterion's checks green? Then
    /// there is nothing left to commit.
    fn other_work_met_it(
        &self,
        iteration: &Iteration,
        checks: &[CheckResult],
        red_at_start: &[String],
    ) -> Result<bool, EngineError> {
        let focus = &iteration.criterion.key;
        let own = || checks.iter().filter(|check| check.criteria.contains(focus));
        let (Some(start), true) = (&self.state.start, own().all(CheckResult::passed)) else {
            return Ok(false);
        };
        if !own().any(|check| red_at_start.contains(&check.command)) {
            return Ok(false);
        }
        // A shallow clone may lack the start: then nothing is known of other work.
        let Ok(changes) = self.parts.repo.between(start, &iteration.checkpoint.head) else {
            return Ok(false);
        };
        Ok(changes.iter().any(|change| !self.parts.layout.is_state_file(&change.path)))
    }

    /// The run's own records that someone else changed.
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

    /// The paths that the turn wrote. A recipe's steps are not decided one by one, so that they
    /// may have written any state file.
    fn writes(&self, iteration: &Iteration) -> Vec<PathBuf> {
        let parts = &self.parts;
        let mut writes = parts.gate.writes();
        if iteration.criterion.recipe.is_some() {
            let root = parts.repo.root();
            writes.extend(parts.layout.state_files().into_iter().map(|path| root.join(path)));
        }
        writes
    }

    /// The changes to TASK.md during the turn. During a recipe each may be the recipe's.
    fn edits(&self, iteration: &Iteration) -> Vec<TaskEdit> {
        let mut edits = self.parts.gate.task_edits();
        for edit in &mut edits {
            edit.unseen |=
                iteration.criterion.recipe.is_some() || self.parts.agent == AgentKind::Other;
        }
        edits
    }

    /// Are TASK.md and the human's uncommitted files out of the reach of the agent's commands in
    /// this iteration?
    fn is_sealed(&self, iteration: &Iteration) -> bool {
        let parts = &self.parts;
        parts.tier == Tier::Full
            && parts.agent == AgentKind::Copilot
            && iteration.criterion.recipe.is_none()
    }

    /// Who changes TASK.md while checks run.
    fn author_meanwhile(&self) -> Attribution {
        let in_room = self.rooms.is_some() && self.parts.proof == ProofMode::Room;
        match self.parts.tier {
            Tier::Full | Tier::Partial if in_room => Attribution::Human,
            Tier::Full | Tier::Partial | Tier::Off => Attribution::Unknown,
        }
    }

    /// Runs verify commands in the working tree, and restores files that they changed.
    pub(super) async fn run_checks(
        &self,
        checks: &dyn Checks,
        planned: &[PlannedCheck],
        status: &Status,
        purpose: Purpose,
    ) -> Result<CheckRun, EngineError> {
        let parts = &self.parts;
        let options = CheckOptions { purpose, ..self.check_options(parts.repo.root()) };
        let repo = parts.repo.as_ref();
        let keep = keep_list(repo.root(), &parts.preflight.human, parts.layout.peoples_files())?;
        let ran = run_checks(repo, checks, planned, &options, status, &keep).await?;
        self.tell_unlocked(&ran.unlocked)?;
        if let Some(tree) = &ran.as_it_was {
            let paths: Vec<_> = ran.put_back.iter().map(|it| it.display().to_string()).collect();
            self.notice(&format!(
                "restored, because it changed while verify commands ran: {}; to see the change: \
                 git show {}:PATH",
                paths.join(", "),
                tree.short()
            ))?;
        }
        Ok(ran)
    }

    pub(super) fn check_options(&self, dir: &Path) -> CheckOptions {
        CheckOptions {
            limit: self.parts.verify_limit,
            env: self.parts.check_environment.clone(),
            ..CheckOptions::in_dir(dir)
        }
    }

    /// Judges evidence by this run's rules.
    pub(super) fn judge(&self, evidence: &Evidence) -> Verdict {
        let parts = &self.parts;
        let rules = JudgeRules { layout: &parts.layout, commits_alone: parts.commits_alone };
        judge(evidence, &rules)
    }
}

/// Can the checks change the verdict? Only if there is work on the right branch; otherwise
/// everything is put back, whatever their results.
pub(super) fn worth_checking(evidence: &Evidence, ending: Completion) -> bool {
    if evidence.history != History::Straight || evidence.in_progress.is_some() {
        return false;
    }
    let ticked = evidence.task_file.focus_ticked;
    let worked = !evidence.commits.is_empty() || evidence.worked_before;
    match ending {
        Completion::Whole => ticked || worked || evidence.blocked_by.is_some(),
        Completion::CutOff => ticked && worked,
    }
}
