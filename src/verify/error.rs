//! Errors: the repository cannot be read or written, or is in a state in which a run must not
//! begin.
//!
//! Invariant: each names the operation and the path. Findings about an agent's work are not errors
//! and are in `judge`.

use std::path::PathBuf;

use crate::model::{ExitCode, Oid, PathChange};
use crate::sys;

/// An operation of git or the file system that failed.
#[derive(Debug, thiserror::Error)]
pub enum VerifyError {
    /// Git failed.
    #[error("cannot {operation} in {path}: {source}")]
    Git {
        /// The operation, as in `read the index`.
        operation: &'static str,
        /// The repository or the file.
        path: PathBuf,
        /// Git's message.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// Another git process holds its lock, or died and left it behind.
    #[error("cannot {operation} in {path}: {source}")]
    Locked {
        /// The operation, as in `write the index`.
        operation: &'static str,
        /// The repository.
        path: PathBuf,
        /// Git's message, with the lock's path.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// HEAD is not where the run works.
    #[error("HEAD is on {found}, but the run works on {expected}: nothing is committed there")]
    OtherBranch {
        /// The run's branch, in full.
        expected: String,
        /// The one that is checked out.
        found: String,
    },
    /// A merge, rebase or the like was begun and is not finished.
    #[error("a {what} is in progress")]
    InProgress {
        /// Which.
        what: &'static str,
        /// The git command that ends it.
        abort: &'static str,
    },
    /// A file could not be read or written.
    #[error("cannot {operation} {path}: {source}")]
    Io {
        /// The operation, as in `read`.
        operation: &'static str,
        /// The file.
        path: PathBuf,
        /// The cause.
        source: std::io::Error,
    },
    /// A bundle was refused: it is untrusted input.
    #[error("refused the bundle {path}: {why}")]
    Bundle {
        /// The file.
        path: PathBuf,
        /// The rule that it breaks, or git's message.
        why: String,
    },
    /// A link is in the place of a file or folder of git that a run writes.
    #[error(
        "{path} is a link: git's folder is shared with another repository by links, and a run could \
         change that one"
    )]
    Linked {
        /// The link.
        path: PathBuf,
    },
    /// Held work and the branch changed the same lines.
    #[error("the held work and the branch changed the same lines: {paths}")]
    Conflicts {
        /// The files.
        paths: String,
        /// The ref that keeps the work.
        held: String,
        /// The task.
        task: String,
        /// The task's folder.
        folder: PathBuf,
        /// The criterion's 1-based line in TASK.md.
        line: usize,
    },
    /// The commits of held work are not in this clone.
    #[error("the work in {held} is not in this clone")]
    NotFetched {
        /// The ref that keeps the work.
        held: String,
    },
    /// Uncommitted changes are where held work would be written.
    #[error(
        "uncommitted changes are in files that the work changes, too: {}",
        paths_in_words(paths)
    )]
    InTheWay {
        /// The files.
        paths: Vec<PathBuf>,
    },
    /// Only git runs the program that makes a file.
    #[error("cannot put {path} back: git's filter `{filter}` makes it")]
    Filtered {
        /// The file.
        path: PathBuf,
        /// The filter.
        filter: String,
        /// The commit to go back to.
        commit: Oid,
    },
    /// Another commit was made at the same time.
    #[error("{branch} moved during the commit: it is no longer at {expected}")]
    Moved {
        /// The branch.
        branch: String,
        /// The expected commit.
        expected: Oid,
    },
    /// HEAD is on no branch, or the branch is gone.
    #[error("HEAD of {path} is on no branch with a commit")]
    NoBranch {
        /// The repository.
        path: PathBuf,
    },
    /// A pattern is missing in `info/exclude`, which a run in another worktree watches.
    #[error("cannot add to {path}: a run in another worktree of this repository watches it")]
    ExcludesWatched {
        /// The file.
        path: PathBuf,
    },
    /// A glob of `protect` is invalid.
    #[error("invalid glob {glob} in `protect`: {source}")]
    Glob {
        /// As written.
        glob: String,
        /// The cause.
        source: globset::Error,
    },
}

