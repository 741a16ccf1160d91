//! `plan`: a session divides a goal into criteria, and they become a task.

use std::path::Path;

use serde_json::{Value, json};

use super::args::{PlanArgs, SettingArgs};
use super::command_names::start_command;
use super::context::RepoContext;
use super::failure::Failure;
use super::paths::{read_named, shown_from};
use super::planned_task::{PlannedChecks, PlannedTask};
use super::print::{complain, say, say_json};
use super::{assemble, planner, policy, tier};
use crate::config::Settings;
use crate::model::{ExitCode, TaskPlan, one_line};
use crate::plan::{repair, slug, waves};
use crate::task::parse;

/// Plans a goal, and writes its task.
pub(super) fn plan(directory: Option<&Path>, args: &PlanArgs) -> Result<u8, Failure> {
    let goal = goal(&args.goal)?;
    if let Some(file) = &args.parse {
        let plan = repair(goal, &read_named(file)?);
        if args.json {
            say_json(&serde_json::to_value(&plan).unwrap_or_default());
        } else {
            say(&shown(&plan));
        }
        return Ok(0);
    }
    let place = RepoContext::find(directory)?;
    let settings = settings(&place, &args.settings)?;
    let name = args.name.clone().unwrap_or_else(|| slug(goal));
    let task = PlannedTask::named(&place, &name)?;
    if place.root().join(task.file()).exists() {
        let why = format!("{} exists", task.file().display());
        return Err(Failure::new(ExitCode::Invalid, why).hint("name the new task with --name"));
    }
    let plan = planner::plan(&place, &settings, goal)?;
    let checks = usable_checks(directory, &place, &settings, &plan)?;
    task.write(goal, &plan, &checks)?;
    let file = shown_from(&place.cwd, place.root(), &task.file()).display().to_string();
    if args.json {
        let mut value = serde_json::to_value(&plan).unwrap_or_default();
        value["file"] = Value::from(file);
        say_json(&value);
        return Ok(0);
    }
    say(&shown(&plan));
    let read = if checks.of_tasks.iter().any(|of| !of.is_empty()) {
        "the planner wrote its checks, which decide what counts as done"
    } else {
        "without `- verify: COMMAND`, a commit counts as committed, not proven"
    };
    say(&format!(
        "\nWrote {file}.\nNext: read it ({read}).\nNext: commit it, since no task starts before: \
         `git add {file} && git commit -m 'Plan {name}'`.\nNext: start it with `{}`.",
        start_command(directory, &name)
    ));
    Ok(0)
}

/// A goal that says something.
pub(super) fn goal(goal: &str) -> Result<&str, Failure> {
    match goal.trim() {
        "" => Err(Failure::new(ExitCode::Usage, "the goal is empty")),
        goal => Ok(goal),
    }
}

/// The settings, as far as they do not depend on a task.
pub(super) fn settings(place: &RepoContext, flags: &SettingArgs) -> Result<Settings, Failure> {
    assemble::settings(place, flags.layer(), &parse("", b""))
}

/// The planner's checks that the guard would let an agent run, in a sandbox. Says which it leaves
/// out.
pub(super) fn usable_checks(
    directory: Option<&Path>,
    place: &RepoContext,
    settings: &Settings,
    plan: &TaskPlan,
) -> Result<PlannedChecks, Failure> {
    let all: Vec<String> = plan.tasks.iter().flat_map(|task| task.verify.clone()).collect();
    let no_sandbox =
        !all.is_empty() && !tier::choose(settings.sandbox, place.root())?.tier.is_sandboxed();
    let denied = if all.is_empty() || no_sandbox {
        Vec::new()
    } else {
        policy::denied(directory, None, &all)?
    };
    let why_not = |command: &String| {
        let denied = denied.iter().find(|(denied, ..)| denied == command);
        if no_sandbox {
            Some("nothing confines it: no sandbox works here".to_owned())
        } else if command.contains('\n') {
            Some("it has several lines".to_owned())
        } else {
            denied.map(|(_, rule, _)| format!("the guard denies it ({rule})"))
        }
    };
    let mut of_tasks = Vec::new();
    for task in &plan.tasks {
        let mut used = Vec::new();
        for command in &task.verify {
            match why_not(command) {
                None => used.push(command.clone()),
                Some(why) => complain(&format!(
                    "note: the planned check of {} is left out: {why}: {command}",
                    task.id
                )),
            }
        }
        of_tasks.push(used);
    }
    Ok(PlannedChecks { of_tasks, by_planner: true })
}

/// The plan as JSON, in waves.
pub(super) fn as_json(plan: &TaskPlan) -> Value {
    let ids = |wave: Vec<usize>| -> Vec<&str> {
        wave.into_iter().map(|at| plan.tasks[at].id.as_str()).collect()
    };
    let waves: Vec<Vec<&str>> = waves(plan).unwrap_or_default().into_iter().map(ids).collect();
    json!({ "waves": waves, "tasks": plan.tasks, "dependencies": plan.dependencies })
}

/// The plan for people, in waves.
pub(super) fn shown(plan: &TaskPlan) -> String {
    let mut lines = Vec::new();
    for (number, wave) in waves(plan).unwrap_or_default().into_iter().enumerate() {
        for (place, at) in wave.into_iter().enumerate() {
            let task = &plan.tasks[at];
            let head = if place == 0 { format!("wave {}", number + 1) } else { String::new() };
            let what = one_line(&task.description);
            let before = plan.dependencies.get(&task.id);
            let before = before.map(|ids| format!(" (after {})", ids.join(", ")));
            let before = before.unwrap_or_default();
            lines.push(format!("{head:8}  {}  {what}{before}", task.id));
            lines.extend(task.verify.iter().map(|it| format!("{:12}verify: {it}", "")));
        }
    }
    if lines.is_empty() { "The plan is empty.".to_owned() } else { lines.join("\n") }
}
