//! The guard's input for a decision: plain data, built by the caller.
//!
//! Invariant: a policy never changes while a run lasts, and everything in it is
//! already resolved (canonical paths, compiled globs). Reading configuration and
//! finding the human's files belong to other rooms.

use std::path::{Path, PathBuf};
use std::time::SystemTime;

use globset::{GlobBuilder, GlobSet, GlobSetBuilder};

use crate::model::{NetworkAccess, Tier, WriteScope};

use super::policy_error::PolicyError;
use super::prefix::fits;
use super::programs::exactly;
use super::rules::Rules;
use super::secrets;

/// Everything a decision depends on besides the call itself and the files.
#[derive(Clone, Debug)]
pub struct Policy {
    /// Canonical root of the repository.
    pub workspace: PathBuf,
    /// Canonical directory that relative paths and commands start from.
    pub cwd: PathBuf,
    /// Canonical folder of the task that is worked on; without one every task's
    /// folder is protected as a whole.
    pub task_dir: Option<PathBuf>,
    /// The agent's HOME, for `~` and `$HOME`.
    pub home: Option<PathBuf>,
    /// The agent's private TMPDIR: it may read and write there.
    pub tmp: Option<PathBuf>,
    /// Where the agent may write.
    pub write_scope: WriteScope,
    /// Commands allowed on top of the built-in ones, as their first words.
    pub allow: Allow,
    /// Globs, relative to the workspace, that must not be changed.
    pub protect: Globs,
    /// Canonical paths that must not be changed (scripts that a check runs, for example).
    pub protect_paths: Vec<PathBuf>,
    /// Canonical paths that the human left uncommitted.
    pub human: Vec<PathBuf>,
    /// Those among them that `git add` leaves alone: `git update-index --skip-worktree`.
    pub marked: Vec<PathBuf>,
    /// Secret-looking files that may be read, canonical.
    pub readable: Vec<PathBuf>,
    /// Folders that no call reads or changes, canonical, whatever else is allowed.
    pub hidden: Vec<PathBuf>,
    /// Paths outside of the workspace that may be read, canonical.
    pub visible: Vec<PathBuf>,
    /// Commands that run with the host's network, word for word.
    pub network_for: Vec<String>,
    /// Whether commands in a sandbox have the host's network.
    pub network: NetworkAccess,
    /// The one change of TASK.md that is the agent's to make.
    pub focus: Option<TickRule>,
    /// The additions of the user's configuration.
    pub rules: Rules,
    /// The kernel's limits on shell commands.
    pub tier: Tier,
    /// When the run began: in a sandbox, a command may delete what was made later.
    pub started: Option<SystemTime>,
    /// Whether calls are approved without a human: otherwise only reads are.
    pub approval: Approval,
}

/// Who approves a call that the rules allow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Approval {
    /// The guard by itself.
    #[default]
    Automatic,
    /// A human, and none is watching: only reads pass.
    Human,
}

/// The one byte of TASK.md that the agent may change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TickRule {
    /// Byte offset of the character between the brackets.
    pub mark: usize,
}

impl Policy {
    /// A policy with nothing allowed beyond the built-in rules.
    ///
    /// `workspace` and `task_dir` must be canonical.
    pub fn new(workspace: impl Into<PathBuf>, task_dir: impl Into<PathBuf>) -> Self {
        Self { task_dir: Some(task_dir.into()), ..Self::without_task(workspace) }
    }

    /// The same where no task is worked on: every task's folder is protected.
    pub fn without_task(workspace: impl Into<PathBuf>) -> Self {
        let workspace = workspace.into();
        Self {
            cwd: workspace.clone(),
            workspace,
            task_dir: None,
            home: None,
            tmp: None,
            write_scope: WriteScope::Workspace,
            allow: Allow::default(),
            protect: Globs::default(),
            protect_paths: Vec::new(),
            human: Vec::new(),
            marked: Vec::new(),
            readable: Vec::new(),
            hidden: Vec::new(),
            visible: Vec::new(),
            network_for: Vec::new(),
            network: NetworkAccess::Closed,
            focus: None,
            rules: Rules::default(),
            tier: Tier::Off,
            started: None,
            approval: Approval::Automatic,
        }
    }
}

