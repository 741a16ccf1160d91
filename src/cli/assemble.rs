//! Puts the parts of a run together.

mod claim;
mod jobs;
mod notices;
mod plan;
mod run_guards;

use std::ffi::OsString;
use std::num::NonZeroU32;
use std::path::Path;
use std::sync::Arc;

use tokio::process::Child;
use tokio::sync::mpsc;

use self::claim::{Claim, claim, make_private};
use self::jobs::jobs;
pub(super) use self::notices::unknown_variables as about_unknown;
pub(super) use self::plan::{
    RunPlan, has_checks, limits, note, preflight, revisions, run_policy, settings, startable,
    templates,
};
use self::run_guards::{RunGuards, guardian};
use super::args::RunArgs;
use super::command_names::{is_default, land_command, next_commands};
use super::context::TaskContext;
use super::failure::Failure;
use super::gc::{self, Heartbeat};
use super::hand_over::{HandOver, refuse_existing};
use super::harness::harness_table;
use super::keep_awake::keep_awake;
use super::launch::{self, Mount, Scratch};
use super::recipe::bridge_under;
use super::room_checks::RoomChecks;
use super::run_gateway::{self, GatewayStart, ReservedPort, RunGateway};
use super::screen::{self, Show};
use super::secret_files::SecretFiles;
use super::signing::Signing;
use super::walls::RunWalls;
use super::words_of_run::typed_settings;
use super::{
    agent_folders, ask, audit, environment, holdout, models, paths, quota, run_tools, tier,
};
use crate::agent::{AgentKind, AgentLaunch, Gate, Greeting, StopHook, TurnLimits};
use crate::config::Settings;
use crate::engine::{
    BaselineRun, Jobs, LedgerParts, LessonUse, Limits, NextCommands, Providers, RunParts, Starter,
    WorkerParts, criterion_name,
};
use crate::events::{Emitter, JOURNAL_FILE, WithAudit};
use crate::guard::OsFiles;
use crate::model::{
    CommitPrefix, EventKind, ExitCode, ProofMode, Record, Reporter, Task, Tier, UnaskedCalls,
};
use crate::recipe::Bridge;
use crate::report::LiveLines;
use crate::sys::atomic;
use crate::sys::clock::Clock;
use crate::sys::shutdown::Shutdown;
use crate::verify::{
    Around, CommitsAlone, Identity, Layout, MasterFolder, PROGRESS, Preflight, ProofRooms,
    RoomFolders,
};

/// Bytes that a run must be able to write in each folder it writes to, or it does not start.
const ROOM: usize = 256 << 10;

/// A run that can start.
pub(super) struct Assembled {
    pub(super) parts: RunParts,
    pub(super) guards: RunGuards,
    /// The command to run afterwards (`--on-end`).
    pub(super) on_end: Option<String>,
    /// Where the work goes, if it does not stay here.
    pub(super) hand_over: Option<HandOver>,
}

