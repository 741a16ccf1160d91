//! What a run of ours left behind when it died.
//!
//! Invariant: looks, and changes nothing. What is uncommitted counts as ours only where
//! the repository stands where the dead run's journal says, or further by commits that
//! carry the task's prefix. What does NOT live here: the journal, and putting it back
//! ([`Repo::save_attempt`], then [`Repo::back_to`]).

use super::collect::without_state;
use super::error::VerifyError;
use super::judge::counts;
use super::layout::Layout;
use super::repo::Repo;
use crate::model::{Checkpoint, CommitSeen, History, Oid};

/// Whose the difference between the dead run's checkpoint and now is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Leftovers {
    /// Nobody's: the tree is the checkpoint's.
    Nothing,
    /// The dead run's: it can be kept as an attempt and put back.
    Ours,
    /// Somebody worked here since: it is the human's.
    Foreign,
}

/// Compares the repository with the last checkpoint of a run that has no end.
///
/// # Errors
/// If the repository cannot be read.
pub fn leftovers(
    repo: &dyn Repo,
    layout: &Layout,
    checkpoint: &Checkpoint,
) -> Result<Leftovers, VerifyError> {
    let since = repo.since(checkpoint, &layout.prefix())?;
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
    repo: &dyn Repo,
    layout: &Layout,
    checkpoint: &Checkpoint,
) -> Result<Option<Oid>, VerifyError> {
    let since = repo.since(checkpoint, &layout.prefix())?;
    let work = |commit: &CommitSeen| counts(&without_state(commit, layout));
    let straight = since.history == History::Straight;
    Ok(since.commits.into_iter().rfind(|commit| straight && work(commit)).map(|commit| commit.id))
}
