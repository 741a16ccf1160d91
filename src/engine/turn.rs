//! A turn: prompts in one session until the agent is done, fails, or runs out of time.
//!
//! Invariant: when a turn is over, the agent no longer changes anything. An agent that may
//! still be at work is stopped.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::{Instant, sleep, sleep_until};

use super::EngineError;
use super::decide::{Typical, reached};
use super::iteration::{Iteration, TurnResult};
use super::ledger::Ledger;
use super::supervisor::Worker;
use crate::agent::{AgentError, Closed, Session, StopHook, TurnLimits};
use crate::model::{
    Credits, EventKind, Fault, FaultClass, Limit, Outcome, Premium, Prompt, Record as _, Turn,
    TurnEnd,
};

/// Prompts in one turn: the first, and those after a denial cut it short.
const PROMPTS: u32 = 4;
/// How long a session may take to close.
const CLOSE: Duration = Duration::from_secs(5);
/// How long the in-turn check may take. The CLI's hook waits longer than this.
const STOP_CHECK_LIMIT: Duration = Duration::from_secs(45);

impl Worker {
    /// Opens a session to prompt in, or returns why that failed.
    pub(super) async fn fresh_session(
        &mut self,
        ledger: &mut Ledger,
    ) -> Result<Result<Box<dyn Session>, TurnResult>, EngineError> {
        let stop = ledger.parts.stop.token().clone();
        let events = Arc::clone(&ledger.parts.events);
        let opened = tokio::select! {
            biased;
            () = stop.cancelled() => None,
            opened = self.session(events.as_ref()) => Some(opened),
        };
        match opened {
            Some(Ok(session)) => Ok(Ok(session)),
            Some(Err(error)) => {
                if error.is_final() {
                    self.stop_agent().await;
                }
                agent_failure(error).map(Err)
            }
            None => {
                // The agent may be in the middle of opening a session.
                self.stop_agent().await;
                let outcome = ledger.interrupted().unwrap_or(Outcome::Interrupted { signal: 2 });
                Ok(Err(TurnResult::Stopped(None, outcome)))
            }
        }
    }

    /// Prompts the agent in a fresh session until the turn is over, then closes the session.
    pub(super) async fn run_turn(
        &mut self,
        ledger: &mut Ledger,
        mut session: Box<dyn Session>,
        iteration: &mut Iteration,
    ) -> Result<TurnResult, EngineError> {
        let result = match ledger.prompt_for(iteration) {
            Ok(prompt) => self.converse(ledger, session.as_mut(), iteration, prompt).await,
            Err(error) => Err(error),
        };
        ledger.parts.gate.rest();
        self.close_session(ledger, session).await;
        ledger.parts.gate.check_recorded()?;
        if let Ok(TurnResult::Failed(Some(turn), _)) = &result
            && turn.end == TurnEnd::Lost
        {
            self.stop_agent().await;
        }
        result
    }

    /// Closes a session, and stops the agent if it does not confirm. After a signal the agent
    /// is stopped at once: the whole run has 7 s to end.
    pub(super) async fn close_session(&mut self, ledger: &Ledger, session: Box<dyn Session>) {
        let ended = ledger.interrupted().is_some();
        let limit = if ended { Duration::ZERO } else { CLOSE };
        match session.close(limit).await {
            Closed::Confirmed if !ended => {}
            Closed::Confirmed | Closed::Unanswered => self.stop_agent().await,
        }
    }

