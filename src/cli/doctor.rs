//! `doctor`: checks this machine and repository for a run, and shows the source of each setting.
//!
//! To test the login and the guard, it starts the CLI, opens a session, and sends a prompt that
//! the guard's own hook ends before a model is asked. If the CLI says that it loaded no hooks, the
//! prompt is not sent, because a model would answer it. So the test costs nothing. `--deep` lets
//! the CLI try a call that must be denied, with a local test model.

mod bridge;
mod commit_hooks;
mod finding;
mod other_agent;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use tokio_util::sync::CancellationToken;

use self::finding::{DoctorFinding, State, as_json, as_text};
use super::args::DoctorArgs;
use super::canary::{self, Canary};
use super::context::{RepoContext, TaskContext, unknown_variables};
use super::failure::Failure;
use super::models::{self, ModelChoice};
use super::print::{checkpoint_for_people, say, say_json};
use super::runtime::runtime;
use super::signing::Signing;
use super::tier::{self, Chosen};
use super::{assemble, environment, launch};
use crate::agent::{
    AgentCommand, AgentError, AgentKind, AgentLaunch, Focus, Gate, Greeting, Session, TurnLimits,
};
use crate::config::{Settings, resolve};
use crate::guard::{OsFiles, Policy};
use crate::model::{EventKind, FaultClass, Prompt, Record, RecordError, RunId, Tier};

/// Runs all checks. The exit code is that of the first failure.
pub(super) fn doctor(directory: Option<&Path>, args: &DoctorArgs) -> Result<u8, Failure> {
    let mut findings = vec![DoctorFinding::good("version", env!("CARGO_PKG_VERSION"))];
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
    findings: &mut Vec<DoctorFinding>,
) -> Option<Settings> {
    let place = match RepoContext::find(directory) {
        Ok(place) => place,
        Err(failure) => {
            findings.push(DoctorFinding::bad("repository", &failure));
            return None;
        }
    };
    let at = args.task.as_deref().map(|task| TaskContext::find(directory, task));
    let task = match &at {
        Some(Ok(at)) => at.usable().map(Some),
        Some(Err(_)) | None => Ok(None),
    };
    match (&at, &task) {
        (Some(Err(failure)), _) | (_, Err(failure)) => {
            findings.push(DoctorFinding::bad("task", failure))
        }
        (Some(Ok(at)), Ok(_)) => {
            findings.push(DoctorFinding::good("task", at.folder.task_file.display().to_string()));
        }
        (None, Ok(_)) => {}
    }
    let task = task.ok().flatten();
    let mut settings = match place.layers(args.settings.layer(), task.as_ref()) {
        Ok(layers) => resolve(&layers),
        Err(failure) => {
            findings.push(DoctorFinding::bad("settings", &failure));
            return None;
        }
    };
    let chosen = tier::choose(settings.sandbox, place.root());
    let of_task = at.as_ref().and_then(|at| at.as_ref().ok());
    repository(&place, of_task, &settings, findings);
    findings
        .extend(chosen.as_ref().ok().and_then(|chosen| signing(&place, &settings, chosen.tier)));
    findings.extend(commit_hooks::findings(&place, of_task, &settings));
    findings.extend(lock(&place));
    match assemble::templates(&place) {
        Ok(_) => {}
        Err(failure) => findings.push(DoctorFinding::bad("templates", &failure)),
    }
    findings.push(sandbox(&chosen));
    match super::policy::without_task(&place, &settings) {
        Ok(_) => {}
        Err(failure) => findings.push(DoctorFinding::bad("policy", &failure)),
    }
    if let Some(unknown) = unknown_variables().ok().as_deref().and_then(assemble::about_unknown) {
        let hint =
            "unset it, or see ralph-copilot's docs/configuration.md for the variables that exist";
        findings.push(DoctorFinding::note("environment", unknown, hint));
    }
    let (of_bridge, wrong) = bridge::settings(&environment::variable);
    settings.chosen.extend(of_bridge);
    findings.extend(wrong);
    let command = launch::find_agent(&settings);
    let choice = fill_in(&mut settings, command.as_ref().ok(), place.root());
    if let Some(notice) = &choice.notice {
        let hint = "list the models with `copilot help config`, and name one with --model";
        findings.push(DoctorFinding::note("model", notice.trim_start_matches("model: "), hint));
    }
    if settings.agent.is_none() && !launch::own_provider() {
        findings.extend(token(&environment::variable));
    }
    match command {
        Ok(command) => match runtime() {
            Ok(runtime) => runtime.block_on(async {
                findings.extend(other_agent::findings(&command));
                agent(&place, &settings, &command, choice.model, findings).await;
                if args.deep {
                    findings.push(deep(&command).await);
                }
            }),
            Err(failure) => findings.push(DoctorFinding::bad("agent", &failure)),
        },
        Err(failure) => findings.push(DoctorFinding::bad("agent", &failure)),
    }
    Some(settings)
}