impl VerifyError {
    /// The next step for the human, if one is known.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Locked { .. } => Some(
                "wait for the other git process; if there is none, delete the lock file named above"
                    .into(),
            ),
            Self::OtherBranch { expected, .. } => {
                let name = expected.strip_prefix("refs/heads/").unwrap_or(expected);
                Some(format!("switch back: git switch {name}, then run the same command again"))
            }
            Self::NoBranch { .. } => {
                Some("create the first commit, or switch to the run's branch: git switch NAME; then run the same command again".into())
            }
            Self::InProgress { abort, .. } => {
                Some(format!("finish it or abort it ({abort}), then run the same command again"))
            }
            Self::Filtered { commit, .. } => Some(format!(
                "let git do it, which runs the filter: git reset --hard {}; what was done is kept \
                 below refs/ralph; then run the same command again",
                commit.short()
            )),
            Self::Moved { .. } => Some("check git log, then run the same command again".into()),
            Self::Git { source, .. } if source.to_string().contains("object not found") => Some(
                "run git fsck for details; a partial clone lacks objects: git fetch --refetch \
                 --no-filter"
                    .into(),
            ),
            Self::Git { .. } => Some("run git status and git fsck for details".into()),
            Self::Io { .. } => {
                Some(ExitCode::Write.hint())
            }
            Self::Bundle { .. } => Some(
                "nothing of it was used; look at the job that wrote it, and let it write another"
                    .into(),
            ),
            Self::Linked { .. } => Some(
                "use `git worktree add` to make another checkout; if the link is not intended, \
                 check where it points before you change anything"
                    .into(),
            ),
            Self::ExcludesWatched { .. } => Some(
                "wait until the run in the other worktree has ended, then run the same command again".into(),
            ),
            Self::Conflicts { held, task, folder, line, .. } => Some(format!(
                "merge it by hand: git merge {held}; keep the task's files as they are: git \
                 checkout HEAD -- {}; solve the other conflicts, and git commit; then take it: \
                 ralph-copilot accept {task} {line}; or let the agent do it again: ralph-copilot \
                 retry {task} {line}",
                folder.display()
            )),
            Self::NotFetched { .. } => {
                Some("fetch it: git fetch origin 'refs/ralph/*:refs/ralph/*'".into())
            }
            Self::InTheWay { .. } => {
                Some("commit or stash them, then run the same command again".into())
            }
            Self::Glob { .. } => None,
        }
    }
}

/// The system's messages, quoted by git, if nothing can be written any more.
const UNWRITABLE: [&str; 4] =
    ["No space left on device", "File too large", "Read-only file system", "Disk quota exceeded"];

impl VerifyError {
    /// Is the disk full or read-only?
    pub fn cannot_write(&self) -> bool {
        match self {
            Self::Io { source, .. } => source.kind() != std::io::ErrorKind::NotFound,
            Self::Git { source, .. } => {
                let said = source.to_string();
                UNWRITABLE.iter().any(|words| said.contains(words))
            }
            Self::Moved { .. }
            | Self::Filtered { .. }
            | Self::Conflicts { .. }
            | Self::NotFetched { .. }
            | Self::InTheWay { .. }
            | Self::NoBranch { .. }
            | Self::Glob { .. }
            | Self::Locked { .. }
            | Self::Linked { .. }
            | Self::Bundle { .. }
            | Self::OtherBranch { .. }
            | Self::ExcludesWatched { .. }
            | Self::InProgress { .. } => false,
        }
    }
}

impl From<sys::SysError> for VerifyError {
    fn from(error: sys::SysError) -> Self {
        match error {
            sys::SysError::File { operation, path, source } => Self::Io { operation, path, source },
            other @ (sys::SysError::Locked { .. }
            | sys::SysError::Spawn { .. }
            | sys::SysError::Process { .. }) => Self::Io {
                operation: "write",
                path: PathBuf::new(),
                source: std::io::Error::other(other),
            },
        }
    }
}

