//! Whether a run may begin in this repository.
//!
//! Invariant: the checks are in order of their cost, and the first problem ends them; HEAD moves to
//! another branch only if there is no other problem and no file would change. Not in this file:
//! messages about a problem (`error`).

use std::fs;
use std::path::{Component, PathBuf};

use git2::{BranchType, ErrorCode, IndexEntryExtendedFlag, ObjectType, Repository};

use super::git_repo::GitRepo;
use super::history::Head;
use super::operation::in_progress;
use super::plain::oid;
use crate::model::PathChange;
use crate::verify::error::{RepoProblem, VerifyError, io_error};
use crate::verify::fingerprint::Fingerprints;
use crate::verify::layout::Layout;
use crate::verify::repo::{Branch, Dirt, Preflight};

impl GitRepo {
    /// Can a run begin, and on which commit? Changes nothing except HEAD, and that only for
    /// [`Branch::Named`]. Call [`GitRepo::exclude`] first, or the runner's own files are taken for the
    /// human's.
    ///
    /// # Errors
    /// The first problem that was met, with its way out.
    pub fn preflight(
        &self,
        layout: &Layout,
        branch: Branch<'_>,
        dirt: Dirt,
    ) -> Result<Preflight, RepoProblem> {
        let repo = self.lock();
        if let Some((what, abort)) = in_progress(repo.state()) {
            return Err(RepoProblem::InProgress { what, abort });
        }
        if let Some(lock) = self.staying(&repo).into_iter().next() {
            return Err(RepoProblem::Locked { path: lock.path });
        }
        let head = match self.head(&repo)? {
            Head::Unborn(_) => return Err(RepoProblem::Unborn),
            Head::Detached(id) if branch == Branch::Current => {
                return Err(RepoProblem::Detached { head: oid(id) });
            }
            Head::Branch(_, id) | Head::Detached(id) => id,
        };
        self.task_inside(layout)?;
        if self.ask_git(&["rev-parse", "--verify", "--quiet", "HEAD"], &|_| None)?.is_none() {
            let reason = "git itself cannot read it".to_owned();
            return Err(RepoProblem::Unsupported { path: self.root.clone(), reason });
        }
        let (status, ignored) = self.all_in(&repo).map_err(|error| self.unreadable(error))?;
        let (prepared, dirty): (Vec<_>, Vec<_>) =
            status.all().into_iter().partition(|change| change.path.starts_with(layout.folder()));
        // `git update-index --skip-worktree` and `--assume-unchanged`.
        let marked = self.marked_in(&repo)?;
        let shown: Vec<_> = dirty.iter().filter(|it| !marked.contains(&it.path)).cloned().collect();
        if dirt == Dirt::Refuse && !shown.is_empty() {
            return Err(RepoProblem::Dirty { changes: shown });
        }
        let staged = self.staged(&repo, &dirty)?;
        if !staged.is_empty() {
            return Err(RepoProblem::Staged { changes: staged });
        }
        if let Branch::Named(name) = branch {
            self.take_branch(&repo, name, head)?;
        }
        let human = Fingerprints::below(&self.root, dirty.into_iter().map(|c| c.path))?;
        let submodules = self.submodules(&repo).map_err(self.failed("read the submodules"))?;
        Ok(Preflight {
            checkpoint: self.checkpoint_in(&repo)?,
            human,
            marked,
            prepared: prepared.into_iter().map(|change| change.path).collect(),
            settings: self.settings_in(&repo)?,
            ignored,
            submodules: submodules.iter().map(|module| module.path().to_owned()).collect(),
        })
    }

    /// The changes that the index holds: an agent's `git commit` would include them. A file that is
    /// only announced (`git add --intent-to-add`) is not in a commit.
    fn staged(
        &self,
        repo: &Repository,
        dirty: &[PathChange],
    ) -> Result<Vec<PathChange>, VerifyError> {
        if dirty.is_empty() {
            return Ok(Vec::new());
        }
        let head = self.head_tree(repo)?;
        let index = self.index_now(repo).map_err(self.failed("read the index"))?;
        let is_staged = |change: &&PathChange| {
            let held = head.get_path(&change.path).ok();
            let held = held.filter(|entry| entry.kind() != Some(ObjectType::Tree));
            let held = held.map(|entry| (entry.id(), entry.filemode().unsigned_abs()));
            let announced = IndexEntryExtendedFlag::INTENT_TO_ADD.bits();
            let entry = index.get_path(&change.path, 0);
            let entry = entry.filter(|entry| entry.flags_extended & announced == 0);
            held != entry.map(|entry| (entry.id, entry.mode))
        };
        Ok(dirty.iter().filter(is_staged).cloned().collect())
    }

