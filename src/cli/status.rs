//! `status`: the progress of a task, from TASK.md, state.json, and the newest journal.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::args::StatusArgs;
use super::command_names::{quoted, start_command};
use super::context::{RepoContext, TaskContext};
use super::failure::Failure;
use super::print::{complain, say, say_json};
use super::standing::{proof, standing, why_held};
use super::ways_out::WaysOut;
use crate::engine::{is_about_held_work, load_state, orphaned_work, skipped, standings};
use crate::events::{Journal, JournalLine, RunStatus, RunView, WorkerView, journals};
use crate::model::{CriterionState, ExitCode, Outcome, Task, TaskState};
use crate::report::{count, counted, details, ended, judged, message, reopened};
use crate::sys::lock::Holder;
use crate::task::task_names;
use crate::verify::Repo as _;

/// Prints the progress of a task, or of all.
pub(super) fn status(directory: Option<&Path>, args: &StatusArgs) -> Result<u8, Failure> {
    if let Some(task) = &args.task {
        return of_one(TaskContext::find(directory, task)?, directory, args.json);
    }
    let place = RepoContext::find(directory)?;
    let names = task_names(place.root(), &place.cwd)?;
    if let [only] = names.as_slice() {
        return of_one(TaskContext::find(directory, only)?, directory, args.json);
    }
    if names.is_empty() {
        return Err(Failure::new(ExitCode::Invalid, "there are no tasks in this repository")
            .hint("create one with `ralph-copilot init <task>`"));
    }
    let mut all = Vec::new();
    let width = names.iter().map(String::len).max().unwrap_or_default();
    for name in &names {
        let at = TaskContext::find(directory, name)?;
        let seen = Seen::of(&at)?;
        if args.json {
            all.push(seen.as_json());
            continue;
        }
        let counted = counted(&standings(&seen.task, &seen.state));
        let run = match (&seen.run, seen.at_work) {
            (Some(RunView { end: Some(end), .. }), Some(RunStatus::Ended)) => {
                let at = end.at.format("%F %H:%M UTC");
                format!("{at}: {}", message(&ended(&end.outcome, &end.summary)))
            }
            (Some(_), Some(at_work)) => format!("{at_work:?}").to_lowercase(),
            (_, _) => "no runs yet".to_owned(),
        };
        say(&format!("{name:width$}  {counted}; {run}"));
    }
    if args.json {
        say_json(&json!({ "tasks": all }));
    }
    Ok(0)
}

/// A task, its state, and its newest run.
struct Seen {
    task: Task,
    state: TaskState,
    run: Option<RunView>,
    at_work: Option<RunStatus>,
    holder: Option<Holder>,
}

impl Seen {
    fn of(at: &TaskContext) -> Result<Self, Failure> {
        let task = at.load()?;
        let state = read_state(at)?;
        let mut run = last_run(at)?.map(|(_, view)| view);
        let holder = at.place.holder();
        let at_work = run.as_ref().map(|view| view.status(holder.as_ref()));
        if let Some(view) = run.as_mut().filter(|_| at_work != Some(RunStatus::Waiting)) {
            // A dead run is no longer waiting, even if that was its last event.
            view.waiting = None;
        }
        let lives = matches!(at_work, Some(RunStatus::Running | RunStatus::Waiting));
        if let Some(view) = run.as_mut().filter(|_| !lives) {
            view.nobody_works();
        }
        Ok(Self { task, state, run, at_work, holder })
    }

    fn as_json(&self) -> Value {
        let at_work = self.at_work.map(|at_work| format!("{at_work:?}").to_lowercase());
        let holder = self.holder.as_ref();
        json!({
            "task": self.task.name,
            "criteria": criteria(&self.task, &self.state),
            "run": self.run,
            "standing": at_work,
            "held_by": holder.map(|holder| json!({ "pid": holder.pid, "run": holder.run })),
        })
    }
}

fn of_one(at: TaskContext, directory: Option<&Path>, json: bool) -> Result<u8, Failure> {
    let seen = Seen::of(&at)?;
    if json {
        say_json(&seen.as_json());
        return Ok(0);
    }
    let Seen { task, state, run, at_work, .. } = seen;
    say(&overview(&task, &state, &WaysOut::new(directory, &at, state.clone(), run.as_ref())));
    orphaned_work(&task, &state).for_each(|line| say(&format!("\n{line}")));
    if task.criteria.is_empty() {
        say("No criteria");
        at.diagnostics(&task).iter().for_each(|remark| complain(&format!("\n{remark}")));
    }
    match run.zip(at_work) {
        Some((view, at_work)) => {
            let holds = state.criteria.iter().any(|entry| entry.held.is_some());
            let waits = state.criteria.iter().any(CriterionState::waits);
            say(&format!("\n{}", describe(&view, at_work, holds, waits)));
            elsewhere(&at, &view).into_iter().for_each(|line| say(&line));
            if at_work == RunStatus::Died {
                let start = start_command(directory, at.layout.task());
                say(&format!("  next: {start} goes on from there"));
            }
        }
        None => {
            say("\nNo runs yet");
            if !task.criteria.is_empty() {
                say(&format!("  next: {}", start_command(directory, at.layout.task())));
            }
        }
    }
    Ok(0)
}

