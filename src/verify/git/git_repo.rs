//! The handle of a repository. Calls block; an async caller moves them off its thread.

use std::fs;
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, Once, PoisonError};
use std::time::SystemTime;

use git2::{ErrorClass, ErrorCode, Repository, RepositoryOpenFlags};

use super::alternates::alternates;
use super::plain::oid;
use crate::model::{Checkpoint, CommitSeen, Oid, PathChange};
use crate::verify::classify::TreeEdit;
use crate::verify::error::{RepoProblem, VerifyError, io_error};
use crate::verify::fingerprint::Fingerprints;
use crate::verify::layout::Layout;
use crate::verify::repo::Status;

/// Extensions of a repository that the library need not understand to read it: the name of the
/// remote that has the other objects, and relative paths between working trees.
const HARMLESS: [&str; 2] = ["partialclone", "relativeworktrees"];

/// Lets the library open repositories with these extensions.
fn allow_extensions() {
    static ALLOWED: Once = Once::new();
    ALLOWED.call_once(|| {
        #[expect(unsafe_code, reason = "the library keeps them in a variable without a lock")]
        // SAFETY: it is called once, and before any repository is opened.
        let allowed = unsafe { git2::opts::set_extensions(&HARMLESS) };
        if let Err(error) = allowed {
            tracing::warn!(%error, "extensions stay unsupported");
        }
    });
}

/// More uncommitted files are not read.
const MOST_UNCOMMITTED: usize = 500;

/// A repository on disk.
pub struct GitRepo {
    /// libgit2's handle must not be used by two threads at once.
    pub(super) repo: Mutex<Repository>,
    pub(super) root: PathBuf,
    pub(super) git_dir: PathBuf,
    pub(super) common_dir: PathBuf,
    pub(super) opened: SystemTime,
}

impl std::fmt::Debug for GitRepo {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("GitRepo").field("root", &self.root).finish_non_exhaustive()
    }
}

impl GitRepo {
    /// Finds the repository that a directory lies in, a linked worktree included.
    ///
    /// # Errors
    /// If there is none, it is bare, belongs to another user, or cannot be read.
    pub fn discover(from: &Path) -> Result<Self, RepoProblem> {
        // Opened from below: opened by its own path, a git directory that lies elsewhere
        // does not know its working tree.
        let no_ceiling: [&Path; 0] = [];
        let flags = RepositoryOpenFlags::CROSS_FS;
        allow_extensions();
        let found =
            Repository::open_ext(from, flags, no_ceiling).map_err(|error| match error.code() {
                ErrorCode::NotFound => RepoProblem::None { from: from.to_owned() },
                ErrorCode::Owner => RepoProblem::NotOwned { path: from.to_owned() },
                _ => RepoProblem::Unsupported {
                    path: from.to_owned(),
                    reason: error.message().to_owned(),
                },
            })?;
        let Some(work) = found.workdir() else {
            return Err(RepoProblem::Bare { path: found.path().to_owned() });
        };
        let canonical = |path: &Path| fs::canonicalize(path).map_err(io_error("resolve", path));
        let (root, git_dir) = (canonical(work)?, canonical(found.path())?);
        let common_dir = canonical(found.commondir())?;
        alternates(&common_dir.join("objects"))?;
        let opened = SystemTime::now();
        let repo = Mutex::new(found);
        Ok(Self { repo, root, git_dir, common_dir, opened })
    }

    /// Where commits and refs are kept: `.git`, or, of a linked working tree, that of the
    /// repository it belongs to.
    pub fn common_dir(&self) -> &Path {
        &self.common_dir
    }

