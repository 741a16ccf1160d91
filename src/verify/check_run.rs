//! The runner's verify commands, and their leftovers in the tree.
//!
//! Invariant: each command of a plan runs once, one after the other. Their leftovers are never
//! blamed on the agent: new untracked files are artifacts, and tracked files that were clean are
//! restored. Not in this file: running a command (`checks`), and the meaning of a result (`judge`).

use std::collections::BTreeSet;
use std::path::PathBuf;

use super::checks::{CheckOptions, Checks};
use super::error::VerifyError;
use super::fingerprint::Fingerprints;
use super::git::GitRepo;
use super::plan::PlannedCheck;
use super::repo::Status;
use crate::model::{CheckResult, Oid};

/// The results of a plan.
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
/// If the tree cannot be read or restored, or the branch is no longer checked out.
pub async fn run_checks(
    repo: &GitRepo,
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
    // If a human changed the branch or began a merge meanwhile, the differences are theirs.
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

async fn run_all(
    checks: &dyn Checks,
    planned: &[PlannedCheck],
    options: &CheckOptions,
) -> Vec<CheckResult> {
    let mut results = Vec::with_capacity(planned.len());
    for (at, check) in planned.iter().enumerate() {
        let place_in = Some((at + 1, planned.len()));
        let options = CheckOptions { place_in, ..options.clone() };
        let mut result = checks.run(&check.command, &options).await;
        result.criteria = check.criteria.clone();
        result.whole_task = check.whole_task;
        results.push(result);
    }
    results
}
