//! The shared part of a connection and its sessions: the way to the agent, and the reason for a
//! failed request.

use std::sync::Arc;
use std::time::Duration;

use agent_client_protocol::v1::ConnectionTo;
use agent_client_protocol::{
    Agent as AgentRole, Error as AcpError, is_connection_terminated, is_incoming_transport_closed,
};
use tokio::time::timeout;

use super::answers;
use super::updates::Updates;
use crate::agent::stderr::StderrTail;
use crate::agent::{AgentError, Gate};
use crate::model::FaultClass;
use crate::sys::process::exit_of;

/// How long the agent may take to start, and to open a session.
const START: Duration = Duration::from_secs(90);
/// How long a process may live on after it closed its output.
const LAST_SIGNS: Duration = Duration::from_secs(2);

/// The context of every request: the peer, and the sources that explain a failure.
#[derive(Clone)]
pub(super) struct AgentChannel {
    pub(super) peer: ConnectionTo<AgentRole>,
    pub(super) updates: Arc<Updates>,
    pub(super) gate: Arc<Gate>,
    pub(super) stderr: StderrTail,
    /// The agent's process, if it has one.
    pub(super) pid: Option<u32>,
}

impl AgentChannel {
    /// Converts an error of the SDK: the connection broke, or the agent answered with an error.
    pub(super) async fn failed(&self, operation: &'static str, error: &AcpError) -> AgentError {
        let broken = self.updates.broken();
        if broken.is_none()
            && !is_incoming_transport_closed(error)
            && !is_connection_terminated(error)
        {
            let fault = answers::fault(error);
            return AgentError::Refused { operation, fault };
        }
        let class = if broken.is_some() { FaultClass::Protocol } else { FaultClass::Died };
        let stderr = self.stderr.last_words().await;
        let how = match self.pid {
            Some(pid) if broken.is_none() => exit_of(pid, LAST_SIGNS).await,
            _ => None,
        };
        let how = how.as_deref().unwrap_or("ended");
        let why = broken.unwrap_or_else(|| format!("its process {how}"));
        AgentError::Lost { operation, why, stderr, class }
    }

    /// Waits for an answer, no longer than [`START`].
    pub(super) async fn ask<T>(
        &self,
        operation: &'static str,
        answer: impl Future<Output = Result<T, AcpError>>,
    ) -> Result<T, AgentError> {
        match timeout(START, answer).await {
            Ok(Ok(response)) => Ok(response),
            Ok(Err(error)) => Err(self.failed(operation, &error).await),
            Err(_) => Err(AgentError::Silent {
                operation,
                seconds: START.as_secs(),
                stderr: self.stderr.text(),
            }),
        }
    }
}
