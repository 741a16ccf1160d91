//! Puts the parts of a run together.

use std::ffi::OsString;
use std::io::IsTerminal as _;
use std::os::unix::fs::{DirBuilderExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::args::RunArgs;
use super::failure::{Failure, Kind};
use super::place::{Place, TaskPlace};
use crate::agent::acp::{AcpAgent, Launch};
use crate::agent::{
    Agent, AgentCommand, AgentError, AgentKind, Gate, Greeting, GuardServer, Lookup, TurnLimits,
    for_agent,
};
use crate::config::{Settings, resolve};
use crate::engine::{BaselineRun, GuardRules, Limits, Parts, Starter, resume};
use crate::events::{Emitter, JOURNAL_FILE, run_id};
use crate::guard::{Approval, OsFiles, Redactor};
use crate::hooks::Plugin;
use crate::model::{Premium, Record, Reporter, RunId, Task};
use crate::prompt::{PromptError, Templates};
use crate::report::{ActivityLog, Console, CostLog, Json, Plain, PremiumTable, ProgressMd};
use crate::sys::clock::Clock;
use crate::sys::env;
use crate::sys::lock::TreeLock;
use crate::sys::process::reap_orphans;
use crate::sys::stop::Stop;
use crate::verify::{
    Branch, CommitsAlone, Dirt, Fingerprint, Identity, PROGRESS, Preflight, Repo as _, ShellChecks,
};

/// The model that is asked for unless the user or their provider says otherwise.
const MODEL: &str = "claude-sonnet-4.5";

/// A run that can begin.
pub(super) struct Assembled {
    pub(super) parts: Parts,
    pub(super) keep: Keep,
}

/// What must live as long as the run.
pub(super) struct Keep {
    /// The run's folder below `.ralph/runs/`.
    pub(super) folder: PathBuf,
    _lock: TreeLock,
    _server: Option<GuardServer>,
    _scratch: tempfile::TempDir,
}

/// Where events are shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Show {
    /// To a person, or as plain lines where nobody watches.
    People,
    /// As JSON lines.
    Json,
}

/// Takes the lock, looks at the repository and prepares everything up to the first
/// iteration. Nothing of the agent's is started yet.
pub(super) async fn assemble(
    at: TaskPlace,
    task: &Task,
    args: &RunArgs,
) -> Result<Assembled, Failure> {
    let show = if args.json { Show::Json } else { Show::People };
    let settings = settings(&at.place, args, task)?;
    if settings.require_checks && !settings.baseline {
        return Err(Failure::new(
            Kind::Usage,
            "--require-checks and --no-baseline exclude each other",
        )
        .hint("a check proves something only if it was seen red before the work"));
    }
    let clock = Clock::system();
    let run = run_id(clock.now(), std::process::id());
    at.place.repo.exclude(&[".ralph/runs/", ".ralph/audit/"])?;
    let runs = at.place.runs();
    let folder = runs.join(run.as_str());
    make_private(&runs)?;
    let lock = TreeLock::take(&at.place.lock(), run.as_str())?;
    let number = super::status::read_state(&at)?.attempt_refs;
    let resumed = resume(&at.place.repo, &at.layout, &runs, number).map_err(super::run::failure)?;
    let preflight = preflight(&at, &settings)?;
    make_private(&folder)?;
    let templates = templates(&at.place)?;
    let command = find_agent(settings.agent.as_deref())?;
    let scratch = scratch()?;
    let stop = Stop::default();
    let run_of_signal = run.clone();
    stop.listen(move |signal| at_once(&run_of_signal, signal))?;
    let redactor = Arc::new(Redactor::new(secrets()));
    let model = model(&settings, command.kind);
    let premium = premium(&settings, command.kind, model.as_deref());
    let mut reporters = reporters(&at, clock, premium);
    reporters.push(screen(show, clock));
    let events = Arc::new(
        Emitter::create(&folder.join(JOURNAL_FILE), run.clone(), clock, reporters)
            .map_err(|error| Failure::new(Kind::Write, error))?,
    );
    let record: Arc<dyn Record> = Arc::clone(&events) as _;
    let gate = Arc::new(Gate::new(record, Arc::clone(&redactor), Box::new(OsFiles)));
    let mount = mount(&command, scratch.path(), &gate)?;
    let known = at.place.repo.identity()?;
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
    let identity_variables = identity_variables(own_identity);
    let rules = rules(&at, &settings, &preflight, scratch.path())?;
    let mut notices = notices(&preflight, &settings, &command, identity_notice);
    notices.extend(resumed.as_ref().map(|resumed| resumed.notice.clone()));
    let redact = Arc::clone(&redactor);
    let start = starter(Start {
        environment: environment(&command, &rules.tmp, &identity_variables),
        plugin: mount.plugin,
        model: model.clone(),
        run: run.clone(),
        cwd: at.place.root().to_owned(),
        folder: folder.clone(),
        home: copilot_home(),
        gate: Arc::clone(&gate),
        command: command.clone(),
    });
    let parts = Parts {
        repo: Arc::new(at.place.repo),
        checks: Arc::new(ShellChecks::new(
            Arc::new(move |text: &str| redact.redact_str(text).into_owned()),
            run.as_str(),
        )),
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
            attempts: settings.stuck_threshold.max(1),
            on_stuck: settings.on_stuck,
        },
        turn: TurnLimits {
            idle: settings.idle_timeout.0,
            total: settings.turn_timeout.0,
            ..TurnLimits::default()
        },
        max_wait: settings.max_wait.0,
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
        agent_command: describe(&command, &redactor),
        model,
        project_context: std::env::var("COPILOT_PROJECT_CONTEXT")
            .ok()
            .filter(|text| !text.is_empty()),
        resumed,
        again: super::start_command(&task.name),
        notices,
    };
    let keep = Keep { folder, _lock: lock, _server: mount.server, _scratch: scratch };
    Ok(Assembled { parts, keep })
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

