//! `orchestrate`: plans a goal, or takes a plan, and carries it out with several workers.

use std::path::Path;
use std::time::Duration;

use super::args::{OrchestrateArgs, RunArgs};
use super::context::{RepoContext, TaskContext};
use super::failure::Failure;
use super::plan::{as_json, goal, settings, shown, usable_checks};
use super::planned_task::{PlannedChecks, PlannedTask, planned};
use super::planner;
use super::print::{complain, say, say_json};
use super::run::{BegunRun, begin, drive};
use super::tell_plan::TellPlan;
use crate::config::Settings;
use crate::model::{ExitCode, Outcome, TaskPlan};
use crate::plan::{PlanProgress, check, is_same, slug};
use crate::report::outcome;
use crate::sys::tty;
use crate::verify::{Branch, Dirt, Layout, Repo as _};

/// How long the question about the planned checks waits.
const QUESTION: Duration = Duration::from_secs(600);

/// A plan, and where it is from.
struct Found {
    goal: String,
    name: String,
    plan: TaskPlan,
    from: Origin,
}

/// Where a plan is from.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Origin {
    /// A file of the human's.
    File,
    /// A session of the agent.
    Planner,
    /// An earlier call: its task is there.
    Earlier,
}

/// Plans, and runs the plan's task to its end.
pub(super) fn orchestrate(directory: Option<&Path>, args: &OrchestrateArgs) -> Result<u8, Failure> {
    let place = RepoContext::find(directory)?;
    let settings = settings(&place, &args.settings)?;
    let found = find(&place, &settings, args)?;
    if args.dry_run {
        if args.json {
            say_json(&as_json(&found.plan));
        } else {
            say(&shown(&found.plan));
        }
        return Ok(0);
    }
    if found.plan.tasks.is_empty() {
        let tell = TellPlan::new(PlanProgress::new(Vec::new()), args.json);
        return Ok(finish(&tell, "", 0));
    }
    let task = PlannedTask::named(&place, &found.name)?;
    if found.from != Origin::Earlier {
        let checks = checks(directory, &place, &settings, &found, args)?;
        let files = task.write(&found.goal, &found.plan, &checks)?;
        task.commit(&files)?;
    }
    carry_out(directory, &found, args)
}

/// Runs the plan's task.
fn carry_out(
    directory: Option<&Path>,
    found: &Found,
    args: &OrchestrateArgs,
) -> Result<u8, Failure> {
    let at = TaskContext::find(directory, &found.name)?;
    let task = at.usable()?;
    let mut run = RunArgs {
        task: Some(at.folder.task_file.display().to_string()),
        settings: args.settings.clone(),
        ..RunArgs::default()
    };
    let layers = at.place.layers(run.settings.layer(), Some(&task))?;
    run.settings.orchestrate(&layers, task.criteria.len());
    let tell = TellPlan::new(PlanProgress::new(planned(&task, &found.plan)), args.json);
    run.plan = Some(tell.clone());
    if !args.json {
        say(&format!("{}\n", shown(&found.plan)));
    }
    let (runtime, assembled) = match begin(directory, &run)? {
        BegunRun::Run(runtime, assembled) => (runtime, assembled),
        BegunRun::Shown(code) => return Ok(code),
    };
    match runtime.block_on(drive(*assembled)) {
        Ok(code) => {
            let why = tell.with(|progress| progress.outcome().map_or_else(String::new, why));
            Ok(finish(&tell, &why, code))
        }
        Err(failure) => {
            let _code = finish(&tell, &failure.reason(), failure.code.number());
            complain(&failure.to_string());
            Ok(failure.code.number())
        }
    }
}

/// Ends the plan, and gives the exit code of a run that ended with this one.
fn finish(tell: &TellPlan, why: &str, code: u8) -> u8 {
    let (events, summary, all) = tell.with(|progress| {
        let events = progress.finish(why);
        (events, progress.summary(), progress.all_succeeded())
    });
    tell.print(&events);
    if !tell.json {
        say(&format!("\n{summary}"));
    }
    // A limit leaves sub-tasks undone.
    match (code, all) {
        (0, true) => 0,
        (code, _) if [0, ExitCode::Limit.number()].contains(&code) => ExitCode::Stuck.number(),
        (code, _) => code,
    }
}

