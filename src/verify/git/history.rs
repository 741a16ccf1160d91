//! Commits, branches and the difference of trees.
//!
//! Invariant: the cost grows with the new commits since the checkpoint, not with the age of the
//! repository. Not in this file: the working tree.

use std::collections::HashSet;
use std::path::Path;

use git2::{Commit, ErrorCode, ObjectType, Repository, Sort, Tree, message_trailers_strs};

use super::git_repo::GitRepo;
use super::operation::in_progress;
use super::plain::oid;
use super::tree_changes::{TreeChange, tree_changes};
use crate::model::{ChangeKind, Checkpoint, CommitSeen, History, Oid, PathChange};
use crate::verify::error::VerifyError;
use crate::verify::layout::Layout;
use crate::verify::repo::{Ancestor, COMMITS, Since};

/// Where HEAD points.
pub(super) enum Head {
    /// A branch, with its commit.
    Branch(String, git2::Oid),
    /// A branch that has no commit.
    Unborn(String),
    /// A commit.
    Detached(git2::Oid),
}

impl GitRepo {
    pub(super) fn head(&self, repo: &Repository) -> Result<Head, VerifyError> {
        let failed = self.failed("read HEAD");
        let head = repo.find_reference("HEAD").map_err(&failed)?;
        let Some(name) = head.symbolic_target_bytes() else {
            let target = head.target().ok_or_else(|| git2::Error::from_str("HEAD is empty"));
            return target.map(Head::Detached).map_err(&failed);
        };
        let name = String::from_utf8_lossy(name).into_owned();
        match head.resolve() {
            Ok(branch) => match branch.target() {
                Some(id) => Ok(Head::Branch(name, id)),
                None => Ok(Head::Unborn(name)),
            },
            Err(error) if error.code() == ErrorCode::NotFound => Ok(Head::Unborn(name)),
            Err(error) => Err(failed(error)),
        }
    }

    pub(super) fn checkpoint_in(&self, repo: &Repository) -> Result<Checkpoint, VerifyError> {
        match self.head(repo)? {
            Head::Branch(branch, id) => Ok(Checkpoint { head: oid(id), branch }),
            Head::Unborn(_) | Head::Detached(_) => {
                Err(VerifyError::NoBranch { path: self.root.clone() })
            }
        }
    }

    /// The changes to the branch since a checkpoint; `layout` distinguishes our commits from
    /// others.
    ///
    /// # Errors
    /// If commits cannot be read.
    pub fn since(&self, checkpoint: &Checkpoint, layout: &Layout) -> Result<Since, VerifyError> {
        let repo = &*self.lock();
        let failed = self.failed("read the history");
        let base = git2::Oid::from_str(checkpoint.head.as_str()).map_err(&failed)?;
        let known = repo.find_commit(base).is_ok();
        let (history, head) = match self.head(repo)? {
            Head::Detached(id) => (History::Detached, Some(id)),
            Head::Branch(name, id) if name != checkpoint.branch => {
                (History::OtherBranch(name), Some(id))
            }
            Head::Unborn(name) if name != checkpoint.branch => (History::OtherBranch(name), None),
            Head::Unborn(_) => (History::Rewritten, None),
            Head::Branch(_, id) if id == base => (History::Straight, Some(id)),
            Head::Branch(_, id) => {
                let grew = known && repo.graph_descendant_of(id, base).map_err(&failed)?;
                let history = if grew { History::Straight } else { History::Rewritten };
                (history, Some(id))
            }
        };
        let commits = match head.filter(|_| known) {
            Some(head) => self.commits_in(repo, (base, head), layout)?,
            None => Vec::new(),
        };
        let in_progress = in_progress(repo.state()).map(|(what, _)| what);
        Ok(Since { history, commits, in_progress })
    }

    /// The commits that `head` has and `base` does not, oldest first.
    pub(super) fn commits_in(
        &self,
        repo: &Repository,
        (base, head): (git2::Oid, git2::Oid),
        layout: &Layout,
    ) -> Result<Vec<CommitSeen>, VerifyError> {
        let failed = self.failed("read the history");
        let walk = |line: bool| {
            let mut walk = repo.revwalk()?;
            if line {
                walk.simplify_first_parent()?;
            }
            walk.set_sorting(Sort::TOPOLOGICAL)?;
            walk.push(head)?;
            walk.hide(base)?;
            walk.take(COMMITS).collect::<Result<Vec<_>, _>>()
        };
        let line: HashSet<git2::Oid> = walk(true).map_err(&failed)?.into_iter().collect();
        let all = walk(false).map_err(&failed)?.into_iter().rev();
        all.map(|id| self.seen(repo, id, layout, line.contains(&id))).collect()
    }

    /// HEAD and its first parents, newest first, down to but without `until`, at most [`COMMITS`];
    /// nothing where HEAD is on no branch.
    ///
    /// # Errors
    /// If commits cannot be read.
    pub fn ancestors(&self, until: Option<&Oid>) -> Result<Vec<Ancestor>, VerifyError> {
        let repo = &*self.lock();
        let failed = self.failed("read the history");
        let mut next = match self.head(repo)? {
            Head::Branch(_, id) => Some(repo.find_commit(id).map_err(&failed)?),
            Head::Unborn(_) | Head::Detached(_) => None,
        };
        let mut ancestors = Vec::new();
        let is_end = |id: &Oid| until == Some(id);
        while let Some(commit) =
            next.filter(|it| ancestors.len() < COMMITS && !is_end(&oid(it.id())))
        {
            // In a shallow clone, a missing parent ends the history.
            next = commit.parent(0).ok();
            let parent = next.as_ref().map(|parent| oid(parent.id()));
            let (subject, trailers) = (subject(&commit), trailers(&commit));
            ancestors.push(Ancestor { id: oid(commit.id()), parent, subject, trailers });
        }
        Ok(ancestors)
    }