/// The agent's command.
pub(super) fn find_agent(named: Option<&str>) -> Result<AgentCommand, Failure> {
    let found = AgentCommand::find(
        named,
        &Lookup {
            variable: &|name| std::env::var(name).ok(),
            which: &|name| which::which(name).ok(),
        },
    );
    Ok(found?)
}

/// The model to ask for, if any.
pub(super) fn model(settings: &Settings, kind: AgentKind) -> Option<String> {
    let ours = (kind == AgentKind::Copilot && !own_provider()).then(|| MODEL.to_owned());
    settings.model.clone().or(ours)
}

/// Where the Copilot CLI keeps its records.
pub(super) fn copilot_home() -> Option<PathBuf> {
    let named = std::env::var_os("COPILOT_HOME").filter(|path| !path.is_empty()).map(PathBuf::from);
    named.or_else(|| etcetera::home_dir().ok().map(|home| home.join(".copilot")))
}

/// A folder of the run's own outside the repository: socket, plugin and the agent's
/// TMPDIR. It is short, because a socket's path has few bytes.
pub(super) fn scratch() -> Result<tempfile::TempDir, Failure> {
    let base = std::env::temp_dir().canonicalize().unwrap_or_else(|_| std::env::temp_dir());
    let failed = |source| Failure::from(AgentError::Prepare { path: base.clone(), source });
    let folder = tempfile::Builder::new().prefix("ralph-").tempdir_in(&base).map_err(failed)?;
    std::fs::set_permissions(folder.path(), std::fs::Permissions::from_mode(0o700))
        .map_err(failed)?;
    std::fs::create_dir(folder.path().join("tmp")).map_err(failed)?;
    Ok(folder)
}

/// What mounts the guard.
pub(super) struct Mount {
    pub(super) server: Option<GuardServer>,
    pub(super) plugin: Option<Plugin>,
}

/// Serves the hooks and writes the plugin, for the Copilot CLI.
pub(super) fn mount(
    command: &AgentCommand,
    scratch: &Path,
    gate: &Arc<Gate>,
) -> Result<Mount, Failure> {
    match command.kind {
        AgentKind::Other => Ok(Mount { server: None, plugin: None }),
        AgentKind::Copilot => {
            let socket = scratch.join("guard.sock");
            let server = GuardServer::start(&socket, Arc::clone(gate), Greeting::Welcome)?;
            let program = std::env::current_exe()
                .map_err(|source| AgentError::Prepare { path: "ralph-copilot".into(), source })?;
            let plugin = Plugin::write(&scratch.join("plugin"), &program, &socket)
                .map_err(AgentError::from)?;
            Ok(Mount { server: Some(server), plugin: Some(plugin) })
        }
    }
}

/// Everything a start of the agent takes.
pub(super) struct Start {
    pub(super) command: AgentCommand,
    pub(super) environment: (Vec<(OsString, Option<OsString>)>, Vec<OsString>),
    pub(super) plugin: Option<Plugin>,
    pub(super) model: Option<String>,
    pub(super) run: RunId,
    pub(super) cwd: PathBuf,
    pub(super) folder: PathBuf,
    pub(super) home: Option<PathBuf>,
    pub(super) gate: Arc<Gate>,
}

/// Starts the agent as often as it takes.
pub(super) fn starter(start: Start) -> Starter {
    let start = Arc::new(start);
    Box::new(move || {
        let start = Arc::clone(&start);
        Box::pin(async move {
            let agent = launch(&start).await?;
            Ok(Box::new(agent) as Box<dyn Agent>)
        })
    })
}