/// Takes the lock, looks at the repository and prepares everything up to the first iteration.
/// The agent is not started yet.
pub(super) async fn assemble(
    at: TaskContext,
    directory: Option<&Path>,
    args: &RunArgs,
) -> Result<Assembled, Failure> {
    args.bundle.as_deref().map_or(Ok(()), refuse_existing)?;
    let clock = Clock::system();
    let json = args.json || args.plan.as_ref().is_some_and(|plan| plan.json);
    let show = match (&args.worker, json) {
        (Some(_), _) => Show::Run,
        (None, true) if args.landing => Show::Nothing,
        (None, true) => Show::Json,
        (None, false) => Show::People,
    };
    let (screen, live) = screen::screen(show, clock, args.detail.detail());
    let screen = match &args.plan {
        Some(plan) => plan.around(screen),
        None => screen,
    };
    let claim = claim(&at, args, clock, live.as_ref()).await?;
    // Only now does TASK.md contain just the human's text and proven ticks.
    let plan = RunPlan::of(&at, args)?;
    let (holdout, no_holdout) = match args.worker {
        Some(_) => (None, None),
        None => {
            let about = (&plan.task, &plan.settings, plan.chosen.tier);
            holdout::load(&at, about, claim.run.as_str())?
        }
    };
    // A port that is named and taken ends the run before it leaves anything.
    let port = run_gateway::reserve(plan.settings.gateway).await?;
    make_private(&claim.folder)?;
    for folder in [&claim.folder, &at.folder.dir, at.place.repo.git_dir()] {
        atomic::probe(folder, ROOM)?;
    }
    let scratch = launch::scratch()?;
    gc::collect(&claim.runs, &claim.run, scratch.path())?;
    let beat = Heartbeat::start(&claim.folder)?;
    let told = plan.chosen.notice();
    let tier = (plan.chosen.tier, plan.chosen.programs.clone());
    let settings = &plan.settings;
    let secrets = SecretFiles::find(&at.place.repo, settings)?;
    let signing = Signing::of(&at.place, settings, tier.0, Some(scratch.path()))?;
    let walls = RunWalls::new(&at, &plan.preflight, settings, tier, scratch.path(), secrets)?;
    let walls = Arc::new(walls.showing(signing.key_agent()));
    let screen = Screen { show, asks: asks(args, &plan.settings), reporter: screen, live };
    let mut recording = record(&at, &claim, &plan, &walls, screen)?;
    recording.notices.insert(0, told);
    recording.notices.extend(walls.notice());
    let awake = match args.keep_awake && args.worker.is_none() {
        true => or_notice(keep_awake().await.map(Some), &mut recording.notices),
        false => None,
    };
    if args.worker.is_none() {
        tell_of_signal(&claim.stop, &recording.events);
    }
    let gateway = gateway(&at, &claim, &plan, &walls, port, &mut recording).await?;
    let jobs = jobs(&at, &plan, &claim, scratch.path(), &mut recording.notices)?;
    recording.notices.extend(no_holdout);
    let on_end = plan.settings.on_end.clone();
    let beat = (beat, awake);
    let only = plan.only.as_ref().map(criterion_name);
    let parts =
        Prepared { claim, plan, jobs, gateway, scratch, beat, recording, walls, signing, clock };
    let (mut parts, guards) = finish(at, directory, parts).await?;
    parts.ledger.holdout = holdout;
    let commands = &mut parts.ledger.commands;
    commands.land = args.bundle.as_ref().map(|file| land_command(directory, file));
    if args.bundle.is_some() || is_default(&parts.ledger.preflight.checkpoint.branch) {
        commands.pr = None;
    }
    let hand_over = args.bundle.as_ref().zip(only);
    let hand_over = hand_over.map(|(file, name)| HandOver::of(&parts, file, &name)).transpose()?;
    Ok(Assembled { parts, guards, on_end, hand_over })
}

/// The gateway of a run that has one, with notices about it.
async fn gateway(
    at: &TaskContext,
    claim: &Claim,
    plan: &RunPlan,
    walls: &RunWalls,
    port: ReservedPort,
    recording: &mut Recording,
) -> Result<Option<Arc<RunGateway>>, Failure> {
    let listeners = match port {
        ReservedPort::None(notice) => {
            recording.notices.extend(notice);
            return Ok(None);
        }
        ReservedPort::Listening(listeners) => listeners,
    };
    let (gateway, notice) = RunGateway::new(GatewayStart {
        listeners,
        programs: &plan.settings.providers,
        run: &claim.run,
        task: &plan.task.name,
        cwd: at.place.root(),
        folder: &claim.folder,
        is_open: walls.opens_tokens(&plan.command),
        events: Arc::clone(&recording.events),
        redactor: Arc::clone(walls.redactor()),
        stop: claim.stop.clone(),
        second: Arc::clone(&claim.second),
    })
    .await?;
    recording.notices.extend(notice);
    Ok(Some(gateway))
}

