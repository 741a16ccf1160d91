//! `doctor`: what a run would meet on this machine, what to do about it, and which
//! layer each setting comes from.
//!
//! Whether somebody is logged in and whether the guard comes into force is found out
//! by doing it: the CLI is started, a session is opened, and a prompt is sent that the
//! guard's own hook ends before any model is asked. Where the CLI itself says that it has
//! loaded no hook, that prompt is not sent: a model would answer it. So it costs nothing.
//! `--deep` lets the CLI try what must be denied, for a model on loopback.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::args::DoctorArgs;
use super::canary::{self, Canary};
use super::context::{RepoContext, TaskContext, unknown_variables};
use super::failure::Failure;
use super::launch::{self, Start};
use super::print::{say, say_json};
use super::runtime::runtime;
use super::{assemble, confine, environment};
use crate::agent::{
    AgentCommand, AgentError, AgentKind, Focus, Gate, Greeting, Session, TurnLimits,
};
use crate::config::{Settings, resolve};
use crate::guard::{OsFiles, Policy};
use crate::model::{EventKind, FaultClass, Prompt, Record, RecordError, RunId, Sandbox};
use crate::sys::confine::can_confine;
use crate::verify::Repo as _;

/// One thing that was looked at.
struct Finding {
    name: &'static str,
    state: State,
    detail: String,
    hint: Option<String>,
}

/// How it stands.
#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Good,
    Note,
    /// A run would end with this exit code.
    Bad(u8),
}

impl Finding {
    fn good(name: &'static str, detail: impl Into<String>) -> Self {
        Self { name, state: State::Good, detail: detail.into(), hint: None }
    }

    fn note(name: &'static str, detail: impl Into<String>, hint: &str) -> Self {
        Self { name, state: State::Note, detail: detail.into(), hint: Some(hint.to_owned()) }
    }

    fn bad(name: &'static str, failure: &Failure) -> Self {
        Self {
            name,
            state: State::Bad(failure.kind.code()),
            detail: failure.source.to_string(),
            hint: failure.hints.first().cloned(),
        }
    }
}

/// Looks at everything; the exit code is that of the first problem.
pub(super) fn doctor(directory: Option<&Path>, args: &DoctorArgs) -> Result<u8, Failure> {
    let mut findings = vec![Finding::good("version", env!("CARGO_PKG_VERSION"))];
    let settings = look(directory, args, &mut findings);
    let code = findings.iter().find_map(|finding| match finding.state {
        State::Bad(code) => Some(code),
        State::Good | State::Note => None,
    });
    if args.json {
        say_json(&as_json(&findings, settings.as_ref()));
    } else {
        say(&as_text(&findings, settings.as_ref()));
    }
    Ok(code.unwrap_or(0))
}

fn look(
    directory: Option<&Path>,
    args: &DoctorArgs,
    findings: &mut Vec<Finding>,
) -> Option<Settings> {
    let place = match RepoContext::find(directory) {
        Ok(place) => place,
        Err(failure) => {
            findings.push(Finding::bad("repository", &failure));
            return None;
        }
    };
    let at = args.task.as_deref().map(|task| TaskContext::find(directory, task));
    let task = match &at {
        Some(Ok(at)) => at.usable().map(Some),
        Some(Err(_)) | None => Ok(None),
    };
    match (&at, &task) {
        (Some(Err(failure)), _) | (_, Err(failure)) => findings.push(Finding::bad("task", failure)),
        (Some(Ok(at)), Ok(_)) => {
            findings.push(Finding::good("task", at.folder.task_file.display().to_string()));
        }
        (None, Ok(_)) => {}
    }
    let task = task.ok().flatten();
    let mut settings = match place.layers(args.settings.layer(), task.as_ref()) {
        Ok(layers) => resolve(&layers),
        Err(failure) => {
            findings.push(Finding::bad("settings", &failure));
            return None;
        }
    };
    repository(&place, at.as_ref().and_then(|at| at.as_ref().ok()), &settings, findings);
    match assemble::templates(&place) {
        Ok(_) => {}
        Err(failure) => findings.push(Finding::bad("templates", &failure)),
    }
    findings.extend(sandbox(settings.sandbox));
    match super::policy::without_task(&place, &settings) {
        Ok(_) => {}
        Err(failure) => findings.push(Finding::bad("policy", &failure)),
    }
    if let Some(unknown) = unknown_variables().ok().as_deref().and_then(assemble::about_unknown) {
        let hint = "docs/configuration.md lists those that do";
        findings.push(Finding::note("environment", unknown, hint));
    }
    let command = launch::find_agent(&settings);
    fill_in(&mut settings, command.as_ref().ok());
    match command {
        Ok(command) => match runtime() {
            Ok(runtime) => runtime.block_on(async {
                agent(&place, &settings, &command, findings).await;
                if args.deep {
                    findings.push(deep(&command).await);
                }
            }),
            Err(failure) => findings.push(Finding::bad("agent", &failure)),
        },
        Err(failure) => findings.push(Finding::bad("agent", &failure)),
    }
    Some(settings)
}

