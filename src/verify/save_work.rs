//! The work of a worker that is gone, as a commit in its tree.

use super::error::RepoProblem;
use super::fingerprint::Fingerprints;
use super::git::GitRepo;
use super::layout::Layout;
use super::worker_tree::WorkerTree;
use crate::model::Oid;

/// Commits what was done in a tree in which nobody works any more, on no branch. Returns its HEAD if
/// everything is committed. What lies in git's folder runs nothing: it is written anew first.
///
/// # Errors
/// If the tree cannot be read.
pub fn save_work(
    tree: &WorkerTree,
    layout: &Layout,
    message: &str,
    human: &Fingerprints,
) -> Result<Oid, RepoProblem> {
    tree.settle()?;
    let repo = GitRepo::discover(tree.work())?;
    let head = repo.checkpoint()?.head;
    let kept = repo.save_attempt(layout, 1, message, human)?.commit;
    let changed = repo.between(&head, &kept)?;
    let is_work = changed.iter().any(|change| !layout.is_state_file(&change.path));
    Ok(if is_work { kept } else { head })
}
