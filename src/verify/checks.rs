//! Verify commands run by the runner, and what they leave in the tree.
//!
//! Invariant: each command of a plan runs once, one after the other; what they leave is
//! never blamed on the agent: new untracked files are artefacts, and tracked files that
//! were clean are put back. What does NOT live here: how a command is run (`shell`), and
//! what a result means (`judge`).

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::time::Duration;

use async_trait::async_trait;

use super::error::VerifyError;
use super::fingerprint::Fingerprints;
use super::ignored::Environment;
use super::layout::Layout;
use super::plan::PlannedCheck;
use super::repo::{Repo, Status};
use crate::model::{CheckResult, Oid};

/// Where and how long a command runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CheckOptions {
    /// The working directory: the repository's root, or a clean worktree's.
    pub dir: PathBuf,
    /// After this long it is ended with all its children; ten minutes by default.
    pub limit: Duration,
    /// Variables it gets besides the runner's own environment without its secrets.
    pub env: Vec<(String, String)>,
}

impl CheckOptions {
    /// The default limit.
    pub const LIMIT: Duration = Duration::from_secs(600);

    /// In a directory, with the default limit.
    pub fn in_dir(dir: impl Into<PathBuf>) -> Self {
        Self { dir: dir.into(), limit: Self::LIMIT, env: Vec::new() }
    }
}

/// Runs one command.
#[async_trait]
pub trait Checks: Send + Sync {
    /// Runs a command as `sh -c` does and says how it went. Never fails: a command that
    /// could not be started is a result too. Dropping the future ends the command.
    async fn run(&self, command: &str, options: &CheckOptions) -> CheckResult;
}

/// What a plan came to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CheckRun {
    /// One result a command, in the order of the plan.
    pub results: Vec<CheckResult>,
    /// Untracked files that appeared while the commands ran.
    pub artefacts: BTreeSet<PathBuf>,
    /// Tracked files that were clean before, that a command changed, and that were put back.
    pub put_back: Vec<PathBuf>,
    /// The working tree as a git tree, right before they were put back.
    pub as_it_was: Option<Oid>,
    /// Git's locks that were left by whoever died over them, and removed.
    pub unlocked: Vec<PathBuf>,
}

/// Runs a plan in the repository's root and tidies up after it. `before` is the status of
/// the moment ([`super::Collected::status`] after a turn). Only a run may call it: the tree
/// is its own.
///
/// # Errors
/// If the tree cannot be read or put back, or the branch is no longer checked out.
pub async fn run_checks(
    repo: &dyn Repo,
    checks: &dyn Checks,
    planned: &[PlannedCheck],
    options: &CheckOptions,
    before: &Status,
    human: &Fingerprints,
) -> Result<CheckRun, VerifyError> {
    if planned.is_empty() {
        return Ok(CheckRun::default());
    }
    let branch = repo.checkpoint()?.branch;
    let results = run_all(checks, planned, options).await;
    // Where a human changed the branch or began a merge meanwhile, what differs is theirs.
    let unlocked = repo.ready(&branch)?;
    let head = repo.checkpoint()?.head;
    let after = repo.status()?;
    let dirty: BTreeSet<&PathBuf> = before.tracked.iter().map(|change| &change.path).collect();
    let put_back: Vec<PathBuf> = after
        .tracked
        .iter()
        .map(|change| &change.path)
        .filter(|path| !dirty.contains(path) && !human.in_the_way(path))
        .cloned()
        .collect();
    let mut as_it_was = None;
    if !put_back.is_empty() {
        // It may have been a human who saved a file meanwhile.
        as_it_was = Some(repo.snapshot(human)?);
        repo.restore(&head, &put_back)?;
    }
    let artefacts = after.untracked.difference(&before.untracked).cloned().collect();
    Ok(CheckRun { results, artefacts, put_back, as_it_was, unlocked })
}

/// Runs a plan in a clean worktree of HEAD, which is thrown away afterwards. Gives the
/// results, and notes for the human on what differs there from a fresh clone.
///
/// # Errors
/// If the worktree cannot be made.
pub async fn run_clean(
    repo: &dyn Repo,
    checks: &dyn Checks,
    planned: &[PlannedCheck],
    options: &CheckOptions,
    layout: &Layout,
    environment: &Environment,
) -> Result<(Vec<CheckResult>, Vec<String>), VerifyError> {
    let commands: Vec<String> = planned.iter().map(|check| check.command.clone()).collect();
    let linked = environment.linked(repo.root(), layout, &commands, &repo.ignored()?);
    let tree = repo.clean_tree(&linked)?;
    let options = CheckOptions { dir: tree.path().to_owned(), ..options.clone() };
    let results = run_all(checks, planned, &options).await;
    Ok((results, tree.notes().to_vec()))
}

async fn run_all(
    checks: &dyn Checks,
    planned: &[PlannedCheck],
    options: &CheckOptions,
) -> Vec<CheckResult> {
    let mut results = Vec::with_capacity(planned.len());
    for check in planned {
        let mut result = checks.run(&check.command, options).await;
        result.criteria = check.criteria.clone();
        result.whole_task = check.whole_task;
        results.push(result);
    }
    results
}

/// The results of a clean worktree that are red although the same command is green in the
/// working tree: what made it pass is not in HEAD, and its criteria are not proven.
pub fn not_reproducible<'a>(
    here: &'a [CheckResult],
    clean: &'a [CheckResult],
) -> impl Iterator<Item = &'a CheckResult> {
    let green = |check: &&CheckResult| {
        here.iter().any(|live| live.command == check.command && live.passed())
    };
    clean.iter().filter(|check| !check.passed()).filter(green)
}
