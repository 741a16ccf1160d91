//! Agents: open a session, prompt it, watch the turn.
//!
//! Invariant: whatever an agent says is reported as its claim; a [`Turn`] holds
//! what was seen on the wire and what the guard was asked. Protocol details live
//! in `acp/`, and nothing outside it names the SDK. What a turn proves is judged
//! in `verify`, never here.

pub mod acp;
mod command;
mod decisions;
mod environment;
mod error;
mod fault;
mod gate;
mod guarded;
mod human;
pub mod scripted;
mod stuck;

use std::time::Duration;

use async_trait::async_trait;
use tokio_util::sync::CancellationToken;

pub use command::{AgentCommand, AgentKind, Lookup};
pub use decisions::{EndedCall, Standing};
pub use environment::{ForAgent, for_agent};
pub use error::AgentError;
pub use fault::{classify_code, classify_text, way_out};
pub use gate::{Focus, Gate};
pub use guarded::{Greeting, GuardServer};
pub use human::{AskHuman, Question, Reply};
pub use stuck::{Pulse, TurnLimits, observe};

pub use crate::hooks::PluginError;
use crate::model::{AgentIdentity, Prompt, SessionId, Turn};

/// A running agent: one process for the whole run.
#[async_trait]
pub trait Agent: Send {
    /// Who it says it is.
    fn identity(&self) -> Option<AgentIdentity>;

    /// Its process id.
    fn pid(&self) -> u32;

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
    LetGo,
    /// The agent did not answer, now or when its turn was cancelled: it may still be at
    /// work, and has to be stopped before anything it did is looked at.
    Unanswered,
}
