//! What every adapter offers: an agent that opens sessions, and sessions that take prompts.

use std::time::Duration;

use async_trait::async_trait;
use tokio_util::sync::CancellationToken;

use super::error::AgentError;
use super::stuck::TurnLimits;
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
