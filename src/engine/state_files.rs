//! What a run writes beside the journal: state.json, signs, the tick, the state commit.

use std::path::PathBuf;

use super::EngineError;
use super::prompt_inputs::{self, folder_of};
use super::require_checks::require_checks;
use super::run::{BaselineRun, NextCommands, Run};
use super::state;
use crate::model::{
    CriterionKey, CriterionSummary, EventKind, Obstacle, Outcome, ReadBack, Record as _,
    RunSummary, Task, Totals,
};
use crate::sys::{Durability, FileMode, atomic};
use crate::task::{self, Tick};
use crate::verify::{Baseline, CheckPhase, CommitsAlone, GUARDRAILS, TASK, keep_list, plan};

impl Run {
    /// Everything before the first iteration.
    pub(super) async fn begin(&mut self) -> Result<(), EngineError> {
        let task = self.task()?;
        let open = task.criteria.iter().filter(|criterion| !criterion.checked);
        self.open_before = open.map(|criterion| criterion.key.clone()).collect();
        let parts = &self.parts;
        let open = self.open_before.len();
        parts.events.record(EventKind::RunStarted {
            task: parts.layout.task().to_owned(),
            folder: folder_of(&parts.layout),
            agent: parts.agent_command.clone(),
            model: parts.model.clone(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            pid: std::process::id(),
            checkpoint: parts.preflight.checkpoint.clone(),
            criteria: Totals { total: task.criteria.len(), open },
            max_iterations: parts.limits.iterations,
            human: parts.preflight.human.paths().count(),
        })?;
        for message in &parts.notices {
            self.notice(message)?;
        }
        if !parts.preflight.prepared.is_empty() {
            let names = parts.preflight.prepared.iter().map(|path| path.display().to_string());
            let names = names.collect::<Vec<_>>().join(", ");
            self.notice(&format!("committing what was prepared for the task: {names}"))?;
            let message = parts.layout.state_message();
            let branch = &parts.preflight.checkpoint.branch;
            let prepared = &parts.preflight.prepared;
            parts.repo.commit_paths(branch, prepared, &message, &parts.identity)?;
        }
        self.refuse_commit_only(&task)?;
        match self.parts.baseline {
            BaselineRun::Taken => self.take_baseline(&task).await?,
            BaselineRun::Skipped => {}
        }
        self.refuse_commit_only(&task)
    }

    /// Refuses criteria that only a commit could prove, if the user requires checks.
    fn refuse_commit_only(&self, task: &Task) -> Result<(), EngineError> {
        match self.parts.commits_alone {
            CommitsAlone::Accepted => Ok(()),
            CommitsAlone::Refused => {
                let file = self.parts.layout.file(TASK);
                require_checks(task, &self.state, &file, &self.baseline.before())
            }
        }
    }

    async fn take_baseline(&mut self, task: &Task) -> Result<(), EngineError> {
        let planned = plan(task, CheckPhase::Baseline, self.baseline.millis());
        if planned.is_empty() {
            return Ok(());
        }
        let parts = &self.parts;
        let status = parts.repo.status()?;
        let ran = self.run_checks(parts.checks.as_ref(), &planned, &status).await?;
        parts.events.record(EventKind::BaselineChecked { checks: ran.results.clone() })?;
        self.artefacts.extend(ran.artefacts);
        self.baseline = Baseline::new(ran.results);
        Ok(())
    }

    /// TASK.md as it stands now.
    pub(super) fn task(&self) -> Result<Task, EngineError> {
        let task = task::load(&self.parts.folder)?;
        if task::usable(&task) {
            return Ok(task);
        }
        let path = self.parts.layout.file(TASK);
        let shown = path.display().to_string();
        let rendered = task
            .diagnostics
            .iter()
            .map(|diagnostic| task::render_diagnostic(&shown, &task.source, diagnostic));
        let diagnostics = rendered.collect::<Vec<_>>().join("\n");
        Err(EngineError::TaskInvalid { path, diagnostics })
    }

    /// Changes one byte of TASK.md as it stands now.
    pub(super) fn set_tick(&self, key: &CriterionKey, to: Tick) -> Result<(), EngineError> {
        let path = &self.parts.folder.task_file;
        let task = task::load(&self.parts.folder)?;
        let Some(criterion) = task::find(&task, key) else { return Ok(()) };
        if criterion.checked == (to == Tick::Done) {
            return Ok(());
        }
        let bytes = task::tick(task.source.as_bytes(), criterion.mark, to)?;
        atomic::write(path, &bytes, Durability::Machine, FileMode::Umask)?;
        Ok(())
    }

    /// Writes a sign to guardrails.md, once per criterion.
    pub(super) fn sign(
        &mut self,
        key: &CriterionKey,
        iteration: u32,
        attempts: u32,
        why: &str,
    ) -> Result<(), EngineError> {
        let path = self.parts.repo.root().join(self.parts.layout.file(GUARDRAILS));
        // As bytes: what a human's editor wrote need be no UTF-8.
        let mut text = match std::fs::read(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                b"# Guardrails\n".to_vec()
            }
            Err(source) => return Err(EngineError::StateRead { path, source }),
        };
        let redact = |text: &str| self.parts.gate.redactor().redact_str(text).into_owned();
        let mark = redact(&format!("Criterion '{}' caused loop", key.text));
        if String::from_utf8_lossy(&text).contains(&mark) {
            return Ok(());
        }
        let date = self.parts.clock.today();
        let why = redact(why).replace('\n', " ");
        let attempts = prompt_inputs::attempts(attempts);
        let sign = format!("- {mark} ({date}, iteration {iteration}, {attempts} failed): {why}");
        if !text.ends_with(b"\n") {
            text.push(b'\n');
        }
        text.extend_from_slice(sign.as_bytes());
        text.push(b'\n');
        atomic::write(&path, &text, Durability::Machine, FileMode::Umask)?;
        self.parts.events.record(EventKind::SignAdded { criterion: key.clone(), sign })?;
        Ok(())
    }

