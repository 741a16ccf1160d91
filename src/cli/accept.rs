//! `accept`: takes work that was held for review.
//!
//! Invariant: one commit on top of the branch holds the work, its tick, and its state, and says who
//! accepted it.

use std::path::Path;

use serde_json::json;

use super::args::AcceptArgs;
use super::context::TaskContext;
use super::environment;
use super::failure::Failure;
use super::named_criterion::named;
use super::print::{say, say_json};
use super::told::{Told, read_state, say_next};
use crate::model::{Criterion, ExitCode, HeldWork, Oid, Proof, Task, TaskState, one_line};
use crate::sys::lock::TreeLock;
use crate::task::{self, Tick};
use crate::verify::{GitRepo, Identity, STATE, TASK, VerifyError};

/// Moves held work onto the branch and ticks its criterion.
pub(super) fn accept(directory: Option<&Path>, args: &AcceptArgs) -> Result<u8, Failure> {
    let at = TaskContext::find(directory, &args.task)?;
    let _lock = match at.place.runs().is_dir() {
        true => Some(TreeLock::take(&at.place.lock(), "accept")?),
        false => None,
    };
    let task = at.load()?;
    let mut state = read_state(&at)?;
    let (criterion, held) = find(&task, &state, &args.criterion)?;
    let repo = &at.place.repo;
    let identity = repo.identity(&environment::variable)?.ok_or_else(|| {
        Failure::new(ExitCode::Repository, "git has no user name and email")
            .hint("git config user.name NAME; git config user.email ADDRESS")
    })?;
    let branch = repo.checkpoint()?.branch;
    let merged = repo.merged(&held, criterion.line, &at.layout)?;
    if let Some(harness) = with_accepted(repo, &at, &state, &held, &merged)? {
        repo.keep(&at.layout.harness_ref(), &harness)?;
        state.harness = Some(harness);
    }
    let entry = state.entry(&criterion.key);
    entry.held = None;
    (entry.blocked, entry.blocked_by) = (false, None);
    entry.proof = Some(Proof::Accepted);
    let ticked = task::tick(task.source.as_bytes(), criterion.mark, Tick::Done)?;
    let mut text = serde_json::to_vec_pretty(&state)
        .map_err(|error| Failure::new(ExitCode::Internal, error))?;
    text.push(b'\n');
    let files = [(at.layout.file(TASK), ticked), (at.layout.file(STATE), text)];
    let message = message(at.layout.task(), criterion, &identity);
    let commit = repo.land((&branch, &merged), [&files, &[]], &message, &identity)?;
    let text = &criterion.key.text;
    if args.json {
        say_json(&json!({ "accepted": text, "commit": commit, "held": held.name }));
    } else {
        say(&format!("accepted  {text}  ({})", commit.short()));
        say_next(&Told::of(directory, &at)?);
    }
    Ok(0)
}

/// The named criterion and its held work.
fn find<'a>(
    task: &'a Task,
    state: &TaskState,
    name: &str,
) -> Result<(&'a Criterion, HeldWork), Failure> {
    let held =
        |criterion: &Criterion| state.find(&criterion.key).and_then(|entry| entry.held.clone());
    let work = named(task, name)?.into_iter().find_map(|it| Some((it, held(it)?)));
    work.ok_or_else(|| {
        let known = task.criteria.iter().filter(|it| held(it).is_some());
        let known: Vec<_> = known.map(|it| format!("{} (line {})", it.key.text, it.line)).collect();
        Failure::new(ExitCode::Usage, format!("criterion `{name}` has no held work")).hint(
            if known.is_empty() {
                "no criterion of this task is held".to_owned()
            } else {
                format!("held criteria: {}", known.join(", "))
            },
        )
    })
}

/// The harness, as the work changed it.
fn with_accepted(
    repo: &GitRepo,
    at: &TaskContext,
    state: &TaskState,
    held: &HeldWork,
    merged: &Oid,
) -> Result<Option<Oid>, VerifyError> {
    let Some(harness) = state.harness.as_ref().or(state.start.as_ref()) else { return Ok(None) };
    let changes = repo.between(&held.base, &held.commit)?;
    let paths = changes.into_iter().map(|change| change.path);
    let paths: Vec<_> = paths.filter(|path| !at.layout.is_state_file(path)).collect();
    repo.laid_over(harness, merged, &paths).map(Some)
}

/// Without the prefix of agents' commits: the tick is a human's.
fn message(task: &str, criterion: &Criterion, identity: &Identity) -> String {
    let (text, person) = (&criterion.key.text, &identity.author);
    let line = one_line(text);
    format!(
        "Accept `{line}` of {task}\n\n{} <{}> reviewed the work and accepted it.\n\n\
         Ralph-Task: {task}\nRalph-Criterion: {line}\nRalph-Proof: accepted\n",
        person.name, person.email
    )
}