    /// Sends prompts until one is not cut short by a denial.
    async fn converse(
        &mut self,
        ledger: &mut Ledger,
        session: &mut dyn Session,
        iteration: &mut Iteration,
        mut prompt: Prompt,
    ) -> Result<TurnResult, EngineError> {
        let mut whole: Option<Turn> = None;
        for number in 1..=PROMPTS {
            let events = self.add_events(ledger, iteration, session.id(), &mut prompt)?;
            self.record_prompt(ledger, session, iteration, &prompt, number > 1)?;
            let turn = match self.prompt_and_watch(ledger, session, &prompt, iteration).await? {
                Ok(turn) => turn,
                Err(error) => {
                    self.put_back(events);
                    return agent_failure(error);
                }
            };
            self.record_turn(ledger, iteration, &turn)?;
            let end = turn.end.clone();
            let turn = merge(whole.take(), turn);
            if let Some(outcome) = ledger.interrupted() {
                return Ok(TurnResult::Stopped(Some(turn), outcome));
            }
            if end == TurnEnd::Interrupted && turn.undecided.is_empty() {
                let outcome = Outcome::LimitReached { limit: ledger.limit_within_a_turn() };
                return Ok(TurnResult::Stopped(Some(turn), outcome));
            }
            match turn.fault.clone() {
                Some(fault) if fault.class.is_skipped() => {
                    ledger.notice(&format!("skipped: {}", fault.message))?;
                    return Ok(TurnResult::Ended(turn));
                }
                Some(fault) => return Ok(TurnResult::Failed(Some(turn), fault)),
                None => {}
            }
            match end {
                TurnEnd::CutByDenial { reason } if number < PROMPTS && !ledger.budget_is_used() => {
                    prompt = ledger.continuation_for(iteration, &reason)?;
                    whole = Some(turn);
                }
                TurnEnd::Lost => {
                    let message = "the agent reported a cancellation that was not requested";
                    let fault = Fault::new(FaultClass::Died, message);
                    return Ok(TurnResult::Failed(Some(turn), fault));
                }
                TurnEnd::CutByDenial { .. }
                | TurnEnd::EndTurn
                | TurnEnd::Stuck(_)
                | TurnEnd::Interrupted
                | TurnEnd::Other(_) => return Ok(TurnResult::Ended(turn)),
            }
        }
        // The last prompt always returns above.
        Ok(TurnResult::Ended(whole.unwrap_or_default()))
    }

    /// Sends one prompt, answers the hook that asks whether the turn may end, and cancels the
    /// turn when the run's time is up.
    async fn prompt_and_watch(
        &mut self,
        ledger: &mut Ledger,
        session: &mut dyn Session,
        prompt: &Prompt,
        iteration: &mut Iteration,
    ) -> Result<Result<Turn, AgentError>, EngineError> {
        let stop = ledger.parts.stop.token().child_token();
        let [tokens, credits] = ledger.left();
        let limits = TurnLimits { tokens, credits, ..self.parts.turn };
        let answer = session.prompt(prompt, &limits, &stop);
        tokio::pin!(answer);
        let end = run_deadline(ledger.deadline());
        tokio::pin!(end);
        loop {
            let StopHook { session, answer: waiting } = tokio::select! {
                biased;
                turn = &mut answer => return Ok(turn),
                () = &mut end, if !stop.is_cancelled() => {
                    stop.cancel();
                    continue;
                }
                Some(asked) = self.parts.stops.recv() => asked,
            };
            // The check ends with the turn, and cleans up after itself even then.
            let over = stop.child_token();
            let mut turn = None;
            let reply = {
                let check = ledger.check_before_stop(iteration, &session, &over);
                tokio::pin!(check);
                let limit = sleep(STOP_CHECK_LIMIT);
                tokio::pin!(limit);
                loop {
                    tokio::select! {
                        biased;
                        reply = &mut check => break reply?,
                        ended = &mut answer, if turn.is_none() => {
                            turn = Some(ended);
                            over.cancel();
                        }
                        () = &mut end, if !stop.is_cancelled() => stop.cancel(),
                        () = &mut limit, if !over.is_cancelled() => over.cancel(),
                    }
                }
            };
            if let Some(turn) = turn {
                return Ok(turn);
            }
            // A hook that no longer waits has let the turn end by itself.
            if waiting.is_closed() {
                continue;
            }
            let (reply, events) = self.add_events_to_answer(ledger, iteration, &session, reply)?;
            if waiting.send(reply).is_err() {
                self.put_back(events);
            }
        }
    }