    /// Tells the human something.
    pub(super) fn notice(&self, message: &str) -> Result<(), EngineError> {
        self.parts.events.record(EventKind::Notice { message: message.to_owned() })?;
        Ok(())
    }

    /// Lets the reporters write, writes state.json, and commits the state files.
    pub(super) fn commit_state(&mut self) -> Result<(), EngineError> {
        self.worked_at_all = true;
        let parts = &self.parts;
        parts.events.flush()?;
        state::write(parts.repo.root(), &parts.layout, &self.state)?;
        let mut files = parts.layout.state_files();
        if self.task().is_err() {
            // A human is in the middle of something with it: it is theirs to commit.
            files.retain(|path| *path != parts.layout.file(TASK));
        }
        let branch = &parts.preflight.checkpoint.branch;
        let message = parts.layout.state_message();
        parts.repo.commit_paths(branch, &files, &message, &parts.identity)?;
        Ok(())
    }

    /// The state files as they are on disk.
    pub(super) fn read_state_files(&self) -> Result<Vec<(PathBuf, Vec<u8>)>, EngineError> {
        let mut files = Vec::new();
        for path in self.parts.layout.state_files() {
            let path = self.parts.repo.root().join(path);
            match std::fs::read(&path) {
                Ok(bytes) => files.push((path, bytes)),
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
                Err(source) => return Err(EngineError::StateRead { path, source }),
            }
        }
        Ok(files)
    }

    /// Puts state files back on disk.
    pub(super) fn write_state_files(
        &self,
        files: &[(PathBuf, Vec<u8>)],
    ) -> Result<(), EngineError> {
        for (path, bytes) in files {
            atomic::write(path, bytes, Durability::Machine, FileMode::Umask)?;
        }
        Ok(())
    }

    /// The end of a run that lacks something it cannot do without.
    pub(super) fn end_for(&mut self, error: &EngineError) -> Result<Outcome, EngineError> {
        let obstacle = error.obstacle();
        match obstacle {
            Obstacle::Invalid | Obstacle::Agent => self.try_to_tidy_up()?,
            // A repository in the human's hands, or a full disk, is left as it is.
            Obstacle::Repository | Obstacle::Write => {}
        }
        let reason = error.to_string();
        self.end(Outcome::CannotGoOn { obstacle, reason })
    }

    /// Whether the run's branch can be committed to.
    pub(super) fn ready(&self) -> Result<(), EngineError> {
        self.tell_unlocked(&self.parts.repo.ready(&self.parts.preflight.checkpoint.branch)?)
    }

    /// Looks at the run's own records for the last time: what ran after the last verdict, as
    /// the checks at the end, can have changed them, too.
    pub(super) fn verify_records(&self, outcome: Outcome) -> Outcome {
        let changed = self.changed_records(ReadBack::Always);
        if changed.is_empty() || matches!(outcome, Outcome::Tampered { .. }) {
            return outcome;
        }
        let paths: Vec<_> = changed.iter().map(|it| it.path.display().to_string()).collect();
        let reason =
            format!("The runner's own records changed before its end: {}.", paths.join(", "));
        Outcome::Tampered { reason }
    }

    /// Leaves the tree as the outcome promises, so that what the journal says at its end
    /// is true.
    pub(super) fn tidy_up(&mut self, outcome: Outcome) -> Result<Outcome, EngineError> {
        match &outcome {
            // Everything stays as it is, for the human to look at.
            Outcome::Tampered { .. } | Outcome::CannotGoOn { .. } => {}
            Outcome::Proven | Outcome::Stuck { .. } => {
                if self.worked_at_all {
                    self.ready()?;
                }
            }
            Outcome::LimitReached { .. }
            | Outcome::AgentUnusable { .. }
            | Outcome::RateLimited { .. } => {
                if self.worked_at_all {
                    self.ready()?;
                }
                self.keep_leftovers()?;
            }
            // Whoever ended it wants it to end: its code stands, whatever is in the way.
            Outcome::Interrupted { .. } => {
                self.try_to_tidy_up()?;
            }
        }
        Ok(outcome)
    }

