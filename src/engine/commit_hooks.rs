//! The project's commit hooks, which may refuse what the agent commits.
//!
//! Invariant: they decide nothing here. A run goes on with hooks that refuse; the agent and the human
//! are told.

use std::sync::Arc;

use super::EngineError;
use super::run::Run;
use crate::model::{FindingKind, Verdict};
use crate::verify::{RefusedCommit, TreeEdit, TriedCommit};

impl Run {
    /// Tries the hooks on an empty commit with a message as the agent is told to write them.
    pub(super) async fn try_commit_hooks(&mut self) -> Result<(), EngineError> {
        let refused = self.refused_by_hooks(&[]).await?;
        for commit in &refused {
            self.notice(&format!("{}; {}", commit.what(), commit.hint()))?;
        }
        let told: Vec<String> = refused.iter().map(RefusedCommit::told).collect();
        self.commit_hooks = (!told.is_empty()).then(|| told.join("\n\n"));
        Ok(())
    }

    /// Tells which hooks refuse the work that a turn left uncommitted.
    pub(super) async fn tell_of_hooks(&mut self, verdict: &mut Verdict) -> Result<(), EngineError> {
        let about =
            |kind: FindingKind| matches!(kind, FindingKind::NoCommit | FindingKind::Uncommitted);
        let Some(at) = verdict.findings.iter().position(|it| about(it.kind)) else { return Ok(()) };
        if verdict.tampered() {
            return Ok(());
        }
        let left = self.parts.repo.uncommitted(&self.parts.preflight.human)?;
        if left.is_empty() {
            return Ok(());
        }
        match self.refused_by_hooks(&left).await {
            Ok(refused) => {
                for what in refused.iter().map(RefusedCommit::what) {
                    let more = format!(" When the runner tried it, {what}");
                    verdict.findings[at].message.push_str(&more);
                }
            }
            // What a room cannot show is no reason to end a run.
            Err(error) => tracing::debug!(%error, "the commit hooks were not tried"),
        }
        Ok(())
    }

    async fn refused_by_hooks(
        &mut self,
        staged: &[TreeEdit],
    ) -> Result<Vec<RefusedCommit>, EngineError> {
        let repo = Arc::clone(&self.parts.repo);
        let Some(hooks) = repo.commit_hooks()? else { return Ok(Vec::new()) };
        let Some(mut rooms) = self.rooms.take() else { return Ok(Vec::new()) };
        let checks = Arc::clone(&self.parts.checks);
        let mut options = self.check_options(repo.root());
        let who = self.parts.identity.environment();
        options.env = who.map(|(name, value)| (name.to_owned(), value.to_owned())).into();
        let (head, message) = (repo.checkpoint()?.head, self.parts.layout.state_message());
        let tried = TriedCommit { parent: &head, staged, message: &message };
        let refused = rooms.try_hooks(&hooks, tried, (checks.as_ref(), &options)).await;
        self.rooms = Some(rooms);
        Ok(refused?)
    }
}
