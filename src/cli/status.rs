//! `status`: a task on one screen, or each task in a line.

use std::path::Path;

use serde_json::{Value, json};

use super::args::StatusArgs;
use super::command_names::start_command;
use super::context::{RepoContext, TaskContext};
use super::failure::Failure;
use super::print::{complain, say, say_json};
use super::standing::proof;
use super::told::Told;
use crate::engine::{orphaned_work, skipped, standings};
use crate::events::{Counters, RunStatus, RunView, WorkerView};
use crate::model::{CriterionState, ExitCode, Task, TaskState};
use crate::report::{
    Night, count, counted, criteria_lines, judged, message, reopened, room, screen,
};
use crate::task::task_names;

/// Prints the progress of a task, or of all.
pub(super) fn status(directory: Option<&Path>, args: &StatusArgs) -> Result<u8, Failure> {
    if let Some(task) = &args.task {
        return of_one(&TaskContext::find(directory, task)?, directory, args.json);
    }
    let place = RepoContext::find(directory)?;
    let names = task_names(place.root(), &place.cwd)?;
    if let [only] = names.as_slice() {
        return of_one(&TaskContext::find(directory, only)?, directory, args.json);
    }
    if names.is_empty() {
        return Err(Failure::new(ExitCode::Invalid, "there are no tasks in this repository")
            .hint("create one with `ralph-copilot init <task>`"));
    }
    let mut all = Vec::new();
    let width = names.iter().map(String::len).max().unwrap_or_default();
    for name in &names {
        let at = TaskContext::find(directory, name)?;
        let told = Told::of(directory, &at)?;
        let night = told.night()?;
        if args.json {
            all.push(as_json(&told, night.as_ref()));
            continue;
        }
        let line = night.map(|night| {
            let run = match night.status {
                RunStatus::Ended => {
                    let at = night.ended.format("%F %H:%M UTC");
                    format!("{at}: {}", message(&night.outcome))
                }
                at_work => format!("{at_work:?}").to_lowercase(),
            };
            format!("{}; {run}", night.counted)
        });
        let line = line.unwrap_or_else(|| {
            format!("{}; no runs yet", counted(&standings(&told.task, &told.state)))
        });
        say(&format!("{name:width$}  {line}"));
    }
    if args.json {
        say_json(&json!({ "tasks": all }));
    }
    Ok(0)
}

fn as_json(told: &Told<'_>, night: Option<&Night>) -> Value {
    let at_work = told.status().map(|at_work| format!("{at_work:?}").to_lowercase());
    let holder = told.holder.as_ref();
    json!({
        "task": told.task.name,
        "criteria": criteria(&told.task, &told.state),
        "run": told.run.as_ref().map(|(_, run)| &run.view),
        "standing": at_work,
        "held_by": holder.map(|holder| json!({ "pid": holder.pid, "run": holder.run })),
        "report": night,
    })
}

fn of_one(at: &TaskContext, directory: Option<&Path>, json: bool) -> Result<u8, Failure> {
    let told = Told::of(directory, at)?;
    let night = told.night()?;
    if json {
        say_json(&as_json(&told, night.as_ref()));
        return Ok(0);
    }
    let task = &told.task;
    match (&night, &told.run) {
        (Some(night), Some((_, run))) => {
            say(&screen(night, &doing(&run.view, night.status), room()));
        }
        (_, _) => {
            let lines = criteria_lines(&told.criteria());
            let lines = lines.iter().map(|line| format!("\n  {line}")).collect::<String>();
            say(&format!("{}{lines}", task.name));
        }
    }
    orphaned_work(task, &told.state).for_each(|line| say(&format!("\n{line}")));
    if task.criteria.is_empty() {
        say("No criteria");
        at.diagnostics(task).iter().for_each(|remark| complain(&format!("\n{remark}")));
    }
    if night.is_none() {
        say("\nNo runs yet");
        if !task.criteria.is_empty() {
            say(&format!("  next: {}", start_command(directory, at.layout.task())));
        }
    }
    Ok(0)
}

fn criteria(task: &Task, state: &TaskState) -> Vec<Value> {
    let skipped = skipped(task, state);
    let entries = task.criteria.iter().map(|criterion| {
        let entry = state.find(&criterion.key);
        json!({
            "line": criterion.line,
            "text": criterion.key.text,
            "checked": criterion.checked,
            "blocked": entry.is_some_and(|entry| entry.blocked),
            "blocked_by": entry.and_then(CriterionState::is_blocked_by),
            "held": entry.and_then(|entry| entry.held.as_ref()),
            "skipped": skipped.iter().find(|it| it.criterion == criterion).map(ToString::to_string),
            "attempts": entry.map_or(0, |entry| entry.attempts),
            "proof": proof(criterion, state),
        })
    });
    entries.collect()
}

/// What a run is at, or was at last.
fn doing(view: &RunView, status: RunStatus) -> Vec<String> {
    let mut lines = Vec::new();
    let when = |it: &WorkerView| it.since.format("%Y-%m-%d %H:%M:%S UTC").to_string();
    for it in &view.at_work {
        let (worker, attempt, what) = (it.worker, it.attempt, &it.criterion.text);
        lines.push(format!("worker {worker}, attempt {attempt}, since {}: {what}", when(it)));
    }
    for it in &view.to_land {
        let (worker, what) = (it.worker, &it.criterion.text);
        lines.push(format!("waits to land, by worker {worker}, since {}: {what}", when(it)));
    }
    if let Some(current) = &view.current {
        let (iteration, attempt, text) =
            (current.iteration, current.attempt, &current.criterion.text);
        lines.push(format!("iteration {iteration}, attempt {attempt}: {text}"));
    }
    if let Some(wait) = &view.waiting {
        let until = wait.until.format("%Y-%m-%d %H:%M:%S UTC");
        lines.push(format!("waiting until {until}: {}", message(&wait.reason)));
    }
    if status != RunStatus::Ended
        && let Some(((iteration, verdict), key)) =
            view.last_verdict.as_ref().zip(view.judged.as_ref())
    {
        lines.push(format!("iteration {iteration}: {}", message(&judged(key, verdict))));
    }
    if let Some((key, reason)) = &view.reopened {
        lines.push(reopened(key, reason));
    }
    let Counters { tool_calls, denied, .. } = view.counters;
    lines.push(format!("{}, {denied} denied", count(tool_calls, "tool call")));
    lines
}
