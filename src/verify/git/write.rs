//! Commits of the runner's own: of single paths, and of whole attempts.
//!
//! Invariant: trees are built from HEAD's tree and the differing paths, so that neither the index
//! nor the rest of the tree is read; a ref moves only from its expected value. Not in this file:
//! which paths, and when.

use std::fs;
use std::path::{Path, PathBuf};

use git2::{Commit, ErrorCode, FileMode, Repository, Signature, Tree};

use super::edited::with_entries;
use super::git_repo::GitRepo;
use super::history::Head;
use super::locks::patiently;
use super::operation::in_progress;
use super::plain::{is_ignored, oid};
use crate::model::Oid;
use crate::sys::crash;
use crate::verify::error::{VerifyError, io_error};
use crate::verify::fingerprint::Fingerprints;
use crate::verify::layout::Layout;
use crate::verify::repo::{Identity, Person, SavedAttempt};

impl GitRepo {
    /// The commit of a branch, which must be checked out, with nothing in progress.
    pub(super) fn at_rest_on(
        &self,
        repo: &Repository,
        branch: &str,
    ) -> Result<git2::Oid, VerifyError> {
        if let Some((what, abort)) = in_progress(repo.state()) {
            return Err(VerifyError::InProgress { what, abort });
        }
        self.refuse_links(repo)?;
        match self.head(repo)? {
            Head::Branch(found, head) if found == branch => Ok(head),
            Head::Branch(found, _) => {
                Err(VerifyError::OtherBranch { expected: branch.to_owned(), found })
            }
            Head::Unborn(_) | Head::Detached(_) => {
                Err(VerifyError::NoBranch { path: self.root.clone() })
            }
        }
    }

    /// Checks that work can go on: this branch is checked out, no operation such as a merge is in
    /// progress, and no git process holds the index for longer than a moment. Stale locks are
    /// removed as by [`GitRepo::unlock`], and returned.
    ///
    /// # Errors
    /// The reason why not.
    pub fn ready(&self, branch: &str) -> Result<Vec<PathBuf>, VerifyError> {
        let repo = &*self.lock();
        self.at_rest_on(repo, branch)?;
        let stayed = self.unlock_in(repo, None)?;
        let lock = self.git_dir.join("index.lock");
        if !stayed.held.contains(&lock) {
            return Ok(stayed.removed);
        }
        let source = format!("{} exists", lock.display()).into();
        Err(VerifyError::Locked { operation: "lock the index", path: self.root.clone(), source })
    }

    /// Commits only these paths as they are in the working tree, on top of this branch, which must
    /// be checked out. Staged changes stay staged. A missing path is removed; one that git ignores
    /// and does not track yet is left out. Returns `None` if nothing differs.
    ///
    /// # Errors
    /// [`VerifyError::OtherBranch`] if another branch is checked out,
    /// [`VerifyError::Moved`] if the branch moved meanwhile; otherwise as git says.
    pub fn commit_paths(
        &self,
        branch: &str,
        paths: &[PathBuf],
        message: &str,
        identity: &Identity,
    ) -> Result<Option<Oid>, VerifyError> {
        let repo = &*self.lock();
        let head = self.at_rest_on(repo, branch)?;
        let failed = self.failed("commit");
        let parent = repo.find_commit(head).map_err(&failed)?;
        let base = parent.tree().map_err(&failed)?;
        let mut wanted = Vec::new();
        for path in paths {
            let held = base.get_path(path).is_ok();
            let ignored = is_ignored(repo, path).map_err(self.failed("read the ignore rules"));
            if held || !ignored? {
                wanted.push(path.clone());
            }
        }
        let tree = self.tree_with(repo, &base, &wanted)?;
        if tree == base.id() {
            return Ok(None);
        }
        let tree = repo.find_tree(tree).map_err(&failed)?;
        crash::point("tree written");
        let id = committed(repo, identity, message, &tree, &[&parent]).map_err(&failed)?;
        // The index first: were the branch first and the index then failed, the agent's
        // next commit would silently take these paths back.
        crash::point("commit made");
        self.index_follows(repo, &tree, &wanted)?;
        crash::point("index written");
        let log = format!("commit: {}", message.lines().next().unwrap_or_default());
        patiently(|| repo.reference_matching(branch, id, true, head, &log)).map_err(|error| {
            if error.code() == ErrorCode::Modified {
                VerifyError::Moved { branch: branch.to_owned(), expected: oid(head) }
            } else {
                failed(error)
            }
        })?;
        crash::point("branch moved");
        Ok(Some(oid(id)))
    }

