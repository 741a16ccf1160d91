//! Held work, merged into the branch.
//!
//! Invariant: the branch and the working tree change together, after everything else is written. A
//! file with uncommitted changes is never overwritten.

use std::path::{Path, PathBuf};

use git2::build::CheckoutBuilder;
use git2::{CheckoutNotificationType, Commit, ErrorCode, MergeOptions, Repository, Tree};

use super::edited::edited;
use super::git_repo::GitRepo;
use super::locks::patiently;
use super::plain::{oid, path};
use super::write::committed;
use crate::model::{ChangeKind, HeldWork, Oid};
use crate::sys::crash;
use crate::verify::classify::{EntryKind, TreeEdit};
use crate::verify::error::{VerifyError, paths_in_words};
use crate::verify::layout::Layout;
use crate::verify::repo::Identity;

impl GitRepo {
    /// Has a human merged held work? HEAD has its commit, or the same content in every file that it
    /// changes except the task's state files.
    ///
    /// # Errors
    /// If HEAD or the held work cannot be read.
    pub fn has_merged(&self, held: &HeldWork, layout: &Layout) -> Result<bool, VerifyError> {
        let repo = &*self.lock();
        let failed = self.failed("look for held work on the branch");
        let head = repo.head().and_then(|head| head.peel_to_commit()).map_err(&failed)?;
        if has(repo, &head, &self.commit(repo, &held.commit)?).map_err(&failed)? {
            return Ok(true);
        }
        let changed = self.between_in(repo, &held.base, &held.commit)?;
        let mut work = changed.iter().filter(|it| !layout.is_state_file(&it.path)).peekable();
        let differs = self.between_in(repo, &oid(head.id()), &held.commit)?;
        let is_there = |path: &Path| differs.iter().all(|change| change.path != path);
        Ok(work.peek().is_some() && work.all(|change| is_there(&change.path)))
    }