    /// The folders of objects outside the repository that it and its submodules borrow from.
    pub fn alternates(&self) -> Vec<PathBuf> {
        let repo = self.lock();
        let modules = self.submodules(&repo).unwrap_or_default().into_iter();
        let inner = modules.filter_map(|it| it.open().ok()).map(|it| it.commondir().to_owned());
        let all = inner.chain([self.common_dir.clone()]);
        let mut all: Vec<_> =
            all.filter_map(|git| alternates(&git.join("objects")).ok()).flatten().collect();
        all.retain(|path| !path.starts_with(&self.root) && !path.starts_with(&self.common_dir));
        all
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, Repository> {
        self.repo.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Names git's operation when it failed.
    pub(super) fn failed(
        &self,
        operation: &'static str,
    ) -> impl Fn(git2::Error) -> VerifyError + use<'_> {
        move |error| {
            let path = self.root.clone();
            let locked = error.code() == ErrorCode::Locked;
            if locked && error.class() == ErrorClass::Index {
                // The library does not name it.
                let source = format!("{} exists", self.git_dir.join("index.lock").display());
                VerifyError::Locked { operation, path, source: source.into() }
            } else if locked {
                VerifyError::Locked { operation, path, source: error.into() }
            } else {
                VerifyError::Git { operation, path, source: error.into() }
            }
        }
    }

    pub(super) fn commit<'r>(
        &self,
        repo: &'r Repository,
        id: &Oid,
    ) -> Result<git2::Commit<'r>, VerifyError> {
        git2::Oid::from_str(id.as_str())
            .and_then(|id| repo.find_commit(id))
            .map_err(self.failed("read a commit"))
    }

    /// The working tree's root, canonical.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// The git directory of this working tree (of a linked one: its own).
    pub fn git_dir(&self) -> &Path {
        &self.git_dir
    }

    /// Where HEAD and its branch are.
    ///
    /// # Errors
    /// If HEAD is on no branch or has no commit.
    pub fn checkpoint(&self) -> Result<Checkpoint, VerifyError> {
        self.checkpoint_in(&self.lock())
    }

    /// HEAD against the working tree.
    ///
    /// # Errors
    /// If the index or the tree cannot be read.
    pub fn status(&self) -> Result<Status, VerifyError> {
        self.status_in(&self.lock())
    }

    /// The uncommitted changes without the human's; none if they are very many.
    ///
    /// # Errors
    /// If the index or the tree cannot be read.
    pub fn uncommitted(&self, human: &Fingerprints) -> Result<Vec<TreeEdit>, VerifyError> {
        let changes = self.status()?.all().into_iter().map(|change| change.path);
        let paths: Vec<PathBuf> = changes.filter(|path| human.get(path).is_none()).collect();
        let few = if paths.len() > MOST_UNCOMMITTED { Vec::new() } else { paths };
        self.edits(&Fingerprints::below(&self.root, few)?)
    }

    /// The commits that the second one has and the first one does not, oldest first: the
    /// newest [`COMMITS`](crate::verify::repo::COMMITS).
    ///
    /// # Errors
    /// If commits cannot be read.
    pub fn commits(
        &self,
        (base, head): (&Oid, &Oid),
        layout: &Layout,
    ) -> Result<Vec<CommitSeen>, VerifyError> {
        let repo = self.lock();
        let id = |commit| self.commit(&repo, commit).map(|commit| commit.id());
        self.commits_in(&repo, (id(base)?, id(head)?), layout)
    }

    /// Does git track the file at this path, relative to the root?
    ///
    /// # Errors
    /// If the index cannot be read.
    pub fn tracks(&self, path: &Path) -> Result<bool, VerifyError> {
        Ok(!self.tracked([path.to_owned()].into())?.is_empty())
    }

    /// The hooks and agent settings that could widen an agent's permissions, tracked by git or not:
    /// `.github/hooks`, `.claude`, `.copilot`, MCP configuration, git's own hooks, and its
    /// configuration. Keys are relative to the root, or begin with `.git/`. Call it before each
    /// turn, because a verify command may change them, too.
    ///
    /// # Errors
    /// If one of them cannot be read.
    pub fn settings(&self) -> Result<Fingerprints, VerifyError> {
        self.settings_in(&self.lock())
    }

    /// Removes stale locks of a commit: those that appeared in a given time, or else since the
    /// repository was opened here, still exist two seconds later, and cannot belong to a living
    /// git. Returns them.
    ///
    /// # Errors
    /// If one cannot be removed.
    pub fn unlock(
        &self,
        born: Option<&RangeInclusive<SystemTime>>,
    ) -> Result<Vec<PathBuf>, VerifyError> {
        Ok(self.unlock_in(&self.lock(), born)?.removed)
    }

    /// The working tree as a git tree: HEAD with every difference, without ignored files
    /// and without the paths in `without`. Index and working tree stay as they are.
    ///
    /// # Errors
    /// If a file cannot be read or an object not be written.
    pub fn snapshot(&self, without: &Fingerprints) -> Result<Oid, VerifyError> {
        self.snapshot_in(&self.lock(), without, &[]).map(oid)
    }

    /// Is this a repository inside the tree that a turn added: one that neither a commit nor
    /// `human` has, and that git does not ignore?
    ///
    /// # Errors
    /// If the commit cannot be read.
    pub fn is_added_repository(
        &self,
        path: &Path,
        commit: &Oid,
        human: &Fingerprints,
    ) -> Result<bool, VerifyError> {
        self.is_added(&self.lock(), path, commit, human)
    }

    /// Restores single paths of the working tree to their content in a commit, or removes those
    /// that it does not have; the index follows.
    ///
    /// # Errors
    /// If a file cannot be written.
    pub fn restore(&self, commit: &Oid, paths: &[PathBuf]) -> Result<(), VerifyError> {
        self.restore_in(&self.lock(), commit, paths).map(drop)
    }

    /// The net difference between two commits or trees.
    ///
    /// # Errors
    /// If trees cannot be read.
    pub fn between(&self, before: &Oid, after: &Oid) -> Result<Vec<PathChange>, VerifyError> {
        self.between_in(&self.lock(), before, after)
    }
}
