//! Puts the parts of a run together.

use std::ffi::OsString;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};
use std::process::ExitStatus;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::mpsc;

use super::args::RunArgs;
use super::confine;
use super::failure::{Failure, Kind};
use super::housekeeping::{Pulse, keep_house};
use super::launch::{self, Start};
use super::place::{Place, TaskPlace};
use super::screen::{self, Show};
use crate::agent::{AgentCommand, AgentError, AgentKind, Gate, Greeting, GuardServer, TurnLimits};
use crate::config::{Settings, resolve};
use crate::engine::{Aftermath, BaselineRun, GuardRules, Limits, Parts, Resumed, resume};
use crate::events::{Audit, Audited, Emitter, JOURNAL_FILE, audit_folder, journals, run_id_after};
use crate::guard::{Approval, OsFiles, Redactor, Rules};
use crate::hooks::SESSION_EVENTS;
use crate::model::{EventKind, Premium, Record, Reporter, RunId, Sandbox, Task};
use crate::prompt::{PromptError, Templates};
use crate::recipe::{Around, Bridge, Nested, RecipeError};
use crate::sys::atomic;
use crate::sys::clock::Clock;
use crate::sys::depth::Depth;
use crate::sys::guardian::Guardian;
use crate::sys::lock::TreeLock;
use crate::sys::process::{Sweep, reap_orphans, sweep};
use crate::sys::stop::Stop;
use crate::verify::{
    Branch, CommitsAlone, Dirt, Fingerprint, Identity, Layout, Preflight, Repo as _, ShellChecks,
};

/// How long what a dead run left behind may take to end.
const LEFT_BEHIND: Duration = Duration::from_secs(5);

/// Bytes that a run must be able to write wherever it writes, or it does not begin.
const ROOM: usize = 256 << 10;

/// A run that can begin.
pub(super) struct Assembled {
    pub(super) parts: Parts,
    pub(super) keep: Keep,
}

/// What must live as long as the run.
pub(super) struct Keep {
    /// The run's folder below `.ralph/runs/`.
    pub(super) folder: PathBuf,
    run: RunId,
    guardian: Guardian,
    _lock: TreeLock,
    _server: GuardServer,
    _scratch: tempfile::TempDir,
    _pulse: Pulse,
}

impl Keep {
    /// Ends whatever of the run is still there, and lets go of the tree only then.
    pub(super) async fn end(self) {
        let swept = sweep(self.run.as_str(), LEFT_BEHIND).await;
        if swept.left.is_empty() {
            tracing::debug!(?swept, "nothing of the run is left");
            self.guardian.dismiss().await;
        } else {
            // The guardian goes on where we give up.
            tracing::warn!(?swept, "processes of the run cannot be ended");
        }
    }
}

