//! The interface to a repository, and the types of its answers.
//!
//! Invariant: no answer depends on the environment's `GIT_*` variables except the identity, for
//! which a caller passes them in; no call runs a hook, a filter program, a pager, or an editor, and
//! none signs. Calls block; an async caller moves them off its thread. Not in this file: git itself
//! (`git`), and the meaning of the answers (`collect`, `judge`).

use std::collections::BTreeSet;
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use super::classify::TreeEdit;
use super::commit_hooks::CommitHooks;
use super::error::{RepoProblem, VerifyError};
use super::fingerprint::Fingerprints;
use super::git::TreeFiles;
use super::layout::Layout;
use super::master::RoomFolders;
use super::proof_rooms::ProofRooms;
use crate::model::{ChangeKind, Checkpoint, CommitSeen, HeldWork, History, Oid, PathChange};

/// Name and address for commits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Person {
    /// As in `Ada Lovelace`.
    pub name: String,
    /// As in `ada@example.org`.
    pub email: String,
}

impl std::fmt::Display for Person {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} <{}>", self.name, self.email)
    }
}

/// Whose commits they are, as git tells it apart.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity {
    /// The author and committer of commits.
    pub author: Person,
    /// Who commits it.
    pub committer: Person,
}

impl Identity {
    /// The identity of agent and runner if git has none.
    pub fn of_the_runner() -> Self {
        Self::of(Person { name: "ralph-copilot".into(), email: "ralph-copilot@localhost".into() })
    }

    /// One person for both.
    pub fn of(person: Person) -> Self {
        Self { author: person.clone(), committer: person }
    }

    /// The variables that make a child's git commit as this identity.
    pub fn environment(&self) -> [(&'static str, &str); 4] {
        [
            ("GIT_AUTHOR_NAME", &self.author.name),
            ("GIT_AUTHOR_EMAIL", &self.author.email),
            ("GIT_COMMITTER_NAME", &self.committer.name),
            ("GIT_COMMITTER_EMAIL", &self.committer.email),
        ]
    }
}

/// The key with which git signs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SigningKey {
    /// A key of SSH, with the path of its file if git names one.
    Ssh(Option<PathBuf>),
    /// A key that GnuPG keeps.
    Gpg,
}

/// The variables that make a child's git leave commits and tags unsigned. A run's children inherit
/// no configuration in variables that these would replace.
pub const UNSIGNED: [(&str, &str); 5] = [
    ("GIT_CONFIG_COUNT", "2"),
    ("GIT_CONFIG_KEY_0", "commit.gpgSign"),
    ("GIT_CONFIG_VALUE_0", "false"),
    ("GIT_CONFIG_KEY_1", "tag.gpgSign"),
    ("GIT_CONFIG_VALUE_1", "false"),
];

/// Does a run continue with uncommitted work in the tree?
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dirt {
    /// No: the run must not begin.
    Refuse,
    /// `--allow-dirty`: it becomes the human's and is protected.
    Protect,
}

/// The branch a run works on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Branch<'a> {
    /// The one that is checked out.
    Current,
    /// `--branch`: this one is made, or taken if it has the same content.
    Named(&'a str),
}

/// A repository that a run may begin in.
#[derive(Clone, Debug)]
pub struct Preflight {
    /// Where it begins.
    pub checkpoint: Checkpoint,
    /// The human's uncommitted files outside the task's folder.
    pub human: Fingerprints,
    /// Paths that the human keeps from `git status`, and so from `git add`, too.
    pub marked: BTreeSet<PathBuf>,
    /// The uncommitted files in the task's folder: the human prepared the task. The runner commits
    /// them first, and says so.
    pub prepared: Vec<PathBuf>,
    /// Hooks and agent settings as they are.
    pub settings: Fingerprints,
    /// Submodules; their content is seen only as far as their commit and whether it is clean.
    pub submodules: Vec<PathBuf>,
    /// The ignored entries; a folder that is ignored as a whole is one.
    pub ignored: Vec<PathBuf>,
}

