//! Errors: the repository cannot be read or written, or is in a state in which a run must not
//! begin.
//!
//! Invariant: each names the operation and the path. Findings about an agent's work are not errors
//! and are in `judge`.

use std::path::{Path, PathBuf};

use crate::model::{ExitCode, Oid, PathChange};
use crate::sys;

/// An operation of git or the file system that failed.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "the messages say it")]
pub enum VerifyError {
    #[error("cannot {operation} in {path}: {source}")]
    Git { operation: &'static str, path: PathBuf, source: Box<dyn std::error::Error + Send + Sync> },
    #[error("cannot {operation} in {path}: {source}")]
    Locked {
        operation: &'static str,
        path: PathBuf,
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    #[error("HEAD is on {found}, but the run works on {expected}: nothing is committed there")]
    OtherBranch { expected: String, found: String },
    #[error("a {what} is in progress")]
    InProgress { what: &'static str, abort: &'static str },
    #[error("cannot {operation} {path}: {source}")]
    Io { operation: &'static str, path: PathBuf, source: std::io::Error },
    #[error("refused the bundle {path}: {why}")]
    Bundle { path: PathBuf, why: String },
    #[error(
        "{path} is a link: git's folder is shared with another repository by links, and a run could \
         change that one"
    )]
    Linked { path: PathBuf },
    #[error("the held work and the branch changed the same lines: {paths}")]
    Conflicts { paths: String, held: String, task: String, folder: PathBuf, line: usize },
    #[error("the work in {held} is not in this clone")]
    NotFetched { held: String },
    #[error(
        "uncommitted changes are in files that the work changes, too: {}",
        paths_in_words(paths)
    )]
    InTheWay { paths: Vec<PathBuf> },
    #[error("cannot put {path} back: git's filter `{filter}` makes it")]
    Filtered { path: PathBuf, filter: String, commit: Oid },
    #[error("{branch} moved during the commit: it is no longer at {expected}")]
    Moved { branch: String, expected: Oid },
    #[error("HEAD of {path} is on no branch with a commit")]
    NoBranch { path: PathBuf },
    #[error("cannot add to {path}: a run in another worktree of this repository watches it")]
    ExcludesWatched { path: PathBuf },
    #[error("invalid glob {glob} in `protect`: {source}")]
    Glob { glob: String, source: globset::Error },
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
        if let Self::Io { source, .. } = self {
            return source.kind() != std::io::ErrorKind::NotFound;
        }
        let Self::Git { source, .. } = self else { return false };
        let said = source.to_string();
        UNWRITABLE.iter().any(|words| said.contains(words))
    }
}

/// Names the file system's operation when it failed.
pub(super) fn io_error(
    operation: &'static str,
    path: &Path,
) -> impl Fn(std::io::Error) -> VerifyError + use<> {
    let path = path.to_owned();
    move |source| VerifyError::Io { operation, path: path.clone(), source }
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
#[expect(missing_docs, reason = "the messages say it")]
pub enum RepoProblem {
    #[error("{from} is not inside a git repository")]
    None { from: PathBuf },
    #[error("the repository at {path} belongs to another user")]
    NotOwned { path: PathBuf },
    #[error("the repository at {path} cannot be read: {reason}")]
    Unsupported { path: PathBuf, reason: String },
    #[error("the repository borrows objects from {path}, which is not there (git clone --shared)")]
    NoAlternate { path: PathBuf, list: PathBuf },
    #[error(
        "this partial clone does not have all objects that are needed, and cannot fetch them from \
         {remote}: {why}"
    )]
    PartialClone { remote: String, why: String },
    #[error("the repository at {path} is bare: it has no working tree")]
    Bare { path: PathBuf },
    #[error("the repository has no commit yet")]
    Unborn,
    #[error("HEAD is detached at {head}: commits would belong to no branch")]
    Detached { head: Oid },
    #[error("a {what} is in progress")]
    InProgress { what: &'static str, abort: &'static str },
    #[error("{path} exists: another git process is running, or one crashed")]
    Locked { path: PathBuf },
    #[error("the working tree is not clean:{}", listed(.changes))]
    Dirty { changes: Vec<PathChange> },
    #[error("there are staged changes, which an agent's `git commit` would include:{}", listed(.changes))]
    Staged { changes: Vec<PathChange> },
    #[error("the task's folder {folder} is outside the repository {root}")]
    TaskOutside { folder: PathBuf, root: PathBuf },
    #[error("`{name}` is not a valid branch name")]
    BranchName { name: String },
    #[error("the branch {name} exists at {at}, and its content differs from HEAD")]
    BranchElsewhere { name: String, at: Oid },
    #[error("the branch {name} exists only at {remote} ({at}), and its content differs from HEAD")]
    BranchAtRemote { name: String, remote: String, at: Oid },
    #[error("the branch {name} is checked out in another worktree")]
    BranchInUse { name: String },
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