    fn record_prompt(
        &self,
        ledger: &Ledger,
        session: &dyn Session,
        iteration: &Iteration,
        prompt: &Prompt,
        again: bool,
    ) -> Result<(), EngineError> {
        ledger.parts.events.record(EventKind::PromptSent {
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

    /// Records a turn, and counts its tokens and its premium request.
    fn record_turn(
        &self,
        ledger: &mut Ledger,
        iteration: &mut Iteration,
        turn: &Turn,
    ) -> Result<(), EngineError> {
        let ended = EventKind::TurnEnded { iteration: iteration.number, turn: turn.clone() };
        ledger.parts.events.record(ended)?;
        if self.is_premium() && turn.reached_model() {
            iteration.premium_requests += 1;
            ledger.spent.premium_requests += 1;
        }
        ledger.count_tokens(turn);
        Ok(())
    }

    /// Does a prompt to the model in use cost a premium request?
    fn is_premium(&self) -> bool {
        (self.parts.premium)(self.parts.model.as_deref()) == Premium::Counted
    }
}

impl Ledger {
    pub(super) fn count_tokens(&mut self, turn: &Turn) {
        if let Some(usage) = turn.usage {
            self.spent.usage = Some(self.spent.usage.unwrap_or_default().plus(usage));
        }
    }

    /// Tokens and thousandths of a credit that are left, as far as they are limited.
    pub(super) fn left(&self) -> [Option<u64>; 2] {
        let (used, limits) = (self.spent.usage.unwrap_or_default(), &self.parts.limits);
        let credits = Credits::counted(used.credits);
        [
            limits.tokens.map(|limit| limit.saturating_sub(used.total)),
            limits.credits.map(|limit| limit.saturating_sub(credits)),
        ]
    }

    /// Counts what the iterations took that ended since the last call.
    pub(super) fn learn_costs(&mut self) {
        self.spent.duration = self.started.elapsed();
        let (now, before) = (self.spent, self.counted);
        let ended = now.iterations.saturating_sub(before.iterations);
        if ended > 0 {
            let usage = now.usage.unwrap_or_default().since(before.usage.unwrap_or_default());
            // Several that landed together share it.
            let each = (now.duration.saturating_sub(before.duration) / ended, usage);
            self.costs.push(each);
            self.spent.typical = Typical::of(&self.costs);
            self.counted = now;
        }
    }

    fn budget_is_used(&mut self) -> bool {
        self.spent.duration = self.started.elapsed();
        matches!(
            reached(&self.spent, &self.parts.limits),
            Some(Limit::Duration | Limit::PremiumRequests | Limit::Tokens | Limit::AiCredits)
        )
    }

    /// The limit for which a turn was cancelled.
    fn limit_within_a_turn(&self) -> Limit {
        match self.deadline() {
            Some(deadline) if Instant::now() >= deadline => Limit::Duration,
            // The CLI keeps its own count of credits, and may end a turn before ours does.
            Some(_) | None => match self.left() {
                [Some(0), _] | [_, None] => Limit::Tokens,
                [_, Some(_)] => Limit::AiCredits,
            },
        }
    }
}

/// Returns when the run's time is up, or never if it has no limit.
async fn run_deadline(deadline: Option<Instant>) {
    match deadline {
        Some(deadline) => sleep_until(deadline).await,
        None => std::future::pending().await,
    }
}

/// A failure of the agent outside a turn.
fn agent_failure(error: AgentError) -> Result<TurnResult, EngineError> {
    if let AgentError::Guard(guard) = &error {
        let outcome = Outcome::Tampered { reason: guard.to_string() };
        return Ok(TurnResult::Stopped(None, outcome));
    }
    match error.fault() {
        Some(fault) => Ok(TurnResult::Failed(None, fault)),
        None => Err(match error {
            AgentError::Record(error) => error.into(),
            other => EngineError::Agent(other),
        }),
    }
}

/// Several prompts as one turn.
pub(super) fn merge(before: Option<Turn>, now: Turn) -> Turn {
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