async fn launch(start: &Start) -> Result<AcpAgent, AgentError> {
    let (variables, arguments) = start.environment.clone();
    let mut extra = arguments;
    if let Some(plugin) = &start.plugin {
        extra.push("--plugin-dir".into());
        extra.push(plugin.folder().into());
    }
    if let (Some(model), AgentKind::Copilot) = (&start.model, start.command.kind) {
        extra.push("--model".into());
        extra.push(model.into());
    }
    AcpAgent::start(Launch {
        command: &start.command,
        extra,
        environment: variables,
        run: &start.run,
        cwd: &start.cwd,
        folder: &start.folder,
        home: start.home.clone(),
        plugin: start.plugin.clone(),
        gate: Arc::clone(&start.gate),
    })
    .await
}

/// The agent's environment, and the arguments that go with it.
pub(super) fn environment(
    command: &AgentCommand,
    tmp: &Path,
    identity: &[(String, String)],
) -> (Vec<(OsString, Option<OsString>)>, Vec<OsString>) {
    let names: Vec<String> =
        std::env::vars_os().map(|(name, _)| name.to_string_lossy().into_owned()).collect();
    let change = for_agent(command.kind, &names, tmp);
    let mut variables = change.variables;
    let identity = identity.iter().map(|(name, value)| (name.into(), Some(value.into())));
    variables.extend(identity);
    (variables, change.arguments)
}

fn identity_variables(identity: Option<&Identity>) -> Vec<(String, String)> {
    let Some(identity) = identity else { return Vec::new() };
    let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
    vec![
        pair("GIT_AUTHOR_NAME", &identity.name),
        pair("GIT_AUTHOR_EMAIL", &identity.email),
        pair("GIT_COMMITTER_NAME", &identity.name),
        pair("GIT_COMMITTER_EMAIL", &identity.email),
    ]
}

/// The values of our own secret variables: they must appear nowhere.
pub(super) fn secrets() -> Vec<String> {
    std::env::vars()
        .filter(|(name, value)| env::is_secret(name) && value.len() >= 8)
        .map(|(_, value)| value)
        .collect()
}

fn rules(
    at: &TaskPlace,
    settings: &Settings,
    preflight: &Preflight,
    scratch: &Path,
) -> Result<GuardRules, Failure> {
    let rules = GuardRules {
        workspace: at.place.root().to_owned(),
        task_dir: at.folder.dir.clone(),
        home: etcetera::home_dir().ok(),
        tmp: scratch.join("tmp"),
        write_scope: settings.write_scope,
        allow: settings.allow.clone(),
        protect: settings.protect.clone(),
        human: preflight.human.paths().map(|path| at.place.root().join(path)).collect(),
        approval: if settings.auto_approve { Approval::Automatic } else { Approval::Human },
    };
    // A glob or command that is not understood is told now, not in the first iteration.
    rules.policy().map_err(|error| Failure::new(Kind::Invalid, error))?;
    Ok(rules)
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
    if !settings.auto_approve {
        notices.push("RALPH_COPILOT_AUTO_APPROVE=false: every call but reading is denied, since nobody is asked".to_owned());
    }
    notices
}

/// What a prompt costs: only GitHub's own CLI, with GitHub's own models, costs anything.
fn premium(settings: &Settings, kind: AgentKind, model: Option<&str>) -> Premium {
    let mut table = PremiumTable::default();
    if let Some(free) = &settings.free_models {
        table.premium.retain(|model| !free.contains(model));
        table.free.clone_from(free);
    }
    match kind {
        AgentKind::Copilot if !own_provider() && table.is_premium(model) => Premium::Counted,
        AgentKind::Copilot | AgentKind::Other => Premium::Free,
    }
}

/// Whether the user's own provider serves the model.
fn own_provider() -> bool {
    std::env::var_os("COPILOT_PROVIDER_BASE_URL").is_some_and(|url| !url.is_empty())
}

fn reporters(at: &TaskPlace, clock: Clock, premium: Premium) -> Vec<Box<dyn Reporter>> {
    let file = |name: &str| at.place.root().join(at.layout.file(name));
    vec![
        Box::new(ProgressMd::new(file(PROGRESS), clock)),
        Box::new(ActivityLog::new(file("activity.log"), clock)),
        Box::new(CostLog::new(file("cost.log"), clock, premium)),
    ]
}

fn screen(show: Show, clock: Clock) -> Box<dyn Reporter> {
    let out = || Box::new(std::io::stdout());
    match show {
        Show::Json => Box::new(Json::new(out())),
        Show::People => match Console::stdout(clock) {
            Some(console) if std::io::stdout().is_terminal() => Box::new(console),
            Some(_) | None => Box::new(Plain::new(out(), clock, 100)),
        },
    }
}

fn describe(command: &AgentCommand, redactor: &Redactor) -> String {
    let mut words = vec![command.program.display().to_string()];
    words.extend(command.args.iter().cloned());
    redactor.redact_str(&words.join(" ")).into_owned()
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
        Self::new(Kind::Repository, error)
    }
}
