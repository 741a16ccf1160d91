//! The start of a run: its first event, prepared files, and the checks before the work.

use super::EngineError;
use super::prompt_inputs::folder_of;
use super::require_checks::require_checks;
use super::run::{BaselineRun, Run};
use crate::model::{EventKind, Record as _, Task, Totals};
use crate::verify::{Baseline, CheckPhase, CommitsAlone, TASK, plan};

impl Run {
    /// Does everything that comes before the first iteration.
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
            sandbox: parts.tier,
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
            self.notice(&format!("committing the prepared task files: {names}"))?;
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
}