/// Names what is taken where nothing was said and it depends on the agent.
fn fill_in(settings: &mut Settings, command: Option<&AgentCommand>) {
    // Whoever names no agent means the Copilot CLI, be it there or not.
    let copilot = settings.agent.is_none();
    let kind = command
        .map_or(if copilot { AgentKind::Copilot } else { AgentKind::Other }, |command| {
            command.kind
        });
    let own = if kind == AgentKind::Copilot { "(the provider's own)" } else { "(the agent's own)" };
    let model = launch::model(settings, kind).unwrap_or_else(|| own.to_owned());
    for chosen in &mut settings.chosen {
        match chosen.name {
            "model" => chosen.value.clone_from(&model),
            "agent" if copilot => "copilot --acp".clone_into(&mut chosen.value),
            _ => {}
        }
    }
}

fn repository(
    place: &RepoContext,
    at: Option<&TaskContext>,
    settings: &Settings,
    findings: &mut Vec<Finding>,
) {
    if let Some(at) = at {
        match assemble::preflight(at, settings) {
            Ok(preflight) => {
                let branch = preflight.checkpoint.branch;
                let head = preflight.checkpoint.head;
                findings.push(Finding::good("repository", format!("{branch} at {}", head.short())));
            }
            Err(failure) => findings.push(Finding::bad("repository", &failure)),
        }
    } else {
        match place.repo.checkpoint() {
            Ok(at) => {
                findings.push(Finding::good(
                    "repository",
                    format!("{} at {}", at.branch, at.head.short()),
                ));
            }
            Err(error) => findings.push(Finding::bad("repository", &Failure::from(error))),
        }
    }
    match place.repo.identity(&environment::variable) {
        Ok(Some(identity)) => {
            findings.push(Finding::good("identity", identity.author.to_string()));
        }
        Ok(None) => findings.push(Finding::note(
            "identity",
            "git knows none: commits will be by ralph-copilot <ralph-copilot@localhost>",
            "git config --global user.name … and user.email …",
        )),
        Err(error) => findings.push(Finding::bad("identity", &Failure::from(error))),
    }
    if let Some(holder) = place.holder() {
        findings.push(Finding::note(
            "lock",
            format!("{holder} works here"),
            "a second run of the same working tree ends with exit code 9",
        ));
    }
}

async fn agent(
    place: &RepoContext,
    settings: &Settings,
    command: &AgentCommand,
    findings: &mut Vec<Finding>,
) {
    let Probe { identity, guarded } = match probe(place, settings, command).await {
        Ok(probe) => probe,
        Err(failure) => return findings.push(Finding::bad("agent", &failure)),
    };
    let shown = command.program.display();
    findings.push(Finding::good("agent", format!("{identity} ({shown})")));
    let guarded = match guarded {
        Ok(guarded) => guarded,
        Err(error) => {
            let class = error.fault().map(|fault| fault.class);
            let name = if class == Some(FaultClass::Auth) { "login" } else { "session" };
            return findings.push(Finding::bad(name, &Failure::from(error)));
        }
    };
    findings.push(Finding::good("login", "a session can be opened"));
    findings.push(match (command.kind, guarded) {
        (AgentKind::Copilot, true) => Finding::good(
            "guard",
            "its hook comes into force, and ACP's permission requests besides",
        ),
        (AgentKind::Copilot, false) => Finding {
            name: "guard",
            state: State::Bad(10),
            detail: "the CLI did not start the guard's hook".to_owned(),
            hint: Some(
                "hooks may be disabled for this trusted folder: look for disableAllHooks in .github/copilot/settings.json, .claude/settings.json and ~/.copilot"
                    .to_owned(),
            ),
        },
        (AgentKind::Other, _) => Finding::note(
            "guard",
            "this agent has no hooks: its permission requests alone are decided",
            "a call that runs unasked ends the run with exit code 10",
        ),
    });
}

/// Whether the confinement that is asked for can be had, if one is.
fn sandbox(asked: Sandbox) -> Option<Finding> {
    if let Err(failure) = confine::check(asked) {
        return Some(Finding::bad("sandbox", &failure));
    }
    match (asked, can_confine()) {
        (Sandbox::Off | Sandbox::Full, _) => None,
        (Sandbox::Required | Sandbox::BestEffort, Ok(())) => {
            Some(Finding::good("sandbox", "the agent can be confined here (Landlock)"))
        }
        (Sandbox::Required | Sandbox::BestEffort, Err(error)) => {
            Some(Finding::note("sandbox", error.to_string(), "the agent will not be confined"))
        }
    }
}

/// Whether the guard holds when the agent tries what must be denied.
async fn deep(command: &AgentCommand) -> Finding {
    if command.kind == AgentKind::Other {
        return Finding::note(
            "canary",
            "this agent asks a model that only it knows",
            "the canary is for the Copilot CLI, which can be given a model on loopback",
        );
    }
    match canary::canary(command).await {
        Ok(Canary::Held { rule }) => Finding::good(
            "canary",
            format!(
                "`git push` in a repository of its own was denied by the hook ({rule}), the model was told why, and nothing was pushed"
            ),
        ),
        Ok(Canary::Failed { why }) => Finding {
            name: "canary",
            state: State::Bad(10),
            detail: format!("a call that must be denied was not denied as it should be: {why}"),
            hint: Some("start no run with this CLI before the reason is found".to_owned()),
        },
        Err(failure) => Finding::bad("canary", &failure),
    }
}

