//! The results of a turn, gathered into [`Evidence`].
//!
//! Invariant: it only reads, and runs before the verify commands, so that their changes to the tree
//! are not taken for the agent's. Not in this file: the meaning of the evidence (`judge`).

mod attribution;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use super::error::VerifyError;
use super::fingerprint::{Fingerprint, Fingerprints};
use super::git::GitRepo;
use super::layout::{Layout, PROGRESS, RECORDS, TASK};
use super::protect::Protection;
use super::repo::Status;
use super::state::StateFiles;
use crate::model::{
    Attribution, Blocked, ChangeKind, CheckResult, Checkpoint, CommitSeen, CriterionKey, Evidence,
    Oid, PathChange, TaskEdit, TaskFileChange,
};

/// Compares TASK.md before and after, in terms of criteria; `task` knows how.
pub type Compare<'a> = &'a dyn Fn(&[u8], &[u8], Attribution) -> TaskFileChange;

/// A list of paths in the evidence holds at most this many: a journal line has to stay
/// readable.
const LISTED: usize = 200;
/// Content that is no text: the name of its file decides alone.
const UNREADABLE: &[u8] = b"\xff";

/// The facts from before the turn, and the observations during it.
#[derive(Clone, Copy)]
pub struct Inputs<'a> {
    /// The task's name and folder.
    pub layout: &'a Layout,
    /// The criterion that was asked for.
    pub focus: &'a CriterionKey,
    /// Where the repository stood before the turn.
    pub checkpoint: &'a Checkpoint,
    /// The commit before the first attempt at this criterion: protected files and tests are
    /// compared with it, so that a second attempt does not profit from tests that the first one
    /// weakened. The checkpoint's own on a first attempt.
    pub origin: &'a Oid,
    /// The state files before the turn.
    pub state: &'a StateFiles,
    /// Hooks and agent settings before the turn.
    pub settings: &'a Fingerprints,
    /// The human's uncommitted files, as they were right before the turn. They are read again
    /// ([`Fingerprints::below`]) after each verdict, so that one change is blamed once.
    pub human: &'a Fingerprints,
    /// Untracked files that verify commands made.
    pub artefacts: &'a BTreeSet<PathBuf>,
    /// Paths that the agent must not change.
    pub protection: &'a Protection,
    /// Canonical paths that the allowed calls of this turn write.
    pub writes: &'a [PathBuf],
    /// The agent's commands cannot write TASK.md or the human's uncommitted files.
    pub sealed: bool,
    /// How TASK.md changed during the turn, step by step.
    pub edits: &'a [TaskEdit],
    /// Calls that ran without a decision.
    pub undecided: &'a [String],
    /// May a file with this content hold a secret?
    pub secret: &'a dyn Fn(&Path, &[u8]) -> bool,
    /// The iteration's date, `YYYY-MM-DD`.
    pub date: &'a str,
    /// The results of the checks before the work ([`super::Baseline::before`]).
    pub before: &'a [CheckResult],
    /// Criteria that were proven before.
    pub proven: &'a [CriterionKey],
    /// Whether an earlier attempt at this criterion left a commit that counts.
    pub worked_before: bool,
    /// Compares TASK.md.
    pub compare: Compare<'a>,
}

/// The evidence without the checks, which run afterwards and are put in by the caller, and
/// the status it was made from.
#[derive(Clone, Debug)]
pub struct Collected {
    /// The observations; `checks` is empty.
    pub evidence: Evidence,
    /// HEAD against the working tree at the end of the turn.
    pub status: Status,
}

/// Changes of settings that only come from repositories which the turn made inside the tree, as
/// scaffolds do: the paths of these repositories, and the other changes. Nothing of theirs applied
/// before, so adding them is a mistake, and no tampering.
fn of_new_repositories(
    repo: &GitRepo,
    inputs: &Inputs<'_>,
    changed: Vec<PathChange>,
) -> Result<(BTreeSet<PathBuf>, Vec<PathChange>), VerifyError> {
    let (mut added, mut others) = (BTreeSet::new(), Vec::new());
    for change in changed {
        let git = change.path.ancestors().filter(|above| above.ends_with(".git")).last();
        let tree = git.and_then(Path::parent).filter(|tree| !tree.as_os_str().is_empty());
        let is_new = |tree: &Path| {
            let known = git.is_some_and(|git| inputs.settings.contains(git));
            Ok::<_, VerifyError>(
                !known
                    && change.kind == ChangeKind::Added
                    && repo.is_added_repository(tree, &inputs.checkpoint.head, inputs.human)?,
            )
        };
        match tree {
            Some(tree) if is_new(tree)? => {
                added.insert(tree.to_owned());
            }
            Some(_) | None => others.push(change),
        }
    }
    Ok((added, others))
}