/// A run whose tree is taken and whose journal is open.
struct Prepared {
    claim: Claim,
    plan: RunPlan,
    jobs: Option<Jobs>,
    gateway: Option<Arc<RunGateway>>,
    scratch: Scratch,
    beat: (Heartbeat, Option<Child>),
    recording: Recording,
    walls: Arc<RunWalls>,
    signing: Signing,
    clock: Clock,
}

/// Mounts the guard, prepares the agent's start, and hands everything over to the engine.
async fn finish(
    at: TaskContext,
    directory: Option<&Path>,
    ready: Prepared,
) -> Result<(RunParts, RunGuards), Failure> {
    let Prepared { mut claim, plan, jobs, gateway, scratch, beat, recording, walls, .. } = ready;
    let (signing, clock) = (ready.signing, ready.clock);
    let Recording { events, gate, mut notices } = recording;
    let RunPlan { task, mut settings, preflight, templates, command, memory, .. } = plan;
    let (on_fatal, only) = (plan.on_fatal, plan.only);
    // One turn at a time asks whether it may end.
    let (ask_stop, stops) = mpsc::channel(1);
    let ask_stop = (settings.stop_check || gateway.is_some()).then_some(ask_stop);
    let mount =
        launch::mount(&command, scratch.path(), &gate, Greeting::Welcome, settings.via, ask_stop)?;
    let committer = committer(claim.identity.take(), &signing);
    settings.protect.extend(claim.audited_here.as_ref().map(|here| format!("{here}/**")));
    let policy = run_policy(&at, &settings, &preflight, walls.tier(), scratch.path())?;
    let tmp = scratch.path().join("tmp");
    let recipes = recipes(&claim, &task, &mount, &committer.variables, &tmp).await?;
    notices.splice(0..0, notices::notices(&preflight, &settings, &command, committer.notice)?);
    notices.extend(at.remarks(&task));
    notices.extend(signing.notice().map(str::to_owned));
    notices.extend(quota::warning(claim.run.as_str(), at.place.root()).await);
    let providers = gateway.as_ref().map(|gateway| gateway.source());
    let places = (scratch.path(), at.place.root().join(at.layout.file(PROGRESS)));
    let tools = run_tools::start(memory, providers, claim.depth, &gate, places);
    let tools = or_notice(tools.await, &mut notices);
    let launch = AgentLaunch {
        environment: launch::limited(&settings, command.kind, &tmp, &committer.variables)?,
        plugin: mount.plugin,
        run: claim.run.clone(),
        cwd: at.place.root().to_owned(),
        folder: claim.folder.clone(),
        home: launch::copilot_home(),
        logs: scratch.path().join("logs"),
        tools,
        gate: Arc::clone(&gate),
        command: walls.agent(&command)?,
    };
    let start = launch::starter(launch, settings.via);
    let guardian = guardian(&claim.run, scratch.path(), &events)?;
    let mut choice = models::choose(&settings, &command, at.place.root());
    let rooms = proof_rooms(&at, &preflight, settings.proof, (walls.tier(), scratch.path()))?;
    let untold = claim.untold.take().into_iter().chain(choice.notice.take());
    notices.extend(untold.chain(about_proof(settings.proof, rooms.as_ref())));
    let ledger = LedgerParts {
        repo: Arc::new(at.place.repo),
        checks: Arc::new(RoomChecks::new(Arc::clone(&walls), claim.run.as_str())),
        rooms,
        proof: settings.proof,
        table: harness_table(&settings)?,
        recipes: Arc::new(recipes),
        gate,
        events,
        templates,
        clock,
        stop: claim.stop,
        layout: prefixed(&at.layout, &settings),
        folder: at.folder,
        preflight,
        identity: committer.identity,
        policy,
        limits: Limits { on_fatal, ..limits(&settings) },
        verify_limit: settings.verify_timeout.0,
        regression_budget: settings.regression_budget.0,
        check_environment: committer.of_checks,
        around: around(walls.tier())?,
        baseline: if settings.baseline { BaselineRun::Taken } else { BaselineRun::Skipped },
        commits_alone: commits_alone(&settings),
        agent_command: launch::describe(&command),
        tier: walls.tier(),
        agent: command.kind,
        run_folder: claim.folder.clone(),
        project_context: project_context(),
        lessons: if settings.lessons { LessonUse::Kept } else { LessonUse::Off },
        iteration: claim.resumed.iteration,
        worked: claim.resumed.worked,
        stop_check: settings.stop_check,
        commands: commands(directory, &task.name, command.login()),
        notices,
        holdout: None,
    };
    let providers = gateway.map(|gateway| gateway as Arc<dyn Providers>);
    let worker = worker((start, stops), &settings, command.kind, choice, providers);
    let only = only.map(|criterion| criterion.key);
    let parts = RunParts { ledger, worker, jobs, only, handed_in: None };
    let guards = RunGuards {
        folder: claim.folder,
        run: claim.run,
        guardian,
        _lock: claim.lock,
        _excludes: claim.excludes,
        _server: mount.server,
        _scratch: scratch,
        _alive: beat,
    };
    Ok((parts, guards))
}