impl Preflight {
    /// Of a commit alone, with nothing uncommitted and no submodules.
    pub fn of_commit(head: Oid, ignored: Vec<PathBuf>) -> Self {
        Self {
            checkpoint: Checkpoint { head, branch: String::new() },
            human: Fingerprints::default(),
            marked: BTreeSet::new(),
            prepared: Vec::new(),
            settings: Fingerprints::default(),
            submodules: Vec::new(),
            ignored,
        }
    }

    /// The hooks and agent settings that a human should know of before a run, except for those that
    /// git itself keeps in every repository and submodule.
    pub fn hooks_and_settings(&self) -> impl Iterator<Item = &Path> {
        self.settings
            .paths()
            .filter(|path| path.iter().all(|name| name != ".git") || path.starts_with(".git/hooks"))
    }
}

/// HEAD against the working tree, by way of the index. No state is left out here.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Status {
    /// Differences of tracked paths, staged or not.
    pub tracked: Vec<PathChange>,
    /// Untracked files that are not ignored; a repository inside this one is named as a
    /// whole, by its directory.
    pub untracked: BTreeSet<PathBuf>,
}

impl Status {
    /// Both kinds in one list, in the order of the paths.
    pub fn all(&self) -> Vec<PathChange> {
        let added = |path: &PathBuf| PathChange { path: path.clone(), kind: ChangeKind::Added };
        let mut all: Vec<_> =
            self.tracked.iter().cloned().chain(self.untracked.iter().map(added)).collect();
        all.sort();
        all.dedup_by(|a, b| a.path == b.path);
        all
    }
}

/// The changes to the branch since a checkpoint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Since {
    /// Whether it grew or was rewritten.
    pub history: History,
    /// The new commits, oldest first, with every path; at most [`COMMITS`], the newest.
    pub commits: Vec<CommitSeen>,
    /// A merge, rebase or the like that is not finished.
    pub in_progress: Option<&'static str>,
}

/// A commit of the branch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ancestor {
    /// Its id.
    pub id: Oid,
    /// Its first parent; none for the first commit, and for the last one that a shallow clone has.
    pub parent: Option<Oid>,
    /// The first line of its message.
    pub subject: String,
    /// The trailers of its message, such as `Ralph-Task: demo`.
    pub trailers: Vec<(String, String)>,
}

/// Where the work on a task began.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FirstWork {
    /// No commit of the branch belongs to it.
    None,
    /// On this commit.
    On(Oid),
    /// On this commit or an earlier one: this clone holds a part of the history only.
    AtLatest(Oid),
    /// Before every commit of this clone, which holds a part of the history only: its oldest one
    /// is work, too.
    BeforeAll,
    /// The first commit of all holds work, or this clone holds a part of the history and no work.
    Unknown,
}

/// More commits than this in one turn are not read one by one. Comparing the ends shows all their
/// changes.
pub const COMMITS: usize = 1000;

/// An attempt that was kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SavedAttempt {
    /// The ref's full name.
    pub name: String,
    /// The commit it names.
    pub commit: Oid,
    /// Its number; the next attempt takes a higher one.
    pub number: u32,
}

/// A repository with a working tree.
pub trait Repo: Send + Sync {
    /// The working tree's root, canonical.
    fn root(&self) -> &Path;

    /// The git directory of this working tree (of a linked one: its own).
    fn git_dir(&self) -> &Path;

    /// The identity that git would commit with, from its configuration and from variables such as
    /// `GIT_AUTHOR_NAME`, which win. `None` if git would refuse to commit, or guess.
    ///
    /// # Errors
    /// If git cannot be started.
    fn identity(
        &self,
        variable: &dyn Fn(&str) -> Option<String>,
    ) -> Result<Option<Identity>, VerifyError>;

    /// The key with which the human's git signs commits or tags here, if it does so unasked.
    ///
    /// # Errors
    /// If git cannot be started.
    fn signs(
        &self,
        variable: &dyn Fn(&str) -> Option<String>,
    ) -> Result<Option<SigningKey>, VerifyError>;