/// Gathers the evidence of a turn.
///
/// # Errors
/// If the repository or a file cannot be read; then there is no evidence, and no pass.
pub fn collect(repo: &GitRepo, inputs: &Inputs<'_>) -> Result<Collected, VerifyError> {
    let layout = inputs.layout;
    let status = repo.status()?;
    let since = repo.since(inputs.checkpoint, layout)?;
    let net = union(repo.committed_since(inputs.origin)?, &status);
    let seen = Seen { repo, inputs, status: &status, commits: &since.commits };

    let now = StateFiles::read(repo.root(), layout)?;
    let (progress, progress_rewritten) = seen.progress(&now);
    let work = |change: &&PathChange| !layout.is_state_file(&change.path);
    let human = seen.human()?;
    let uncommitted = seen.uncommitted();
    let is_repository = |path: &&PathBuf| repo.root().join(path).join(".git").exists();
    let repositories = uncommitted.iter().map(|change| &change.path).filter(is_repository);
    let changed = inputs.settings.differences(&repo.settings()?);
    let (linked, settings) = of_new_repositories(repo, inputs, changed)?;
    let repositories: BTreeSet<PathBuf> = repositories.cloned().chain(linked).collect();
    let protected = |change: &&PathChange| {
        work(change) && inputs.protection.covers(&change.path) && !seen.is_humans(&change.path)
    };
    let evidence = Evidence {
        history: since.history.clone(),
        in_progress: since.in_progress.map(str::to_owned),
        secrets: cut(seen.secrets()?),
        commits: seen.commits()?,
        worked_before: inputs.worked_before,
        uncommitted: cut(uncommitted),
        repositories: repositories.into_iter().collect(),
        protected: cut(net.iter().filter(protected).cloned().collect()),
        human: cut(human),
        human_committed: seen.human_committed().next().is_some(),
        state_files: seen.records(&now),
        guardrails: seen.guardrails(&now),
        state_uncommitted: status
            .all()
            .into_iter()
            .filter(|change| layout.is_state_file(&change.path))
            .collect(),
        settings,
        progress,
        progress_rewritten,
        blocked_by: seen.blocked(&now),
        before: inputs.before.to_vec(),
        undecided: inputs.undecided.to_vec(),
        proven: inputs.proven.to_vec(),
        ..Evidence::none(inputs.focus.clone(), seen.task_file(&now))
    };
    Ok(Collected { evidence, status })
}

/// The evidence of work that another machine did between the checkpoint and a commit. Only its
/// commits count: what that machine says of itself is not looked at, except that the work is done.
///
/// # Errors
/// If a commit cannot be read.
pub fn collect_commits(
    repo: &GitRepo,
    inputs: &Inputs<'_>,
    head: &Oid,
) -> Result<Evidence, VerifyError> {
    let (layout, base) = (inputs.layout, &inputs.checkpoint.head);
    let commits = repo.commits((base, head), layout)?;
    let seen = Seen { repo, inputs, status: &Status::default(), commits: &commits };
    let file = layout.file(TASK);
    let mut task_file = match (repo.held(base, &file)?, repo.held(head, &file)?) {
        (Some(before), Some(after)) => (inputs.compare)(&before, &after, Attribution::Agent),
        (_, _) => unreadable(Attribution::Agent, "it is gone"),
    };
    task_file.focus_ticked = true;
    let mut protected = repo.between(base, head)?;
    protected.retain(|it| !layout.is_state_file(&it.path) && inputs.protection.covers(&it.path));
    Ok(Evidence {
        secrets: cut(seen.secrets()?),
        commits: seen.commits()?,
        protected: cut(protected),
        before: inputs.before.to_vec(),
        proven: inputs.proven.to_vec(),
        ..Evidence::none(inputs.focus.clone(), task_file)
    })
}

/// The pieces that several questions are asked of.
struct Seen<'a> {
    repo: &'a GitRepo,
    inputs: &'a Inputs<'a>,
    status: &'a Status,
    commits: &'a [CommitSeen],
}