    pub(super) fn snapshot_in(
        &self,
        repo: &Repository,
        without: &Fingerprints,
        besides: &[PathBuf],
    ) -> Result<git2::Oid, VerifyError> {
        let base = self.head_tree(repo)?;
        let status = self.status_in(repo)?.all();
        let mut paths: Vec<PathBuf> = status.into_iter().map(|change| change.path).collect();
        paths.extend(besides.iter().cloned());
        paths.sort();
        paths.dedup();
        paths.retain(|path| !without.in_the_way(path));
        self.tree_with(repo, &base, &paths)
    }

    /// Keeps the working tree as a commit on HEAD under the task's next free attempt ref,
    /// beginning at `number`. Nothing else changes.
    ///
    /// # Errors
    /// As for [`GitRepo::snapshot`]; nothing may be put back then.
    pub fn save_attempt(
        &self,
        layout: &Layout,
        number: u32,
        message: &str,
        without: &Fingerprints,
    ) -> Result<SavedAttempt, VerifyError> {
        let repo = &*self.lock();
        let failed = self.failed("keep the attempt");
        // State files are kept even where git ignores them: nothing else holds them.
        let state: Vec<PathBuf> = layout
            .state_files()
            .into_iter()
            .filter(|path| self.root.join(path).symlink_metadata().is_ok())
            .collect();
        let tree = self.snapshot_in(repo, without, &state)?;
        let tree = repo.find_tree(tree).map_err(&failed)?;
        let parents = match self.head(repo)? {
            Head::Branch(_, id) | Head::Detached(id) => {
                vec![repo.find_commit(id).map_err(&failed)?]
            }
            Head::Unborn(_) => Vec::new(),
        };
        let (runner, parents) = (Identity::of_the_runner(), parents.iter().collect::<Vec<_>>());
        let commit = committed(repo, &runner, message, &tree, &parents).map_err(&failed)?;
        crash::point("attempt made");
        self.numbered(repo, layout, number, commit)
    }

    /// Keeps a commit as an attempt at a task, under the first free number from `number` on.
    ///
    /// # Errors
    /// If the ref cannot be written.
    pub fn keep_attempt(
        &self,
        layout: &Layout,
        number: u32,
        commit: &Oid,
    ) -> Result<SavedAttempt, VerifyError> {
        let repo = self.lock();
        let commit = self.commit(&repo, commit)?.id();
        self.numbered(&repo, layout, number, commit)
    }

    /// Keeps a commit as an attempt, under the first free number.
    pub(super) fn numbered(
        &self,
        repo: &Repository,
        layout: &Layout,
        number: u32,
        commit: git2::Oid,
    ) -> Result<SavedAttempt, VerifyError> {
        let failed = self.failed("keep the attempt");
        for number in number.. {
            let name = layout.attempt_ref(number);
            match repo.reference(&name, commit, false, "ralph-copilot: attempt") {
                Ok(_) => {
                    crash::point("attempt kept");
                    return Ok(SavedAttempt { name, commit: oid(commit), number });
                }
                // A number whose lock a killed runner left behind is as good as taken.
                Err(error) if matches!(error.code(), ErrorCode::Exists | ErrorCode::Locked) => {}
                Err(error) => return Err(failed(error)),
            }
        }
        Err(failed(git2::Error::from_str("no free number for the attempt's ref")))
    }

