//! Puts the parts of a run together.

mod bounds;
mod last;
mod notices;
mod run_guards;

use std::ffi::OsString;
use std::num::NonZeroU32;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::Path;
use std::sync::Arc;

use tokio::sync::mpsc;

pub(super) use self::bounds::rules;
use self::last::{end_the_last_run, last_run, put_in_order};
pub(super) use self::notices::unknown_variables as about_unknown;
use self::run_guards::{RunGuards, at_once, guardian};
use super::args::RunArgs;
use super::command_names::next_commands;
use super::context::{RepoContext, TaskContext, unknown_variables};
use super::failure::{Failure, FailureKind};
use super::gc::{self, Heartbeat};
use super::launch::{self, Start};
use super::recipe::bridge_under;
use super::screen::{self, Show};
use super::{audit, environment};
use crate::agent::{AgentError, Gate, Greeting, TurnLimits};
use crate::config::{Settings, resolve};
use crate::engine::{BaselineRun, Limits, Resumed, RunParts};
use crate::events::{Emitter, JOURNAL_FILE, WithAudit, run_id_after};
use crate::guard::OsFiles;
use crate::hooks::SESSION_EVENTS;
use crate::model::{Record, Task};
use crate::prompt::Templates;
use crate::recipe::RecipeError;
use crate::sys::atomic;
use crate::sys::clock::Clock;
use crate::sys::depth::Depth;
use crate::sys::lock::TreeLock;
use crate::sys::shutdown::Shutdown;
use crate::verify::{
    Branch, CommitsAlone, Dirt, ExcludesWatch, Identity, Layout, Preflight, Repo as _, ShellChecks,
};

/// Bytes that a run must be able to write wherever it writes, or it does not begin.
const ROOM: usize = 256 << 10;

/// A run that can begin.
pub(super) struct Assembled {
    pub(super) parts: RunParts,
    pub(super) guards: RunGuards,
}

