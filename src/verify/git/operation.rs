//! An unfinished merge, rebase or the like.

use git2::RepositoryState;

/// The unfinished operation, and the command that aborts it.
pub(super) fn in_progress(state: RepositoryState) -> Option<(&'static str, &'static str)> {
    match state {
        RepositoryState::Clean => None,
        RepositoryState::Merge => Some(("merge", "git merge --abort")),
        RepositoryState::Revert | RepositoryState::RevertSequence => {
            Some(("revert", "git revert --abort"))
        }
        RepositoryState::CherryPick | RepositoryState::CherryPickSequence => {
            Some(("cherry-pick", "git cherry-pick --abort"))
        }
        RepositoryState::Bisect => Some(("bisect", "git bisect reset")),
        RepositoryState::Rebase
        | RepositoryState::RebaseInteractive
        | RepositoryState::RebaseMerge => Some(("rebase", "git rebase --abort")),
        RepositoryState::ApplyMailbox | RepositoryState::ApplyMailboxOrRebase => {
            Some(("patch series", "git am --abort"))
        }
    }
}
