//! Agents: open a session, prompt it, watch the turn.
//!
//! Invariant: whatever an agent says is reported as its claim; a [`Turn`] holds
//! what was seen on the wire and what the guard was asked. Protocol details live
//! in `acp/`, and nothing outside it names the SDK. What a turn proves is judged
//! in `verify`, never here.

pub mod acp;
mod arguments;
mod command;
mod decisions;
mod environment;
mod error;
mod fault;
mod gate;
mod guarded;
mod human;
pub mod oneshot;
mod provider;
mod records;
pub mod scripted;
mod stderr;
mod stuck;
mod task_watch;
mod wire_log;

use std::ffi::OsString;
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use async_trait::async_trait;
use tokio::process::Command;
use tokio_util::sync::CancellationToken;

pub use command::{AgentCommand, AgentKind, ProgramLookup};
pub use decisions::{CallStanding, EndedCall, KnownCall};
pub use environment::{ForAgent, for_agent};
pub use error::AgentError;
use fault::{LastWords, ReportedFault};
pub use fault::{classify, classify_json, classify_line, classify_message, hint, reset_in};
pub use gate::{Busy, Focus, Gate, Locate};
pub use guarded::{Greeting, GuardServer, StopHook};
pub use human::{AskHuman, HumanReply, Question};
pub use provider::{PROVIDER_URL, ProviderError, provider_variables};
pub use stuck::{TurnLimits, TurnPulse, observe};

pub use crate::hooks::PluginError;
use crate::model::{AgentIdentity, Prompt, SessionId, Turn};

/// A running agent: one process for the whole run.
#[async_trait]
pub trait Agent: Send {
    /// Who it says it is.
    fn identity(&self) -> Option<AgentIdentity>;

    /// The process that serves the run; none where each prompt has its own.
    fn pid(&self) -> Option<u32>;

    /// Opens a fresh session.
    ///
    /// # Errors
    /// If the agent cannot give one; the error's fault tells why.
    async fn open(&mut self) -> Result<Box<dyn Session>, AgentError>;

    /// Ends the agent and everything it started: cancel, close stdin, TERM, KILL.
    async fn stop(self: Box<Self>);
}

/// One conversation with the agent.
#[async_trait]
pub trait Session: Send {
    /// Its name.
    fn id(&self) -> &SessionId;

    /// Sends a prompt and watches until it is answered, stuck, or `stop` is cancelled.
    /// A turn that ended badly is a [`Turn`] too, with its fault: what was seen until
    /// then must not be lost with the agent.
    ///
    /// # Errors
    /// Only if what happens cannot be recorded.
    async fn prompt(
        &mut self,
        prompt: &Prompt,
        limits: &TurnLimits,
        stop: &CancellationToken,
    ) -> Result<Turn, AgentError>;

    /// Closes it; the agent keeps running. Waits at most `limit`.
    async fn close(self: Box<Self>, limit: Duration) -> Closed;
}

/// What became of a session that was to be closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Closed {
    /// The agent has let go of it.
    Confirmed,
    /// The agent did not answer, now or when its turn was cancelled: it may still be at
    /// work, and has to be stopped before anything it did is looked at.
    Unanswered,
}

/// What an agent's process is given whoever talks to it: environment, folder, and pipes to
/// read its output from.
fn prepare(command: &mut Command, environment: &[(OsString, Option<OsString>)], cwd: &Path) {
    command.current_dir(cwd).stdout(Stdio::piped()).stderr(Stdio::piped());
    for (name, value) in environment {
        match value {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
}
