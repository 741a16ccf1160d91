//! Puts the parts of a run together.

use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use super::args::RunArgs;
use super::failure::{Failure, Kind};
use super::launch::{self, Start};
use super::place::{Place, TaskPlace};
use super::screen::{self, Show};
use crate::agent::{AgentCommand, AgentError, AgentKind, Gate, Greeting, GuardServer, TurnLimits};
use crate::config::{Settings, resolve};
use crate::engine::{BaselineRun, GuardRules, Limits, Parts, resume};
use crate::events::{Emitter, JOURNAL_FILE, journals, run_id};
use crate::guard::{Approval, OsFiles, Redactor, Rules};
use crate::model::{Record, RunId, Task};
use crate::prompt::{PromptError, Templates};
use crate::sys::clock::Clock;
use crate::sys::lock::TreeLock;
use crate::sys::process::{Sweep, reap_orphans, sweep};
use crate::sys::stop::Stop;
use crate::verify::{
    Branch, CommitsAlone, Dirt, Fingerprint, Identity, Preflight, Repo as _, ShellChecks,
};

/// How long what a dead run left behind may take to end.
const LEFT_BEHIND: Duration = Duration::from_secs(5);

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
    let ended = end_the_last_run(&runs).await?;
    let number = super::status::read_state(&at)?.attempt_refs;
    let resumed = resume(&at.place.repo, &at.layout, &runs, number).map_err(super::run::failure)?;
    let preflight = preflight(&at, &settings)?;
    make_private(&folder)?;
    let templates = templates(&at.place)?;
    let command = launch::find_agent(settings.agent.as_deref())?;
    let scratch = launch::scratch()?;
    let stop = Stop::default();
    let run_of_signal = run.clone();
    stop.listen(move |signal| at_once(&run_of_signal, signal))?;
    let redactor = Arc::new(Redactor::new(launch::secrets()));
    let model = launch::model(&settings, command.kind);
    let premium = launch::premium(&settings, command.kind, model.as_deref());
    let mut reporters = screen::reporters(&at, clock, premium);
    reporters.push(screen::screen(show, clock));
    let events = Arc::new(
        Emitter::create(&folder.join(JOURNAL_FILE), run.clone(), clock, reporters)
            .map_err(|error| Failure::new(Kind::Write, error))?,
    );
    let record: Arc<dyn Record> = Arc::clone(&events) as _;
    let asks = args.ask || !settings.auto_approve;
    let human = if asks { super::ask::at_the_terminal() } else { None };
    let unattended = human.is_none();
    let gate = Gate::new(record, Arc::clone(&redactor), Box::new(OsFiles)).with_human(human);
    let gate = Arc::new(gate);
    let mount = launch::mount(&command, scratch.path(), &gate, Greeting::Welcome)?;
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
    let identity_variables = launch::identity_variables(own_identity);
    let rules = rules(&at, &settings, &preflight, scratch.path())?;
    let mut notices = notices(&preflight, &settings, &command, identity_notice);
    if asks && unattended {
        let flag = "there is no terminal to ask at: what the policy leaves to a human is denied";
        notices.push(flag.to_owned());
    }
    if !settings.auto_approve {
        let what = if unattended { "denied, since nobody is asked" } else { "asked for here" };
        notices.push(format!("RALPH_COPILOT_AUTO_APPROVE=false: every call but reading is {what}"));
    }
    notices.extend(ended);
    notices.extend(resumed.as_ref().map(|resumed| resumed.notice.clone()));
    let redact = Arc::clone(&redactor);
    let start = launch::starter(Start {
        environment: launch::environment(&command, &rules.tmp, &identity_variables),
        plugin: mount.plugin,
        run: run.clone(),
        cwd: at.place.root().to_owned(),
        folder: folder.clone(),
        home: launch::copilot_home(),
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
        agent_command: launch::describe(&command, &redactor),
        fallbacks: launch::fallbacks(&settings, model.as_deref()),
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

/// A run that was killed could not end its agent's tools, which have sessions of their
/// own: they would go on changing the tree. The lock is ours, so it is over for sure.
async fn end_the_last_run(runs: &Path) -> Result<Option<String>, Failure> {
    let newest = journals(runs).map_err(|error| Failure::new(Kind::Write, error))?;
    let newest = newest.first().and_then(|journal| journal.parent()?.file_name());
    let Some(name) = newest.and_then(|name| name.to_str()) else { return Ok(None) };
    let Sweep { ended, left } = sweep(name, LEFT_BEHIND).await;
    if !left.is_empty() {
        let message = format!("processes of the run {name} cannot be ended: {left:?}");
        return Err(Failure::new(Kind::Locked, message));
    }
    let notice =
        || format!("processes of the run {name} were still there and are ended: {ended:?}");
    Ok((!ended.is_empty()).then(notice))
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