/// Takes the lock, looks at the repository and prepares everything up to the first
/// iteration. Nothing of the agent's is started yet.
pub(super) async fn assemble(mut at: TaskPlace, args: &RunArgs) -> Result<Assembled, Failure> {
    let show = if args.json { Show::Json } else { Show::People };
    let runs = at.place.runs();
    let found = match at.usable() {
        // A run that was killed may have left half a TASK.md, or none: it is put back below.
        Err(_) if last_run(&runs)?.is_some() => at.load().or_else(|_| at.committed())?,
        found => found?,
    };
    let last_settings = usable_settings(&at.place, args, &found)?;
    let clock = Clock::system();
    let audited =
        audit_folder(at.place.root(), std::env::var_os("COPILOT_AUDIT_LOG_DIR").as_deref());
    let audited_here = audited.strip_prefix(at.place.root()).ok().and_then(Path::to_str);
    let audit_pattern = audited_here.map(|here| format!("/{here}/"));
    // What installed hooks log, too: while a run lasts they leave git's settings alone.
    let log_pattern = format!("/{SESSION_EVENTS}");
    let own = [".ralph/runs/", ".ralph/audit/", &log_pattern];
    let excluded = own.into_iter().chain(audit_pattern.as_deref());
    at.place.repo.exclude(&excluded.collect::<Vec<_>>())?;
    make_private(&runs)?;
    let last = last_run(&runs)?;
    let run = run_id_after(last.as_deref(), clock.now(), std::process::id());
    // From here on a signal ends the run, and not this process in the middle of something.
    let stop = Stop::default();
    let run_of_signal = run.clone();
    stop.listen(move |signal| at_once(&run_of_signal, signal))?;
    let folder = runs.join(run.as_str());
    let lock = TreeLock::take(&at.place.lock(), run.as_str())?;
    let ended = end_the_last_run(&runs).await?;
    let depth = Depth::current().map_err(|error| Failure::from(RecipeError::from(error)))?;
    let known = at.place.repo.identity()?;
    let resumed = put_in_order(&at, &runs, known.as_ref(), |layout| {
        let settings = &last_settings;
        let premium = launch::find_agent(settings).map_or(Premium::Free, |command| {
            let model = launch::model(settings, command.kind);
            launch::premium(settings, command.kind, model.as_deref())
        });
        screen::catching_up(at.place.root(), layout, clock, premium)
    })?;
    // Only now TASK.md is what the human left, or what was proven.
    let task = at.usable()?;
    let settings = usable_settings(&at.place, args, &task)?;
    let preflight = preflight(&at, &settings)?;
    make_private(&folder)?;
    for folder in [&folder, &at.folder.dir, at.place.repo.git_dir()] {
        atomic::probe(folder, ROOM)?;
    }
    let templates = templates(&at.place)?;
    let command = launch::find_agent(&settings)?;
    let scratch = launch::scratch()?;
    keep_house(&runs, &run, scratch.path())?;
    let pulse = Pulse::start(&folder)?;
    at.place.repo.scratch_in(scratch.path());
    let redactor = Arc::new(Redactor::new(launch::secrets()));
    let model = launch::model(&settings, command.kind);
    let premium = launch::premium(&settings, command.kind, model.as_deref());
    let mut reporters = screen::reporters(at.place.root(), &at.layout, clock, premium);
    reporters.push(screen::screen(show, clock));
    let events = Arc::new(
        Emitter::create(&folder.join(JOURNAL_FILE), run.clone(), clock, reporters)
            .map_err(|error| Failure::new(Kind::Write, error))?,
    );
    let audit = audit(&audited, clock, &redactor)?;
    let record: Arc<dyn Record> = Arc::new(Audited::new(Arc::clone(&events) as _, audit));
    let asks = args.ask || !settings.auto_approve;
    let human = if asks { super::ask::at_the_terminal() } else { None };
    let unattended = human.is_none();
    let gate = Gate::new(record, Arc::clone(&redactor), Box::new(OsFiles)).with_human(human);
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
            let notice =
                format!("git knows no identity: commits are by {} <{}>", ours.name, ours.email);
            (ours, Some(notice))
        }
    };
    let own_identity = identity_notice.is_some().then_some(&identity);
    let identity_variables = launch::identity_variables(own_identity);
    let mut rules = rules(&at, &settings, &preflight, scratch.path())?;
    rules.protect.extend(audited_here.map(|here| format!("{here}/**")));
    let recipes = recipes(depth, &mount, &rules.tmp, &identity_variables, &run, &redactor)?;
    if task.criteria.iter().any(|criterion| criterion.recipe.is_some() && !criterion.checked) {
        // In the middle of the night it would be too late to hear of it.
        recipes.runner().await?;
    }
    let (started, confined) = confined(&at.place, &settings, &command, &rules.tmp)?;
    let mut notices = notices(&preflight, &settings, &command, identity_notice);
    notices.extend(confined);
    if asks && unattended {
        let flag = "there is no terminal to ask at: what the policy leaves to a human is denied";
        notices.push(flag.to_owned());
    }
    if !settings.auto_approve {
        let what = if unattended { "denied, since nobody is asked" } else { "asked for here" };
        notices.push(format!("RALPH_COPILOT_AUTO_APPROVE=false: every call but reading is {what}"));
    }
    notices.extend(ended);
    notices.extend(super::quota::warning(run.as_str(), at.place.root()).await);
    notices.extend(resumed.notices);
    let redact = Arc::clone(&redactor);
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
    let parts = Parts {
        repo: Arc::new(at.place.repo),
        checks: Arc::new(ShellChecks::new(
            Arc::new(move |text: &str| redact.redact_str(text).into_owned()),
            run.as_str(),
        )),
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
        limits: Limits {
            iterations: settings.max_iterations,
            duration: settings.max_duration.map(|span| span.0),
            premium_requests: settings.max_premium_requests,
            tokens: settings.max_tokens,
            attempts: settings.stuck_threshold.max(1),
            on_stuck: settings.on_stuck,
        },
        turn: TurnLimits {
            idle: settings.idle_timeout.0,
            total: settings.turn_timeout.0,
            ..TurnLimits::default()
        },
        max_wait: settings.max_wait.0,
        max_retries: settings.max_retries,
        verify_limit: settings.verify_timeout.0,
        regression_budget: settings.regression_budget.0,
        check_environment: identity_variables,
        baseline: if settings.baseline { BaselineRun::Taken } else { BaselineRun::Skipped },
        commits_alone: if settings.require_checks {
            CommitsAlone::Refused
        } else {
            CommitsAlone::Accepted
        },
        premium,
        agent_command: launch::describe(&command, &redactor),
        fallbacks: launch::fallbacks(&settings, model.as_deref()),
        model,
        project_context: std::env::var("COPILOT_PROJECT_CONTEXT")
            .ok()
            .filter(|text| !text.is_empty()),
        iteration: resumed.iteration,
        worked: resumed.worked,
        stops,
        again: super::start_command(&task.name),
        notices,
    };
    let keep = Keep {
        folder,
        run,
        guardian,
        _lock: lock,
        _server: mount.server,
        _scratch: scratch,
        _pulse: pulse,
    };
    Ok(Assembled { parts, keep })
}

