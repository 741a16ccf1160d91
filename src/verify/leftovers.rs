//! Leftovers of a run of ours that died.
//!
//! Invariant: changes nothing. Uncommitted changes count as ours only if HEAD is the commit that
//! the dead run's journal names, or has only commits with the task's mark on top of it.
//! [`GitRepo::save_attempt`] and [`GitRepo::back_to`] put them back.

use super::collect::without_state;
use super::error::VerifyError;
use super::git::GitRepo;
use super::judge::counts;
use super::layout::Layout;
use crate::model::{Checkpoint, CommitSeen, History, Oid};

/// Whose the difference between the dead run's checkpoint and now is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Leftovers {
    /// None: the tree is the checkpoint's.
    Nothing,
    /// The dead run's: they can be saved as an attempt and put back.
    Ours,
    /// A human worked here since, so they are the human's.
    Foreign,
}

/// Compares the repository with the last checkpoint of a run that has no end.
///
/// # Errors
/// If the repository cannot be read.
pub fn leftovers(
    repo: &GitRepo,
    layout: &Layout,
    checkpoint: &Checkpoint,
) -> Result<Leftovers, VerifyError> {
    let since = repo.since(checkpoint, layout)?;
    if since.history != History::Straight || since.commits.iter().any(|commit| !commit.ours) {
        return Ok(Leftovers::Foreign);
    }
    if since.commits.is_empty() && repo.status()?.all().is_empty() {
        return Ok(Leftovers::Nothing);
    }
    Ok(Leftovers::Ours)
}

/// The last commit of an iteration that was never judged that counts as work, as
/// [`super::worked`] says of one that was.
///
/// # Errors
/// If the repository cannot be read.
pub fn left_work(
    repo: &GitRepo,
    layout: &Layout,
    checkpoint: &Checkpoint,
) -> Result<Option<Oid>, VerifyError> {
    let since = repo.since(checkpoint, layout)?;
    let straight = since.history == History::Straight;
    let commits = since.commits.into_iter().rev();
    // A human may have committed since, and only the mark tells whose a commit is.
    for commit in commits.filter(|commit| straight && commit.ours) {
        if is_work(repo, &commit, layout)? {
            return Ok(Some(commit.id));
        }
    }
    Ok(None)
}

/// Does a commit count as work on the task, in more than white space and modes?
///
/// # Errors
/// If the repository cannot be read.
pub fn is_work(repo: &GitRepo, commit: &CommitSeen, layout: &Layout) -> Result<bool, VerifyError> {
    Ok(counts(&without_state(commit, layout)) && repo.changes_content(None, &commit.id, layout)?)
}
