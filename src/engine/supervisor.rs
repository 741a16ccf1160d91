//! The agent's process during a run: start, stop, and the reaction to a failure of the agent or its
//! model.
//!
//! Invariant: an agent that may still be at work is stopped before its work is looked at; no
//! wait is longer than the run's own limit.

use std::time::Duration;

use tokio::time::Instant;

use super::run::Run;
use super::{EngineError, Recovery, RetryLimits, RetryPolicy, recover};
use crate::agent::{AgentError, AgentKind, Session};
use crate::model::{EventKind, Fault, FaultClass, Outcome, Record as _};

impl Run {
    /// Opens a session, after starting the agent if it is not running.
    pub(super) async fn session(&mut self) -> Result<Box<dyn Session>, AgentError> {
        let agent = match &mut self.agent {
            Some(agent) => agent,
            None => {
                let escalate = self.parts.escalate.as_ref().filter(|_| self.usual_model.is_some());
                let effort = escalate.and_then(|it| it.effort.clone());
                let agent = (self.parts.start)(self.parts.model.clone(), effort).await?;
                let (identity, pid) = (agent.identity(), agent.pid());
                let agent = self.agent.insert(agent);
                if let Some(pid) = pid {
                    self.parts.events.record(EventKind::AgentStarted { agent: identity, pid })?;
                }
                agent
            }
        };
        agent.open().await
    }

    /// Lets the last attempt before stuck run with another model or effort, and the next one with
    /// the usual ones. The agent starts anew for that.
    pub(super) async fn escalate(&mut self, attempt: u32) -> Result<(), EngineError> {
        let Some(to) = self.parts.escalate.clone() else { return Ok(()) };
        let is_last = attempt >= self.parts.limits.attempts;
        if is_last == self.usual_model.is_some() {
            return Ok(());
        }
        if self.parts.agent == AgentKind::Other {
            self.parts.escalate = None;
            return self.notice(
                "escalate: only the Copilot CLI is told its model and effort, so the last attempt \
                 uses the agent's own",
            );
        }
        self.stop_agent().await;
        let usual = std::mem::replace(&mut self.parts.model, None);
        (self.parts.model, self.usual_model) = match self.usual_model.take() {
            Some(before) => (before, None),
            None => (to.model.clone().or_else(|| usual.clone()), Some(usual)),
        };
        match self.usual_model {
            Some(_) => self.notice(&format!("the last attempt runs with {to}")),
            None => Ok(()),
        }
    }

    /// Stops the agent and its children. The next session starts it again.
    pub(super) async fn stop_agent(&mut self) {
        if let Some(agent) = self.agent.take() {
            agent.stop().await;
        }
    }

    /// The outcome after a signal, if there was one.
    pub(super) fn interrupted(&self) -> Option<Outcome> {
        self.parts.stop.signal().map(|signal| Outcome::Interrupted { signal })
    }

    /// The end of the run's time. `None` without a limit, or if it is too far away to represent.
    pub(super) fn deadline(&self) -> Option<Instant> {
        self.parts.limits.duration.and_then(|limit| self.started.checked_add(limit))
    }

    /// Handles a failure of the agent: waits, restarts it, or falls back to another model.
    /// Returns the outcome if the run ends with it.
    pub(super) async fn handle_failure(
        &mut self,
        fault: &Fault,
    ) -> Result<Option<Outcome>, EngineError> {
        let retries = RetryLimits {
            most: self.parts.max_retries,
            fallback: !self.parts.fallbacks.is_empty(),
        };
        if fault.class == FaultClass::ModelUnavailable
            && let Some(usual) = self.usual_model.take()
        {
            let to = self.parts.escalate.take().unwrap_or_default();
            self.notice(&format!("escalate: {to} is not available: the usual one continues"))?;
            self.parts.model = usual;
            self.stop_agent().await;
            return Ok(None);
        }
        let policy = RetryPolicy { retries, max_wait: self.parts.max_wait };
        let now = self.parts.clock.now();
        let delay = match recover(fault, &mut self.failures, &policy, now) {
            Recovery::Stop(outcome) => return Ok(Some(outcome)),
            Recovery::Fallback => return self.fall_back().await,
            // A skipped failure in a turn ends the turn and never gets here; without a turn
            // there is nothing to go on with.
            Recovery::Skip => return Ok(Some(Outcome::AgentUnusable { fault: fault.clone() })),
            Recovery::Wait(delay) => delay,
            Recovery::Restart(delay) => {
                self.stop_agent().await;
                delay
            }
        };
        let delay = self.within_the_run(delay);
        let until = now + delay;
        self.parts.events.record(EventKind::Waiting { until, reason: fault.message.clone() })?;
        tokio::select! {
            () = tokio::time::sleep(delay) => {}
            () = self.parts.stop.token().cancelled() => {}
        }
        Ok(None)
    }

    /// Continues with the next model of the list.
    async fn fall_back(&mut self) -> Result<Option<Outcome>, EngineError> {
        if let Some(next) = self.parts.fallbacks.pop_front() {
            let name = |model: &Option<String>| {
                model.clone().unwrap_or_else(|| "the agent's own model".to_owned())
            };
            let (missing, other) = (name(&self.parts.model), name(&next));
            self.notice(&format!("{missing} is not available: continuing with {other}"))?;
            self.parts.model = next;
            self.stop_agent().await;
        }
        Ok(None)
    }

    /// Shortens a wait to the time that the run has left.
    fn within_the_run(&self, delay: Duration) -> Duration {
        let left = self.deadline().map(|deadline| deadline.duration_since(Instant::now()));
        left.map_or(delay, |left| left.min(delay))
    }
}