/// Fills in the defaults that depend on the agent; returns its models.
fn fill_in(settings: &mut Settings, command: Option<&AgentCommand>, root: &Path) -> ModelChoice {
    // Without a named agent it is the Copilot CLI, installed or not.
    let copilot = settings.agent.is_none();
    let kind = if copilot { AgentKind::Copilot } else { AgentKind::Other };
    let missing = AgentCommand { program: PathBuf::new(), args: Vec::new(), kind };
    let command = command.unwrap_or(&missing);
    let own = match (command.kind, launch::own_provider()) {
        (AgentKind::Other, _) => "(the agent's own)",
        (AgentKind::Copilot, true) => "(the provider's own)",
        (AgentKind::Copilot, false) => "(the CLI's own)",
    };
    let choice = models::choose(settings, command, root);
    for chosen in &mut settings.chosen {
        match chosen.name {
            "model" => chosen.value = choice.model.clone().unwrap_or_else(|| own.to_owned()),
            "agent" if copilot => "copilot --acp".clone_into(&mut chosen.value),
            _ => {}
        }
    }
    choice
}

fn repository(
    place: &RepoContext,
    at: Option<&TaskContext>,
    settings: &Settings,
    findings: &mut Vec<DoctorFinding>,
) {
    let checkpoint = match at {
        Some(at) => assemble::preflight(at, settings).map(|preflight| preflight.checkpoint),
        None => place.repo.checkpoint().map_err(Failure::from),
    };
    findings.push(match checkpoint {
        Ok(checkpoint) => DoctorFinding::good("repository", checkpoint_for_people(&checkpoint)),
        Err(failure) => DoctorFinding::bad("repository", &failure),
    });
    match place.repo.identity(&environment::variable) {
        Ok(Some(identity)) => {
            findings.push(DoctorFinding::good("identity", identity.author.to_string()));
        }
        Ok(None) => findings.push(DoctorFinding::note(
            "identity",
            "git has no user name and email: commits will be by ralph-copilot <ralph-copilot@localhost>",
            "set them with `git config --global user.name NAME` and `git config --global user.email EMAIL`",
        )),
        Err(error) => findings.push(DoctorFinding::bad("identity", &Failure::from(error))),
    }
}

/// Whether commits will be signed, if git or the settings want that.
fn signing(place: &RepoContext, settings: &Settings, tier: Tier) -> Option<DoctorFinding> {
    let signing = match Signing::of(place, settings, tier, None) {
        Ok(signing) => signing,
        Err(failure) => return Some(DoctorFinding::bad("signing", &failure)),
    };
    let notice = signing.notice()?;
    Some(match signing {
        Signing::Agent(_) => DoctorFinding::good("signing", notice),
        Signing::Hidden => {
            let hint = "sign them in the morning, or run with `--sign` or `--sandbox=off`";
            DoctorFinding::note("signing", notice, hint)
        }
        Signing::AsUsual { .. } => {
            DoctorFinding::note("signing", notice, "set `commit.gpgSign` with `git config`")
        }
    })
}

/// The run that works here.
fn lock(place: &RepoContext) -> Option<DoctorFinding> {
    let detail = format!("{} is working in this repository", place.holder()?);
    let hint = "wait for it or end it: a second run in this working tree fails with exit code 9";
    Some(DoctorFinding::note("lock", detail, hint))
}

async fn agent(
    place: &RepoContext,
    settings: &Settings,
    command: &AgentCommand,
    model: Option<String>,
    findings: &mut Vec<DoctorFinding>,
) {
    let Probe { identity, guarded } = match probe(place, settings, command, model).await {
        Ok(probe) => probe,
        Err(failure) => return findings.push(unusable(command, &failure)),
    };
    let shown = command.program.display();
    findings.push(DoctorFinding::good("agent", format!("{identity} ({shown})")));
    let guarded = match guarded {
        Ok(guarded) => guarded,
        Err(error) => {
            let class = error.fault().map(|fault| fault.class);
            let name = if class == Some(FaultClass::Auth) { "login" } else { "session" };
            let finding = DoctorFinding::bad(name, &Failure::from(error));
            let other = command.login().filter(|_| name == "login").map(str::to_owned);
            let hint = other.or_else(|| finding.hint.clone());
            return findings.push(DoctorFinding { hint, ..finding });
        }
    };
    findings.push(DoctorFinding::good("login", "opened a session"));
    findings.push(match (command.kind, guarded) {
        (AgentKind::Copilot, true) => DoctorFinding::good(
            "guard",
            "active: CLI hook and ACP permission requests",
        ),
        (AgentKind::Copilot, false) => DoctorFinding {
            name: "guard",
            state: State::Bad(10),
            detail: "the CLI did not start the guard's hook".to_owned(),
            hint: Some(
                "hooks may be disabled: look for disableAllHooks in .github/copilot/settings.json, .claude/settings.json, and ~/.copilot"
                    .to_owned(),
            ),
        },
        (AgentKind::Other, _) => DoctorFinding::note(
            "guard",
            "this agent has no hooks: the guard only sees its permission requests",
            "no action needed: a tool call without a permission request ends the run with exit code 5",
        ),
    });
}

