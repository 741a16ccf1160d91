//! The handle of a repository, and the trait that the other rooms use it through.

use std::fs;
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, Once, PoisonError};
use std::time::SystemTime;

use git2::{ErrorCode, Repository, RepositoryOpenFlags};

use super::alternates::alternates;
use super::known_trees::KnownTrees;
use super::plain::oid;
use super::suspects::Indexed;
use super::tree_files::TreeFiles;
use crate::model::{Checkpoint, CommitSeen, HeldWork, Oid, PathChange};
use crate::verify::classify::TreeEdit;
use crate::verify::commit_hooks::CommitHooks;
use crate::verify::error::{RepoProblem, VerifyError};
use crate::verify::fingerprint::Fingerprints;
use crate::verify::layout::Layout;
use crate::verify::master::RoomFolders;
use crate::verify::proof_rooms::ProofRooms;
use crate::verify::repo::{
    Ancestor, Branch, Dirt, FirstWork, Identity, Preflight, Repo, SavedAttempt, SigningKey, Since,
    Status,
};

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
    pub(super) known: KnownTrees,
    /// The index as it was read last; see [`GitRepo::index_now`].
    pub(super) indexed: Mutex<Option<Indexed>>,
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
        let canonical = |path: &Path| {
            fs::canonicalize(path).map_err(|source| VerifyError::Io {
                operation: "resolve",
                path: path.to_owned(),
                source,
            })
        };
        let (root, git_dir) = (canonical(work)?, canonical(found.path())?);
        let common_dir = canonical(found.commondir())?;
        alternates(&common_dir.join("objects"))?;
        let opened = SystemTime::now();
        let (repo, known) = (Mutex::new(found), KnownTrees::default());
        let indexed = Mutex::default();
        Ok(Self { repo, root, git_dir, common_dir, opened, known, indexed })
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
            let source = Box::new(error);
            if locked {
                VerifyError::Locked { operation, path, source }
            } else {
                VerifyError::Git { operation, path, source }
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
}

impl Repo for GitRepo {
    fn root(&self) -> &Path {
        &self.root
    }

    fn git_dir(&self) -> &Path {
        &self.git_dir
    }

    fn identity(
        &self,
        variable: &dyn Fn(&str) -> Option<String>,
    ) -> Result<Option<Identity>, VerifyError> {
        self.identity_of_git(variable)
    }

    fn signs(
        &self,
        variable: &dyn Fn(&str) -> Option<String>,
    ) -> Result<Option<SigningKey>, VerifyError> {
        self.signing_key(variable)
    }

    fn commit_hooks(&self) -> Result<Option<CommitHooks>, VerifyError> {
        self.hooks_of_commits()
    }

    fn preflight(
        &self,
        layout: &Layout,
        branch: Branch<'_>,
        dirt: Dirt,
    ) -> Result<Preflight, RepoProblem> {
        self.preflight_here(layout, branch, dirt)
    }

    fn exclude(&self, patterns: &[&str]) -> Result<(), VerifyError> {
        self.add_excludes(patterns)
    }

    fn checkpoint(&self) -> Result<Checkpoint, VerifyError> {
        self.checkpoint_in(&self.lock())
    }

    fn status(&self) -> Result<Status, VerifyError> {
        self.status_in(&self.lock())
    }

    fn uncommitted(&self, human: &Fingerprints) -> Result<Vec<TreeEdit>, VerifyError> {
        let changes = self.status()?.all().into_iter().map(|change| change.path);
        let paths: Vec<PathBuf> = changes.filter(|path| human.get(path).is_none()).collect();
        let few = if paths.len() > MOST_UNCOMMITTED { Vec::new() } else { paths };
        self.edits(&Fingerprints::below(&self.root, few)?)
    }

    fn ignored(&self) -> Result<Vec<PathBuf>, VerifyError> {
        self.ignored_in(&self.lock())
    }

    fn since(&self, checkpoint: &Checkpoint, layout: &Layout) -> Result<Since, VerifyError> {
        self.since_in(&self.lock(), checkpoint, layout)
    }

    fn commits(
        &self,
        (base, head): (&Oid, &Oid),
        layout: &Layout,
    ) -> Result<Vec<CommitSeen>, VerifyError> {
        let repo = self.lock();
        let id = |commit| self.commit(&repo, commit).map(|commit| commit.id());
        self.commits_in(&repo, (id(base)?, id(head)?), layout)
    }

    fn ancestors(&self, until: Option<&Oid>) -> Result<Vec<Ancestor>, VerifyError> {
        self.ancestors_in(&self.lock(), until)
    }

    fn first_work(&self, layout: &Layout) -> Result<FirstWork, VerifyError> {
        self.first_work_in(&self.lock(), layout)
    }

    fn reaches(&self, commit: &Oid) -> Result<bool, VerifyError> {
        self.reaches_in(&self.lock(), commit)
    }