/// A run that was killed could not end its agent's tools, which have sessions of their
/// own: they would go on changing the tree. The lock is ours, so it is over for sure.
async fn end_the_last_run(runs: &Path) -> Result<Option<String>, Failure> {
    let Some(name) = last_run(runs)? else { return Ok(None) };
    let Sweep { ended, left } = sweep(&name, LEFT_BEHIND).await;
    if !left.is_empty() {
        let message = format!("processes of the run {name} cannot be ended: {left:?}");
        return Err(Failure::new(Kind::Locked, message));
    }
    let notice =
        || format!("processes of the run {name} were still there and are ended: {ended:?}");
    Ok((!ended.is_empty()).then(notice))
}

/// What ends the run's processes if this one is killed. A run begins with its guardian or not
/// at all: that nothing of it is left behind must not depend on luck. One that is killed
/// later is no reason to throw work away.
fn guardian(run: &RunId, scratch: &Path, events: &Arc<Emitter>) -> Result<Guardian, Failure> {
    let events = Arc::clone(events);
    let lost = move |status: Option<ExitStatus>| {
        let how = status.map_or_else(String::new, |status| format!(" ({status})"));
        let message = format!(
            "the guardian ended{how}: if this run is killed, what it started is ended when the next run starts"
        );
        if let Err(error) = events.record(EventKind::Notice { message }) {
            tracing::warn!(%error, "that the guardian ended cannot be recorded");
        }
    };
    Ok(Guardian::start(super::guardian::command(run, scratch)?, lost)?)
}

