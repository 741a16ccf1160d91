//! `list`: the tasks of a repository, and the criteria of one that machines can begin with.

use std::path::Path;

use serde_json::{Value, json};

use super::args::ListTasksArgs;
use super::context::{RepoContext, TaskContext};
use super::failure::Failure;
use super::print::{complain, say, say_json};
use super::told::read_state;
use crate::engine::{criterion_name, ready, standings};
use crate::model::{Criterion, Task, TaskState};
use crate::report::counted;
use crate::task::{task_names, usable};

/// Most jobs of a matrix in GitHub Actions.
const MOST: usize = 256;

/// Prints the tasks, or the ready criteria of one.
pub(super) fn list(directory: Option<&Path>, args: &ListTasksArgs) -> Result<u8, Failure> {
    if let Some(task) = &args.ready {
        let at = TaskContext::find(directory, task)?;
        let (task, state) = (at.usable()?, read_state(&at)?);
        if args.json {
            say_json(&matrix(&task, &state));
        } else {
            ready(&task, &state)
                .for_each(|it| say(&format!("{}  {}", criterion_name(it), it.key.text)));
        }
        return Ok(0);
    }
    let place = RepoContext::find(directory)?;
    let mut all = Vec::new();
    for name in task_names(place.root(), &place.cwd)? {
        let at = TaskContext::find(directory, &name)?;
        let (task, state) = (at.load()?, read_state(&at)?);
        let ready = if usable(&task) { ready(&task, &state).count() } else { 0 };
        if args.json {
            let open = task.criteria.iter().filter(|it| !it.checked).count();
            all.push(json!({
                "task": name, "folder": at.layout.folder(), "valid": usable(&task),
                "criteria": task.criteria.len(), "open": open, "ready": ready,
            }));
        } else {
            say(&format!("{name}  {}; {ready} ready", counted(&standings(&task, &state))));
        }
    }
    if args.json {
        say_json(&json!({ "tasks": all }));
    }
    Ok(0)
}

/// The ready criteria, as GitHub Actions takes a matrix.
pub(super) fn matrix(task: &Task, state: &TaskState) -> Value {
    let entry = |it: &Criterion| {
        let attempts = state.find(&it.key).map_or(0, |entry| entry.attempts);
        json!({
            "criterion": criterion_name(it), "text": it.key.text, "line": it.line,
            "attempt": attempts.saturating_add(1),
        })
    };
    let mut entries: Vec<Value> = ready(task, state).map(entry).collect();
    if entries.len() > MOST {
        complain(&format!("note: {} criteria are ready; the matrix has {MOST}", entries.len()));
        entries.truncate(MOST);
    }
    json!({ "include": entries })
}
