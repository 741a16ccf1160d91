//! The project's hooks that can refuse a commit, tried on a message before the first turn.
//!
//! Invariant: they run in a proof room, as its checks do. No commit is made, and nothing in the
//! human's repository changes. Not in this file: their folder, which `git` knows, and the room.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::classify::TreeEdit;
use super::excerpt::beginning;
use super::layout::TASK;
use crate::model::{Oid, PathChange};

/// The hooks that git runs for a commit, in this order, with their arguments.
const HOOKS: [(&str, &str); 3] = [
    ("pre-commit", ""),
    ("prepare-commit-msg", " .git/COMMIT_EDITMSG message"),
    ("commit-msg", " .git/COMMIT_EDITMSG"),
];

/// A hook that takes longer is not waited for: whether it refuses stays unknown.
pub(super) const LIMIT: Duration = Duration::from_secs(10);

/// The variables that git sets for them.
const ENVIRONMENT: &str = "GIT_INDEX_FILE=.git/index GIT_EDITOR=: GIT_PREFIX=";

/// The hooks of a repository that can refuse a commit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommitHooks {
    /// Where they are.
    pub(super) folder: PathBuf,
    /// Where commands in the root of a room find them.
    pub(super) seen_at: PathBuf,
    found: Vec<usize>,
}

impl CommitHooks {
    /// Those in git's folder for hooks; none if there are none.
    pub(super) fn of(root: &Path, git: &Path, folder: PathBuf) -> Option<Self> {
        let runs = |name: &str| {
            let meta = fs::metadata(folder.join(name));
            meta.is_ok_and(|it| it.is_file() && it.permissions().mode() & 0o111 != 0)
        };
        let found: Vec<usize> = (0..HOOKS.len()).filter(|at| runs(HOOKS[*at].0)).collect();
        let seen_at = match (folder.strip_prefix(git), folder.strip_prefix(root)) {
            // A room has its own git folder, and gets a copy.
            (Ok(_), _) => Path::new(COPIED).to_owned(),
            (Err(_), Ok(inside)) => Path::new(".").join(inside),
            (Err(_), Err(_)) => folder.clone(),
        };
        (!found.is_empty()).then_some(Self { folder, seen_at, found })
    }

    /// Those that read a message.
    pub fn of_messages(mut self) -> Option<Self> {
        self.found.retain(|at| !HOOKS[*at].1.is_empty());
        (!self.found.is_empty()).then_some(self)
    }

    /// Are they in git's own folder, which a room does not share?
    pub(super) fn are_copied(&self) -> bool {
        self.seen_at == Path::new(COPIED)
    }

    /// Their folder, if it lies outside the repository.
    pub fn elsewhere(self) -> Option<PathBuf> {
        self.seen_at.is_absolute().then_some(self.folder)
    }

    /// The names and command lines of the hooks. What one makes of the message is for the next.
    pub(super) fn commands(&self) -> Vec<(&'static str, String)> {
        let mut before = String::new();
        let commands = self.found.iter().map(|at| {
            let (name, arguments) = HOOKS[*at];
            let path = self.seen_at.join(name).to_string_lossy().replace('\'', r"'\''");
            let command = format!("{ENVIRONMENT} '{path}'{arguments}");
            let whole = format!("{before}{command}");
            if !arguments.is_empty() {
                before = format!("{command} >/dev/null 2>&1; ");
            }
            (name, whole)
        });
        commands.collect()
    }
}

/// What helps with a hook that fixes files.
const AGAIN: &str = " It fixes files and then fails: when your commit fails, stage its changes with \
                     `git add`, and commit again in the same turn.";

/// Where a room has copies of hooks.
const COPIED: &str = ".git/hooks";

/// A commit that is not made.
#[derive(Clone, Copy, Debug)]
pub struct TriedCommit<'a> {
    /// The commit below it.
    pub parent: &'a Oid,
    /// Its differences from that.
    pub staged: &'a [TreeEdit],
    /// Its message.
    pub message: &'a str,
}