/// The name of the newest run.
fn last_run(runs: &Path) -> Result<Option<String>, Failure> {
    let journals = journals(runs).map_err(|error| Failure::new(Kind::Write, error))?;
    let folder = journals.first().and_then(|journal| journal.parent()?.file_name());
    Ok(folder.and_then(|name| Some(name.to_str()?.to_owned())))
}

/// What the last run left behind is put in order before this one has a journal.
fn put_in_order(
    at: &TaskPlace,
    runs: &Path,
    identity: Option<&Identity>,
    reporters: impl Fn(&Layout) -> Vec<Box<dyn Reporter>>,
) -> Result<Resumed, Failure> {
    let nobody = Identity::of_the_runner();
    let identity = identity.unwrap_or(&nobody);
    let aftermath = Aftermath { repo: &at.place.repo, runs, identity, reporters: &reporters };
    resume(&aftermath, &at.layout).map_err(super::run::failure)
}

/// The settings of a run, if they fit together.
fn usable_settings(place: &Place, args: &RunArgs, task: &Task) -> Result<Settings, Failure> {
    let settings = settings(place, args, task)?;
    if settings.require_checks && !settings.baseline {
        return Err(Failure::new(
            Kind::Usage,
            "--require-checks and --no-baseline exclude each other",
        )
        .hint("a check proves something only if it was seen red before the work"));
    }
    Ok(settings)
}

/// The settings of a run.
pub(super) fn settings(place: &Place, args: &RunArgs, task: &Task) -> Result<Settings, Failure> {
    Ok(resolve(&place.layers(args.settings.written(), Some(task))?))
}

/// Looks at the repository.
pub(super) fn preflight(at: &TaskPlace, settings: &Settings) -> Result<Preflight, Failure> {
    let branch = settings.branch.as_deref().map_or(Branch::Current, Branch::Named);
    let dirt = if settings.allow_dirty { Dirt::Protect } else { Dirt::Refuse };
    Ok(at.place.repo.preflight(&at.layout, branch, dirt)?)
}

/// The templates, ours or the repository's.
pub(super) fn templates(place: &Place) -> Result<Templates, Failure> {
    let folder = place.templates();
    let loaded = if folder.is_dir() { Templates::load(&folder) } else { Templates::builtin() };
    Ok(loaded?)
}

/// The bridge to the recipe runner, whose launches stand under this run's guard.
fn recipes(
    depth: Depth,
    mount: &launch::Mount,
    tmp: &Path,
    identity: &[(String, String)],
    run: &RunId,
    redactor: &Arc<Redactor>,
) -> Result<Bridge, Failure> {
    let launcher = std::env::current_exe().map_err(|error| Failure::new(Kind::Internal, error))?;
    let mut more: Vec<(OsString, OsString)> =
        identity.iter().map(|(name, value)| (name.into(), value.into())).collect();
    more.push(("TMPDIR".into(), tmp.into()));
    Ok(Bridge::new(Around {
        ours: std::env::vars_os().collect(),
        home: etcetera::home_dir().ok(),
        nested: Nested {
            launcher,
            depth: depth.inside(),
            socket: Some(mount.server.socket().to_owned()),
            more,
        },
        run: run.as_str().to_owned(),
        tmp: tmp.to_owned(),
        secret: super::recipe::secret(Arc::clone(redactor)),
    }))
}

fn rules(
    at: &TaskPlace,
    settings: &Settings,
    preflight: &Preflight,
    scratch: &Path,
) -> Result<GuardRules, Failure> {
    let home = etcetera::home_dir().ok();
    let invalid = |error| Failure::new(Kind::Invalid, error);
    let compiled = Rules::compile(&settings.policy, at.place.root(), home.as_deref());
    let rules = GuardRules {
        workspace: at.place.root().to_owned(),
        task_dir: at.folder.dir.clone(),
        home,
        tmp: scratch.join("tmp"),
        write_scope: settings.write_scope,
        allow: settings.allow.clone(),
        protect: settings.protect.clone(),
        human: preflight.human.paths().map(|path| at.place.root().join(path)).collect(),
        rules: compiled.map_err(invalid)?,
        approval: if settings.auto_approve { Approval::Automatic } else { Approval::Human },
    };
    // A glob or command that is not understood is told now, not in the first iteration.
    rules.policy().map_err(invalid)?;
    Ok(rules)
}

