//! `code-task`: one guarded and sandboxed session for a client of `mcp serve`. The request is one
//! JSON object on standard input. Each line of standard output is one: a step for each tool call
//! that ended, and the result at the end.
//!
//! Invariant: it is a separate process, so its guardian, signals, and end are those of a run. It
//! works in the working tree with your uncommitted files, and commits nothing.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::context::RepoContext;
use super::failure::Failure;
use super::paths::canonical;
use super::print::say_as_is;
use super::runtime::runtime;
use super::secret_files::SecretFiles;
use super::walls::RunWalls;
use super::{audit, environment, guardian, launch, models, policy, tier};
use crate::agent::{AgentLaunch, Focus, Gate, Greeting, Session, TurnLimits};
use crate::config::{LayerSettings, Settings, resolve};
use crate::events::run_id;
use crate::guard::{Approval, OsFiles};
use crate::mcp::call_line;
use crate::model::{EventKind, ExitCode, Prompt, Record, RecordError, RunId, SessionId, Turn};
use crate::sys::clock::Clock;
use crate::sys::process::{kill_now, sweep};
use crate::sys::shutdown::Shutdown;

/// How long a session may take to close.
const CLOSE: Duration = Duration::from_secs(5);
/// Time limit for ending the processes that the agent left.
const LEFT_BEHIND: Duration = Duration::from_secs(2);

/// The client's request.
#[derive(Debug, Deserialize, Serialize)]
pub(super) struct CodeRequest {
    pub(super) prompt: String,
    /// The session to go on with.
    pub(super) session: Option<SessionId>,
    pub(super) model: Option<String>,
    /// The turn's limit; without one, the limits of a run's turn count.
    pub(super) timeout_ms: Option<u64>,
    /// May it change something?
    pub(super) use_of_tools: ToolUse,
}

/// The permissions of a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum ToolUse {
    /// Everything that the guard allows.
    Work,
    /// Reading only.
    Read,
}

/// A line before the result.
#[derive(Debug, Deserialize, Serialize)]
pub(super) struct CodeStep {
    /// A tool call that ended, for people.
    pub(super) step: String,
}

/// The result of a code task.
#[derive(Debug, Deserialize, Serialize)]
pub(super) struct CodeResult {
    pub(super) session: SessionId,
    pub(super) turn: Turn,
}

/// Reads the request, works on it, and prints the result.
pub(super) fn code_task(directory: Option<&Path>) -> Result<u8, Failure> {
    let request: CodeRequest = serde_json::from_reader(std::io::stdin().lock())
        .map_err(|error| Failure::new(ExitCode::Usage, error).hint("`mcp serve` starts it"))?;
    let place = RepoContext::find(directory)?;
    let flags = LayerSettings { model: request.model.clone(), ..LayerSettings::default() };
    let settings = resolve(&place.layers(flags, None)?);
    let printed = |step: String| {
        say_as_is(&serde_json::to_string(&CodeStep { step }).unwrap_or_default());
    };
    let result = one_session(&place, &settings, &request, Arc::new(TellSteps(printed)))?;
    let text = serde_json::to_string(&result);
    say_as_is(&text.map_err(|error| Failure::new(ExitCode::Internal, error))?);
    Ok(0)
}

/// Runs one session to its end, as a process of its own would: a signal ends it and this program.
pub(super) fn one_session(
    place: &RepoContext,
    settings: &Settings,
    request: &CodeRequest,
    steps: Arc<dyn Record>,
) -> Result<CodeResult, Failure> {
    place.require_idle()?;
    runtime()?.block_on(async {
        let id = run_id(Clock::system().now(), std::process::id());
        let stop = Shutdown::default();
        let of_signal = id.clone();
        stop.listen(move |signal| {
            kill_now(of_signal.as_str());
            std::process::exit(128 + signal);
        })?;
        let scratch = launch::scratch()?;
        let guardian = guardian::stand_by(&id, scratch.path())?;
        let at = (scratch.path(), &stop);
        let result = session(place, settings, (request, steps), &id, at).await;
        if !sweep(id.as_str(), LEFT_BEHIND).await.left.is_empty() {
            kill_now(id.as_str());
        }
        drop(scratch);
        guardian.dismiss().await;
        match stop.signal() {
            Some(signal) => Err(ended_by(signal)),
            None => result,
        }
    })
}

/// The failure of a command that a signal ended.
pub(super) fn ended_by(signal: i32) -> Failure {
    let code = match signal {
        1 => ExitCode::Sighup,
        2 => ExitCode::Sigint,
        _ => ExitCode::Sigterm,
    };
    Failure::new(code, "ended by a signal")
}