    /// The first look at index and tree tells whether this program can read them.
    fn unreadable(&self, error: VerifyError) -> RepoProblem {
        let VerifyError::Git { source, .. } = error else { return RepoProblem::Failed(error) };
        RepoProblem::Unsupported { path: self.root.clone(), reason: source.to_string() }
    }

    fn task_inside(&self, layout: &Layout) -> Result<(), RepoProblem> {
        let normal = |part| matches!(part, Component::Normal(_) | Component::CurDir);
        let inside = layout.folder().components().all(normal)
            && fs::canonicalize(self.root.join(layout.folder()))
                .is_ok_and(|folder| folder.starts_with(&self.root));
        if inside {
            return Ok(());
        }
        Err(RepoProblem::TaskOutside {
            folder: layout.folder().to_owned(),
            root: self.root.clone(),
        })
    }

    /// Puts HEAD on a branch that holds the very tree that is checked out.
    fn take_branch(
        &self,
        repo: &Repository,
        name: &str,
        head: git2::Oid,
    ) -> Result<(), RepoProblem> {
        let failed = self.failed("change to the branch");
        if !git2::Branch::name_is_valid(name).map_err(&failed)? {
            return Err(RepoProblem::BranchName { name: name.to_owned() });
        }
        let full = format!("refs/heads/{name}");
        if let Head::Branch(current, _) = self.head(repo)?
            && current == full
        {
            return Ok(());
        }
        match repo.find_branch(name, BranchType::Local) {
            Ok(branch) => {
                let tip = branch.get().peel_to_commit().map_err(&failed)?;
                if self.in_another_worktree(&full)? {
                    return Err(RepoProblem::BranchInUse { name: name.to_owned() });
                }
                let here = repo.find_commit(head).map_err(&failed)?;
                if tip.tree_id() != here.tree_id() {
                    return Err(RepoProblem::BranchElsewhere {
                        name: name.to_owned(),
                        at: oid(tip.id()),
                    });
                }
            }
            Err(error) if error.code() == ErrorCode::NotFound => {
                let from = self.begun_at_remote(repo, name, head)?.unwrap_or(head);
                repo.reference(&full, from, false, "ralph-copilot: branch for a run")
                    .map_err(&failed)?;
            }
            Err(error) => return Err(failed(error).into()),
        }
        repo.set_head(&full).map_err(&failed)?;
        Ok(())
    }

    /// The start of a branch that only a remote has: its fetched commit, because a new branch would
    /// lack everything that was pushed to it. As for a local one, the content must be the same. If
    /// several remotes have it, only `origin` is used.
    fn begun_at_remote(
        &self,
        repo: &Repository,
        name: &str,
        head: git2::Oid,
    ) -> Result<Option<git2::Oid>, RepoProblem> {
        let failed = self.failed("look for the branch of a remote");
        let mut found = Vec::new();
        for remote in repo.remotes().map_err(&failed)?.iter().flatten().flatten() {
            match repo.find_branch(&format!("{remote}/{name}"), BranchType::Remote) {
                Ok(branch) => {
                    let tip = branch.get().peel_to_commit().map_err(&failed)?;
                    found.push((remote.to_owned(), tip));
                }
                Err(error) if error.code() == ErrorCode::NotFound => {}
                Err(error) => return Err(failed(error).into()),
            }
        }
        if found.iter().any(|(remote, _)| remote == "origin") {
            found.retain(|(remote, _)| remote == "origin");
        }
        let here = repo.find_commit(head).map_err(&failed)?;
        for (remote, tip) in &found {
            if tip.tree_id() != here.tree_id() {
                let (name, remote) = (name.to_owned(), remote.clone());
                return Err(RepoProblem::BranchAtRemote { name, remote, at: oid(tip.id()) });
            }
        }
        Ok(found.first().map(|(_, tip)| tip.id()))
    }

    /// Whether a branch is checked out in any working tree; that it is not in ours is known.
    fn in_another_worktree(&self, branch: &str) -> Result<bool, VerifyError> {
        let mut git_dirs = vec![self.common_dir.clone()];
        let linked = self.common_dir.join("worktrees");
        if linked.is_dir() {
            let failed = io_error("list", &linked);
            for entry in fs::read_dir(&linked).map_err(&failed)? {
                git_dirs.push(entry.map_err(&failed)?.path());
            }
        }
        let elsewhere = |dir: &PathBuf| {
            let head = fs::read_to_string(dir.join("HEAD")).unwrap_or_default();
            head.trim().strip_prefix("ref:").is_some_and(|on| on.trim() == branch)
        };
        Ok(git_dirs.iter().any(elsewhere))
    }
}