/// An agent that does not start. The probe's logs are gone, so the hint does not name them.
fn unusable(command: &AgentCommand, failure: &Failure) -> DoctorFinding {
    let finding = DoctorFinding::bad("agent", failure);
    match failure.source.downcast_ref::<AgentError>().and_then(AgentError::fault) {
        Some(fault) if fault.class == FaultClass::Died => {
            let command = launch::describe(command);
            let hint = format!("run `{command}` to see why it does not answer over ACP");
            DoctorFinding { hint: Some(hint), ..finding }
        }
        Some(_) | None => finding,
    }
}

/// Which sandbox this machine can make, tried.
fn sandbox(chosen: &Result<Chosen, Failure>) -> DoctorFinding {
    match chosen {
        Ok(chosen) => {
            let detail = chosen.headline();
            match &chosen.missing {
                Some(missing) => DoctorFinding::note("sandbox", detail, &missing.to_string()),
                None => DoctorFinding::good("sandbox", detail),
            }
        }
        Err(failure) => DoctorFinding::bad("sandbox", failure),
    }
}

/// Whether the guard denies a call that must be denied.
async fn deep(command: &AgentCommand) -> DoctorFinding {
    if command.kind == AgentKind::Other {
        return DoctorFinding::note(
            "canary",
            "the canary works only with the Copilot CLI",
            "run it without --agent to test the guard of the Copilot CLI",
        );
    }
    match canary::canary(command).await {
        Ok(Canary::Held { rule }) => DoctorFinding::good(
            "canary",
            format!(
                "the hook denied a `git push` ({rule}) in a test repository and told the model why; nothing was pushed"
            ),
        ),
        Ok(Canary::Failed { why }) => DoctorFinding {
            name: "canary",
            state: State::Bad(10),
            detail: format!("a call that must be denied was not: {why}"),
            hint: Some(
                "do not start a run with this version of the CLI; report it with this output"
                    .to_owned(),
            ),
        },
        Err(failure) => DoctorFinding::bad("canary", &failure),
    }
}

/// Output of the CLI's own command `/env` when no hook is loaded.
const NO_HOOKS: &str = "No hooks loaded";

struct Probe {
    identity: String,
    /// Whether the guard's hook ran, once a session was open.
    guarded: Result<bool, AgentError>,
}

/// Starts the agent, opens a session, and for Copilot sends a prompt that our hook ends.
async fn probe(
    place: &RepoContext,
    settings: &Settings,
    command: &AgentCommand,
    model: Option<String>,
) -> Result<Probe, Failure> {
    let scratch = launch::scratch()?;
    let redactor = Arc::clone(environment::redactor());
    let gate = Arc::new(Gate::new(Arc::new(Nowhere), redactor, Box::new(OsFiles)));
    let policy = Arc::new(Policy::new(place.root(), place.root().join("tasks")));
    gate.focus(Focus { iteration: 0, policy })?;
    let mount =
        launch::mount(command, scratch.path(), &gate, Greeting::TurnBack, settings.via, None)?;
    let launch = AgentLaunch {
        command: command.clone(),
        environment: launch::environment(command.kind, &scratch.path().join("tmp"), &[])?,
        plugin: mount.plugin,
        run: RunId::new("doctor"),
        cwd: place.root().to_owned(),
        folder: scratch.path().to_owned(),
        home: launch::copilot_home(),
        logs: scratch.path().join("logs"),
        tools: None,
        gate: Arc::clone(&gate),
    };
    let mut start = launch::starter(launch, settings.via);
    let mut agent = start(model, None).await?;
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

/// Whether the guard's hook runs in a session. Closes the session.
async fn guarded(mut session: Box<dyn Session>, gate: &Gate, kind: AgentKind) -> bool {
    let limits = TurnLimits { total: Duration::from_secs(60), ..TurnLimits::default() };
    let stop = CancellationToken::new();
    if kind == AgentKind::Copilot {
        for text in ["/env", "Is the guard active?"] {
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

/// Drops the events of the probe.
struct Nowhere;

impl Record for Nowhere {
    fn record(&self, _: EventKind) -> Result<(), RecordError> {
        Ok(())
    }
}

/// Where the CLI looks for a token, in this order.
const NAMES: [&str; 3] = ["COPILOT_GITHUB_TOKEN", "GH_TOKEN", "GITHUB_TOKEN"];

/// What to say of the token that the CLI takes.
fn token(variable: &dyn Fn(&str) -> Option<String>) -> Option<DoctorFinding> {
    let set = NAMES.iter().map(|name| (name, variable(name).unwrap_or_default()));
    let (name, token) = set.into_iter().find(|(_, token)| !token.is_empty())?;
    let (kind, state) = match token.get(..4)? {
        "ghp_" => ("a classic token, which Copilot refuses", State::Bad(5)),
        "ghs_" => (
            "the token of a job or an app, which Copilot takes only from a job with the \
                    permission `copilot-requests: write`",
            State::Note,
        ),
        _ => return None,
    };
    let hint = "set COPILOT_GITHUB_TOKEN to a fine-grained token of a person with a subscription, \
                with the permission Copilot Requests";
    let detail = format!("the CLI logs in with {name}: {kind}");
    Some(DoctorFinding { name: "token", state, detail, hint: Some(hint.to_owned()) })
}
