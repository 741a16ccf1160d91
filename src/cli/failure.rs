//! Failures outside a run, with their exit codes and hints.

use std::error::Error;
use std::fmt;
use std::path::Path;

use crate::agent::AgentError;
use crate::config::ConfigError;
use crate::engine::EngineError;
use crate::model::ExitCode;
use crate::prompt::PromptError;
use crate::sandbox::SandboxError;
use crate::verify::VerifyError;

/// A failure: the exit code, source and hints.
#[derive(Debug)]
pub(crate) struct Failure {
    pub(crate) code: ExitCode,
    pub(crate) source: Box<dyn Error + Send + Sync>,
    pub(crate) hints: Vec<String>,
}

impl Failure {
    pub(crate) fn new(code: ExitCode, source: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self { code, source: source.into(), hints: Vec::new() }
    }

    /// Fails because one of our files cannot be written.
    pub(crate) fn cannot_write(path: &Path, error: &std::io::Error) -> Self {
        Self::new(ExitCode::Write, format!("cannot write {}: {error}", path.display()))
            .hint(ExitCode::Write.hint())
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
        Self::new(ExitCode::Invalid, error)
    }
}

impl From<VerifyError> for Failure {
    fn from(error: VerifyError) -> Self {
        let code = if matches!(error, VerifyError::ExcludesWatched { .. }) {
            ExitCode::Locked
        } else if error.cannot_write() {
            ExitCode::Write
        } else {
            ExitCode::Repository
        };
        let hint = error.hint();
        Self::new(code, error).hints(hint)
    }
}

impl From<ConfigError> for Failure {
    fn from(error: ConfigError) -> Self {
        let hint = error.hint();
        Self::new(ExitCode::Invalid, error).hints(hint)
    }
}

impl From<SandboxError> for Failure {
    fn from(error: SandboxError) -> Self {
        Self::new(ExitCode::Agent, error)
            .hint("run `ralph-copilot doctor` to see which sandbox works on this machine")
    }
}

impl From<AgentError> for Failure {
    fn from(error: AgentError) -> Self {
        let code = match &error {
            AgentError::Record(_) | AgentError::Prepare { .. } | AgentError::Guard(_) => {
                ExitCode::Write
            }
            AgentError::Command { .. } => ExitCode::Usage,
            AgentError::NotFound { .. }
            | AgentError::Start { .. }
            | AgentError::Refused { .. }
            | AgentError::Silent { .. }
            | AgentError::Lost { .. } => ExitCode::Agent,
        };
        let hint = error.hint();
        Self::new(code, error).hints(hint)
    }
}

impl From<EngineError> for Failure {
    fn from(error: EngineError) -> Self {
        let code = error.obstacle().exit_code();
        let hint = error.hint();
        Self::new(code, error).hints(hint)
    }
}

/// Standard input cannot be read.
pub(super) fn unreadable(error: std::io::Error) -> Failure {
    Failure::new(ExitCode::Usage, format!("cannot read standard input: {error}"))
        .hint("use a file or a pipe, as in `… < FILE`")
}