    /// Makes a commit on no branch: HEAD with held work. The task's state files are HEAD's. The
    /// hint of a conflict names the criterion by its `line` in TASK.md.
    ///
    /// # Errors
    /// [`VerifyError::Conflicts`], [`VerifyError::NotFetched`], or if git fails.
    pub fn merged(
        &self,
        held: &HeldWork,
        line: usize,
        layout: &Layout,
    ) -> Result<Oid, VerifyError> {
        let repo = &*self.lock();
        let failed = self.failed("merge held work");
        let head = repo.head().and_then(|head| head.peel_to_commit()).map_err(&failed)?;
        let fetched = |id| {
            let missing = |_| VerifyError::NotFetched { held: held.name.clone() };
            self.commit(repo, id).map_err(missing)
        };
        let (base, theirs) = (fetched(&held.base)?, fetched(&held.commit)?);
        let commit = |tree: &Tree<'_>, parents: &[&Commit<'_>]| {
            let message = format!("{}work on top of the branch", layout.prefix());
            committed(repo, &Identity::of_the_runner(), &message, tree, parents).map(oid)
        };
        if has(repo, &head, &theirs).map_err(&failed)? {
            // A human solved the conflicts, or later work rests on it.
            return head.tree().and_then(|tree| commit(&tree, &[&head])).map_err(&failed);
        }
        let (base_tree, ours) = (base.tree().map_err(&failed)?, head.tree().map_err(&failed)?);
        let theirs_tree = theirs.tree().map_err(&failed)?;
        let kept: Vec<TreeEdit> = layout
            .state_files()
            .into_iter()
            .map(|path| match base_tree.get_path(&path).and_then(|it| repo.find_blob(it.id())) {
                Ok(blob) => {
                    let kind = EntryKind::Regular { executable: false };
                    TreeEdit::Write { path, kind, bytes: blob.content().to_vec() }
                }
                Err(_) => TreeEdit::Remove { path },
            })
            .collect();
        let theirs_tree =
            edited(repo, &theirs_tree, &kept).and_then(|id| repo.find_tree(id)).map_err(&failed)?;
        let options = MergeOptions::new();
        let mut index =
            repo.merge_trees(&base_tree, &ours, &theirs_tree, Some(&options)).map_err(&failed)?;
        if index.has_conflicts() {
            let conflicts = index.conflicts().map_err(&failed)?.flatten();
            let paths = conflicts.filter_map(|it| it.our.or(it.their).or(it.ancestor));
            let paths: Vec<PathBuf> = paths.map(|entry| path(&entry.path)).collect();
            return Err(VerifyError::Conflicts {
                paths: paths_in_words(&paths),
                held: held.name.clone(),
                task: layout.task().to_owned(),
                folder: layout.folder().to_owned(),
                line,
            });
        }
        let tree = index.write_tree_to(repo).and_then(|id| repo.find_tree(id)).map_err(&failed)?;
        commit(&tree, &[&head, &theirs]).map_err(failed)
    }

    /// Moves the branch and the working tree to the result of [`Self::merged`], with the first of
    /// these files written over it. The others are what filters make of the work.
    ///
    /// # Errors
    /// [`VerifyError::InTheWay`], [`VerifyError::Filtered`] if what a filter makes is not given, or
    /// if git fails or the branch moved meanwhile.
    pub fn land(
        &self,
        (branch, merged): (&str, &Oid),
        [files, made]: [&[(PathBuf, Vec<u8>)]; 2],
        message: &str,
        identity: &Identity,
    ) -> Result<Oid, VerifyError> {
        let repo = &*self.lock();
        let failed = self.failed("commit held work");
        let head = self.at_rest_on(repo, branch)?;
        let merged = self.commit(repo, merged)?;
        let parents: Vec<_> = merged.parents().collect();
        if parents.first().map(git2::Commit::id) != Some(head) {
            return Err(VerifyError::Moved { branch: branch.to_owned(), expected: oid(head) });
        }
        let kind = EntryKind::Regular { executable: false };
        let edits = files.iter().map(|(path, bytes)| {
            let (path, bytes) = (path.clone(), bytes.clone());
            TreeEdit::Write { path, kind, bytes }
        });
        let edits: Vec<TreeEdit> = edits.collect();
        let tree = merged
            .tree()
            .and_then(|tree| edited(repo, &tree, &edits))
            .and_then(|id| repo.find_tree(id))
            .map_err(&failed)?;
        let parents: Vec<_> = parents.iter().collect();
        let id = committed(repo, identity, message, &tree, &parents).map_err(&failed)?;
        let changed = self.between_in(repo, &oid(head), &oid(id))?;
        let not_made = |path: &&PathBuf| made.iter().all(|(made, _)| made != *path);
        let written = changed.iter().filter(|it| it.kind != ChangeKind::Deleted);
        let raw: Vec<&PathBuf> = written.map(|it| &it.path).filter(not_made).collect();
        self.refuse_filtered(repo, (&merged, &raw))?;
        let mut in_the_way = Vec::new();
        let mut safely = CheckoutBuilder::new();
        safely.safe().recreate_missing(false).notify_on(CheckoutNotificationType::CONFLICT);
        safely.notify(|_, path, _, _, _| {
            in_the_way.extend(path.map(Path::to_owned));
            true
        });
        let checked_out = repo.checkout_tree(tree.as_object(), Some(&mut safely));
        drop(safely);
        checked_out.map_err(|error| match error.code() {
            ErrorCode::Conflict => VerifyError::InTheWay { paths: in_the_way },
            _ => failed(error),
        })?;
        self.write_made(repo, made)?;
        crash::point("landing checked out");
        let log = format!("commit: {}", message.lines().next().unwrap_or_default());
        patiently(|| repo.reference_matching(branch, id, true, head, &log))
            .map_err(self.failed("move the branch"))?;
        crash::point("landed");
        Ok(oid(id))
    }
}

/// Is a commit in the history of HEAD?
fn has(repo: &Repository, head: &Commit<'_>, work: &Commit<'_>) -> Result<bool, git2::Error> {
    Ok(head.id() == work.id() || repo.graph_descendant_of(head.id(), work.id())?)
}