impl Seen<'_> {
    /// Whether a path is the human's: then it is judged as such and not as work.
    fn is_humans(&self, path: &Path) -> bool {
        self.inputs.human.contains(path)
    }

    /// The commits of the turn, without their changes to state files.
    fn commits(&self) -> Result<Vec<CommitSeen>, VerifyError> {
        let Inputs { layout, checkpoint, .. } = self.inputs;
        let content = |from, to| self.repo.changes_content(from, to, layout);
        let is_left = match self.commits.last() {
            Some(last) => content(Some(&checkpoint.head), &last.id)?,
            None => return Ok(Vec::new()),
        };
        let seen = self.commits.iter().map(|commit| {
            let mut seen = without_state(commit, layout);
            let is_content = is_left && content(None, &commit.id)?;
            seen.formatting = !seen.paths.is_empty() && !is_content;
            Ok(seen)
        });
        seen.collect()
    }

    /// The agent's uncommitted files.
    fn uncommitted(&self) -> Vec<PathChange> {
        let inputs = self.inputs;
        self.status
            .all()
            .into_iter()
            .filter(|change| {
                !inputs.layout.is_state_file(&change.path)
                    && !self.is_humans(&change.path)
                    && !inputs.artefacts.contains(&change.path)
            })
            .collect()
    }

    /// Changes to the human's own files: on disk, or in a commit.
    fn human(&self) -> Result<Vec<PathChange>, VerifyError> {
        let mut touched = self.inputs.human.changed_below(self.repo.root())?;
        // The agent's commands cannot write what was there before: the human did.
        touched.retain(|change| {
            !self.inputs.sealed || change.kind == ChangeKind::Added || self.by_agent(&change.path)
        });
        touched.extend(self.human_committed().cloned());
        touched.sort();
        touched.dedup_by(|a, b| a.path == b.path);
        Ok(touched)
    }

    /// The human's own files that commits have.
    fn human_committed(&self) -> impl Iterator<Item = &PathChange> {
        let committed = self.commits.iter().flat_map(|commit| &commit.paths);
        committed.filter(|change| self.is_humans(&change.path))
    }

    /// Secrets that are in the history of the branch now; one that was there before is
    /// not this turn's fault.
    fn secrets(&self) -> Result<Vec<PathChange>, VerifyError> {
        let before = &self.inputs.checkpoint.head;
        let mut secrets = Vec::new();
        for commit in self.commits {
            for change in &commit.paths {
                let written = change.kind != ChangeKind::Deleted && !self.is_humans(&change.path);
                // Most names tell already that no secret is in the file.
                if !written || !(self.inputs.secret)(&change.path, UNREADABLE) {
                    continue;
                }
                let is_secret = |content: &[u8]| (self.inputs.secret)(&change.path, content);
                let old = self.repo.held(before, &change.path)?;
                // A link has no content.
                let new = self.repo.held(&commit.id, &change.path)?;
                let was_there = old.as_deref().is_some_and(is_secret);
                if !was_there && is_secret(new.as_deref().unwrap_or(UNREADABLE)) {
                    secrets.push(change.clone());
                }
            }
        }
        secrets.sort();
        secrets.dedup();
        Ok(secrets)
    }

    fn records(&self, now: &StateFiles) -> Vec<PathChange> {
        let records: Vec<PathBuf> =
            RECORDS.iter().map(|name| self.inputs.layout.file(name)).collect();
        self.inputs
            .state
            .prints()
            .differences(now.prints())
            .into_iter()
            .filter(|change| records.contains(&change.path))
            .collect()
    }

    /// Whether progress.md has an entry of this iteration, and whether it lost old lines.
    fn progress(&self, now: &StateFiles) -> (bool, bool) {
        let path = self.inputs.layout.file(PROGRESS);
        match grown(self.inputs.state, now, &path) {
            Some(added) => (contains(added, self.inputs.date.as_bytes()), false),
            None => {
                let same = self.inputs.state.prints().get(&path) == now.prints().get(&path);
                (false, !same)
            }
        }
    }

    /// What the last line of the added text says, without a list's mark and a date before it. A line
    /// in its midst may be prose.
    fn blocked(&self, now: &StateFiles) -> Option<Blocked> {
        let added = grown(self.inputs.state, now, &self.inputs.layout.file(PROGRESS))?;
        let text = String::from_utf8_lossy(added).into_owned();
        let last = text.lines().map(str::trim).rfind(|line| !line.is_empty())?;
        let last = last.trim_start_matches(['-', '*', ' ']);
        let last = last.strip_prefix(self.inputs.date).unwrap_or(last);
        Blocked::said(last.trim_start_matches([':', ' ', '*']))
    }
}