/// Where the work of a run is, if HEAD does not have it: then the boxes do not show it either.
fn elsewhere(at: &TaskContext, view: &RunView) -> Option<String> {
    let full = &view.start.as_ref()?.checkpoint.branch;
    let repo = &at.place.repo;
    let is_here = repo.checkpoint().is_ok_and(|now| now.branch == *full);
    let head = repo.revision(full).ok().flatten().filter(|_| !is_here)?;
    let name = full.strip_prefix("refs/heads/").unwrap_or(full);
    (!repo.reaches(&head).unwrap_or(true)).then(|| {
        format!(
            "  its work is on the branch {name}, and the boxes above are those of this one; to see \
             it: git switch {}",
            quoted(name)
        )
    })
}

/// The content of state.json, or the initial state. If the file is broken, its last committed
/// version; the next run repairs it.
pub(super) fn read_state(at: &TaskContext) -> Result<TaskState, Failure> {
    Ok(load_state(&at.place.repo, &at.layout).map_err(Failure::from)?.state)
}

/// The newest run of this task: its journal and its contents.
pub(super) fn last_run(at: &TaskContext) -> Result<Option<(PathBuf, RunView)>, Failure> {
    let invalid = |error| Failure::new(ExitCode::Invalid, error);
    for path in journals(&at.place.runs()).map_err(invalid)? {
        let mut journal = Journal::open(&path).map_err(invalid)?;
        let mut view = RunView::default();
        while let Some(line) = journal.read_line().map_err(invalid)? {
            match line {
                JournalLine::Event(event) => view.apply(&event),
                JournalLine::Unknown { .. } => {}
            }
            // The first event names the task.
            if view.start.as_ref().is_some_and(|start| start.task != at.layout.task()) {
                break;
            }
        }
        if view.start.as_ref().is_some_and(|start| start.task == at.layout.task()) {
            return Ok(Some((path, view)));
        }
    }
    Ok(None)
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

fn overview(task: &Task, state: &TaskState, ways_out: &WaysOut<'_>) -> String {
    let mut text = task.name.clone();
    let skipped = skipped(task, state);
    for criterion in &task.criteria {
        let mark = if criterion.checked { "x" } else { " " };
        text.push_str(&format!("\n{:>5}  [{mark}] {}", criterion.line, criterion.key.text));
        text.extend(standing(criterion, state).map(|said| format!("  {said}")));
        text.extend(why_held(criterion, state).map(|why| format!("\n             {why}")));
        let of_this = skipped.iter().find(|it| it.criterion == criterion);
        text.extend(of_this.map(|it| format!("\n             skipped: {it}")));
        if let Some(way) = ways_out.of(criterion) {
            text.push_str(&format!("\n             {way}"));
        }
    }
    text
}

/// `holds` says that work is held now, `waits` that anything waits for the human.
fn describe(view: &RunView, at_work: RunStatus, holds: bool, waits: bool) -> String {
    let run = view.start.as_ref().map_or("-", |start| start.run.as_str());
    let mut text = format!("run {run}: {}", format!("{at_work:?}").to_lowercase());
    let when = |it: &WorkerView| it.since.format("%Y-%m-%d %H:%M:%S UTC").to_string();
    for it in &view.at_work {
        let (worker, attempt, what) = (it.worker, it.attempt, &it.criterion.text);
        text.push_str(&format!(
            "\n  worker {worker}, attempt {attempt}, since {}: {what}",
            when(it)
        ));
    }
    for it in &view.to_land {
        let (worker, what) = (it.worker, &it.criterion.text);
        text.push_str(&format!(
            "\n  waits to land, by worker {worker}, since {}: {what}",
            when(it)
        ));
    }
    if let Some(current) = &view.current {
        text.push_str(&format!(
            "\n  iteration {}, attempt {}: {}",
            current.iteration, current.attempt, current.criterion.text
        ));
    }
    if let Some(wait) = &view.waiting {
        let until = wait.until.format("%Y-%m-%d %H:%M:%S UTC");
        text.push_str(&format!("\n  waiting until {until}: {}", wait.reason));
    }
    if let Some(((iteration, verdict), key)) = view.last_verdict.as_ref().zip(view.judged.as_ref())
    {
        text.push_str(&format!("\n  iteration {iteration}: {}", judged(key, verdict)));
    }
    if let Some((key, reason)) = &view.reopened {
        text.push_str(&format!("\n  {}", reopened(key, reason)));
    }
    if let Some(end) = &view.end {
        text.push_str(&format!("\n  exit code {}", end.exit_code));
        let held = end.summary.criteria.iter().any(|criterion| criterion.held.is_some());
        let is_stuck = matches!(end.outcome, Outcome::Stuck { .. });
        if is_stuck && held && !waits {
            text.push_str("\n  The work that it held was accepted or given back since.");
        } else {
            text.push_str(&format!("\n  {}", ended(&end.outcome, &end.summary)));
            text.extend(details(&end.outcome).map(|line| format!("\n    {line}")));
        }
        // Held work may have been accepted since.
        let next = end.summary.next.iter().filter(|next| holds || !is_about_held_work(next));
        text.extend(next.map(|next| format!("\n  next: {next}")));
    }
    text.push_str(&format!(
        "\n  {}, {}, {} denied",
        count(view.iterations.into(), "iteration"),
        count(view.counters.tool_calls, "tool call"),
        view.counters.denied
    ));
    text
}