/// Takes the lock, looks at the repository and prepares everything up to the first
/// iteration. Nothing of the agent's is started yet.
pub(super) async fn assemble(
    mut at: TaskContext,
    directory: Option<&Path>,
    args: &RunArgs,
) -> Result<Assembled, Failure> {
    let show = if args.json { Show::Json } else { Show::People };
    let runs = at.place.runs();
    let found = match at.usable() {
        // A run that was killed may have left half a TASK.md, or none: it is put back below.
        Err(_) if last_run(&runs)?.is_some() => at.load().or_else(|_| at.committed())?,
        found => found?,
    };
    // Settings that do not fit together are refused before anything is changed.
    settings(&at.place, args, &found)?;
    let clock = Clock::system();
    let audited = audit::folder(at.place.root(), &at.place.cwd);
    let audited_here = audit::inside(&audited, at.place.root())?;
    make_private(&runs)?;
    let last = last_run(&runs)?;
    let run = run_id_after(last.as_deref(), clock.now(), std::process::id());
    // From here on a signal ends the run, and not this process in the middle of something.
    let stop = Shutdown::default();
    let run_of_signal = run.clone();
    let (screen, live) = screen::screen(show, clock);
    let live_of_signal = live.clone();
    stop.listen(move |signal| at_once(&run_of_signal, live_of_signal.as_ref(), signal))?;
    let folder = runs.join(run.as_str());
    let lock = TreeLock::take(&at.place.lock(), run.as_str())?;
    // Not before the tree is ours: a run that goes on here watches git's settings.
    let excludes = watch_excludes(&at.place, audited_here)?;
    let mut untold = notices::Untold::default();
    untold.add(end_the_last_run(&runs).await?);
    let depth = Depth::current().map_err(|error| Failure::from(RecipeError::from(error)))?;
    let known = at.place.repo.identity(&environment::variable)?;
    let mut resumed = Resumed::default();
    let reporters = |layout: &Layout| screen::catching_up(at.place.root(), layout, clock);
    let ordered = put_in_order(&at, &runs, known.as_ref(), reporters, &mut resumed);
    untold.add(resumed.notices.drain(..));
    ordered?;
    // Only now TASK.md is what the human left, or what was proven.
    let task = at.usable()?;
    let settings = settings(&at.place, args, &task)?;
    let preflight = preflight(&at, &settings)?;
    make_private(&folder)?;
    for folder in [&folder, &at.folder.dir, at.place.repo.git_dir()] {
        atomic::probe(folder, ROOM)?;
    }
    let templates = templates(&at.place)?;
    let command = launch::find_agent(&settings)?;
    let scratch = launch::scratch()?;
    gc::collect(&runs, &run, scratch.path())?;
    let heartbeat = Heartbeat::start(&folder)?;
    at.place.repo.scratch_in(scratch.path());
    let redactor = Arc::clone(environment::redactor());
    let model = launch::model(&settings, command.kind);
    let mut reporters = screen::reporters(at.place.root(), &at.layout, clock);
    reporters.push(screen);
    let events = Arc::new(
        Emitter::create(
            &folder.join(JOURNAL_FILE),
            run.clone(),
            clock,
            Arc::clone(&redactor) as _,
            reporters,
        )
        .map_err(|error| Failure::new(FailureKind::Write, error))?,
    );
    let audit = audit::open(&audited, clock, &redactor).map_err(audit::missing)?;
    let record: Arc<dyn Record> = Arc::new(WithAudit::new(Arc::clone(&events) as _, audit));
    let asks = args.ask || !settings.auto_approve;
    let human = if asks { super::ask::at_the_terminal(live) } else { None };
    let unattended = human.is_none();
    let shells = bounds::shells(&at, &settings, &preflight, &command, scratch.path(), &redactor)?;
    let gate = Gate::new(record, Arc::clone(&redactor), Box::new(OsFiles))
        .with_human(human)
        .with_shells(shells);
    let gate = Arc::new(gate);
    // One turn at a time asks whether it may end.
    let (ask_stop, stops) = mpsc::channel(1);
    let ask_stop = settings.stop_check.then_some(ask_stop);
    let mount =
        launch::mount(&command, scratch.path(), &gate, Greeting::Welcome, settings.via, ask_stop)?;
    let (identity, identity_notice) = match known {
        Some(identity) => (identity, None),
        None => {
            let ours = Identity::of_the_runner();
            let notice = format!("git knows no identity: commits are by {}", ours.author);
            (ours, Some(notice))
        }
    };
    let own_identity = identity_notice.is_some().then_some(&identity);
    let identity_variables = launch::identity_variables(own_identity);
    let mut rules = rules(&at, &settings, &preflight, scratch.path())?;
    rules.protect.extend(audited_here.map(|here| format!("{here}/**")));
    let for_recipes = identity_variables.iter().map(|(name, value)| (name.into(), value.into()));
    let recipes = bridge_under(
        depth,
        Some(mount.server.socket().to_owned()),
        for_recipes.chain([(OsString::from("TMPDIR"), rules.tmp.clone().into())]).collect(),
        run.as_str().to_owned(),
        rules.tmp.clone(),
    )?;
    if task.criteria.iter().any(|criterion| criterion.recipe.is_some() && !criterion.checked) {
        // In the middle of the night it would be too late to hear of it.
        recipes.runner().await?;
    }
    let (started, confined) = bounds::confined(&at.place, &settings, &command, &rules.tmp)?;
    let mut notices =
        notices::notices(&preflight, &settings, &command, identity_notice, &unknown_variables()?);
    notices.extend(confined);
    if asks && unattended {
        let flag = "there is no terminal to ask at: what the policy leaves to a human is denied";
        notices.push(flag.to_owned());
    }
    if !settings.auto_approve {
        let what = if unattended { "denied, since nobody is asked" } else { "asked for here" };
        notices.push(format!("RALPH_COPILOT_AUTO_APPROVE=false: every call but reading is {what}"));
    }
    notices.extend(super::quota::warning(run.as_str(), at.place.root()).await);
    let start = launch::starter(Start {
        environment: launch::environment(command.kind, &rules.tmp, &identity_variables)?,
        plugin: mount.plugin,
        run: run.clone(),
        cwd: at.place.root().to_owned(),
        folder: folder.clone(),
        home: launch::copilot_home(),
        logs: scratch.path().join("logs"),
        gate: Arc::clone(&gate),
        command: started,
        via: settings.via,
    });
    let guardian = guardian(&run, scratch.path(), &events)?;
    notices.extend(untold.take());
    let parts = RunParts {
        repo: Arc::new(at.place.repo),
        checks: Arc::new(ShellChecks::new(redactor, run.as_str())),
        recipes: Arc::new(recipes),
        start,
        gate,
        events,
        templates,
        clock,
        stop,
        layout: at.layout,
        folder: at.folder,
        preflight,
        identity,
        rules,
        limits: limits(&settings),
        turn: TurnLimits {
            idle: settings.idle_timeout.0,
            total: settings.turn_timeout.0,
            ..TurnLimits::default()
        },
        max_wait: settings.max_wait.0,
        max_retries: settings.max_retries.map(NonZeroU32::get),
        verify_limit: settings.verify_timeout.0,
        regression_budget: settings.regression_budget.0,
        check_environment: identity_variables,
        baseline: if settings.baseline { BaselineRun::Taken } else { BaselineRun::Skipped },
        commits_alone: if settings.require_checks {
            CommitsAlone::Refused
        } else {
            CommitsAlone::Accepted
        },
        premium: launch::premium(&settings, command.kind),
        agent_command: launch::describe(&command),
        fallbacks: launch::fallbacks(&settings, command.kind, model.as_deref()),
        model,
        project_context: std::env::var("COPILOT_PROJECT_CONTEXT")
            .ok()
            .filter(|text| !text.is_empty()),
        iteration: resumed.iteration,
        worked: resumed.worked,
        stops,
        commands: next_commands(directory, &task.name),
        notices,
    };
    let guards = RunGuards {
        folder,
        run,
        guardian,
        _lock: lock,
        _excludes: excludes,
        _server: mount.server,
        _scratch: scratch,
        _heartbeat: heartbeat,
    };
    Ok(Assembled { parts, guards })
}