/// Prints the steps. Their contents were redacted when the call ended.
pub(super) struct TellSteps(pub(super) fn(String));

impl Record for TellSteps {
    fn record(&self, kind: EventKind) -> Result<(), RecordError> {
        if let EventKind::ToolFinished { call, .. } = &kind {
            (self.0)(call_line(call));
        }
        Ok(())
    }
}

/// Starts the agent behind its walls, and sends the prompt.
async fn session(
    place: &RepoContext,
    settings: &Settings,
    (request, steps): (&CodeRequest, Arc<dyn Record>),
    id: &RunId,
    (scratch, stop): (&Path, &Shutdown),
) -> Result<CodeResult, Failure> {
    place.repo.exclude(&[".ralph/audit/"])?;
    let chosen = tier::choose(settings.sandbox, place.root())?;
    let secrets = SecretFiles::find(&place.repo, settings)?;
    let tier = (chosen.tier, chosen.programs);
    let walls = Arc::new(RunWalls::of_session(place, settings, tier, scratch, secrets)?);
    let audited = audit::folder(place.root(), &place.cwd);
    let record = audit::beside(steps, &audited, Clock::system(), walls.redactor())?;
    let command = launch::find_agent(settings)?;
    let gate = Gate::new(record, Arc::clone(walls.redactor()), Box::new(OsFiles))
        .with_shells(walls.shells(command.kind)?);
    let gate = Arc::new(gate);
    let mut policy = policy::without_task(place, settings)?;
    let (tmp, cwd) = (scratch.join("tmp"), canonical(&place.cwd));
    policy.tmp = Some(tmp.clone());
    policy.tier = walls.tier();
    policy.cwd.clone_from(&cwd);
    if request.use_of_tools == ToolUse::Read {
        policy.approval = Approval::Human;
    }
    gate.focus(Focus { iteration: 0, policy: Arc::new(policy) })?;
    let mount = launch::mount(&command, scratch, &gate, Greeting::Welcome, settings.via, None)?;
    let launch = AgentLaunch {
        environment: launch::environment(command.kind, &tmp, &[])?,
        plugin: mount.plugin,
        run: id.clone(),
        cwd,
        folder: scratch.to_owned(),
        home: launch::copilot_home(),
        logs: scratch.join("logs"),
        tools: None,
        gate: Arc::clone(&gate),
        command: walls.agent(&command)?,
    };
    let mut start = launch::starter(launch, settings.via);
    let mut agent = start(models::choose(settings, &command, place.root()).model, None).await?;
    let opened = match &request.session {
        Some(session) => agent.resume(session).await,
        None => agent.open().await,
    };
    let result = match opened {
        Ok(session) => {
            let limits = limits(settings, request.timeout_ms);
            converse(session, &gate, (request, &limits), stop).await
        }
        Err(error) => Err(error.into()),
    };
    agent.stop().await;
    drop(mount.server);
    result
}

fn limits(settings: &Settings, timeout_ms: Option<u64>) -> TurnLimits {
    let asked = timeout_ms.map(Duration::from_millis);
    TurnLimits {
        total: asked.unwrap_or(settings.turn_timeout.0),
        idle: asked.unwrap_or(settings.idle_timeout.0),
        ..TurnLimits::default()
    }
}

/// One prompt in an open session, which is closed afterwards.
async fn converse(
    mut session: Box<dyn Session>,
    gate: &Gate,
    (request, limits): (&CodeRequest, &TurnLimits),
    stop: &Shutdown,
) -> Result<CodeResult, Failure> {
    let id = session.id().clone();
    let prompt = Prompt { text: prompt_text(gate, &request.prompt), cuts: Vec::new() };
    let turn = session.prompt(&prompt, limits, stop.token()).await;
    gate.rest();
    session.close(CLOSE).await;
    gate.check_recorded().map_err(|error| Failure::new(ExitCode::Write, error))?;
    let turn = turn?;
    match turn.undecided.first() {
        Some(undecided) => Err(Failure::new(ExitCode::Tampering, undecided.clone())),
        None => Ok(CodeResult { session: id, turn }),
    }
}

/// The client's words, without secrets. A prompt that began with `/` would be a command of the
/// CLI's own.
fn prompt_text(gate: &Gate, prompt: &str) -> String {
    let context = environment::variable("COPILOT_PROJECT_CONTEXT").filter(|text| !text.is_empty());
    let context = context.map(|context| format!("Project: {context}\n\n")).unwrap_or_default();
    gate.redactor().redact_str(&format!("{context}Task:\n{prompt}")).into_owned()
}
