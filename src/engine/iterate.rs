//! One iteration up to its turn: checkpoint, prompt, session, answer.

use std::time::Duration;

use chrono::NaiveDate;
use tokio::time::Instant;

use super::decide::reached;
use super::run::{Premium, Run};
use super::settle::Ending;
use super::{EngineError, Patience, Recovery, recover};
use crate::agent::{AgentError, Session};
use crate::model::{
    Checkpoint, Criterion, EventKind, Fault, FaultClass, Limit, Oid, Outcome, Prompt, Record as _,
    Task, Turn, TurnEnd,
};
use crate::verify::{Fingerprints, Protection, StateFiles};

/// Prompts in one turn: the first, and those after a denial cut it short.
const PROMPTS: u32 = 4;
/// How long a session may take to close.
const CLOSE: Duration = Duration::from_secs(5);

/// What is known of an iteration before its turn.
pub(super) struct Iteration {
    pub(super) number: u32,
    pub(super) task: Task,
    pub(super) criterion: Criterion,
    pub(super) attempt: u32,
    pub(super) checkpoint: Checkpoint,
    /// The commit before the first attempt of this run.
    pub(super) origin: Oid,
    pub(super) files: StateFiles,
    pub(super) settings: Fingerprints,
    pub(super) protection: Protection,
    pub(super) date: NaiveDate,
    pub(super) started: Instant,
    pub(super) premium_requests: u32,
}

/// What became of a turn.
enum Turned {
    /// It came to an end of its own, well or badly.
    Ended(Turn),
    /// The agent or its model failed.
    Failed(Option<Turn>, Fault),
    /// The run ends.
    Stopped(Option<Turn>, Outcome),
}

impl Run {
    /// Works on one criterion once; gives an outcome if the run ends with it.
    pub(super) async fn iterate(
        &mut self,
        task: &Task,
        criterion: &Criterion,
    ) -> Result<Option<Outcome>, EngineError> {
        // The agent comes first: an iteration that cannot be asked for is none.
        let session = match self.session().await {
            Ok(session) => session,
            Err(error) => {
                return match self.failed(None, error)? {
                    Turned::Failed(_, fault) => self.bear(&fault).await,
                    Turned::Stopped(_, outcome) => Ok(Some(outcome)),
                    Turned::Ended(_) => Ok(None),
                };
            }
        };
        let mut iteration = self.open(task, criterion)?;
        let turned = self.turn(session, &mut iteration).await?;
        match turned {
            Turned::Ended(turn) => {
                self.failures = 0;
                self.waited = Duration::ZERO;
                self.spent.iterations += 1;
                Ok(self.settle(iteration, turn, Ending::Whole).await?.outcome)
            }
            Turned::Failed(turn, fault) => {
                let turn = turn.unwrap_or_default();
                let settled = self.settle(iteration, turn, Ending::CutOff).await?;
                if settled.proven || settled.outcome.is_some() {
                    return Ok(settled.outcome);
                }
                self.bear(&fault).await
            }
            Turned::Stopped(turn, outcome) => {
                let settled =
                    self.settle(iteration, turn.unwrap_or_default(), Ending::CutOff).await?;
                Ok(Some(settled.outcome.unwrap_or(outcome)))
            }
        }
    }

    /// Takes the checkpoint and tells the guard what is in focus.
    fn open(&mut self, task: &Task, criterion: &Criterion) -> Result<Iteration, EngineError> {
        let parts = &self.parts;
        let repo = parts.repo.as_ref();
        let checkpoint = repo.checkpoint()?;
        let origin =
            self.origins.entry(criterion.key.clone()).or_insert_with(|| checkpoint.head.clone());
        let exists =
            |path: &std::path::Path| repo.exists_at(&checkpoint.head, path).unwrap_or(true);
        let protection = Protection::of(task, &exists)?;
        let attempt = self.state.find(&criterion.key).map_or(0, |entry| entry.attempts) + 1;
        self.state.iteration += 1;
        let iteration = Iteration {
            number: self.state.iteration,
            task: task.clone(),
            criterion: criterion.clone(),
            attempt,
            origin: origin.clone(),
            files: StateFiles::read(repo.root(), &parts.layout)?,
            settings: repo.settings()?,
            protection,
            date: parts.clock.today(),
            started: Instant::now(),
            premium_requests: 0,
            checkpoint,
        };
        let named = iteration.protection.named();
        parts.gate.focus(parts.rules.for_criterion(iteration.number, criterion, named)?);
        parts.events.record(EventKind::IterationStarted {
            iteration: iteration.number,
            criterion: criterion.key.clone(),
            line: criterion.line,
            attempt,
            checkpoint: iteration.checkpoint.clone(),
        })?;
        Ok(iteration)
    }

    /// Prompts the agent in a fresh session until the turn is over.
    async fn turn(
        &mut self,
        mut session: Box<dyn Session>,
        iteration: &mut Iteration,
    ) -> Result<Turned, EngineError> {
        let prompt = self.prompt_for(iteration)?;
        let turned = self.converse(session.as_mut(), iteration, prompt).await;
        session.close(CLOSE).await;
        turned
    }

