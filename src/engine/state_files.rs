//! The task's files as a run reads and writes them: TASK.md, the state files, their commit.

use std::path::PathBuf;

use super::EngineError;
use super::ledger::Ledger;
use super::state;
use crate::model::{CriterionKey, EventKind, Oid, Record as _, Task, one_line};
use crate::sys::{Durability, FileMode, atomic};
use crate::task::{self, Tick};
use crate::verify::{BASE_TRAILER, CRITERION_TRAILER, TASK, TASK_TRAILER};

impl Ledger {
    /// Reads TASK.md.
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

    /// Ticks or unticks a criterion: one byte of TASK.md.
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

    /// Opens every box again that was open before a turn. An unreadable TASK.md is not changed.
    pub(super) fn take_back_ticks(&self, before: &Task) {
        let open = before.criteria.iter().filter(|criterion| !criterion.checked);
        for criterion in open {
            if let Err(error) = self.set_tick(&criterion.key, Tick::Open) {
                tracing::debug!(%error, "a tick stays");
            }
        }
    }

    /// Records a message for the human.
    pub(super) fn notice(&self, message: &str) -> Result<(), EngineError> {
        self.parts.events.record(EventKind::Notice { message: message.to_owned() })?;
        Ok(())
    }

    /// Flushes the reporters, writes state.json, and commits the state files.
    pub(super) fn commit_state(&mut self) -> Result<(), EngineError> {
        self.worked_at_all = true;
        let parts = &self.parts;
        parts.events.flush()?;
        state::write(parts.repo.root(), &parts.layout, &self.state)?;
        let mut files = parts.layout.state_files();
        if self.task().is_err() {
            // The human is in the middle of an edit, and commits it themselves.
            files.retain(|path| *path != parts.layout.file(TASK));
        }
        let branch = &parts.preflight.checkpoint.branch;
        let base = match &self.turns_since {
            Some(base) => base.clone(),
            None => parts.repo.checkpoint()?.head,
        };
        let message = format!("{}\n\n{}", parts.layout.state_message(), self.trailers(&base));
        parts.repo.commit_paths(branch, &files, &message, &parts.identity)?;
        self.proven_since_commit.clear();
        self.turns_since = None;
        Ok(())
    }

    /// Trailers of a state commit: pointers for people and tools, never evidence of a proof.
    fn trailers(&self, base: &Oid) -> String {
        let task = self.parts.layout.task();
        let mut text = format!("{TASK_TRAILER}: {task}\n{BASE_TRAILER}: {base}\n");
        for (key, proof) in &self.proven_since_commit {
            let line = one_line(&key.text);
            text.push_str(&format!("{CRITERION_TRAILER}: {line}\nRalph-Proof: {proof}\n"));
        }
        text
    }

    /// Reads the state files.
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

    /// Writes state files back.
    pub(super) fn write_state_files(
        &self,
        files: &[(PathBuf, Vec<u8>)],
    ) -> Result<(), EngineError> {
        for (path, bytes) in files {
            atomic::write(path, bytes, Durability::Machine, FileMode::Umask)?;
        }
        Ok(())
    }

    /// Checks that the run's branch can be committed to.
    pub(super) fn ready(&self) -> Result<(), EngineError> {
        self.tell_unlocked(&self.parts.repo.ready(&self.parts.preflight.checkpoint.branch)?)
    }
}
