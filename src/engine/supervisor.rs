//! The agent's process during a run: start, stop, and the reaction to a failure of the agent or its
//! model.
//!
//! Invariant: an agent that may still be at work is stopped before its work is looked at; no
//! wait is longer than the run's own limit.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use futures::future::BoxFuture;
use tokio::sync::mpsc;

use super::ledger::Ledger;
use super::{EngineError, FailureCounts, Providers, Recovery, RetryLimits, RetryPolicy, recover};
use crate::agent::{Agent, AgentError, Session, StopHook, TurnLimits};
use crate::events::Emitter;
use crate::model::{EventKind, Fault, Outcome, Premium, Record as _};

/// Starts the agent, as often as needed, with this model if one is named.
pub type Starter =
    Box<dyn FnMut(Option<String>) -> BoxFuture<'static, Result<Box<dyn Agent>, AgentError>> + Send>;

/// The cost of a prompt to a model; `None` is the agent's own default model.
pub type PremiumOf = Box<dyn Fn(Option<&str>) -> Premium + Send + Sync>;

/// What drives the agent.
pub struct WorkerParts {
    /// Starts the agent.
    pub start: Starter,
    /// One turn's limits.
    pub turn: TurnLimits,
    /// How long the run may wait for rate limits and the network, in a row.
    pub max_wait: Duration,
    /// How often a failure of the model is retried, if the user sets a limit.
    pub max_retries: Option<u32>,
    /// Whether a prompt costs a premium request; asked for each, as a fallback changes the model.
    pub premium: PremiumOf,
    /// The model that is asked for.
    pub model: Option<String>,
    /// Models to fall back to, in this order, if one is not available; `None` is the agent's own.
    pub fallbacks: VecDeque<Option<String>>,
    /// The tool providers, if the run has a gateway.
    pub providers: Option<Arc<dyn Providers>>,
    /// Hooks that ask whether a turn may end.
    pub stops: mpsc::Receiver<StopHook>,
}

/// An agent, and everything that is asked of it.
pub(super) struct Worker {
    pub(super) parts: WorkerParts,
    agent: Option<Box<dyn Agent>>,
    /// Failures of the agent since the last success.
    pub(super) failures: FailureCounts,
}

impl Worker {
    /// One whose agent has not been started.
    pub(super) fn new(parts: WorkerParts) -> Self {
        Self { parts, agent: None, failures: FailureCounts::default() }
    }

    /// Opens a session, after starting the agent if it is not running.
    pub(super) async fn session(
        &mut self,
        events: &Emitter,
    ) -> Result<Box<dyn Session>, AgentError> {
        let agent = match &mut self.agent {
            Some(agent) => agent,
            None => {
                let agent = (self.parts.start)(self.parts.model.clone()).await?;
                let (identity, pid) = (agent.identity(), agent.pid());
                let agent = self.agent.insert(agent);
                if let Some(pid) = pid {
                    events.record(EventKind::AgentStarted { agent: identity, pid })?;
                }
                agent
            }
        };
        agent.open().await
    }

    /// Stops the agent and its children. The next session starts it again.
    pub(super) async fn stop_agent(&mut self) {
        if let Some(agent) = self.agent.take() {
            agent.stop().await;
        }
    }

    /// Handles a failure of the agent: waits, restarts it, or falls back to another model.
    /// Returns the outcome if the run ends with it.
    pub(super) async fn handle_failure(
        &mut self,
        ledger: &mut Ledger,
        fault: &Fault,
    ) -> Result<Option<Outcome>, EngineError> {
        let retries = RetryLimits {
            most: self.parts.max_retries,
            fallback: !self.parts.fallbacks.is_empty(),
        };
        let policy = RetryPolicy { retries, max_wait: self.parts.max_wait };
        let now = ledger.parts.clock.now();
        let delay = match recover(fault, &mut self.failures, &policy, now) {
            Recovery::Stop(outcome) => return Ok(Some(outcome)),
            Recovery::Fallback => return self.fall_back(ledger).await,
            // A skipped failure in a turn ends the turn and never gets here; without a turn
            // there is nothing to go on with.
            Recovery::Skip => return Ok(Some(Outcome::AgentUnusable { fault: fault.clone() })),
            Recovery::Wait(delay) => delay,
            Recovery::Restart(delay) => {
                self.stop_agent().await;
                delay
            }
        };
        let delay = ledger.within_the_run(delay);
        let until = now + delay;
        ledger.parts.events.record(EventKind::Waiting { until, reason: fault.message.clone() })?;
        tokio::select! {
            () = tokio::time::sleep(delay) => {}
            () = ledger.parts.stop.token().cancelled() => {}
        }
        Ok(None)
    }

    /// Continues with the next model of the list.
    async fn fall_back(&mut self, ledger: &mut Ledger) -> Result<Option<Outcome>, EngineError> {
        if let Some(next) = self.parts.fallbacks.pop_front() {
            let name = |model: &Option<String>| {
                model.clone().unwrap_or_else(|| "the agent's own model".to_owned())
            };
            let (missing, other) = (name(&self.parts.model), name(&next));
            ledger.notice(&format!("{missing} is not available: continuing with {other}"))?;
            self.parts.model = next;
            self.stop_agent().await;
        }
        Ok(None)
    }
}
