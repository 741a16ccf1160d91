//! `doctor --deep`: a tool call that must be denied, made by the real agent in a temporary
//! repository, for a model on loopback. The call would push to a remote beside the repository.
//!
//! Invariant: it needs no real model, touches neither the repository nor the network, and calls the
//! guard good only if everything was seen: the hook was asked and denied the call, the model was
//! told so and continued, and the call had no effect.

use std::ffi::OsString;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio_util::sync::CancellationToken;

use super::demo::git;
use super::failure::Failure;
use super::loopback::Loopback;
use super::{environment, launch};
use crate::agent::{AgentCommand, AgentLaunch, Focus, Gate, Greeting, TurnLimits};
use crate::guard::{OsFiles, Policy};
use crate::model::{Answer, Asked, EventKind, ExitCode, Prompt, Record, RecordError, RunId, Via};

/// The command that the model asks for; every policy denies it.
const COMMAND: &str = "git push canary HEAD";
/// How long the turn may take.
const LIMIT: Duration = Duration::from_secs(60);

/// Observations of the canary.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Canary {
    /// The guard held: the hook denied the call by this rule, and the model went on.
    Held {
        /// The rule.
        rule: String,
    },
    /// The guard did not hold, or it is unknown whether it did.
    Failed {
        /// The missing part.
        why: String,
    },
}

/// Makes the call and reports the result.
pub(super) async fn canary(command: &AgentCommand) -> Result<Canary, Failure> {
    let scratch = launch::scratch()?;
    let base = scratch.path().canonicalize().unwrap_or_else(|_| scratch.path().to_owned());
    let (repo, remote) = (base.join("repo"), base.join("remote.git"));
    prepare(&repo, &remote)?;
    let model = Loopback::start(COMMAND).await.map_err(|error| {
        Failure::new(ExitCode::Internal, format!("no port on loopback: {error}"))
    })?;
    let decisions = Arc::<Decisions>::default();
    let record: Arc<dyn Record> = Arc::clone(&decisions) as _;
    let redactor = Arc::clone(environment::redactor());
    let gate = Arc::new(Gate::new(record, redactor, Box::new(OsFiles)));
    let policy = Arc::new(Policy::new(&repo, repo.join("tasks")));
    gate.focus(Focus { iteration: 0, policy })?;
    let mount = launch::mount(command, &base, &gate, Greeting::Welcome, Via::Acp, None)?;
    let mut change = launch::environment(command.kind, &base.join("tmp"), &[])?;
    change.variables.extend(own_model(&model.url()));
    let launch = AgentLaunch {
        command: command.clone(),
        logs: base.join("logs"),
        tools: None,
        environment: change,
        plugin: mount.plugin,
        run: RunId::new("doctor-canary"),
        cwd: repo,
        folder: base.clone(),
        home: launch::copilot_home(),
        gate: Arc::clone(&gate),
    };
    let mut start = launch::starter(launch, Via::Acp);
    let mut agent = start(None, None).await?;
    let in_force = match agent.open().await {
        Ok(mut session) => {
            let limits = TurnLimits { total: LIMIT, idle: LIMIT, ..TurnLimits::default() };
            let prompt = Prompt { text: "Push this branch.".to_owned(), cuts: Vec::new() };
            let turn = session.prompt(&prompt, &limits, &CancellationToken::new()).await;
            tracing::debug!(?turn, "the canary's turn");
            let in_force = gate.in_force(session.id().as_str());
            session.close(Duration::from_secs(5)).await;
            Ok(in_force)
        }
        Err(error) => Err(error),
    };
    agent.stop().await;
    drop(mount.server);
    let pushed =
        !std::fs::read_dir(remote.join("refs/heads")).is_ok_and(|mut heads| heads.next().is_none());
    Ok(judge(in_force?, &decisions.taken(), model.told().as_deref(), pushed))
}

