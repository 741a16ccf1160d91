//! `stats`: numbers over all runs of a task, or of every task.

use std::path::Path;

use serde_json::json;

use super::args::StatusArgs;
use super::context::{RepoContext, TaskContext};
use super::failure::Failure;
use super::print::{say, say_json};
use super::told::unreadable;
use crate::engine::runs_of;
use crate::events::Rollup;
use crate::report::Stats;
use crate::task::task_names;

/// Prints the statistics of a task, or of all.
pub(super) fn stats(directory: Option<&Path>, args: &StatusArgs) -> Result<u8, Failure> {
    let names = match &args.task {
        Some(task) => vec![task.clone()],
        None => {
            let place = RepoContext::find(directory)?;
            task_names(place.root(), &place.cwd)?
        }
    };
    let mut all = Vec::new();
    for name in &names {
        let at = TaskContext::find(directory, name)?;
        let stats = of_task(&at)?;
        match args.json {
            true => all.push(json!({ "task": at.layout.task(), "stats": stats })),
            false => all.push(stats.text(at.layout.task()).into()),
        }
    }
    if args.json {
        say_json(&json!({ "tasks": all }));
    } else {
        let texts: Vec<&str> = all.iter().filter_map(|text| text.as_str()).collect();
        say(&texts.join("\n\n"));
    }
    Ok(0)
}

/// The statistics of a task's runs on this machine.
pub(super) fn of_task(at: &TaskContext) -> Result<Stats, Failure> {
    let journals = runs_of(&at.place.runs(), &at.layout).map_err(unreadable)?;
    let runs = journals.iter().rev().map(|journal| Rollup::read(journal));
    Ok(Stats::of(runs.collect::<Result<Vec<_>, _>>().map_err(unreadable)?))
}
