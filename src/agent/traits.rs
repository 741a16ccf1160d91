//! The interface of every adapter: an agent that opens sessions, and sessions that take prompts.

use std::time::Duration;

use async_trait::async_trait;
use tokio_util::sync::CancellationToken;

use super::error::AgentError;
use super::stuck::TurnLimits;
use crate::model::{AgentIdentity, Fault, FaultClass, Prompt, SessionId, Turn};

/// A running agent: one process for the whole run.
#[async_trait]
pub trait Agent: Send {
    /// The name and version that the agent reports.
    fn identity(&self) -> Option<AgentIdentity>;

    /// The process that serves the run; `None` if each prompt starts its own.
    fn pid(&self) -> Option<u32>;

    /// Opens a fresh session.
    ///
    /// # Errors
    /// If the agent cannot open one; the error's fault says why.
    async fn open(&mut self) -> Result<Box<dyn Session>, AgentError>;

    /// Opens a session of an earlier process again, with its history.
    ///
    /// # Errors
    /// If the session does not exist, or the agent keeps none.
    async fn resume(&mut self, id: &SessionId) -> Result<Box<dyn Session>, AgentError> {
        let message = format!("this agent cannot open session {} again", id.as_str());
        let fault = Fault::new(FaultClass::Protocol, message);
        Err(AgentError::Refused { operation: "session/load", fault })
    }

    /// Stops the agent and every process it started: cancel, close stdin, TERM, KILL.
    async fn stop(self: Box<Self>);
}

/// One conversation with the agent.
#[async_trait]
pub trait Session: Send {
    /// The session's id.
    fn id(&self) -> &SessionId;

    /// Sends a prompt and watches until it is answered or stuck, or `stop` is cancelled. A turn
    /// that ended badly is a [`Turn`] too, with its fault, so that the observations are not lost
    /// with the agent.
    ///
    /// # Errors
    /// Only if an event cannot be recorded.
    async fn prompt(
        &mut self,
        prompt: &Prompt,
        limits: &TurnLimits,
        stop: &CancellationToken,
    ) -> Result<Turn, AgentError>;

    /// Closes the session; the agent keeps running. Waits no longer than `limit`.
    async fn close(self: Box<Self>, limit: Duration) -> Closed;
}

/// The result of closing a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Closed {
    /// The agent confirmed it.
    Confirmed,
    /// The agent did not answer, now or when its turn was cancelled. It may still be at
    /// work; stop it before you look at its changes.
    Unanswered,
}
