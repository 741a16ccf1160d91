//! Errors that make an agent unusable, and the fault class and hint of each.

use std::path::{Path, PathBuf};

use super::fault::explains_loss;
use crate::hooks::PluginError;
use crate::model::{Fault, FaultClass, RecordError};

/// A failure between the runner and the agent.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "the messages say it")]
pub enum AgentError {
    #[error("`{program}` was not found: {why}")]
    NotFound { program: String, why: String },
    #[error("cannot parse the agent's command `{command}`: {why}")]
    Command { command: String, why: String },
    #[error("cannot start {program}: {source}")]
    Start { program: PathBuf, source: std::io::Error },
    #[error("cannot prepare {path}: {source}")]
    Prepare { path: PathBuf, source: std::io::Error },
    /// The guard cannot be mounted, or was changed.
    #[error(transparent)]
    Guard(#[from] PluginError),
    #[error("{operation} failed: {}", fault.message)]
    Refused { operation: &'static str, fault: Fault },
    #[error("{operation} was not answered within {seconds} s{}{}", doubt(operation), tail(stderr))]
    Silent { operation: &'static str, seconds: u64, stderr: String },
    #[error("the agent was lost during {operation}: {why}{}", tail(stderr))]
    Lost { operation: &'static str, why: String, stderr: String, class: FaultClass },
    /// A decision could not be recorded: the run must stop.
    #[error(transparent)]
    Record(#[from] RecordError),
}

/// What may be wrong with a program that answers nothing at all.
fn doubt(operation: &str) -> &'static str {
    match operation {
        "initialize" => " (does the command speak ACP on its standard streams?)",
        _ => "",
    }
}

/// The most telling line of stderr: the last one that starts with `error`, else the last one
/// with any letters or digits.
fn tail(stderr: &str) -> String {
    let names_itself = |line: &&str| line.to_lowercase().starts_with("error");
    let has_words = |line: &&str| line.chars().any(char::is_alphanumeric);
    let lines = || stderr.lines().map(str::trim);
    match lines().rfind(names_itself).or_else(|| lines().rfind(has_words)) {
        Some(line) => format!("; its last output: {line}"),
        None => String::new(),
    }
}

/// The class of a lost agent's failure: the report in its last lines if that explains the loss,
/// else our own observation. Older lines do not explain it.
fn loss_class(stderr: &str, observed: FaultClass) -> FaultClass {
    let mut lines = stderr.lines().rev().filter(|line| !line.trim().is_empty()).take(5);
    let reported = lines.find_map(super::classify_line);
    reported.filter(|class| explains_loss(*class)).unwrap_or(observed)
}

fn names_copilot(program: &str) -> bool {
    Path::new(program).file_stem().is_some_and(|name| name == "copilot")
}

impl AgentError {
    /// Must the agent's process be stopped after this error?
    pub fn is_final(&self) -> bool {
        match self {
            Self::Silent { .. } | Self::Lost { .. } => true,
            Self::NotFound { .. }
            | Self::Command { .. }
            | Self::Start { .. }
            | Self::Prepare { .. }
            | Self::Guard(_)
            | Self::Refused { .. }
            | Self::Record(_) => false,
        }
    }

    /// The hint for the user; `None` if the fault is ours.
    pub fn hint(&self) -> Option<String> {
        match self {
            // Installing the Copilot CLI does not help a user who named another agent.
            Self::NotFound { program, .. } if !names_copilot(program) => Some(format!(
                "install `{program}`, or name another agent with `--agent '<command>'`; without \
                 `--agent` it is the Copilot CLI"
            )),
            other => other.fault().map(|fault| super::hint(fault.class, None).to_owned()),
        }
    }

    /// The failure as data; `None` if the fault is ours.
    pub fn fault(&self) -> Option<Fault> {
        let class = match self {
            Self::NotFound { .. } | Self::Start { .. } => FaultClass::NotFound,
            Self::Refused { fault, .. } => return Some(fault.clone()),
            Self::Silent { stderr, .. } => loss_class(stderr, FaultClass::Died),
            // What the agent wrote when we hung up does not explain why.
            Self::Lost { class: FaultClass::Protocol, .. } => FaultClass::Protocol,
            Self::Lost { class, stderr, .. } => loss_class(stderr, *class),
            Self::Command { .. } | Self::Prepare { .. } | Self::Guard(_) | Self::Record(_) => {
                return None;
            }
        };
        Some(Fault::new(class, self.to_string()))
    }
}