/// A hook that refuses the commits of a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RefusedCommit {
    hook: String,
    /// What it refuses.
    what: String,
    /// The files that it changed.
    changed: Vec<String>,
    /// What it printed.
    said: String,
    /// What it made of the only file of the commit.
    #[serde(skip)]
    made: Option<String>,
    /// What it accepts instead.
    accepts: Option<Accepted>,
}

/// A message that a hook accepts after it refused another one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Accepted {
    /// One with a `Signed-off-by` line.
    SignedOff,
    /// A shorter one.
    Shorter,
}

impl RefusedCommit {
    pub(super) fn of(
        hook: &str,
        commit: TriedCommit<'_>,
        (output, changed): (&str, &[PathChange]),
        left: Option<String>,
    ) -> Self {
        let what = match (hook, commit.staged) {
            ("pre-commit", []) => "even an empty commit".to_owned(),
            ("pre-commit", [one]) if one.path().ends_with(TASK) => {
                "even a commit of TASK.md alone".to_owned()
            }
            ("pre-commit", _) => "this work".to_owned(),
            (_, _) => format!("the message `{}`", commit.message),
        };
        let said = beginning(output);
        let is_same =
            matches!((commit.staged, changed), ([one], [other]) if *one.path() == other.path);
        Self {
            hook: hook.to_owned(),
            what,
            changed: changed.iter().map(|change| change.path.display().to_string()).collect(),
            made: left.filter(|_| is_same),
            accepts: None,
            said: if said.is_empty() { "nothing".to_owned() } else { said },
        }
    }

    /// The same with a message that the hook accepts.
    pub fn with(self, accepts: Accepted) -> Self {
        Self { accepts: Some(accepts), ..self }
    }

    /// Is it refused for its message, and not for its content?
    pub fn is_about_its_message(&self) -> bool {
        self.hook != "pre-commit"
    }

    /// What a `pre-commit` hook made of a commit of this one file, if it changed no other.
    pub fn made(&self) -> Option<&str> {
        self.made.as_deref().filter(|_| !self.is_about_its_message())
    }

    /// What was refused, in a sentence without its end.
    pub fn what(&self) -> String {
        let said = self.said.lines().map(str::trim).filter(|line| !line.is_empty());
        let said = said.collect::<Vec<_>>().join(" / ");
        format!("the {} hook refuses {}{}; it printed: {said}", self.hook, self.what, self.fixes())
    }

    /// The files that it fixes instead, as formatters do.
    fn fixes(&self) -> String {
        match &*self.changed {
            [] => String::new(),
            changed => format!(" and changes {}", changed.join(", ")),
        }
    }

    /// What helps a human.
    pub fn hint(&self) -> &'static str {
        match self.hook.as_str() {
            _ if !self.changed.is_empty() => {
                "the agent is told to stage the hook's changes and to commit again"
            }
            "commit-msg" => match self.accepts {
                Some(Accepted::SignedOff) => {
                    "it accepts a `Signed-off-by` line: the agent is told to use `git commit -s`"
                }
                Some(Accepted::Shorter) => {
                    "it accepts a shorter message: the agent is told to write one"
                }
                None => {
                    "the agent is told what it printed; if it wants a ticket or another beginning, \
                     set `commit_prefix` in TASK.md"
                }
            },
            _ => "try `git commit --allow-empty`, and see what the hook lacks in the sandbox",
        }
    }

    /// What an agent is told.
    pub fn told(&self) -> String {
        let again = match self.accepts {
            Some(Accepted::SignedOff) => " It accepts a `Signed-off-by` line: `git commit -s`.",
            Some(Accepted::Shorter) => " It accepts a shorter message.",
            None if self.changed.is_empty() => "",
            None => AGAIN,
        };
        format!(
            "The {} hook refused {} when the runner tried it. Make your commits so that it accepts \
             them: your change counts, not the words of its message.{again} The hook \
             printed:\n\n    {}",
            self.hook,
            self.what,
            self.said.replace('\n', "\n    ")
        )
    }
}