/// Says at the first signal what happens now, and what a second one does.
fn tell_of_signal(stop: &Shutdown, events: &Arc<Emitter>) {
    let (stop, events) = (stop.clone(), Arc::downgrade(events));
    tokio::spawn(async move {
        stop.token().cancelled().await;
        let again = if stop.signal() == Some(2) { "Ctrl-C again" } else { "another signal" };
        let message = format!(
            "ending the turn and cleaning up, which takes a few seconds; {again} kills everything at \
             once, and the next run cleans up"
        );
        if let Some(Err(error)) =
            events.upgrade().map(|it| it.record(EventKind::Notice { message }))
        {
            tracing::warn!(%error, "cannot record that a signal came");
        }
    });
}

/// The commands that the run names at its end, with the settings that this command line has.
fn commands(directory: Option<&Path>, task: &str, log_in: Option<&'static str>) -> NextCommands {
    next_commands(directory, task, log_in, typed_settings(std::env::args_os()))
}

/// What drives the agent.
fn worker(
    (start, stops): (Starter, mpsc::Receiver<StopHook>),
    settings: &Settings,
    agent: AgentKind,
    choice: models::ModelChoice,
    providers: Option<Arc<dyn Providers>>,
) -> WorkerParts {
    WorkerParts {
        start,
        turn: turn_limits(settings),
        max_wait: settings.max_wait.0,
        max_retries: settings.max_retries.map(NonZeroU32::get),
        premium: launch::premium(settings, agent),
        escalate: settings.escalate.clone(),
        fallbacks: choice.fallbacks,
        model: choice.model,
        providers,
        stops,
    }
}

/// The started gateway, or a notice of why it was not started: the run continues without it.
fn or_notice<T>(started: Result<Option<T>, String>, notices: &mut Vec<String>) -> Option<T> {
    started.unwrap_or_else(|notice| {
        notices.push(notice);
        None
    })
}

/// The user's text for every prompt.
fn project_context() -> Option<String> {
    environment::variable("COPILOT_PROJECT_CONTEXT").filter(|text| !text.is_empty())
}

/// Which calls a human is asked about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Asks {
    /// None.
    Nobody,
    /// Those that the policy leaves to a human: `--ask`.
    LeftToHuman,
    /// All but reading: `RALPH_COPILOT_AUTO_APPROVE=false`.
    Everything,
}

fn asks(args: &RunArgs, settings: &Settings) -> Asks {
    match (settings.auto_approve, args.ask) {
        (false, _) => Asks::Everything,
        (true, true) => Asks::LeftToHuman,
        (true, false) => Asks::Nobody,
    }
}

/// The user's side of a run.
struct Screen {
    show: Show,
    asks: Asks,
    reporter: Box<dyn Reporter>,
    /// The terminal's live line, which a question must not draw over.
    live: Option<LiveLines>,
}

