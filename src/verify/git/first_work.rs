//! Where the work on a task began, as the history of the branch shows it.
//!
//! Invariant: state.json is not considered. A commit belongs to the work if it has the task's
//! prefix, contains the task's state, or is in the turns that a commit of the runner ends; any
//! other is a human's.

use git2::Commit;

use super::git_repo::GitRepo;
use super::history::{Head, subject, trailers};
use super::plain::oid;
use crate::verify::error::VerifyError;
use crate::verify::layout::{Layout, STATE, TASK};
use crate::verify::repo::FirstWork;
use crate::verify::stretches::BASE_TRAILER;

impl GitRepo {
    /// Where the work on a task began, by the first parents of HEAD, however many.
    ///
    /// # Errors
    /// If commits cannot be read.
    pub fn first_work(&self, layout: &Layout) -> Result<FirstWork, VerifyError> {
        let repo = &*self.lock();
        let failed = self.failed("read the history");
        let mut next = match self.head(repo)? {
            Head::Branch(_, id) => Some(repo.find_commit(id).map_err(&failed)?),
            Head::Unborn(_) | Head::Detached(_) => None,
        };
        let mut first = FirstWork::None;
        let mut is_begun = false;
        let mut base: Option<String> = None;
        while let Some(commit) = next {
            if base.take_if(|base| *base == commit.id().to_string()).is_some() {
                first = FirstWork::On(oid(commit.id()));
            }
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
                base = turns_began(layout, &commit).or(base);
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

/// The commit on which the turns before a commit of the runner began, as that says.
fn turns_began(layout: &Layout, commit: &Commit<'_>) -> Option<String> {
    let is_runner = layout.is_state_message(&subject(commit));
    let mut trailers = trailers(commit).into_iter().filter(|_| is_runner);
    trailers.find(|(name, _)| name == BASE_TRAILER).map(|(_, base)| base)
}

fn is_of(layout: &Layout, commit: &Commit<'_>) -> bool {
    layout.marks(&subject(commit))
}
