//! Differences in content: more than white space, line endings, or modes.
//!
//! Invariant: git's own diff decides, as `git diff -w --ignore-blank-lines` does. Files that it
//! does not compare by lines, such as links and submodules, differ in content if they differ.

use git2::{DiffOptions, Patch, Repository};

use super::git_repo::GitRepo;
use super::tree_changes::{TreeChange, tree_changes};
use crate::model::Oid;
use crate::verify::error::VerifyError;
use crate::verify::layout::Layout;

impl GitRepo {
    /// Does a file outside the task's state files differ in content between two commits, in more
    /// than white space, line endings, or its mode? Without `from`, a commit is compared with its
    /// first parent.
    ///
    /// # Errors
    /// If trees or files cannot be read.
    pub fn changes_content(
        &self,
        from: Option<&Oid>,
        to: &Oid,
        layout: &Layout,
    ) -> Result<bool, VerifyError> {
        let repo = &*self.lock();
        let failed = self.failed("compare files");
        let old = match from {
            Some(from) => Some(self.tree(repo, from)?),
            None => self.parent_tree(&self.commit(repo, to)?)?,
        };
        let changes = tree_changes(repo, old.as_ref(), &self.tree(repo, to)?).map_err(&failed)?;
        for change in changes.iter().filter(|it| !layout.is_state_file(&it.path)) {
            if is_content(repo, change).map_err(&failed)? {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

/// A new file counts if it is empty: then its name is what it says.
fn is_content(repo: &Repository, change: &TreeChange) -> Result<bool, git2::Error> {
    let Some(new) = change.new.filter(|new| new.is_regular()) else { return Ok(true) };
    if change.old.is_some_and(|old| !old.is_alike(new)) {
        return Ok(true);
    }
    let old = change.old.map(|old| repo.find_blob(old.id)).transpose()?;
    let new = repo.find_blob(new.id)?;
    if old.is_none() && new.size() == 0 {
        return Ok(true);
    }
    let mut options = DiffOptions::new();
    // Attributes that call a text binary would hide that only its white space differs.
    options.ignore_whitespace(true).ignore_blank_lines(true).force_text(true);
    let old = old.as_ref().map_or(&b""[..], |old| old.content());
    let patch = Patch::from_buffers(old, None, new.content(), None, Some(&mut options))?;
    // A file that is too large for a patch is binary in spite of the option.
    Ok(patch.num_hunks() > 0 || patch.delta().flags().is_binary())
}