/// The command that is started, with what people are told of its confinement.
fn confined(
    place: &Place,
    settings: &Settings,
    command: &AgentCommand,
    tmp: &Path,
) -> Result<(AgentCommand, Option<String>), Failure> {
    let mut writable = vec![place.root().to_owned(), tmp.to_owned()];
    // In a linked working tree, commits are made elsewhere.
    let commits = place.repo.common_dir();
    if !commits.starts_with(place.root()) {
        writable.push(commits.to_owned());
    }
    if settings.sandbox != Sandbox::Off {
        let home = match command.kind {
            AgentKind::Copilot => launch::copilot_home(),
            AgentKind::Other => None,
        };
        writable.extend(confine::own_folders(home));
    }
    confine::confined(command, settings.sandbox, &writable)
}

fn notices(
    preflight: &Preflight,
    settings: &Settings,
    command: &AgentCommand,
    identity: Option<String>,
) -> Vec<String> {
    let mut notices: Vec<String> = identity.into_iter().collect();
    let human = preflight.human.paths().count();
    if human > 0 {
        notices.push(format!(
            "{human} uncommitted paths are yours: they are never committed, reset or lost"
        ));
    }
    let watched: Vec<String> = preflight
        .settings
        .paths()
        .filter(|path| path.starts_with(".github/hooks") || path.starts_with(".claude"))
        .filter(|path| preflight.settings.get(path) != Some(&Fingerprint::Absent))
        .map(|path| path.display().to_string())
        .collect();
    if !watched.is_empty() {
        let list = watched.join(", ");
        notices.push(format!("hooks and agent settings of the repository could widen permissions; they are watched: {list}"));
    }
    if command.kind == AgentKind::Other {
        notices
            .push("this agent has no hooks: its permission requests alone are decided".to_owned());
        if settings.model.is_some() {
            notices.push(
                "this agent chooses its model itself: `model` is only counted with".to_owned(),
            );
        }
    }
    notices
}

/// The audit of everything that is asked and answered from now on.
pub(super) fn audit(
    folder: &Path,
    clock: Clock,
    redactor: &Arc<Redactor>,
) -> Result<Audit, Failure> {
    let redactor = Arc::clone(redactor);
    let redact = Arc::new(move |value: &serde_json::Value| redactor.redact_json(value));
    Audit::open(folder, clock, redact).map_err(|error| {
        Failure::new(Kind::Write, error)
            .hint("nothing runs that cannot be audited; COPILOT_AUDIT_LOG_DIR names another folder")
    })
}

fn make_private(folder: &Path) -> Result<(), Failure> {
    let made = std::fs::DirBuilder::new().recursive(true).mode(0o700).create(folder);
    made.map_err(|source| {
        let error = AgentError::Prepare { path: folder.to_owned(), source };
        Failure::from(error)
            .hint("the runner keeps its journal below .ralph/runs/ and must be able to write there")
    })
}

/// The second signal: everything ends now. Children are in sessions of their own, so
/// they are ended one by one.
fn at_once(run: &RunId, signal: i32) {
    crate::sys::process::kill_now(run.as_str());
    reap_orphans();
    std::process::exit(128 + signal);
}

impl From<PromptError> for Failure {
    fn from(error: PromptError) -> Self {
        Self::new(Kind::Invalid, error)
    }
}

impl From<crate::verify::VerifyError> for Failure {
    fn from(error: crate::verify::VerifyError) -> Self {
        let kind = if error.cannot_write() { Kind::Write } else { Kind::Repository };
        Self::new(kind, error)
    }
}
