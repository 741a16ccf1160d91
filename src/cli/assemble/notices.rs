//! Notices before the first iteration.

use crate::agent::{AgentCommand, AgentKind};
use crate::cli::context;
use crate::cli::failure::Failure;
use crate::cli::print::complain;
use crate::config::Settings;
use crate::verify::{Fingerprint, Preflight};

/// Notices from before the run has a journal. If the run does not start, they go to standard
/// error, because they name refs that the user must know of.
#[derive(Debug, Default)]
pub(super) struct Untold(Vec<String>);

impl Untold {
    pub(super) fn add(&mut self, notices: impl IntoIterator<Item = String>) {
        self.0.extend(notices);
    }

    /// Takes the notices, to record them elsewhere.
    pub(super) fn take(&mut self) -> Vec<String> {
        std::mem::take(&mut self.0)
    }
}

impl Drop for Untold {
    fn drop(&mut self) {
        for notice in &self.0 {
            complain(&format!("notice: {notice}"));
        }
    }
}

/// The notices about the repository and the agent.
pub(super) fn notices(
    preflight: &Preflight,
    settings: &Settings,
    command: &AgentCommand,
    identity: Option<String>,
) -> Result<Vec<String>, Failure> {
    let mut notices: Vec<String> = identity.into_iter().collect();
    let human = preflight.human.paths().count();
    if human > 0 {
        notices.push(if human == 1 {
            "1 uncommitted change is yours: it is never committed, reset, or lost".to_owned()
        } else {
            format!(
                "{human} uncommitted changes are yours: they are never committed, reset, or lost"
            )
        });
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
        notices.push(format!(
            "watching hooks and agent settings that could widen permissions: {list}"
        ));
    }
    if command.kind == AgentKind::Other {
        notices.push(
            "this agent has no hooks: the guard only sees its permission requests".to_owned(),
        );
        if settings.model.is_some() {
            notices.push(
                "this agent chooses its own model: `model` only affects how its requests are counted"
                    .to_owned(),
            );
        }
    }
    notices.extend(unknown_variables(&context::unknown_variables()?));
    Ok(notices)
}

/// The notice about variables with our prefix that have no meaning.
pub(in crate::cli) fn unknown_variables(unknown: &[String]) -> Option<String> {
    let means = if unknown.len() == 1 { "means" } else { "mean" };
    let list = unknown.join(", ");
    (!unknown.is_empty()).then(|| format!("{list} {means} nothing to this program"))
}
