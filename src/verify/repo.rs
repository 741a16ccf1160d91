//! The types of what a repository says of itself. Not in this file: git itself (`git`), and the
//! meaning of the answers (`collect`, `judge`).

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use super::fingerprint::Fingerprints;
use crate::model::{ChangeKind, Checkpoint, CommitSeen, History, Oid, PathChange};

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