    /// The hooks that git runs for a commit here, if there are any.
    ///
    /// # Errors
    /// If git cannot be started.
    fn commit_hooks(&self) -> Result<Option<CommitHooks>, VerifyError>;

    /// Can a run begin, and on which commit? Changes nothing except HEAD, and that only for
    /// [`Branch::Named`]. Call [`Repo::exclude`] first, or the runner's own files are taken for the
    /// human's.
    ///
    /// # Errors
    /// The first problem that was met, with its way out.
    fn preflight(
        &self,
        layout: &Layout,
        branch: Branch<'_>,
        dirt: Dirt,
    ) -> Result<Preflight, RepoProblem>;

    /// Makes git ignore patterns in this clone, through `info/exclude`. Existing lines stay, and
    /// an existing pattern is not added again.
    ///
    /// # Errors
    /// If a pattern is missing and a run watches the file, or it cannot be written.
    fn exclude(&self, patterns: &[&str]) -> Result<(), VerifyError>;

    /// Where HEAD and its branch are.
    ///
    /// # Errors
    /// If HEAD is on no branch or has no commit.
    fn checkpoint(&self) -> Result<Checkpoint, VerifyError>;

    /// HEAD against the working tree.
    ///
    /// # Errors
    /// If the index or the tree cannot be read.
    fn status(&self) -> Result<Status, VerifyError>;

    /// The uncommitted changes without the human's; none if they are very many.
    ///
    /// # Errors
    /// If the index or the tree cannot be read.
    fn uncommitted(&self, human: &Fingerprints) -> Result<Vec<TreeEdit>, VerifyError>;

    /// The existing ignored files; a folder that is ignored as a whole is one entry.
    ///
    /// # Errors
    /// If the tree cannot be read.
    fn ignored(&self) -> Result<Vec<PathBuf>, VerifyError>;

    /// The changes to the branch since a checkpoint; `layout` distinguishes our commits from
    /// others.
    ///
    /// # Errors
    /// If commits cannot be read.
    fn since(&self, checkpoint: &Checkpoint, layout: &Layout) -> Result<Since, VerifyError>;

    /// The commits that the second one has and the first one does not, oldest first, at most
    /// [`COMMITS`], as in [`Since`].
    ///
    /// # Errors
    /// If commits cannot be read.
    fn commits(
        &self,
        between: (&Oid, &Oid),
        layout: &Layout,
    ) -> Result<Vec<CommitSeen>, VerifyError>;

    /// HEAD and its first parents, newest first, down to but without `until`, at most [`COMMITS`];
    /// nothing where HEAD is on no branch.
    ///
    /// # Errors
    /// If commits cannot be read.
    fn ancestors(&self, until: Option<&Oid>) -> Result<Vec<Ancestor>, VerifyError>;

    /// Where the work on a task began, by the first parents of HEAD, however many.
    ///
    /// # Errors
    /// If commits cannot be read.
    fn first_work(&self, layout: &Layout) -> Result<FirstWork, VerifyError>;

    /// Is HEAD this commit or a descendant of it? No, if the commit does not exist.
    ///
    /// # Errors
    /// If commits cannot be read.
    fn reaches(&self, commit: &Oid) -> Result<bool, VerifyError>;

    /// The net difference between a commit and HEAD. Renames are a removal and an addition.
    ///
    /// # Errors
    /// If trees cannot be read.
    fn committed_since(&self, commit: &Oid) -> Result<Vec<PathChange>, VerifyError>;

    /// Which of the paths a commit holds as files or links.
    ///
    /// # Errors
    /// If trees cannot be read.
    fn exists_at(&self, commit: &Oid, path: &Path) -> Result<bool, VerifyError>;

    /// The content of a file in a commit; none if the path is not a file.
    ///
    /// # Errors
    /// If the tree cannot be read.
    fn held(&self, commit: &Oid, path: &Path) -> Result<Option<Vec<u8>>, VerifyError>;

