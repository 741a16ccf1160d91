//! Where the work on a task began, as the history of the branch shows it.
//!
//! Invariant: what state.json says has no say. A commit belongs to the work if it has the task's
//! prefix, or holds the task's state; one without both is a human's.

use git2::{Commit, Repository};

use super::git_repo::GitRepo;
use super::history::{Head, subject};
use super::plain::oid;
use crate::verify::error::VerifyError;
use crate::verify::layout::{Layout, STATE, TASK};
use crate::verify::repo::FirstWork;

impl GitRepo {
    pub(super) fn first_work_in(
        &self,
        repo: &Repository,
        layout: &Layout,
    ) -> Result<FirstWork, VerifyError> {
        let failed = self.failed("read the history");
        let mut next = match self.head(repo)? {
            Head::Branch(_, id) => Some(repo.find_commit(id).map_err(&failed)?),
            Head::Unborn(_) | Head::Detached(_) => None,
        };
        let mut first = FirstWork::None;
        let mut is_begun = false;
        while let Some(commit) = next {
            let named = is_of(layout, &commit);
            let tree = commit.tree().map_err(&failed)?;
            let has_task = tree.get_path(&layout.file(TASK)).is_ok();
            // Before the task came, another one of the same name may have been done and removed.
            if is_begun && !has_task && !named {
                return Ok(first);
            }
            is_begun |= has_task;
            next = commit.parent(0).ok();
            let is_work = named && !layout.is_state_message(&subject(&commit));
            if is_work || tree.get_path(&layout.file(STATE)).is_ok() {
                first = match &next {
                    Some(before) => FirstWork::On(oid(before.id())),
                    None => FirstWork::Unknown,
                };
            }
        }
        Ok(match first {
            first if !repo.is_shallow() => first,
            FirstWork::On(commit) => FirstWork::AtLatest(commit),
            FirstWork::Unknown => FirstWork::BeforeAll,
            FirstWork::None | FirstWork::AtLatest(_) | FirstWork::BeforeAll => FirstWork::Unknown,
        })
    }
}

fn is_of(layout: &Layout, commit: &Commit<'_>) -> bool {
    subject(commit).starts_with(&layout.prefix())
}