/// The journal, the audit and the gate that writes to both.
struct Recording {
    events: Arc<Emitter>,
    gate: Arc<Gate>,
    /// The notice about who approves calls.
    notices: Vec<String>,
}

/// Opens the journal and the audit.
fn record(
    at: &TaskContext,
    claim: &Claim,
    plan: &RunPlan,
    walls: &Arc<RunWalls>,
    screen: Screen,
) -> Result<Recording, Failure> {
    let Screen { show, asks, reporter, live } = screen;
    let clock = Clock::system();
    let redactor = walls.redactor();
    let mut reporters = match show {
        Show::People | Show::Json | Show::Nothing => {
            screen::reporters(at.place.root(), &at.layout, clock)
        }
        // The run writes what becomes of the work.
        Show::Run => Vec::new(),
    };
    reporters.push(reporter);
    let journal = claim.folder.join(JOURNAL_FILE);
    let (run, redact) = (claim.run.clone(), Arc::clone(redactor) as _);
    let events = Emitter::create(&journal, run, clock, redact, reporters)
        .map_err(|error| Failure::new(ExitCode::Write, error))?;
    let events = Arc::new(events);
    let audit = audit::open(&claim.audited, clock, redactor).map_err(audit::missing)?;
    let record: Arc<dyn Record> = Arc::new(WithAudit::new(Arc::clone(&events) as _, audit));
    let human = match asks {
        Asks::Nobody => None,
        Asks::LeftToHuman | Asks::Everything => ask::at_the_terminal(live),
    };
    let unattended = human.is_none();
    let gate = Gate::new(record, Arc::clone(redactor), Box::new(OsFiles))
        .with_human(human)
        .with_unasked(unasked(plan, walls.tier())?)
        .with_shells(walls.shells(plan.command.kind)?);
    let mut notices = Vec::new();
    if gate.allows_unasked() {
        notices.push(
            "--unasked allow: calls that the agent does not ask for run inside the sandbox; the \
             guard does not stop them"
                .to_owned(),
        );
    }
    if asks != Asks::Nobody && unattended {
        notices.push(
            "no terminal to ask at: calls that the policy leaves to you are denied".to_owned(),
        );
    }
    if asks == Asks::Everything {
        let what =
            if unattended { "denied, because there is no terminal" } else { "asked about here" };
        notices
            .push(format!("RALPH_COPILOT_AUTO_APPROVE=false: every call except reading is {what}"));
    }
    Ok(Recording { events, gate: Arc::new(gate), notices })
}

/// Who commits: the runner itself, and its children through variables.
struct Committer {
    identity: Identity,
    /// Says so if git does not know one.
    notice: Option<String>,
    /// The variables for git of the agent.
    variables: Vec<(String, String)>,
    /// Those of checks. Tests of the project may set an identity of their own, so checks get the
    /// runner's only if there is no other.
    of_checks: Vec<(String, String)>,
}

/// Children get the identity that git gives the human here: in a sandbox, git may not find the
/// files that this depends on.
fn committer(known: Option<Identity>, signing: &Signing) -> Committer {
    let notice = match &known {
        Some(_) => None,
        None => {
            let ours = Identity::of_the_runner().author;
            Some(format!("git has no user name and email: commits are by {ours}"))
        }
    };
    let identity = known.unwrap_or_else(Identity::of_the_runner);
    let person = launch::owned(identity.environment()).to_vec();
    let variables = [person.clone(), signing.variables()].concat();
    let unnamed = if notice.is_some() { person } else { Vec::new() };
    let of_checks = [unnamed, signing.of_checks()].concat();
    Committer { identity, notice, variables, of_checks }
}