    /// Is HEAD this commit or a descendant of it? No, if the commit does not exist.
    ///
    /// # Errors
    /// If commits cannot be read.
    pub fn reaches(&self, commit: &Oid) -> Result<bool, VerifyError> {
        let repo = &*self.lock();
        let known = git2::Oid::from_str(commit.as_str()).and_then(|id| repo.find_commit(id));
        let (Ok(known), Head::Branch(_, head) | Head::Detached(head)) = (known, self.head(repo)?)
        else {
            return Ok(false);
        };
        let grew = || repo.graph_descendant_of(head, known.id());
        Ok(head == known.id() || grew().map_err(self.failed("read the history"))?)
    }

    fn seen(
        &self,
        repo: &Repository,
        id: git2::Oid,
        layout: &Layout,
        is_on_line: bool,
    ) -> Result<CommitSeen, VerifyError> {
        let failed = self.failed("read a commit");
        let commit = repo.find_commit(id).map_err(&failed)?;
        let parent = self.parent_tree(&commit)?;
        let tree = commit.tree().map_err(&failed)?;
        let subject = subject(&commit);
        Ok(CommitSeen {
            id: oid(id),
            ours: layout.marks(&subject),
            subject,
            merge: commit.parent_count() > 1 || !is_on_line,
            paths: self.difference(repo, parent.as_ref(), &tree)?,
            formatting: false,
        })
    }

    /// The tree of a commit's first parent; none for the first commit.
    pub(super) fn parent_tree<'r>(
        &self,
        commit: &Commit<'r>,
    ) -> Result<Option<Tree<'r>>, VerifyError> {
        let failed = self.failed("read a commit");
        match commit.parent(0) {
            Ok(parent) => parent.tree().map(Some).map_err(failed),
            Err(error) if error.code() == ErrorCode::NotFound => Ok(None),
            Err(error) => Err(failed(error)),
        }
    }

    /// The net difference between a commit and HEAD. Renames are a removal and an addition.
    ///
    /// # Errors
    /// If trees cannot be read.
    pub fn committed_since(&self, commit: &Oid) -> Result<Vec<PathChange>, VerifyError> {
        let repo = &*self.lock();
        let failed = self.failed("read a tree");
        let from = self.commit(repo, commit)?.tree().map_err(&failed)?;
        // An agent can leave HEAD on a branch that has no commit: everything is gone there.
        self.difference(repo, Some(&from), &self.head_tree(repo)?)
    }

    pub(super) fn difference(
        &self,
        repo: &Repository,
        from: Option<&Tree<'_>>,
        to: &Tree<'_>,
    ) -> Result<Vec<PathChange>, VerifyError> {
        let found = tree_changes(repo, from, to).map_err(self.failed("compare trees"))?;
        let kind = |change: &TreeChange| match (change.old, change.new) {
            (None, _) => ChangeKind::Added,
            (_, None) => ChangeKind::Deleted,
            _ => ChangeKind::Modified,
        };
        let changes = found.into_iter();
        let mut changes: Vec<PathChange> =
            changes.map(|it| PathChange { kind: kind(&it), path: it.path }).collect();
        changes.sort_unstable();
        Ok(changes)
    }

    /// The content of a file in a commit; none if the path is not a file.
    ///
    /// # Errors
    /// If the tree cannot be read.
    pub fn held(&self, commit: &Oid, path: &Path) -> Result<Option<Vec<u8>>, VerifyError> {
        let repo = &*self.lock();
        let failed = self.failed("read a tree");
        let tree = self.commit(repo, commit)?.tree().map_err(&failed)?;
        let entry = match tree.get_path(path) {
            Ok(entry) => entry,
            Err(error) if error.code() == ErrorCode::NotFound => return Ok(None),
            Err(error) => return Err(failed(error)),
        };
        let object = entry.to_object(repo).map_err(failed)?;
        Ok(object.as_blob().map(|blob| blob.content().to_vec()))
    }

    /// Which of the paths a commit holds as files or links.
    ///
    /// # Errors
    /// If trees cannot be read.
    pub fn exists_at(&self, commit: &Oid, path: &Path) -> Result<bool, VerifyError> {
        let repo = &*self.lock();
        let tree = self.commit(repo, commit)?.tree().map_err(self.failed("read a tree"))?;
        match tree.get_path(path) {
            Ok(entry) => Ok(entry.kind() == Some(ObjectType::Blob)),
            Err(error) if error.code() == ErrorCode::NotFound => Ok(false),
            Err(error) => Err(self.failed("read a tree")(error)),
        }
    }
}

/// The first line of a commit's message.
pub(super) fn subject(commit: &Commit<'_>) -> String {
    let message = String::from_utf8_lossy(commit.message_bytes());
    message.lines().next().unwrap_or_default().to_owned()
}

pub(super) fn trailers(commit: &Commit<'_>) -> Vec<(String, String)> {
    let message = String::from_utf8_lossy(commit.message_bytes());
    // A message that cannot be understood has none.
    let found = message_trailers_strs(&message).ok();
    let pairs = found.iter().flat_map(|found| found.iter());
    pairs.map(|(name, value)| (name.to_owned(), value.to_owned())).collect()
}