    fn committed_since(&self, commit: &Oid) -> Result<Vec<PathChange>, VerifyError> {
        self.committed_in(&self.lock(), commit)
    }

    fn exists_at(&self, commit: &Oid, path: &Path) -> Result<bool, VerifyError> {
        self.exists_in(&self.lock(), commit, path)
    }

    fn held(&self, commit: &Oid, path: &Path) -> Result<Option<Vec<u8>>, VerifyError> {
        self.held_in(&self.lock(), commit, path)
    }

    fn tracks(&self, path: &Path) -> Result<bool, VerifyError> {
        Ok(!self.tracked([path.to_owned()].into())?.is_empty())
    }

    fn settings(&self) -> Result<Fingerprints, VerifyError> {
        self.settings_in(&self.lock())
    }

    fn ready(&self, branch: &str) -> Result<Vec<PathBuf>, VerifyError> {
        self.ready_in(&self.lock(), branch)
    }

    fn unlock(
        &self,
        born: Option<&RangeInclusive<SystemTime>>,
    ) -> Result<Vec<PathBuf>, VerifyError> {
        Ok(self.unlock_in(&self.lock(), born)?.removed)
    }

    fn commit_paths(
        &self,
        branch: &str,
        paths: &[PathBuf],
        message: &str,
        identity: &Identity,
    ) -> Result<Option<Oid>, VerifyError> {
        self.commit_in(&self.lock(), branch, paths, message, identity)
    }

    fn snapshot(&self, without: &Fingerprints) -> Result<Oid, VerifyError> {
        self.snapshot_in(&self.lock(), without, &[]).map(oid)
    }

    fn dissolve(&self, commit: &Oid, human: &Fingerprints) -> Result<(), VerifyError> {
        self.dissolve_in(&self.lock(), commit, human)
    }

    fn is_added_repository(
        &self,
        path: &Path,
        commit: &Oid,
        human: &Fingerprints,
    ) -> Result<bool, VerifyError> {
        self.is_added(&self.lock(), path, commit, human)
    }

    fn save_attempt(
        &self,
        layout: &Layout,
        number: u32,
        message: &str,
        without: &Fingerprints,
    ) -> Result<SavedAttempt, VerifyError> {
        self.save_in(&self.lock(), layout, number, message, without)
    }

    fn back_to(
        &self,
        checkpoint: &Checkpoint,
        keep: &Fingerprints,
    ) -> Result<Vec<PathBuf>, VerifyError> {
        self.back_in(&self.lock(), checkpoint, keep)
    }

    fn restore(&self, commit: &Oid, paths: &[PathBuf]) -> Result<(), VerifyError> {
        self.restore_in(&self.lock(), commit, paths).map(drop)
    }

    fn files(&self, tree: &Oid, edits: &[TreeEdit]) -> Result<TreeFiles, VerifyError> {
        self.files_in(tree, edits)
    }

    fn laid_over(&self, base: &Oid, from: &Oid, paths: &[PathBuf]) -> Result<Oid, VerifyError> {
        self.laid_in(&self.lock(), base, from, paths)
    }

    fn between(&self, before: &Oid, after: &Oid) -> Result<Vec<PathChange>, VerifyError> {
        self.between_in(&self.lock(), before, after)
    }

    fn changes_content(
        &self,
        from: Option<&Oid>,
        to: &Oid,
        layout: &Layout,
    ) -> Result<bool, VerifyError> {
        self.changes_content_in(&self.lock(), (from, to), layout)
    }

    fn keep(&self, name: &str, object: &Oid) -> Result<(), VerifyError> {
        self.keep_in(&self.lock(), name, object)
    }

    fn has_merged(&self, held: &HeldWork, layout: &Layout) -> Result<bool, VerifyError> {
        self.has_merged_in(&self.lock(), held, layout)
    }

    fn merged(&self, held: &HeldWork, line: usize, layout: &Layout) -> Result<Oid, VerifyError> {
        self.merged_in(&self.lock(), held, line, layout)
    }

    fn land(
        &self,
        at: (&str, &Oid),
        files: [&[(PathBuf, Vec<u8>)]; 2],
        message: &str,
        identity: &Identity,
    ) -> Result<Oid, VerifyError> {
        self.land_in(&self.lock(), at, files, message, identity)
    }

    fn import(
        &self,
        from: &Path,
        of: (&Oid, &Oid),
        layout: &Layout,
        number: u32,
    ) -> Result<SavedAttempt, VerifyError> {
        let repo = self.lock();
        let commit = self.import_in(&repo, from, of)?;
        self.numbered(&repo, layout, number, commit)
    }

    fn release(&self, name: &str, object: &Oid) -> Result<(), VerifyError> {
        self.release_in(&self.lock(), name, object)
    }

    fn proof_rooms(
        &self,
        layout: &Layout,
        folders: RoomFolders<'_>,
        preflight: &Preflight,
    ) -> Result<ProofRooms, VerifyError> {
        self.rooms_in(&self.lock(), layout, folders, preflight)
    }
}