impl Policy {
    /// The TASK.md of the task that is worked on.
    pub(super) fn task_file(&self) -> Option<PathBuf> {
        self.task_dir.as_ref().map(|folder| folder.join("TASK.md"))
    }

    /// Whether a command is one of those that run with the host's network.
    pub fn has_network(&self, command: &str) -> bool {
        self.network_for.iter().any(|allowed| allowed.trim() == command.trim())
    }

    /// Whether the task opens the network to what runs in its sandbox: then asking other machines
    /// and fetching packages is what the human wants. Pushing and publishing is not.
    pub(super) fn is_online(&self) -> bool {
        self.tier.is_sandboxed() && self.network == NetworkAccess::Open
    }

    /// Whether a path, absolute or relative to where commands start, names a file with secrets
    /// that the task does not open.
    pub(super) fn hides(&self, path: &Path) -> bool {
        let same = |open: &PathBuf| self.cwd.join(path).components().eq(open.components());
        secrets::path(path) && !self.readable.iter().any(same)
    }

    /// Whether a canonical path is the folder of the task that is worked on, or below it.
    pub(super) fn in_own_task(&self, path: &Path) -> bool {
        self.task_dir.as_ref().is_some_and(|own| path.starts_with(own))
    }
}

/// A list of globs with the text they were written as.
#[derive(Clone, Debug, Default)]
pub struct Globs {
    set: GlobSet,
}

impl Globs {
    /// Compiles globs that are relative to the workspace. A glob that names a
    /// folder covers everything below it.
    ///
    /// # Errors
    /// The first glob that cannot be understood.
    pub fn new<S: AsRef<str>>(patterns: impl IntoIterator<Item = S>) -> Result<Self, PolicyError> {
        let mut builder = GlobSetBuilder::new();
        for pattern in patterns {
            let written = pattern.as_ref();
            let trimmed = written.trim_start_matches("./").trim_end_matches('/');
            for form in [trimmed.to_owned(), format!("{trimmed}/**")] {
                let glob = GlobBuilder::new(&form).literal_separator(true).build();
                builder.add(
                    glob.map_err(|source| PolicyError::Glob {
                        pattern: written.to_owned(),
                        source,
                    })?,
                );
            }
        }
        let set = builder.build().map_err(|source| PolicyError::Glob {
            pattern: "all protected globs".to_owned(),
            source,
        })?;
        Ok(Self { set })
    }

    /// Whether a path relative to the workspace is covered.
    pub fn covers(&self, relative: &Path) -> bool {
        !self.set.is_empty() && self.set.is_match(relative)
    }

    /// Whether there are no globs at all.
    pub fn is_empty(&self) -> bool {
        self.set.is_empty()
    }
}

/// Extra commands, each a list of first words: `npm run lint` allows
/// `npm run lint -- --fix`. One that names what is deleted, or whom a program talks to,
/// allows its very words. They are words, never a pattern or shell code.
#[derive(Clone, Debug, Default)]
pub struct Allow {
    commands: Vec<Allowed>,
}

#[derive(Clone, Debug)]
struct Allowed {
    words: Vec<String>,
    exactly: bool,
}

impl Allow {
    /// Splits each command into words as a shell would.
    ///
    /// # Errors
    /// The first command that is empty or has an open quote.
    pub fn new<S: AsRef<str>>(commands: impl IntoIterator<Item = S>) -> Result<Self, PolicyError> {
        let mut allowed = Vec::new();
        for command in commands {
            let written = command.as_ref();
            match shlex::split(written) {
                Some(words) if !words.is_empty() => {
                    let exactly = exactly(&words);
                    allowed.push(Allowed { words, exactly });
                }
                _ => return Err(PolicyError::Allow { command: written.to_owned() }),
            }
        }
        Ok(Self { commands: allowed })
    }

    /// Whether there are none.
    pub(super) fn is_empty(&self) -> bool {
        self.commands.is_empty()
    }

    /// Whether a command, word by word, begins with an allowed one. `None` is a
    /// word that cannot be known before it runs; it matches no word of a prefix.
    pub(super) fn covers(&self, words: &[Option<String>]) -> bool {
        self.commands.iter().any(|allowed| {
            fits(allowed.words.len(), words.len(), allowed.exactly)
                && allowed.words.iter().zip(words).all(|(want, word)| Some(want) == word.as_ref())
        })
    }
}