    /// Does git track the file at this path, relative to the root?
    ///
    /// # Errors
    /// If the index cannot be read.
    fn tracks(&self, path: &Path) -> Result<bool, VerifyError>;

    /// The hooks and agent settings that could widen an agent's permissions, tracked by git or not:
    /// `.github/hooks`, `.claude`, `.copilot`, MCP configuration, git's own hooks, and its
    /// configuration. Keys are relative to the root, or begin with `.git/`. Call it before each
    /// turn, because a verify command may change them, too.
    ///
    /// # Errors
    /// If one of them cannot be read.
    fn settings(&self) -> Result<Fingerprints, VerifyError>;

    /// Checks that work can go on: this branch is checked out, no operation such as a merge is in
    /// progress, and no git process holds the index for longer than a moment. Stale locks are
    /// removed as by [`Repo::unlock`], and returned.
    ///
    /// # Errors
    /// The reason why not.
    fn ready(&self, branch: &str) -> Result<Vec<PathBuf>, VerifyError>;

    /// Removes stale locks of a commit: those that appeared in a given time, or else since the
    /// repository was opened here, still exist two seconds later, and cannot belong to a living
    /// git. Returns them.
    ///
    /// # Errors
    /// If one cannot be removed.
    fn unlock(
        &self,
        born: Option<&RangeInclusive<SystemTime>>,
    ) -> Result<Vec<PathBuf>, VerifyError>;

    /// Commits only these paths as they are in the working tree, on top of this branch, which must
    /// be checked out. Staged changes stay staged. A missing path is removed; one that git ignores
    /// and does not track yet is left out. Returns `None` if nothing differs.
    ///
    /// # Errors
    /// [`VerifyError::OtherBranch`] if another branch is checked out,
    /// [`VerifyError::Moved`] if the branch moved meanwhile; otherwise as git says.
    fn commit_paths(
        &self,
        branch: &str,
        paths: &[PathBuf],
        message: &str,
        identity: &Identity,
    ) -> Result<Option<Oid>, VerifyError>;

    /// The working tree as a git tree: HEAD with every difference, without ignored files
    /// and without the paths in `without`. Index and working tree stay as they are.
    ///
    /// # Errors
    /// If a file cannot be read or an object not be written.
    fn snapshot(&self, without: &Fingerprints) -> Result<Oid, VerifyError>;

    /// Makes plain folders of the repositories inside the tree that neither a commit nor `human`
    /// has: their git folders are moved to `.ralph/runs/repositories`.
    ///
    /// # Errors
    /// If one cannot be moved.
    fn dissolve(&self, commit: &Oid, human: &Fingerprints) -> Result<(), VerifyError>;

    /// Is this a repository inside the tree that a turn added: one that neither a commit nor
    /// `human` has, and that git does not ignore?
    ///
    /// # Errors
    /// If the commit cannot be read.
    fn is_added_repository(
        &self,
        path: &Path,
        commit: &Oid,
        human: &Fingerprints,
    ) -> Result<bool, VerifyError>;

    /// Keeps the working tree as a commit on HEAD under the task's next free attempt ref,
    /// beginning at `number`. Nothing else changes.
    ///
    /// # Errors
    /// As for [`Repo::snapshot`]; nothing may be put back then.
    fn save_attempt(
        &self,
        layout: &Layout,
        number: u32,
        message: &str,
        without: &Fingerprints,
    ) -> Result<SavedAttempt, VerifyError>;

    /// Restores the checkpoint's branch and tree. `keep` is left as it is in the working tree, and
    /// so is everything that git ignores. Returns the paths that could not be restored because a
    /// kept file is in their way, or because they are repositories. Call it only after
    /// [`Repo::save_attempt`] succeeded.
    ///
    /// # Errors
    /// If a file or a ref cannot be written; calling it again is safe.
    fn back_to(
        &self,
        checkpoint: &Checkpoint,
        keep: &Fingerprints,
    ) -> Result<Vec<PathBuf>, VerifyError>;