/// What the CLI's own command `/env` says when no hook is loaded.
const NO_HOOKS: &str = "No hooks loaded";

struct Probe {
    identity: String,
    /// Whether the guard's hook came into force, once a session was open.
    guarded: Result<bool, AgentError>,
}

/// Starts the agent, opens a session, and for Copilot sends a prompt that our hook ends.
async fn probe(
    place: &RepoContext,
    settings: &Settings,
    command: &AgentCommand,
) -> Result<Probe, Failure> {
    let scratch = launch::scratch()?;
    let redactor = Arc::clone(environment::redactor());
    let gate = Arc::new(Gate::new(Arc::new(Nowhere), redactor, Box::new(OsFiles)));
    let policy = Arc::new(Policy::new(place.root(), place.root().join("tasks")));
    gate.focus(Focus { iteration: 0, policy })?;
    let mount =
        launch::mount(command, scratch.path(), &gate, Greeting::TurnBack, settings.via, None)?;
    let mut start = launch::starter(Start {
        command: command.clone(),
        via: settings.via,
        environment: launch::environment(command.kind, &scratch.path().join("tmp"), &[])?,
        plugin: mount.plugin,
        run: RunId::new("doctor"),
        cwd: place.root().to_owned(),
        folder: scratch.path().to_owned(),
        home: launch::copilot_home(),
        logs: scratch.path().join("logs"),
        gate: Arc::clone(&gate),
    });
    let mut agent = start(launch::model(settings, command.kind)).await?;
    let identity = agent.identity().map_or_else(
        || "an agent without a name".to_owned(),
        |it| format!("{} {}", it.name, it.version),
    );
    let guarded = match agent.open().await {
        Ok(session) => Ok(guarded(session, &gate, command.kind).await),
        Err(error) => Err(error),
    };
    agent.stop().await;
    drop(mount.server);
    Ok(Probe { identity, guarded })
}

/// Whether the guard's hook comes into force in a session, which is closed then.
async fn guarded(mut session: Box<dyn Session>, gate: &Gate, kind: AgentKind) -> bool {
    let limits = TurnLimits { total: Duration::from_secs(60), ..TurnLimits::default() };
    let stop = CancellationToken::new();
    if kind == AgentKind::Copilot {
        for text in ["/env", "Is the guard in force?"] {
            let prompt = Prompt { text: text.to_owned(), cuts: Vec::new() };
            let turn = session.prompt(&prompt, &limits, &stop).await;
            tracing::debug!(?turn, "the probe's turn");
            if turn.is_ok_and(|turn| turn.said.contains(NO_HOOKS)) {
                break;
            }
        }
    }
    let guarded = gate.in_force(session.id().as_str());
    session.close(Duration::from_secs(5)).await;
    guarded
}

/// The probe's events are nobody's.
struct Nowhere;

impl Record for Nowhere {
    fn record(&self, _: EventKind) -> Result<(), RecordError> {
        Ok(())
    }
}

fn as_json(findings: &[Finding], settings: Option<&Settings>) -> Value {
    let findings: Vec<Value> = findings
        .iter()
        .map(|finding| {
            let (state, code) = match finding.state {
                State::Good => ("good", None),
                State::Note => ("note", None),
                State::Bad(code) => ("bad", Some(code)),
            };
            json!({
                "name": finding.name,
                "state": state,
                "exit_code": code,
                "detail": finding.detail,
                "hint": finding.hint,
            })
        })
        .collect();
    let settings: Vec<Value> = settings
        .iter()
        .flat_map(|settings| &settings.chosen)
        .map(|chosen| {
            json!({ "name": chosen.name, "value": chosen.value, "source": chosen.source.to_string() })
        })
        .collect();
    json!({ "findings": findings, "settings": settings })
}

fn as_text(findings: &[Finding], settings: Option<&Settings>) -> String {
    let mut text = String::new();
    for finding in findings {
        let mark = match finding.state {
            State::Good => "ok  ",
            State::Note => "note",
            State::Bad(_) => "BAD ",
        };
        text.push_str(&format!("{mark}  {:<11} {}\n", finding.name, finding.detail));
        if let Some(hint) = &finding.hint {
            text.push_str(&format!("      {:<11} → {hint}\n", ""));
        }
    }
    if let Some(settings) = settings {
        text.push_str("\nsettings\n");
        for chosen in &settings.chosen {
            // A value that needs more than its column has its source below, in its own.
            let wide = chosen.value.chars().count() > 22;
            let gap = if wide { format!("\n{:48}", "") } else { " ".to_owned() };
            text.push_str(&format!(
                "  {:<22} {:<22}{gap}{}\n",
                chosen.name, chosen.value, chosen.source
            ));
        }
    }
    text.trim_end().to_owned()
}
