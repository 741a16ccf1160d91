//! `agent`: the built-in scripted agent on standard input and output.

use std::path::Path;

use super::failure::Failure;
use super::paths;
use super::runtime::runtime;
use crate::agent::scripted::{AgentExit, AgentScript, ScriptedError, serve};
use crate::model::ExitCode;

/// Plays a script until the client hangs up.
pub(super) fn agent(directory: Option<&Path>, script: &Path) -> Result<u8, Failure> {
    let script = AgentScript::load(&paths::typed(directory, script)?)?;
    let runtime = runtime()?;
    let ended = runtime.block_on(serve(script, tokio::io::stdin(), tokio::io::stdout()));
    // A read of standard input cannot be taken back: it must not keep the process.
    runtime.shutdown_background();
    match ended? {
        AgentExit::HungUp => Ok(0),
        AgentExit::Exit(code) => Ok(code),
    }
}

impl From<ScriptedError> for Failure {
    fn from(error: ScriptedError) -> Self {
        let kind = match &error {
            ScriptedError::Read { .. } => {
                return Self::new(ExitCode::Invalid, error).hint(
                    "name a script; ralph-copilot's docs/scripted-agent.md describes the format",
                );
            }
            ScriptedError::Parse { .. } => ExitCode::Invalid,
            ScriptedError::Memory { .. } => ExitCode::Write,
            ScriptedError::Signal(_) | ScriptedError::Turn(_) | ScriptedError::Serve(_) => {
                ExitCode::Internal
            }
        };
        Self::new(kind, error)
    }
}