/// Why a run ended, for the sub-tasks that it left.
fn why(ended: &Outcome) -> String {
    outcome(ended, || "it was not proven".to_owned())
}

/// The plan: of a file, of an earlier call with this goal, or of a session.
fn find(
    place: &RepoContext,
    settings: &Settings,
    args: &OrchestrateArgs,
) -> Result<Found, Failure> {
    let given = args.goal.as_deref().map(goal).transpose()?;
    if let Some(file) = &args.plan {
        let plan = check(&planner::read(file)?).map_err(|error| {
            Failure::new(ExitCode::Invalid, format!("{}: {error}", file.display()))
        })?;
        let stem = file.file_stem().filter(|stem| *stem != "-").unwrap_or_default();
        let stem = slug(&stem.to_string_lossy());
        let name = args.name.clone().or_else(|| given.map(slug)).unwrap_or(stem);
        let goal = given.map_or_else(|| format!("The plan {name}."), str::to_owned);
        let from = match existing(place, &name, &|_, earlier| is_same(earlier, &plan))? {
            Some(_) => Origin::Earlier,
            None => Origin::File,
        };
        return Ok(Found { goal, name, plan, from });
    }
    let goal = given.unwrap_or_default().to_owned();
    let name = args.name.clone().unwrap_or_else(|| slug(&goal));
    if let Some(plan) = existing(place, &name, &|earlier, _| earlier == goal)? {
        return Ok(Found { goal, name, plan, from: Origin::Earlier });
    }
    if !args.dry_run {
        // Before the session: it is a waste if the run cannot start.
        let dirt = if settings.allow_dirty { Dirt::Protect } else { Dirt::Refuse };
        // The task has no folder yet.
        let layout = Layout::new(name.clone(), "");
        place.repo.preflight(&layout, Branch::Current, dirt)?;
    }
    let plan = planner::plan(place, settings, &goal)?;
    Ok(Found { goal, name, plan, from: Origin::Planner })
}

/// The plan of the task of this name, if there is one; refuses one that is not the same.
fn existing(
    place: &RepoContext,
    name: &str,
    is_it: &dyn Fn(&str, &TaskPlan) -> bool,
) -> Result<Option<TaskPlan>, Failure> {
    let task = PlannedTask::named(place, name)?;
    match task.existing()? {
        None => Ok(None),
        Some((goal, plan)) if is_it(&goal, &plan) => Ok(Some(plan)),
        Some(_) => Err(Failure::new(
            ExitCode::Invalid,
            format!("the task `{name}` exists, with another plan"),
        )
        .hint("--name gives the new one another name")),
    }
}

/// The checks of the plan's criteria. Those that a model wrote count only if a human takes them.
fn checks(
    directory: Option<&Path>,
    place: &RepoContext,
    settings: &Settings,
    found: &Found,
    args: &OrchestrateArgs,
) -> Result<PlannedChecks, Failure> {
    if found.from == Origin::File {
        let of_tasks = found.plan.tasks.iter().map(|task| task.verify.clone()).collect();
        return Ok(PlannedChecks { of_tasks, by_planner: false });
    }
    let mut checks = usable_checks(directory, place, settings, &found.plan)?;
    let count = checks.of_tasks.iter().map(Vec::len).sum::<usize>();
    if count == 0 || args.accept_checks {
        return Ok(checks);
    }
    let taken = match tty::terminal().filter(|_| !args.json) {
        Some(mut terminal) => {
            let question = format!(
                "{}\n\nThe planner wrote {count} of these checks. They run in the sandbox, and \
                 decide what counts as done.\nUse them? [y/N] ",
                shown(&found.plan)
            );
            let answer = tty::ask(&mut terminal, &question, QUESTION);
            answer.ok().flatten().is_some_and(|it| ["y", "yes"].contains(&&*it.to_lowercase()))
        }
        None => false,
    };
    if !taken {
        complain(&format!(
            "note: {count} checks that the planner wrote are not used: a commit counts as \
             committed, not proven; --accept-checks uses them"
        ));
        checks.of_tasks.iter_mut().for_each(Vec::clear);
    }
    Ok(checks)
}