    /// Restores single paths of the working tree to their content in a commit, or removes those
    /// that it does not have; the index follows.
    ///
    /// # Errors
    /// If a file cannot be written.
    fn restore(&self, commit: &Oid, paths: &[PathBuf]) -> Result<(), VerifyError>;

    /// The files of a commit or a tree, with edits laid over it.
    ///
    /// # Errors
    /// If it cannot be read.
    fn files(&self, tree: &Oid, edits: &[TreeEdit]) -> Result<TreeFiles, VerifyError>;

    /// A tree like `base`, but with these paths as `from` has them. Both may be commits.
    ///
    /// # Errors
    /// If an object cannot be read or written.
    fn laid_over(&self, base: &Oid, from: &Oid, paths: &[PathBuf]) -> Result<Oid, VerifyError>;

    /// The net difference between two commits or trees.
    ///
    /// # Errors
    /// If trees cannot be read.
    fn between(&self, before: &Oid, after: &Oid) -> Result<Vec<PathChange>, VerifyError>;

    /// Does a file outside the task's state files differ in content between two commits, in more
    /// than white space, line endings, or its mode? Without `from`, a commit is compared with its
    /// first parent.
    ///
    /// # Errors
    /// If trees or files cannot be read.
    fn changes_content(
        &self,
        from: Option<&Oid>,
        to: &Oid,
        layout: &Layout,
    ) -> Result<bool, VerifyError>;

    /// Points a ref to a commit or a tree, whatever it named before.
    ///
    /// # Errors
    /// If it cannot be written.
    fn keep(&self, name: &str, object: &Oid) -> Result<(), VerifyError>;

    /// Has a human merged held work? HEAD has its commit, or the same content in every file that it
    /// changes except the task's state files.
    ///
    /// # Errors
    /// If HEAD or the held work cannot be read.
    fn has_merged(&self, held: &HeldWork, layout: &Layout) -> Result<bool, VerifyError>;

    /// Makes a commit on no branch: HEAD with held work. The task's state files are HEAD's. The
    /// hint of a conflict names the criterion by its `line` in TASK.md.
    ///
    /// # Errors
    /// [`VerifyError::Conflicts`], [`VerifyError::NotFetched`], or if git fails.
    fn merged(&self, held: &HeldWork, line: usize, layout: &Layout) -> Result<Oid, VerifyError>;

    /// Moves the branch and the working tree to the result of [`Self::merged`], with the first of
    /// these files written over it. The others are what filters make of the work.
    ///
    /// # Errors
    /// [`VerifyError::InTheWay`], [`VerifyError::Filtered`] if what a filter makes is not given, or
    /// if git fails or the branch moved meanwhile.
    fn land(
        &self,
        at: (&str, &Oid),
        files: [&[(PathBuf, Vec<u8>)]; 2],
        message: &str,
        identity: &Identity,
    ) -> Result<Oid, VerifyError>;

    /// Copies a commit from another repository on this machine, with everything that it needs
    /// beyond `base`, which both have, and keeps it as an attempt, under the first free number.
    ///
    /// # Errors
    /// If an object is missing there, or does not match its name.
    fn import(
        &self,
        from: &Path,
        commit_and_base: (&Oid, &Oid),
        layout: &Layout,
        number: u32,
    ) -> Result<SavedAttempt, VerifyError>;

    /// Removes a ref of ours, if it still names this object.
    ///
    /// # Errors
    /// If git cannot remove it.
    fn release(&self, name: &str, object: &Oid) -> Result<(), VerifyError>;

    /// Prepares the proof rooms of a run, from the repository that a preflight found: before an
    /// agent works. The human's uncommitted files are shown in them.
    ///
    /// # Errors
    /// If something cannot be read or copied.
    fn proof_rooms(
        &self,
        layout: &Layout,
        folders: RoomFolders<'_>,
        preflight: &Preflight,
    ) -> Result<ProofRooms, VerifyError>;
}
