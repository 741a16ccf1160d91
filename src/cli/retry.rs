//! `retry`: resets attempts, so that the next run works on blocked criteria again, and on a held one
//! that is named.

use std::path::Path;

use serde_json::json;

use super::args::RetryArgs;
use super::context::TaskContext;
use super::environment;
use super::failure::Failure;
use super::named_criterion::named;
use super::print::{complain, say, say_json};
use super::told::{Told, read_state, say_next};
use crate::model::{CriterionState, ExitCode};
use crate::sys::lock::TreeLock;
use crate::sys::{Durability, FileMode, atomic};
use crate::verify::Identity;

/// Resets the attempts of one criterion, or of all that hold no work for review.
pub(super) fn retry(directory: Option<&Path>, args: &RetryArgs) -> Result<u8, Failure> {
    let at = TaskContext::find(directory, &args.task)?;
    let _lock = match at.place.runs().is_dir() {
        true => Some(TreeLock::take(&at.place.lock(), "retry")?),
        false => None,
    };
    let task = at.load()?;
    let mut state = read_state(&at)?;
    // A criterion that was removed from TASK.md still has its text here.
    let meant = args.criterion.as_deref().map(|name| named(&task, name).unwrap_or_default());
    let wanted = |entry: &CriterionState| match (&args.criterion, &meant) {
        (Some(name), Some(meant)) => {
            entry.key.text == *name || meant.iter().any(|criterion| criterion.key == entry.key)
        }
        (_, _) => entry.held.is_none(),
    };
    // A proven criterion keeps its attempts, as history.
    let failed =
        |entry: &CriterionState| entry.proof.is_none() && (entry.attempts > 0 || entry.waits());
    // Only a human who names it tries a third time.
    let stays = |entry: &CriterionState| {
        args.criterion.is_none() && entry.is_blocked_by().is_some_and(|it| it.again)
    };
    let mut cleared = Vec::new();
    for entry in state.criteria.iter_mut().filter(|entry| wanted(entry)) {
        if failed(entry) && !stays(entry) {
            entry.attempts = 0;
            entry.blocked = false;
            if let Some(blocked) = &mut entry.blocked_by {
                blocked.retried = true;
            }
            // The ref is kept, for anyone who wants to look at the work.
            entry.held = None;
            cleared.push(entry.key.text.clone());
        }
    }
    if cleared.is_empty() && args.criterion.is_some() {
        let known = state.criteria.iter().filter(|entry| failed(entry));
        let known: Vec<_> = known.map(|entry| entry.key.quoted()).collect();
        let hint = if known.is_empty() {
            "no open criterion has failed attempts or held work".to_owned()
        } else {
            format!("criteria with failed attempts or held work: {}", known.join(", "))
        };
        let name = args.criterion.as_deref().unwrap_or_default();
        named(&task, name)?;
        return Err(Failure::new(
            ExitCode::Usage,
            format!("criterion `{name}` has no failed attempts and no held work"),
        )
        .hint(hint));
    }
    if !cleared.is_empty() {
        let path = at.place.root().join(at.layout.file("state.json"));
        let mut text = serde_json::to_string_pretty(&state)
            .map_err(|error| Failure::new(ExitCode::Internal, error))?;
        text.push('\n');
        atomic::write(&path, text.as_bytes(), Durability::Machine, FileMode::Umask)?;
        let repo = &at.place.repo;
        let identity =
            repo.identity(&environment::variable)?.unwrap_or_else(Identity::of_the_runner);
        let files = [at.layout.file("state.json")];
        let branch = repo.checkpoint()?.branch;
        repo.commit_paths(&branch, &files, &at.layout.state_message(), &identity)?;
    }
    for entry in state.criteria.iter().filter(|entry| stays(entry)) {
        let listed = task.criteria.iter().find(|it| it.key == entry.key);
        complain(&format!(
            "note: {} stays blocked, since the same kind stopped it again: change it or its check, \
             and name it: ralph-copilot retry {} {}",
            entry.key.quoted(),
            at.layout.task(),
            listed.map(|it| it.line.to_string()).unwrap_or_default()
        ));
    }
    if args.json {
        say_json(&json!({ "cleared": cleared }));
    } else if cleared.is_empty() {
        let held = state.criteria.iter().any(|entry| entry.held.is_some());
        let named = if held { "; to reset held work, name its criterion or line" } else { "" };
        say(&format!("Nothing to reset: no open criterion has failed attempts{named}"));
    } else {
        for text in &cleared {
            say(&format!("reset  {text}"));
        }
        say_next(&Told::of(directory, &at)?);
    }
    Ok(0)
}