    /// HEAD's tree; the empty one if HEAD has no commit.
    pub(super) fn head_tree<'r>(&self, repo: &'r Repository) -> Result<Tree<'r>, VerifyError> {
        let tree = match self.head(repo)? {
            Head::Branch(_, id) | Head::Detached(id) => {
                repo.find_commit(id).and_then(|commit| commit.tree())
            }
            Head::Unborn(_) => repo
                .treebuilder(None)
                .and_then(|empty| empty.write())
                .and_then(|id| repo.find_tree(id)),
        };
        tree.map_err(self.failed("read HEAD's tree"))
    }

    /// A tree with these paths as they are in the working tree. A path that is gone, or
    /// is a directory now, is removed; a repository inside this one becomes its commit.
    fn tree_with(
        &self,
        repo: &Repository,
        base: &Tree<'_>,
        paths: &[PathBuf],
    ) -> Result<git2::Oid, VerifyError> {
        let entry = |path: &PathBuf| Ok((path.clone(), self.entry(repo, base, path)?));
        let entries = paths.iter().map(entry).collect::<Result<_, VerifyError>>()?;
        with_entries(repo, base, entries).map_err(self.failed("write a tree"))
    }

    /// Writes the file at a path of the working tree as an object.
    fn entry(
        &self,
        repo: &Repository,
        base: &Tree<'_>,
        path: &Path,
    ) -> Result<Option<(git2::Oid, FileMode)>, VerifyError> {
        let at = self.root.join(path);
        let failed = self.failed("write an object");
        let Ok(meta) = fs::symlink_metadata(&at) else { return Ok(None) };
        if meta.is_symlink() {
            let target = fs::read_link(&at).map_err(io_error("read", &at))?;
            let bytes = target.as_os_str().as_encoded_bytes();
            let id = repo.blob(bytes).map_err(failed)?;
            Ok(Some((id, FileMode::Link)))
        } else if meta.is_file() {
            let id = repo.blob_path(&at).map_err(failed)?;
            Ok(Some((id, self.mode(repo, base, path, &meta)?)))
        } else if meta.is_dir() {
            let inner = Repository::open(&at).ok().filter(|inner| !inner.is_bare());
            let head = inner.and_then(|inner| inner.head().ok()?.target());
            Ok(head.map(|id| (id, FileMode::Commit)))
        } else {
            Ok(None)
        }
    }

    /// The mode of a file. Where the file system keeps no x bit, the tree's counts.
    fn mode(
        &self,
        repo: &Repository,
        base: &Tree<'_>,
        path: &Path,
        meta: &fs::Metadata,
    ) -> Result<FileMode, VerifyError> {
        let failed = self.failed("read the configuration");
        let trusted = match repo.config().and_then(|config| config.get_bool("core.filemode")) {
            Ok(trusted) => trusted,
            Err(error) if error.code() == ErrorCode::NotFound => true,
            Err(error) => return Err(failed(error)),
        };
        let executable = if trusted {
            is_executable(meta)
        } else {
            let executable = i32::from(FileMode::BlobExecutable);
            base.get_path(path).is_ok_and(|entry| entry.filemode() == executable)
        };
        Ok(if executable { FileMode::BlobExecutable } else { FileMode::Blob })
    }
}

fn is_executable(meta: &fs::Metadata) -> bool {
    use std::os::unix::fs::PermissionsExt;
    meta.permissions().mode() & 0o100 != 0
}

/// Makes a commit as somebody, on no branch.
pub(super) fn committed(
    repo: &Repository,
    identity: &Identity,
    message: &str,
    tree: &Tree<'_>,
    parents: &[&Commit<'_>],
) -> Result<git2::Oid, git2::Error> {
    let now = |person: &Person| Signature::now(&person.name, &person.email);
    let (author, committer) = (now(&identity.author)?, now(&identity.committer)?);
    repo.commit(None, &author, &committer, message, tree, parents)
}