/// Lets git ignore what the runner writes in the repository, and keeps git's list of ignored
/// files from being changed by other commands of ours while the run lasts.
fn watch_excludes(
    place: &RepoContext,
    audited_here: Option<&str>,
) -> Result<ExcludesWatch, Failure> {
    let audited_here = audited_here.map(|here| format!("/{here}/"));
    // Installed hooks log there, but leave git's list alone during a run.
    let logged = format!("/{SESSION_EVENTS}");
    let own = [".ralph/runs/", ".ralph/audit/", &logged];
    let patterns: Vec<&str> = own.into_iter().chain(audited_here.as_deref()).collect();
    Ok(place.repo.watch_excludes(&patterns)?)
}

/// The settings of a run, if they fit together.
pub(super) fn settings(
    place: &RepoContext,
    args: &RunArgs,
    task: &Task,
) -> Result<Settings, Failure> {
    let settings = resolve(&place.layers(args.settings.layer(), Some(task))?);
    if settings.require_checks && !settings.baseline {
        return Err(Failure::new(
            FailureKind::Usage,
            "--require-checks and --no-baseline exclude each other",
        )
        .hint("a check proves something only if it was seen red before the work"));
    }
    Ok(settings)
}

/// The limits of a run.
pub(super) fn limits(settings: &Settings) -> Limits {
    Limits {
        iterations: settings.max_iterations.get(),
        duration: settings.max_duration.map(|span| span.0),
        premium_requests: settings.max_premium_requests,
        tokens: settings.max_tokens,
        attempts: settings.stuck_threshold.get(),
        on_stuck: settings.on_stuck,
    }
}

/// Looks at the repository.
pub(super) fn preflight(at: &TaskContext, settings: &Settings) -> Result<Preflight, Failure> {
    let branch = settings.branch.as_deref().map_or(Branch::Current, Branch::Named);
    let dirt = if settings.allow_dirty { Dirt::Protect } else { Dirt::Refuse };
    Ok(at.place.repo.preflight(&at.layout, branch, dirt)?)
}

/// The templates, ours or the repository's.
pub(super) fn templates(place: &RepoContext) -> Result<Templates, Failure> {
    let folder = place.templates();
    let loaded = if folder.is_dir() { Templates::load(&folder) } else { Templates::builtin() };
    Ok(loaded?)
}

fn make_private(folder: &Path) -> Result<(), Failure> {
    let made = std::fs::DirBuilder::new().recursive(true).mode(0o700).create(folder);
    made.map_err(|source| {
        let error = AgentError::Prepare { path: folder.to_owned(), source };
        Failure::from(error)
            .hint("the runner keeps its journal below .ralph/runs/ and must be able to write there")
    })
}