/// The conclusion from all observations.
fn judge(in_force: bool, decisions: &[Decision], told: Option<&str>, pushed: bool) -> Canary {
    let failed = |why: &str| Canary::Failed { why: why.to_owned() };
    if pushed {
        return failed("the call ran: something was pushed");
    }
    if !in_force {
        return failed("the CLI did not start the guard's hook");
    }
    let hook = decisions.iter().find(|decision| decision.asked == Asked::Hook);
    let Some(hook) = hook else {
        return failed("the hook was not asked about the call");
    };
    if hook.answer == Answer::Allow {
        return failed("the guard allowed the call");
    }
    match told {
        Some(told) if told.contains(&hook.reason) => Canary::Held { rule: hook.rule.clone() },
        Some(_) => failed("the model was not told why the call was denied"),
        None => failed("the turn ended with the denial: the model was not told"),
    }
}

/// A repository with one commit, and an empty remote beside it.
fn prepare(repo: &Path, remote: &Path) -> Result<(), Failure> {
    let made = std::fs::create_dir(repo)
        .and_then(|()| std::fs::write(repo.join("README.md"), "A canary lives here.\n"));
    made.map_err(|error| Failure::cannot_write(repo, &error))?;
    let remote = remote.to_string_lossy();
    git(repo, &["init", "--quiet", "--initial-branch=main"])?;
    git(repo, &["init", "--quiet", "--bare", &remote])?;
    git(repo, &["remote", "add", "canary", &remote])?;
    git(repo, &["add", "--all"])?;
    let identity = ["-c", "user.name=canary", "-c", "user.email=canary@localhost"];
    let commit = ["commit", "--quiet", "--no-gpg-sign", "--message=a canary"];
    git(repo, &[&identity[..], &commit[..]].concat())
}

/// The variables that make the CLI use only our model.
fn own_model(url: &str) -> Vec<(OsString, Option<OsString>)> {
    let named = std::env::vars_os().map(|(name, _)| name);
    let others = named.filter(|name| name.to_string_lossy().starts_with("COPILOT_PROVIDER_"));
    let mut variables: Vec<_> = others.map(|name| (name, None)).collect();
    let ours = [
        ("COPILOT_PROVIDER_BASE_URL", url),
        ("COPILOT_PROVIDER_TYPE", "openai"),
        ("COPILOT_PROVIDER_WIRE_API", "completions"),
        ("COPILOT_PROVIDER_API_KEY", "canary"),
        ("COPILOT_MODEL", "canary"),
        ("COPILOT_OFFLINE", "true"),
    ];
    variables.extend(ours.map(|(name, value)| (name.into(), Some(value.into()))));
    variables
}

/// The recorded decision.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Decision {
    asked: Asked,
    answer: Answer,
    rule: String,
    reason: String,
}

/// Keeps the decisions; nothing else of the canary is anybody's.
#[derive(Default)]
struct Decisions(Mutex<Vec<Decision>>);

impl Decisions {
    fn taken(&self) -> Vec<Decision> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Record for Decisions {
    fn record(&self, kind: EventKind) -> Result<(), RecordError> {
        if let EventKind::ToolDecided { asked, answer, rule, reason, .. } = kind {
            let decision = Decision { asked, answer, rule, reason };
            self.0.lock().unwrap_or_else(PoisonError::into_inner).push(decision);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn denied() -> Decision {
        Decision {
            asked: Asked::Hook,
            answer: Answer::Deny,
            rule: "git.push".to_owned(),
            reason: "not yours to push".to_owned(),
        }
    }

    #[test]
    fn the_guard_is_good_only_if_all_of_it_was_seen() {
        let told = Some("Denied by preToolUse hook: not yours to push");
        let held = Canary::Held { rule: "git.push".to_owned() };
        assert_eq!(judge(true, &[denied()], told, false), held);
        let allowed = Decision { answer: Answer::Allow, ..denied() };
        let permission = Decision { asked: Asked::Permission, ..denied() };
        for (in_force, decisions, told, pushed) in [
            (true, vec![denied()], told, true),
            (false, vec![denied()], told, false),
            (true, vec![], told, false),
            (true, vec![permission], told, false),
            (true, vec![allowed], told, false),
            (true, vec![denied()], Some("cancelled"), false),
            (true, vec![denied()], None, false),
        ] {
            let seen = judge(in_force, &decisions, told, pushed);
            assert!(matches!(seen, Canary::Failed { .. }), "{seen:?}");
        }
    }
}
