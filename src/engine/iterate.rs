//! One iteration up to its turn: checkpoint, prompt, session, answer.

use std::time::Duration;

use chrono::NaiveDate;
use tokio::time::Instant;

use super::decide::reached;
use super::evaluate::Completion;
use super::run::Run;
use super::{EngineError, FailureCounts};
use crate::agent::{AgentError, Closed, Session};
use crate::model::{
    Checkpoint, Criterion, EventKind, Fault, FaultClass, Limit, Oid, Outcome, Premium, Prompt,
    Record as _, Task, Turn, TurnEnd,
};
use crate::sys::process::reap_orphans;
use crate::task;
use crate::verify::{Fingerprints, Protection, StateFiles, TASK};

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
    /// How often the agent was sent back to work when it wanted to stop.
    pub(super) sent_back: u32,
}

/// What became of a turn.
pub(super) enum Turned {
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
        criterion: &Criterion,
    ) -> Result<Option<Outcome>, EngineError> {
        // What the agent's commands left running in the background, as git's maintenance,
        // comes to us when it ends: a long run must not collect it.
        reap_orphans();
        // The agent comes first: an iteration that cannot be asked for is none.
        let session = match &criterion.recipe {
            Some(_) => None,
            None => match self.fresh_session().await? {
                Ok(session) => Some(session),
                Err(Turned::Failed(_, fault)) => return self.handle_failure(&fault).await,
                Err(Turned::Stopped(_, outcome)) => return Ok(Some(outcome)),
                Err(Turned::Ended(_)) => return Ok(None),
            },
        };
        let Some(mut iteration) = self.open(criterion)? else {
            if let Some(session) = session {
                self.close_session(session).await;
            }
            return Ok(None);
        };
        let turned = match session {
            Some(session) => self.turn(session, &mut iteration).await?,
            None => self.recipe(&iteration).await?,
        };
        // Nothing that the turn started may act on what is judged now.
        self.parts.gate.end_shells()?;
        match turned {
            Turned::Ended(turn) => {
                self.failures = FailureCounts::default();
                self.spent.iterations += 1;
                Ok(self.evaluate(iteration, turn, Completion::Whole).await?.outcome)
            }
            Turned::Failed(turn, fault) => {
                let turn = turn.unwrap_or_default();
                let evaluated = self.evaluate(iteration, turn, Completion::CutOff).await?;
                self.spent.iterations += u32::from(evaluated.proven);
                if evaluated.proven || evaluated.outcome.is_some() {
                    return Ok(evaluated.outcome);
                }
                self.handle_failure(&fault).await
            }
            Turned::Stopped(turn, outcome) => {
                let evaluated =
                    self.evaluate(iteration, turn.unwrap_or_default(), Completion::CutOff).await?;
                self.spent.iterations += u32::from(evaluated.proven);
                Ok(Some(evaluated.outcome.unwrap_or(outcome)))
            }
        }
    }

    /// Takes the checkpoint and tells the guard what is in focus. `None` if TASK.md was
    /// edited since the criterion was chosen, so that there is nothing to do for it.
    fn open(&mut self, criterion: &Criterion) -> Result<Option<Iteration>, EngineError> {
        let parts = &self.parts;
        let repo = parts.repo.as_ref();
        // One reading serves the prompt, the guard and the comparison afterwards: what the
        // human writes between two readings would be taken for the agent's.
        let files = StateFiles::read(repo.root(), &parts.layout)?;
        let Some(bytes) = files.bytes(&parts.layout.file(TASK)) else { return Ok(None) };
        let task = task::parse(parts.layout.task(), bytes);
        let found = task::find(&task, &criterion.key)
            .filter(|found| !found.checked && found.recipe == criterion.recipe);
        let Some(criterion) = found.filter(|_| task::usable(&task)).cloned() else {
            return Ok(None);
        };
        // Where somebody changed the branch or began a merge since the last turn, an agent
        // would only make it worse.
        self.ready()?;
        let checkpoint = repo.checkpoint()?;
        let origin =
            self.origins.entry(criterion.key.clone()).or_insert_with(|| checkpoint.head.clone());
        // A file that an earlier attempt created is work, and not yet part of the check.
        let exists = |path: &std::path::Path| repo.exists_at(origin, path).unwrap_or(true);
        let protection =
            Protection::of(&task, &exists)?.with(super::recipe::protected(&task, repo.root()));
        let attempt =
            self.state.find(&criterion.key).map_or(0, |entry| entry.attempts).saturating_add(1);
        self.state.iteration = self.state.iteration.saturating_add(1);
        let iteration = Iteration {
            number: self.state.iteration,
            task,
            criterion,
            attempt,
            origin: origin.clone(),
            files,
            settings: repo.settings()?,
            protection,
            date: parts.clock.today(),
            started: Instant::now(),
            premium_requests: 0,
            sent_back: 0,
            checkpoint,
        };
        let (criterion, named) = (&iteration.criterion, iteration.protection.named());
        let focus = parts.rules.policy_for(iteration.number, criterion, named)?;
        parts.gate.focus(focus)?;
        let (name, key) = (parts.layout.task().to_owned(), criterion.key.clone());
        parts.gate.follow(Box::new(move |bytes| {
            task::find(&task::parse(&name, bytes), &key).map(|found| found.mark)
        }));
        parts.events.record(EventKind::IterationStarted {
            iteration: iteration.number,
            criterion: criterion.key.clone(),
            line: criterion.line,
            attempt,
            checkpoint: iteration.checkpoint.clone(),
        })?;
        Ok(Some(iteration))
    }

    /// A session to prompt in, or why there is none.
    async fn fresh_session(&mut self) -> Result<Result<Box<dyn Session>, Turned>, EngineError> {
        let stop = self.parts.stop.token().clone();
        let opened = tokio::select! {
            biased;
            () = stop.cancelled() => None,
            opened = self.session() => Some(opened),
        };
        match opened {
            Some(Ok(session)) => Ok(Ok(session)),
            Some(Err(error)) => {
                if error.is_final() {
                    self.stop_agent().await;
                }
                self.failed(error).map(Err)
            }
            None => {
                // It may be in the middle of opening a session.
                self.stop_agent().await;
                let outcome = self.interrupted().unwrap_or(Outcome::Interrupted { signal: 2 });
                Ok(Err(Turned::Stopped(None, outcome)))
            }
        }
    }

    /// Prompts the agent in a fresh session until the turn is over. What is looked at
    /// afterwards must not change any more.
    async fn turn(
        &mut self,
        mut session: Box<dyn Session>,
        iteration: &mut Iteration,
    ) -> Result<Turned, EngineError> {
        let turned = match self.prompt_for(iteration) {
            Ok(prompt) => self.converse(session.as_mut(), iteration, prompt).await,
            Err(error) => Err(error),
        };
        self.parts.gate.rest();
        self.close_session(session).await;
        if let Some(broken) = self.parts.gate.take_broken() {
            return Err(broken.into());
        }
        if let Ok(Turned::Failed(Some(turn), _)) = &turned
            && turn.end == TurnEnd::Lost
        {
            self.stop_agent().await;
        }
        turned
    }

    /// Closes a session; an agent that does not let go of it is stopped. So is any agent
    /// when the run is ended from outside: that has 7 s in all, and no time for farewells.
    async fn close_session(&mut self, session: Box<dyn Session>) {
        let ended = self.interrupted().is_some();
        let limit = if ended { Duration::ZERO } else { CLOSE };
        match session.close(limit).await {
            Closed::Confirmed if !ended => {}
            Closed::Confirmed | Closed::Unanswered => self.stop_agent().await,
        }
    }

    async fn converse(
        &mut self,
        session: &mut dyn Session,
        iteration: &mut Iteration,
        mut prompt: Prompt,
    ) -> Result<Turned, EngineError> {
        let mut whole: Option<Turn> = None;
        for number in 1..=PROMPTS {
            self.record_prompt(session, iteration, &prompt, number > 1)?;
            let turn = match self.prompt_and_watch(session, &prompt, iteration).await? {
                Ok(turn) => turn,
                Err(error) => return self.failed(error),
            };
            self.parts
                .events
                .record(EventKind::TurnEnded { iteration: iteration.number, turn: turn.clone() })?;
            self.count_premium(iteration, &turn);
            if let Some(usage) = turn.usage {
                let before = self.spent.tokens.unwrap_or(0);
                self.spent.tokens = Some(before.saturating_add(usage.total));
            }
            let end = turn.end.clone();
            let turn = merge(whole.take(), turn);
            if let Some(outcome) = self.interrupted() {
                return Ok(Turned::Stopped(Some(turn), outcome));
            }
            if end == TurnEnd::Interrupted && turn.undecided.is_empty() {
                let outcome = Outcome::LimitReached { limit: self.limit_within_a_turn() };
                return Ok(Turned::Stopped(Some(turn), outcome));
            }
            match turn.fault.clone() {
                Some(fault) if fault.class.is_skipped() => {
                    self.notice(&format!("skipped: {}", fault.message))?;
                    return Ok(Turned::Ended(turn));
                }
                Some(fault) => return Ok(Turned::Failed(Some(turn), fault)),
                None => {}
            }
            match end {
                TurnEnd::CutByDenial { reason } if number < PROMPTS && !self.budget_is_used() => {
                    prompt = self.continuation_for(iteration, &reason)?;
                    whole = Some(turn);
                }
                TurnEnd::Lost => {
                    let message = "the stream was lost: it was cancelled and nobody asked for that";
                    let fault = Fault::new(FaultClass::Died, message);
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

    fn record_prompt(
        &self,
        session: &dyn Session,
        iteration: &Iteration,
        prompt: &Prompt,
        again: bool,
    ) -> Result<(), EngineError> {
        self.parts.events.record(EventKind::PromptSent {
            iteration: iteration.number,
            session: session.id().clone(),
            bytes: prompt.text.len(),
            cuts: prompt.cuts.clone(),
            again,
            model: self.parts.model.clone(),
            premium: self.is_premium(),
        })?;
        Ok(())
    }

    fn count_premium(&mut self, iteration: &mut Iteration, turn: &Turn) {
        if self.is_premium() && turn.reached_model() {
            iteration.premium_requests += 1;
            self.spent.premium_requests += 1;
        }
    }

    /// Does a prompt to the model in use cost a premium request?
    fn is_premium(&self) -> bool {
        (self.parts.premium)(self.parts.model.as_deref()) == Premium::Counted
    }

    fn budget_is_used(&mut self) -> bool {
        self.spent.duration = self.started.elapsed();
        matches!(
            reached(&self.spent, &self.parts.limits),
            Some(Limit::Duration | Limit::PremiumRequests | Limit::Tokens)
        )
    }

    /// The limit for which a turn was cancelled.
    fn limit_within_a_turn(&self) -> Limit {
        match self.deadline() {
            Some(deadline) if Instant::now() >= deadline => Limit::Duration,
            Some(_) | None => Limit::Tokens,
        }
    }

    /// A failure of the agent outside of a turn.
    fn failed(&self, error: AgentError) -> Result<Turned, EngineError> {
        if let AgentError::Guard(guard) = &error {
            let outcome = Outcome::Tampered { reason: guard.to_string() };
            return Ok(Turned::Stopped(None, outcome));
        }
        match error.fault() {
            Some(fault) => Ok(Turned::Failed(None, fault)),
            None => Err(match error {
                AgentError::Record(error) => error.into(),
                other => EngineError::Agent(other),
            }),
        }
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
