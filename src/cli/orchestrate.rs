//! `orchestrate`: plans a goal, or takes a plan, and carries it out with several workers.

use std::path::Path;
use std::time::Duration;

use super::args::{OrchestrateArgs, RunArgs};
use super::code_task::ended_by;
use super::context::{RepoContext, TaskContext};
use super::failure::Failure;
use super::paths::read_named;
use super::plan::{as_json, goal, settings, shown, usable_checks};
use super::planned_task::{PlannedChecks, PlannedTask, planned};
use super::print::{complain, say, say_json};
use super::run::{BegunRun, begin, drive};
use super::runtime::{block_on_detached, runtime};
use super::tell_plan::TellPlan;
use super::{launch, planner};
use crate::config::Settings;
use crate::model::{ExitCode, Outcome, Task, TaskPlan, in_quotes};
use crate::plan::{PlanProgress, check, criterion_ids, is_same, slug};
use crate::report::outcome;
use crate::sys::shutdown::Shutdown;
use crate::sys::tty;
use crate::task::TASK_FILE;
use crate::verify::RepoProblem;

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
    let mut flags = args.settings.clone();
    flags.several_jobs(&place.layers(flags.layer(), None)?);
    let settings = settings(&place, &flags)?;
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
        complain("note: the plan is empty");
        let tell = TellPlan::new(PlanProgress::new(Vec::new()), args.json);
        return Ok(finish(&tell, "", 0));
    }
    let task = PlannedTask::named(&place, &found.name)?;
    if found.from != Origin::Earlier {
        let checks = checks(directory, &place, &settings, &found, args)?;
        if let Some(at) = checks.of_tasks.iter().position(Vec::is_empty)
            && settings.require_checks
        {
            let id = &found.plan.tasks[at].id;
            let why = format!("--require-checks: the sub-task `{id}` has no verify command");
            return Err(Failure::new(ExitCode::Invalid, why)
                .hint("`plan` writes the task for you to add checks"));
        }
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
    let tell = TellPlan::new(PlanProgress::new(planned(&task, &found.plan)), args.json);
    run.plan = Some(tell.clone());
    if found.from == Origin::Earlier {
        let file = at.layout.file(TASK_FILE);
        complain(&format!(
            "note: continuing {} as it is, with its own checks; --name plans a new task",
            file.display()
        ));
    }
    if !args.json {
        say(&format!("{}\n", shown(&as_written(&task, &found.plan))));
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

/// The plan with the words and the checks of its TASK.md.
fn as_written(task: &Task, plan: &TaskPlan) -> TaskPlan {
    let ids = criterion_ids(plan);
    let mut plan = plan.clone();
    for (part, id) in plan.tasks.iter_mut().zip(&ids) {
        let criterion = task.criteria.iter().find(|it| it.id.as_ref() == Some(id));
        if let Some(criterion) = criterion {
            part.description.clone_from(&criterion.key.text);
            part.verify = criterion.verify.iter().map(|it| it.command.clone()).collect();
        }
    }
    plan
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
        let plan = check(&read_named(file)?).map_err(|error| {
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
        if from == Origin::File && !args.dry_run && !plan.tasks.is_empty() {
            startable(place, settings)?;
        }
        return Ok(Found { goal, name, plan, from });
    }
    let goal = given.unwrap_or_default().to_owned();
    let name = args.name.clone().unwrap_or_else(|| slug(&goal));
    if let Some(plan) = existing(place, &name, &|earlier, _| earlier == goal)? {
        return Ok(Found { goal, name, plan, from: Origin::Earlier });
    }
    if !args.dry_run {
        // Before the session: it is a waste if the run cannot start.
        startable(place, settings)?;
    }
    let plan = planner::plan(place, settings, &goal)?;
    Ok(Found { goal, name, plan, from: Origin::Planner })
}

/// Fails if a run could not start, as far as that is known before there is a task.
fn startable(place: &RepoContext, settings: &Settings) -> Result<(), Failure> {
    launch::find_agent(settings)?;
    place.repo.checkpoint()?;
    let mut changes = place.repo.status()?.all();
    let marked = place.repo.marked()?;
    changes.retain(|change| !marked.contains(&change.path));
    if !settings.allow_dirty && !changes.is_empty() {
        return Err(RepoProblem::Dirty { changes }.into());
    }
    Ok(())
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
        Some((goal, _)) => Err(Failure::new(
            ExitCode::Invalid,
            format!("the task `{name}` exists, with another plan: {}", in_quotes(&goal)),
        )
        .hint("--name gives the new one another name; the same goal, word by word, continues it")),
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
        Some(terminal) => {
            let question = format!(
                "{}\n\nThe planner wrote {count} of these checks. They run in the sandbox, and \
                 decide what counts as done.\nUse them? [y: use them; n: go on without, a commit \
                 then counts; anything else: stop] ",
                shown(&found.plan)
            );
            match asked(terminal, question)?.map(|it| it.to_lowercase()).as_deref() {
                Some("y" | "yes") => true,
                Some("n" | "no") => false,
                Some(_) | None => {
                    return Err(Failure::new(ExitCode::Usage, "stopped: nothing was written")
                        .hint("--accept-checks uses the planner's checks without asking"));
                }
            }
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

/// Asks at the terminal; a signal ends it.
fn asked(mut terminal: std::fs::File, question: String) -> Result<Option<String>, Failure> {
    block_on_detached(runtime()?, async {
        let stop = Shutdown::default();
        stop.listen(|signal| std::process::exit(128 + signal))?;
        let asking =
            tokio::task::spawn_blocking(move || tty::ask(&mut terminal, &question, QUESTION));
        tokio::select! {
            answer = asking => Ok(answer.ok().and_then(Result::ok).flatten()),
            () = stop.token().cancelled() => Err(ended_by(stop.signal().unwrap_or(2))),
        }
    })
}
