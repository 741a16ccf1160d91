//! What bounds the agent: the guard's rules, and what the operating system lets it write.

use std::path::Path;
use std::sync::Arc;

use crate::agent::{AgentCommand, AgentKind, Shells};
use crate::cli::context::{RepoContext, TaskContext};
use crate::cli::failure::{Failure, FailureKind};
use crate::cli::{confine, launch, shells};
use crate::config::Settings;
use crate::engine::GuardRules;
use crate::guard::{Approval, Redactor, Rules};
use crate::model::Sandbox;
use crate::verify::Preflight;

/// The rules of the run's guard, which are compiled once to see that they can be.
pub(in crate::cli) fn rules(
    at: &TaskContext,
    settings: &Settings,
    preflight: &Preflight,
    scratch: &Path,
) -> Result<GuardRules, Failure> {
    let home = etcetera::home_dir().ok();
    let invalid = |error| Failure::new(FailureKind::Invalid, error);
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
pub(super) fn confined(
    place: &RepoContext,
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

/// Where shell calls run, if a sandbox is asked for.
pub(super) fn shells(
    at: &TaskContext,
    settings: &Settings,
    preflight: &Preflight,
    command: &AgentCommand,
    scratch: &Path,
    redactor: &Arc<Redactor>,
) -> Result<Option<Shells>, Failure> {
    match (settings.sandbox, command.kind) {
        (Sandbox::Full, AgentKind::Copilot) => {}
        (Sandbox::Full, AgentKind::Other) => {
            let text = "--sandbox=full is for the Copilot CLI: other agents have no hooks";
            return Err(Failure::new(FailureKind::Invalid, text)
                .hint("use --sandbox=required to limit where this agent writes"));
        }
        (Sandbox::Off | Sandbox::Required | Sandbox::BestEffort, _) => return Ok(None),
    }
    let bubblewrap = shells::bubblewrap().ok_or_else(|| {
        Failure::new(
            FailureKind::Invalid,
            "--sandbox=full needs bubblewrap, and `bwrap` is not on PATH",
        )
        .hint("install it: apt install bubblewrap, dnf install bubblewrap, apk add bubblewrap")
    })?;
    shells::shells(at, preflight, bubblewrap, scratch, redactor).map(Some)
}
