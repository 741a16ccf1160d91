//! Failures outside of a run, with their exit codes and hints.

use std::error::Error;
use std::fmt;
use std::path::Path;

use crate::agent::AgentError;
use crate::config::ConfigError;
use crate::engine::EngineError;
use crate::model::{ExitCode, Obstacle};
use crate::prompt::PromptError;
use crate::sandbox::SandboxError;
use crate::verify::VerifyError;

/// The hint if a file cannot be written.
pub(crate) const MAKE_ROOM: &str =
    "free some space or fix the permissions, then run the same command again";

/// The kind of a failure, which decides the exit code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FailureKind {
    Usage,
    Agent,
    Invalid,
    Repository,
    Locked,
    Write,
    Internal,
}

impl FailureKind {
    pub(crate) fn code(self) -> u8 {
        let code = match self {
            Self::Usage => ExitCode::Usage,
            Self::Agent => ExitCode::Agent,
            Self::Invalid => ExitCode::Invalid,
            Self::Repository => ExitCode::Repository,
            Self::Locked => ExitCode::Locked,
            Self::Write => ExitCode::Write,
            Self::Internal => ExitCode::Internal,
        };
        code.number()
    }
}

/// A failure: kind, source and hints.
#[derive(Debug)]
pub(crate) struct Failure {
    pub(crate) kind: FailureKind,
    pub(crate) source: Box<dyn Error + Send + Sync>,
    pub(crate) hints: Vec<String>,
}

impl Failure {
    pub(crate) fn new(kind: FailureKind, source: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self { kind, source: source.into(), hints: Vec::new() }
    }

    /// Fails because one of our files cannot be written.
    pub(crate) fn cannot_write(path: &Path, error: &std::io::Error) -> Self {
        Self::new(FailureKind::Write, format!("cannot write {}: {error}", path.display()))
            .hint(MAKE_ROOM)
    }

    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hints.push(hint.into());
        self
    }

    /// Adds hints.
    pub(crate) fn hints(self, hints: impl IntoIterator<Item = String>) -> Self {
        hints.into_iter().fold(self, Self::hint)
    }

    /// The error and its causes, without the hints.
    pub(crate) fn reason(&self) -> String {
        let mut reason = self.source.to_string();
        let mut said = reason.clone();
        let mut cause = self.source.source();
        while let Some(error) = cause {
            let text = error.to_string();
            if !said.contains(&text) {
                reason.push_str("\n  because: ");
                reason.push_str(&text);
                said = text;
            }
            cause = error.source();
        }
        reason
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "error: {}", self.reason())?;
        for hint in &self.hints {
            write!(f, "\nhint: {hint}")?;
        }
        Ok(())
    }
}

impl From<PromptError> for Failure {
    fn from(error: PromptError) -> Self {
        Self::new(FailureKind::Invalid, error)
    }
}

impl From<VerifyError> for Failure {
    fn from(error: VerifyError) -> Self {
        let kind = if matches!(error, VerifyError::ExcludesWatched { .. }) {
            FailureKind::Locked
        } else if error.cannot_write() {
            FailureKind::Write
        } else {
            FailureKind::Repository
        };
        let hint = error.hint();
        Self::new(kind, error).hints(hint)
    }
}

impl From<ConfigError> for Failure {
    fn from(error: ConfigError) -> Self {
        let hint = error.hint();
        Self::new(FailureKind::Invalid, error).hints(hint)
    }
}

impl From<SandboxError> for Failure {
    fn from(error: SandboxError) -> Self {
        Self::new(FailureKind::Agent, error)
            .hint("run `ralph-copilot doctor` to see which sandbox works on this machine")
    }
}

impl From<AgentError> for Failure {
    fn from(error: AgentError) -> Self {
        let kind = match &error {
            AgentError::Record(_) | AgentError::Prepare { .. } | AgentError::Guard(_) => {
                FailureKind::Write
            }
            AgentError::Command { .. } => FailureKind::Usage,
            AgentError::NotFound { .. }
            | AgentError::Start { .. }
            | AgentError::Refused { .. }
            | AgentError::Silent { .. }
            | AgentError::Lost { .. } => FailureKind::Agent,
        };
        let hint = error.hint();
        Self::new(kind, error).hints(hint)
    }
}

impl From<EngineError> for Failure {
    fn from(error: EngineError) -> Self {
        let kind = match error.obstacle() {
            Obstacle::Invalid => FailureKind::Invalid,
            Obstacle::Repository => FailureKind::Repository,
            Obstacle::Write => FailureKind::Write,
            Obstacle::Agent => FailureKind::Agent,
        };
        let hint = error.hint();
        Self::new(kind, error).hints(hint)
    }
}

/// Standard input cannot be read.
pub(super) fn unreadable(error: std::io::Error) -> Failure {
    Failure::new(FailureKind::Usage, format!("cannot read standard input: {error}"))
        .hint("use a file or a pipe, as in `… < FILE`")
}