/// The reason why a run cannot begin in this repository (exit code 8).
#[derive(Debug, thiserror::Error)]
pub enum RepoProblem {
    /// The folder is not in a repository.
    #[error("{from} is not inside a git repository")]
    None {
        /// The folder where the search began.
        from: PathBuf,
    },
    /// It belongs to another user, so git does not trust it.
    #[error("the repository at {path} belongs to another user")]
    NotOwned {
        /// Where.
        path: PathBuf,
    },
    /// It uses a feature that this program cannot read.
    #[error("the repository at {path} cannot be read: {reason}")]
    Unsupported {
        /// Where.
        path: PathBuf,
        /// Git's message.
        reason: String,
    },
    /// It borrows objects from a folder that is not there.
    #[error("the repository borrows objects from {path}, which is not there (git clone --shared)")]
    NoAlternate {
        /// The missing folder.
        path: PathBuf,
        /// The file that names it.
        list: PathBuf,
    },
    /// It was cloned without all objects, and they cannot be fetched.
    #[error(
        "this partial clone does not have all objects that are needed, and cannot fetch them from \
         {remote}: {why}"
    )]
    PartialClone {
        /// The remote that has them.
        remote: String,
        /// Git's message.
        why: String,
    },
    /// It has no working tree.
    #[error("the repository at {path} is bare: it has no working tree")]
    Bare {
        /// Where.
        path: PathBuf,
    },
    /// It has no commit yet.
    #[error("the repository has no commit yet")]
    Unborn,
    /// HEAD is on no branch.
    #[error("HEAD is detached at {head}: commits would belong to no branch")]
    Detached {
        /// Where.
        head: Oid,
    },
    /// A merge, rebase or the like is not finished.
    #[error("a {what} is in progress")]
    InProgress {
        /// Which.
        what: &'static str,
        /// The git command that ends it.
        abort: &'static str,
    },
    /// A lock file of another git process, running or dead, is in the way.
    #[error("{path} exists: another git process is running, or one crashed")]
    Locked {
        /// The lock file.
        path: PathBuf,
    },
    /// There is work that is not committed.
    #[error("the working tree is not clean:{}", listed(.changes))]
    Dirty {
        /// The uncommitted files outside the task's folder.
        changes: Vec<PathChange>,
    },
    /// Uncommitted work may stay, and some of it is staged.
    #[error("there are staged changes, which an agent's `git commit` would include:{}", listed(.changes))]
    Staged {
        /// The staged files outside the task's folder.
        changes: Vec<PathChange>,
    },
    /// The task is not in this repository.
    #[error("the task's folder {folder} is outside the repository {root}")]
    TaskOutside {
        /// The task's folder.
        folder: PathBuf,
        /// The repository's root.
        root: PathBuf,
    },
    /// `--branch` names no valid branch.
    #[error("`{name}` is not a valid branch name")]
    BranchName {
        /// As given.
        name: String,
    },
    /// `--branch` names a branch whose content differs from the checked-out one.
    #[error("the branch {name} exists at {at}, and its content differs from HEAD")]
    BranchElsewhere {
        /// As given.
        name: String,
        /// Where it points.
        at: Oid,
    },
    /// `--branch` names a branch that a remote has, with other content.
    #[error("the branch {name} exists only at {remote} ({at}), and its content differs from HEAD")]
    BranchAtRemote {
        /// As given.
        name: String,
        /// The remote's name.
        remote: String,
        /// Where it points there, as of the last fetch.
        at: Oid,
    },
    /// `--branch` names a branch that another worktree has checked out.
    #[error("the branch {name} is checked out in another worktree")]
    BranchInUse {
        /// As given.
        name: String,
    },
    /// Git itself failed.
    #[error(transparent)]
    Failed(#[from] VerifyError),
}

