//! The guard's rules while one criterion is in focus.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use crate::agent::Focus;
use crate::guard::{Allow, Approval, Globs, Policy, PolicyError, Rules, TickRule};
use crate::model::{Criterion, NetworkAccess, Tier, WriteScope};

/// The rules that stay the same over a run.
#[derive(Clone, Debug)]
pub struct GuardRules {
    /// The repository's root, canonical.
    pub workspace: PathBuf,
    /// The task's folder, canonical.
    pub task_dir: PathBuf,
    /// The kernel's limits.
    pub tier: Tier,
    /// The agent's home.
    pub home: Option<PathBuf>,
    /// The agent's TMPDIR.
    pub tmp: PathBuf,
    /// Where the agent may write.
    pub write_scope: WriteScope,
    /// Commands allowed in addition to the built-in list.
    pub allow: Vec<String>,
    /// Globs of paths that must not change.
    pub protect: Vec<String>,
    /// Paths that the human left uncommitted, canonical.
    pub human: Vec<PathBuf>,
    /// Those among them that `git add` leaves alone.
    pub marked: Vec<PathBuf>,
    /// Secret-looking files that the agent may read, canonical.
    pub readable: Vec<PathBuf>,
    /// Folders that it may not reach, whatever else is allowed, canonical.
    pub hidden: Vec<PathBuf>,
    /// Paths outside the workspace that it may read, canonical.
    pub visible: Vec<PathBuf>,
    /// Commands that run with the host's network.
    pub network_for: Vec<String>,
    /// Whether commands in the sandbox have the host's network.
    pub network: NetworkAccess,
    /// When the run began.
    pub started: SystemTime,
    /// The user's own rules.
    pub rules: Rules,
    /// Who approves calls that the rules leave open.
    pub approval: Approval,
}

impl GuardRules {
    /// The policy for one criterion. `named` are files that verify commands name, relative to
    /// the workspace.
    ///
    /// # Errors
    /// If a glob or an allowed command is invalid.
    pub fn policy_for<'p>(
        &self,
        iteration: u32,
        criterion: &Criterion,
        named: impl Iterator<Item = &'p Path>,
    ) -> Result<Focus, PolicyError> {
        let mut policy = self.policy()?;
        policy.protect_paths = named.map(|path| self.workspace.join(path)).collect();
        policy.focus = Some(TickRule { mark: criterion.mark });
        Ok(Focus { iteration, policy: Arc::new(policy) })
    }

    /// The policy without a criterion in focus.
    ///
    /// # Errors
    /// If a glob or an allowed command is invalid.
    pub fn policy(&self) -> Result<Policy, PolicyError> {
        let mut policy = Policy::new(&self.workspace, &self.task_dir);
        policy.home.clone_from(&self.home);
        policy.tmp = Some(self.tmp.clone());
        policy.write_scope = self.write_scope;
        policy.allow = Allow::new(&self.allow)?;
        policy.protect = Globs::new(&self.protect)?;
        policy.human.clone_from(&self.human);
        policy.marked.clone_from(&self.marked);
        policy.readable.clone_from(&self.readable);
        policy.hidden.clone_from(&self.hidden);
        policy.visible.clone_from(&self.visible);
        policy.network = self.network;
        policy.network_for.clone_from(&self.network_for);
        policy.started = Some(self.started);
        policy.rules = self.rules.clone();
        policy.approval = self.approval;
        policy.tier = self.tier;
        Ok(policy)
    }
}