/// How TASK.md changed while the verify commands ran: all that differs since the turn began. None
/// if it is as `seen`, right before the commands. `by` is who can have done it.
pub fn edited_meanwhile(
    compare: Compare<'_>,
    layout: &Layout,
    before: &StateFiles,
    (seen, now): (&StateFiles, &StateFiles),
    by: Attribution,
) -> Option<TaskFileChange> {
    let path = layout.file(TASK);
    (seen.prints().get(&path) != now.prints().get(&path))
        .then(|| compared(compare, before, now, &path, by))
}

/// TASK.md at two times.
fn compared(
    compare: Compare<'_>,
    before: &StateFiles,
    now: &StateFiles,
    path: &Path,
    by: Attribution,
) -> TaskFileChange {
    match (before.bytes(path), now.bytes(path)) {
        (Some(before), Some(after)) => compare(before, after, by),
        (_, None) => unreadable(by, "it is gone, no regular file, or larger than 16 MiB"),
        (None, Some(_)) => unreadable(by, "it was no regular file before"),
    }
}

/// The text appended to a file, if its earlier content is unchanged. A newline may have been added
/// to an incomplete last line.
fn grown<'a>(before: &StateFiles, now: &'a StateFiles, path: &Path) -> Option<&'a [u8]> {
    let old = match before.prints().get(path) {
        None | Some(Fingerprint::Absent) => b"".as_slice(),
        Some(
            Fingerprint::File { .. }
            | Fingerprint::Link(_)
            | Fingerprint::Directory
            | Fingerprint::Special,
        ) => before.bytes(path)?,
    };
    let new = now.bytes(path)?;
    new.strip_prefix(old).or_else(|| grown_and_formatted(old, new))
}

/// What a text gained that a formatter, such as one that a commit hook runs, has brought into another
/// form: its words stand as they were.
fn grown_and_formatted<'a>(old: &[u8], new: &'a [u8]) -> Option<&'a [u8]> {
    let (old, text) = (std::str::from_utf8(old).ok()?, std::str::from_utf8(new).ok()?);
    let mut letters = text.char_indices().filter(|(_, c)| c.is_alphanumeric());
    let mut end = 0;
    for c in old.chars().filter(|c| c.is_alphanumeric()) {
        let (at, _) = letters.next().filter(|(_, it)| *it == c)?;
        end = at + c.len_utf8();
    }
    new.get(end..)
}

fn contains(text: &[u8], wanted: &[u8]) -> bool {
    !wanted.is_empty() && text.windows(wanted.len()).any(|window| window == wanted)
}

fn unreadable(by: Attribution, why: &str) -> TaskFileChange {
    TaskFileChange { unreadable: Some(why.to_owned()), ..TaskFileChange::none(by) }
}

/// A commit without its changes to state files, which do not count as work.
pub(super) fn without_state(commit: &CommitSeen, layout: &Layout) -> CommitSeen {
    let paths = commit.paths.iter().filter(|change| !layout.is_state_file(&change.path));
    CommitSeen { paths: cut(paths.cloned().collect()), ..commit.clone() }
}

/// All differences between a commit and the working tree, by path. A path that was added and
/// removed again is included, which errs on the side of a finding.
fn union(committed: Vec<PathChange>, status: &Status) -> Vec<PathChange> {
    let mut all = status.all();
    all.extend(committed);
    all.sort_by(|a, b| a.path.cmp(&b.path));
    all.dedup_by(|later, first| {
        let same = later.path == first.path;
        // The commit knows whether the path was there before; the status, whether it is now.
        if same && later.kind != ChangeKind::Modified {
            first.kind = match (first.kind, later.kind) {
                (ChangeKind::Deleted, _) => ChangeKind::Deleted,
                (_, kind) => kind,
            };
        }
        same
    });
    all
}

fn cut(mut changes: Vec<PathChange>) -> Vec<PathChange> {
    changes.truncate(LISTED);
    changes
}