    async fn converse(
        &mut self,
        session: &mut dyn Session,
        iteration: &mut Iteration,
        mut prompt: Prompt,
    ) -> Result<Turned, EngineError> {
        let mut whole: Option<Turn> = None;
        for number in 1..=PROMPTS {
            self.count_prompt(session, iteration, &prompt, number > 1)?;
            let turn = match self.watch(session, &prompt).await {
                Ok(turn) => turn,
                Err(error) => return self.failed(whole, error),
            };
            self.parts
                .events
                .record(EventKind::TurnEnded { iteration: iteration.number, turn: turn.clone() })?;
            if let Some(usage) = turn.usage {
                self.spent.tokens = Some(self.spent.tokens.unwrap_or(0) + usage.total);
            }
            let end = turn.end.clone();
            let turn = merge(whole.take(), turn);
            if let Some(signal) = self.parts.stop.signal() {
                return Ok(Turned::Stopped(Some(turn), Outcome::Interrupted { signal }));
            }
            if end == TurnEnd::Interrupted && turn.undecided.is_empty() {
                let outcome = Outcome::LimitReached { limit: Limit::Duration };
                return Ok(Turned::Stopped(Some(turn), outcome));
            }
            if let Some(fault) = turn.fault.clone() {
                return Ok(Turned::Failed(Some(turn), fault));
            }
            match end {
                TurnEnd::CutByDenial { reason } if number < PROMPTS && !self.budget_is_used() => {
                    prompt = self.continuation_for(iteration, &reason)?;
                    whole = Some(turn);
                }
                TurnEnd::Lost => {
                    let message = "the stream was lost: it was cancelled and nobody asked for that";
                    let fault = Fault { class: FaultClass::Died, message: message.to_owned() };
                    return Ok(Turned::Failed(Some(turn), fault));
                }
                TurnEnd::CutByDenial { .. }
                | TurnEnd::EndTurn
                | TurnEnd::Stuck(_)
                | TurnEnd::Interrupted
                | TurnEnd::Other(_) => return Ok(Turned::Ended(turn)),
            }
        }
        // The loop returns with its last prompt at the latest.
        Ok(Turned::Ended(whole.unwrap_or_default()))
    }

    fn count_prompt(
        &mut self,
        session: &dyn Session,
        iteration: &mut Iteration,
        prompt: &Prompt,
        again: bool,
    ) -> Result<(), EngineError> {
        self.parts.events.record(EventKind::PromptSent {
            iteration: iteration.number,
            session: session.id().clone(),
            bytes: prompt.text.len(),
            cuts: prompt.cuts.clone(),
            again,
        })?;
        if self.parts.premium == Premium::Counted {
            iteration.premium_requests += 1;
            self.spent.premium_requests += 1;
        }
        Ok(())
    }

    fn budget_is_used(&mut self) -> bool {
        self.spent.duration = self.started.elapsed();
        matches!(
            reached(&self.spent, &self.parts.limits),
            Some(Limit::Duration | Limit::PremiumRequests)
        )
    }

    /// Prompts, and ends the turn when the run's time is up.
    async fn watch(&self, session: &mut dyn Session, prompt: &Prompt) -> Result<Turn, AgentError> {
        let stop = self.parts.stop.token().child_token();
        let deadline = self.parts.limits.duration.map(|limit| self.started + limit);
        let answer = session.prompt(prompt, &self.parts.turn, &stop);
        tokio::pin!(answer);
        let Some(deadline) = deadline else { return answer.await };
        tokio::select! {
            turn = &mut answer => turn,
            () = tokio::time::sleep_until(deadline) => {
                stop.cancel();
                answer.await
            }
        }
    }

    /// A fresh session of the running agent, which is started if there is none.
    async fn session(&mut self) -> Result<Box<dyn Session>, AgentError> {
        if self.agent.is_none() {
            let agent = (self.parts.start)().await?;
            self.parts
                .events
                .record(EventKind::AgentStarted { agent: agent.identity(), pid: agent.pid() })?;
            self.agent = Some(agent);
        }
        match &mut self.agent {
            Some(agent) => agent.open().await,
            None => Err(AgentError::NotFound {
                program: self.parts.agent_command.clone(),
                why: "it is not running".to_owned(),
            }),
        }
    }

    fn failed(&self, turn: Option<Turn>, error: AgentError) -> Result<Turned, EngineError> {
        if let AgentError::Guard(guard) = &error {
            let outcome = Outcome::Tampered { reason: guard.to_string() };
            return Ok(Turned::Stopped(turn, outcome));
        }
        match error.fault() {
            Some(fault) => Ok(Turned::Failed(turn, fault)),
            None => Err(match error {
                AgentError::Record(error) => error.into(),
                other => EngineError::Agent(other),
            }),
        }
    }

    /// Bears a failure of the agent: waits or restarts, or ends the run.
    async fn bear(&mut self, fault: &Fault) -> Result<Option<Outcome>, EngineError> {
        self.failures += 1;
        let patience = Patience {
            failures: self.failures,
            waited: self.waited,
            max_wait: self.parts.max_wait,
        };
        let delay = match recover(fault, &patience, self.parts.clock.now()) {
            Recovery::Stop(outcome) => return Ok(Some(outcome)),
            Recovery::Wait(delay) => {
                self.waited += delay;
                delay
            }
            Recovery::Restart(delay) => {
                if let Some(agent) = self.agent.take() {
                    agent.stop().await;
                }
                delay
            }
        };
        let until = self.parts.clock.now() + delay;
        self.parts.events.record(EventKind::Waiting { until, reason: fault.message.clone() })?;
        tokio::select! {
            () = tokio::time::sleep(delay) => {}
            () = self.parts.stop.token().cancelled() => {}
        }
        Ok(None)
    }
}

/// Several prompts of one session as one turn.
fn merge(before: Option<Turn>, now: Turn) -> Turn {
    let Some(before) = before else { return now };
    let mut calls = before.calls;
    calls.extend(now.calls);
    let mut undecided = before.undecided;
    undecided.extend(now.undecided);
    Turn {
        calls,
        undecided,
        denied: before.denied + now.denied,
        updates: before.updates + now.updates,
        millis: before.millis + now.millis,
        ..now
    }
}
