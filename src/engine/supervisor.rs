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
use crate::agent::{Agent, AgentError, AgentKind, Session, StopHook, TurnLimits};
use crate::events::Emitter;
use crate::model::{Escalate, EventKind, Fault, Outcome, Premium, Record as _};

/// An agent that starts.
type Starting = BoxFuture<'static, Result<Box<dyn Agent>, AgentError>>;

/// Starts the agent, as often as needed, with this model and this effort if they are named.
pub type Starter = Box<dyn FnMut(Option<String>, Option<String>) -> Starting + Send>;

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
    /// What the last attempt at a criterion uses instead.
    pub escalate: Option<Escalate>,
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
    /// The usual model, while another one makes the last attempt at a criterion.
    usual_model: Option<Option<String>>,
    /// Failures of the agent since the last success.
    pub(super) failures: FailureCounts,
}

impl Worker {
    /// One whose agent has not been started.
    pub(super) fn new(parts: WorkerParts) -> Self {
        Self { parts, agent: None, usual_model: None, failures: FailureCounts::default() }
    }

    /// Opens a session, after starting the agent if it is not running.
    pub(super) async fn session(
        &mut self,
        events: &Emitter,
    ) -> Result<Box<dyn Session>, AgentError> {
        let agent = match &mut self.agent {
            Some(agent) => agent,
            None => {
                let escalate = self.parts.escalate.as_ref().filter(|_| self.usual_model.is_some());
                let effort = escalate.and_then(|it| it.effort.clone());
                let agent = (self.parts.start)(self.parts.model.clone(), effort).await?;
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

    /// Lets the last attempt before stuck run with another model or effort, and the next one with
    /// the usual ones. The agent starts anew for that.
    pub(super) async fn escalate(
        &mut self,
        ledger: &Ledger,
        attempt: u32,
    ) -> Result<(), EngineError> {
        let Some(to) = self.parts.escalate.clone() else { return Ok(()) };
        let is_last = attempt >= ledger.parts.limits.attempts;
        if is_last == self.usual_model.is_some() {
            return Ok(());
        }
        if ledger.parts.agent == AgentKind::Other {
            self.parts.escalate = None;
            return ledger.notice(
                "escalate: only the Copilot CLI is told its model and effort, so the last attempt \
                 uses the agent's own",
            );
        }
        self.stop_agent().await;
        if let Some(usual) = self.usual_model.take() {
            self.parts.model = usual;
            return Ok(());
        }
        let model = to.model.clone().or_else(|| self.parts.model.clone());
        self.usual_model = Some(std::mem::replace(&mut self.parts.model, model));
        ledger.notice(&format!("the last attempt runs with {to}"))
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
        let recovery = recover(fault, &mut self.failures, &policy, now);
        // What the usual model and effort can do is not the last attempt's to end.
        if let Recovery::Stop(_) | Recovery::Fallback = recovery
            && let Some(usual) = self.usual_model.take()
        {
            let to = self.parts.escalate.take().unwrap_or_default();
            // Its effort may be all that is refused.
            let other = to.effort.as_ref().and(to.model.as_deref());
            let next = other.unwrap_or("the usual one");
            let why = &fault.message;
            ledger.notice(&format!("escalate: {to} cannot be used, {next} continues: {why}"))?;
            if let Some(other) = other {
                let to = Escalate { model: Some(other.to_owned()), effort: None };
                (self.parts.model, self.parts.escalate) = (to.model.clone(), Some(to));
                self.usual_model = Some(usual);
            } else {
                self.parts.model = usual;
            }
            self.stop_agent().await;
            return Ok(None);
        }
        let delay = match recovery {
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
        ledger.parts.events.record(EventKind::Waiting {
            until,
            reason: fault.message.clone(),
            fault: Some(fault.class),
            worker: None,
        })?;
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