    /// Keeps what is unfinished, or says why it stays in the tree.
    fn try_to_tidy_up(&mut self) -> Result<(), EngineError> {
        match self.ready().and_then(|()| self.keep_leftovers()) {
            Ok(()) => Ok(()),
            Err(error) => self.notice(&format!("what is unfinished stays in the tree: {error}")),
        }
    }

    /// Everything after the last iteration.
    pub(super) fn end(&mut self, outcome: Outcome) -> Result<Outcome, EngineError> {
        // A run that found nothing to do, or no agent to do it, leaves no commit behind.
        if self.worked_at_all {
            match &outcome {
                Outcome::Tampered { .. } => {}
                Outcome::Proven
                | Outcome::LimitReached { .. }
                | Outcome::Stuck { .. }
                | Outcome::AgentUnusable { .. }
                | Outcome::RateLimited { .. } => self.commit_state()?,
                // What cannot be committed now is committed when the next run begins.
                Outcome::Interrupted { .. } | Outcome::CannotGoOn { .. } => {
                    if let Err(error) = self.commit_state() {
                        tracing::debug!(%error, "the state stays uncommitted");
                    }
                }
            }
        }
        // The last word comes last: a run that said it has nothing left to put in order.
        let summary = self.summary(&outcome);
        self.parts.events.record(EventKind::RunEnded {
            exit_code: outcome.exit_code(),
            outcome: outcome.clone(),
            summary,
        })?;
        Ok(outcome)
    }

    /// Work that the agent had begun and not committed is kept under a ref, and the tree
    /// is put back, so that the next run begins on a clean one.
    fn keep_leftovers(&mut self) -> Result<(), EngineError> {
        let parts = &self.parts;
        let human = &parts.preflight.human;
        let left = parts.repo.status()?.all().into_iter().any(|change| {
            !parts.layout.is_state_file(&change.path)
                && !human.contains(&change.path)
                && !self.artefacts.contains(&change.path)
        });
        if !left {
            return Ok(());
        }
        let message = format!("{}unfinished", parts.layout.prefix());
        let number = self.state.attempt_refs.max(1);
        let saved = parts.repo.save_attempt(&parts.layout, number, &message, human)?;
        let keep = keep_list(parts.repo.root(), human, parts.layout.state_files())?;
        let left = parts.repo.back_to(&parts.repo.checkpoint()?, &keep)?;
        self.tell_left(&left)?;
        self.state.attempt_refs = saved.number.saturating_add(1);
        self.notice(&format!("uncommitted work is kept under {}", saved.name))
    }

    fn summary(&self, outcome: &Outcome) -> RunSummary {
        let criteria = task::load(&self.parts.folder).map(|task| task.criteria).unwrap_or_default();
        let criteria = criteria.into_iter().map(|criterion| {
            let entry = self.state.find(&criterion.key);
            CriterionSummary {
                line: criterion.line,
                checked: criterion.checked,
                blocked: entry.is_some_and(|entry| entry.blocked),
                proof: entry.and_then(|entry| entry.proof),
                attempts: entry.map_or(0, |entry| entry.attempts),
                key: criterion.key,
            }
        });
        RunSummary {
            criteria: criteria.collect(),
            iterations: self.spent.iterations,
            millis: u64::try_from(self.started.elapsed().as_millis()).unwrap_or(u64::MAX),
            premium_requests: self.spent.premium_requests,
            tokens: self.spent.tokens,
            next: self.next_steps(outcome),
        }
    }

    /// What the human can do now.
    fn next_steps(&self, outcome: &Outcome) -> Vec<String> {
        let NextCommands { start: again, retry, review } = &self.parts.commands;
        match outcome {
            Outcome::Proven => vec![format!("review the commits: {review}")],
            Outcome::LimitReached { .. } | Outcome::Interrupted { .. } => {
                vec![format!("go on where it stopped: {again}")]
            }
            Outcome::Stuck { .. } if self.state.criteria.iter().any(|entry| entry.blocked) => vec![
                "read the sign in guardrails.md; change the criterion, or help".to_owned(),
                format!("then try again: {retry} && {again}"),
            ],
            Outcome::Stuck { .. } => {
                vec![format!("look at TASK.md and put right what does not hold, then: {again}")]
            }
            Outcome::AgentUnusable { fault } => {
                vec![crate::agent::hint(fault.class).to_owned()]
            }
            Outcome::RateLimited { resume_at, .. } => {
                vec![format!(
                    "start it again after {}: {again}",
                    resume_at.format("%Y-%m-%d %H:%M:%S UTC")
                )]
            }
            Outcome::CannotGoOn { .. } => {
                vec![format!("put right what is in the way, then: {again}")]
            }
            Outcome::Tampered { .. } => {
                vec!["look at what changed before anything else: ralph-copilot log".to_owned()]
            }
        }
    }
}