impl RepoProblem {
    /// The next step for the human, in one sentence.
    pub fn hint(&self) -> String {
        match self {
            Self::None { .. } => {
                "change into a repository, or create one: git init && git add . && git commit"
                    .into()
            }
            Self::NotOwned { path } => {
                format!(
                    "if you trust it: git config --global --add safe.directory {}",
                    path.display()
                )
            }
            Self::Unsupported { reason, .. } => unsupported(reason).into(),
            Self::NoAlternate { list, .. } => format!(
                "put the repository back that it was cloned from, or correct {}; then, to need it \
                 no longer: git repack -a -d && rm {}",
                list.display(),
                list.display()
            ),
            Self::PartialClone { remote, .. } => {
                format!("make it a whole clone: git fetch --refetch --no-filter {remote}")
            }
            Self::Bare { .. } => "add a working tree: git worktree add ../work".into(),
            Self::Unborn => "create the first commit: git add . && git commit".into(),
            Self::Detached { .. } => {
                "name a branch with --branch NAME, or switch to one: git switch NAME".into()
            }
            Self::InProgress { abort, .. } => format!("finish it or abort it: {abort}"),
            Self::Locked { path } => {
                format!("wait for the other process; if there is none: rm {}", path.display())
            }
            Self::Dirty { .. } => "commit it, stash it with git stash -u, or keep it with \
                                   --allow-dirty: a run then never commits, resets or loses it"
                .into(),
            Self::Staged { .. } => {
                "commit them (git commit), stash them (git stash, later git stash \
                                    pop --index), or unstage them (git restore --staged .): \
                                    --allow-dirty keeps changes that are not staged"
                    .into()
            }
            Self::TaskOutside { .. } => "move the task's folder into the repository".into(),
            Self::BranchName { .. } => "use letters, digits, `-`, `_` and `/`".into(),
            Self::BranchElsewhere { name, .. } => {
                format!("switch to it first: git switch {name}; or name another branch")
            }
            Self::BranchAtRemote { name, remote, .. } => {
                format!(
                    "switch to it first: git switch --track {remote}/{name}; or name another branch"
                )
            }
            Self::BranchInUse { .. } => "work there, or name another branch".into(),
            Self::Failed(error) => {
                error.hint().unwrap_or_else(|| "run git status for details".into())
            }
        }
    }
}

/// The hint for a repository that git's library cannot read, by its message.
fn unsupported(reason: &str) -> &'static str {
    let says = |word: &str| reason.to_lowercase().contains(word);
    if says("'link'") {
        "a split index is not supported: git update-index --no-split-index"
    } else if says("'sdir'") {
        "a sparse index is not supported: git sparse-checkout reapply --no-sparse-index"
    } else if says("objectformat") || says("object format") {
        "SHA-256 repositories are not supported: use one with SHA-1 ids"
    } else if says("refstorage") || says("reftable") {
        "reftable repositories are not supported: git refs migrate --ref-format=files"
    } else if says("unsupported extension") {
        "this extension of git is not supported: work in a new clone, which does not have it"
    } else {
        "run git status and git fsck for details"
    }
}

/// At most this many paths are named in one message.
const NAMED: usize = 10;

/// Paths, one a line, bounded; control characters are written as escapes.
fn listed(changes: &[PathChange]) -> String {
    let mut text = String::new();
    for change in changes.iter().take(NAMED) {
        text.push_str(&format!("\n  {}", super::format::change(change)));
    }
    if changes.len() > NAMED {
        text.push_str(&format!("\n  and {} more", changes.len() - NAMED));
    }
    text
}

/// Names of paths, for a sentence.
pub(super) fn paths_in_words(paths: &[PathBuf]) -> String {
    let names = paths.iter().map(|path: &PathBuf| path.display().to_string());
    names.collect::<Vec<_>>().join(", ")
}
