//! Opens boxes again that were ticked without a verdict, before a criterion is chosen.
//!
//! Invariant: changes one byte of TASK.md for each, and nothing else; counts no attempt. A dead
//! run's journal names these ticks (`dead_run`). Without one, as in a fresh clone, the history
//! does: the runner commits the state after each verdict, so a later commit with the task's
//! mark belongs to an agent whose run died. A tick in any other commit is the human's.

use std::collections::BTreeSet;

use super::EngineError;
use super::past_runs::Resumed;
use super::state;
use crate::model::{Checkpoint, CriterionKey, Oid, TaskState};
use crate::sys::{Durability, FileMode, atomic};
use crate::task::{self, Tick};
use crate::verify::{Ancestor, GitRepo, Layout, STATE, StateFiles, TASK, left_work};

/// Opens boxes that an agent ticked in a commit without a later verdict. Its committed work is
/// kept, and counts as it would on the machine where its run died.
pub(super) fn open_unjudged(
    repo: &GitRepo,
    layout: &Layout,
    resumed: &mut Resumed,
) -> Result<(), EngineError> {
    let Some(Unjudged { before, ticked, judged }) = unjudged(repo, layout)? else { return Ok(()) };
    let state = state::load(repo, layout)?.state;
    let file = layout.file(STATE);
    let committed = repo.held(&repo.checkpoint()?.head, &file)?;
    let is_newer = committed != std::fs::read(repo.root().join(&file)).ok() || before.is_none();
    // A verdict that is in state.json and not yet committed counts, too; and a committed one where a
    // shallow clone does not show who committed it.
    let since = |key: &CriterionKey| {
        let entry = state.find(key).filter(|entry| entry.proof.is_some());
        let iteration = entry.and_then(|entry| entry.iteration);
        is_newer && iteration.is_some_and(|iteration| iteration > judged)
    };
    let ticked = ticked.into_iter().filter(|key| !since(key));
    open_again(repo, layout, ticked, &mut resumed.notices)?;
    let Some(head) = before else { return Ok(()) };
    let held = repo.held(&head, &layout.file(TASK))?.unwrap_or_default();
    let blocked =
        |key: &CriterionKey| state.find(key).is_some_and(|entry| entry.waits() || since(key));
    let then = task::parse(layout.task(), &held);
    let focus = then.criteria.into_iter().find(|it| !it.checked && !blocked(&it.key));
    let Some(key) = focus.map(|criterion| criterion.key) else { return Ok(()) };
    if resumed.worked.iter().all(|(worked, _)| *worked != key) {
        let checkpoint = Checkpoint { head, ..repo.checkpoint()? };
        let commit = left_work(repo, layout, &checkpoint)?;
        resumed.worked.extend(commit.map(|commit| (key, commit)));
    }
    Ok(())
}

/// Opens the boxes of these criteria if they are ticked.
pub(super) fn open_again(
    repo: &GitRepo,
    layout: &Layout,
    keys: impl IntoIterator<Item = CriterionKey>,
    notices: &mut Vec<String>,
) -> Result<(), EngineError> {
    let file = layout.file(TASK);
    let files = StateFiles::read(repo.root(), layout)?;
    // Without TASK.md the run ends soon, with its own message.
    let Some(before) = files.bytes(&file) else { return Ok(()) };
    let mut bytes = before.to_vec();
    for key in keys {
        let now = task::parse(layout.task(), &bytes);
        let Some(ticked) = task::find(&now, &key).filter(|now| now.checked) else { continue };
        bytes = task::tick(&bytes, ticked.mark, Tick::Open)?;
        notices.push(format!(
            "{} was ticked in an iteration that died before its verdict: its box is open again",
            key.quoted()
        ));
    }
    if bytes != before {
        let path = repo.root().join(&file);
        atomic::write(&path, &bytes, Durability::Machine, FileMode::Umask)?;
    }
    Ok(())
}

/// Commits of agents without a verdict.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Unjudged {
    /// The commit before the first of them; `None` if the history begins with it, as in a
    /// shallow clone.
    before: Option<Oid>,
    /// Criteria that they ticked and that are still ticked in HEAD.
    ticked: BTreeSet<CriterionKey>,
    /// The last iteration whose verdict was committed before them; 0 if unknown.
    judged: u32,
}

/// Finds them. Returns `None` if everything was judged.
fn unjudged(repo: &GitRepo, layout: &Layout) -> Result<Option<Unjudged>, EngineError> {
    let agents = |commit: &Ancestor| {
        layout.marks(&commit.subject) && !layout.is_state_message(&commit.subject)
    };
    let mut commits = Vec::new();
    for commit in repo.ancestors(None)? {
        if layout.is_state_message(&commit.subject) && judges(repo, layout, &commit)? {
            break;
        }
        commits.push(commit);
    }
    let Some(first) = commits.iter().rposition(agents) else { return Ok(None) };
    commits.truncate(first + 1);
    let before = commits[first].parent.clone();
    let mut ticked = BTreeSet::new();
    let mut then = ticked_at(repo, layout, before.as_ref())?;
    for commit in commits.iter().rev() {
        let now = ticked_at(repo, layout, Some(&commit.id))?;
        for key in now.difference(&then) {
            if agents(commit) {
                ticked.insert(key.clone());
            } else {
                ticked.remove(key);
            }
        }
        ticked.retain(|key| now.contains(key));
        then = now;
    }
    let judged = iteration_at(repo, layout, before.as_ref())?;
    Ok(Some(Unjudged { before, ticked, judged }))
}

/// Is a commit the runner's, and does it record one more iteration? One that only commits prepared
/// files or clears attempts is not a verdict on the commits before it. The runner's commits change
/// only state files, whatever their titles say.
fn judges(repo: &GitRepo, layout: &Layout, commit: &Ancestor) -> Result<bool, EngineError> {
    let now = iteration_at(repo, layout, Some(&commit.id))?;
    if now <= iteration_at(repo, layout, commit.parent.as_ref())? {
        return Ok(false);
    }
    let Some(parent) = &commit.parent else { return Ok(true) };
    let changes = repo.between(parent, &commit.id)?;
    Ok(changes.iter().all(|change| layout.is_state_file(&change.path)))
}

/// The last iteration in a commit's state.json.
fn iteration_at(repo: &GitRepo, layout: &Layout, commit: Option<&Oid>) -> Result<u32, EngineError> {
    let Some(commit) = commit else { return Ok(0) };
    let held = repo.held(commit, &layout.file(STATE))?;
    let state = held.and_then(|held| serde_json::from_slice::<TaskState>(&held).ok());
    Ok(state.map_or(0, |state| state.iteration))
}

/// The criteria that are ticked in a commit.
pub(super) fn ticked_at(
    repo: &GitRepo,
    layout: &Layout,
    commit: Option<&Oid>,
) -> Result<BTreeSet<CriterionKey>, EngineError> {
    let Some(commit) = commit else { return Ok(BTreeSet::new()) };
    let held = repo.held(commit, &layout.file(TASK))?.unwrap_or_default();
    let criteria = task::parse(layout.task(), &held).criteria.into_iter();
    Ok(criteria.filter(|criterion| criterion.checked).map(|criterion| criterion.key).collect())
}