/// May the agent's calls run unasked? Only where a sandbox holds all of it.
fn unasked(plan: &RunPlan, tier: Tier) -> Result<bool, Failure> {
    match (plan.settings.unasked, tier) {
        (UnaskedCalls::Stop, _) => Ok(false),
        (UnaskedCalls::Allow, Tier::Full) => Ok(true),
        (UnaskedCalls::Allow, Tier::Partial | Tier::Off) => {
            let why =
                format!("`--unasked allow` needs the sandbox `full`, and this run has `{tier}`");
            Err(Failure::new(ExitCode::Invalid, why)
                .hint("run `ralph-copilot doctor` to see what `full` needs, or make the agent ask"))
        }
    }
}

/// The layout whose commits begin as the settings say.
pub(super) fn prefixed(layout: &Layout, settings: &Settings) -> Layout {
    let prefix = settings.commit_prefix.as_ref().map_or("", CommitPrefix::as_str);
    layout.clone().with_commit_prefix(prefix)
}

/// The bridge for criteria that run a recipe. Fails now, not at night, if such a criterion is
/// open and the recipe runner cannot be used.
async fn recipes(
    claim: &Claim,
    task: &Task,
    mount: &Mount,
    identity: &[(String, String)],
    tmp: &Path,
) -> Result<Bridge, Failure> {
    let identity = identity.iter().map(|(name, value)| (name.into(), value.into()));
    let recipes = bridge_under(
        claim.depth,
        Some(mount.server.socket().to_owned()),
        identity.chain([(OsString::from("TMPDIR"), tmp.into())]).collect(),
        claim.run.as_str().to_owned(),
        tmp.to_owned(),
    )?;
    if task.criteria.iter().any(|criterion| criterion.recipe.is_some() && !criterion.checked) {
        recipes.runner().await?;
    }
    Ok(recipes)
}

/// Notices about the proof rooms, and about checks that do not run in one.
fn about_proof(mode: ProofMode, rooms: Option<&ProofRooms>) -> Vec<String> {
    let told = match mode {
        ProofMode::Room => None,
        ProofMode::End => Some(
            "proof: end: until the end, checks run in the working tree, where the agent worked",
        ),
        ProofMode::Tree => Some(
            "proof: tree: checks run in the working tree, where the agent worked, and tests are not \
             put back",
        ),
    };
    let notes = rooms.into_iter().flat_map(ProofRooms::notes).cloned();
    notes.chain(told.map(str::to_owned)).collect()
}

/// Files outside the repository that checks and the Copilot CLI use, where commands can change
/// them. Settings of the CLI that do not exist cannot be mounted read-only.
fn around(tier: Tier) -> Result<Around, Failure> {
    let (home, path) = (etcetera::home_dir().ok(), std::env::var_os("PATH").unwrap_or_default());
    let home = home.as_deref().filter(|_| tier != Tier::Full);
    let settings = agent_folders::copilot_settings();
    Ok(Around::look(settings, home.map(|home| (home, path.as_os_str())))?)
}

/// Copies the files that the proof rooms need, before an agent works.
fn proof_rooms(
    at: &TaskContext,
    preflight: &Preflight,
    mode: ProofMode,
    (tier, scratch): (Tier, &Path),
) -> Result<Option<ProofRooms>, Failure> {
    match mode {
        ProofMode::Room | ProofMode::End => {}
        ProofMode::Tree => return Ok(None),
    }
    let master = paths::master(at.place.root()).unwrap_or_else(|| scratch.join("master"));
    let base = scratch.join("proof");
    let seen_at = tier::seen_at(tier);
    let folders = RoomFolders { base: &base, seen_at, master: MasterFolder::Kept(&master) };
    Ok(Some(at.place.repo.proof_rooms(&at.layout, folders, preflight)?))
}

fn turn_limits(settings: &Settings) -> TurnLimits {
    TurnLimits {
        idle: settings.idle_timeout.0,
        total: settings.turn_timeout.0,
        ..TurnLimits::default()
    }
}

fn commits_alone(settings: &Settings) -> CommitsAlone {
    if settings.require_checks { CommitsAlone::Refused } else { CommitsAlone::Accepted }
}
