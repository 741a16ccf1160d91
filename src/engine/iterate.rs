//! One iteration, on one screen: open a session, take the checkpoint, run the turn, evaluate
//! it, and handle a failure of the agent.

use std::sync::Arc;

use tokio::time::Instant;

use super::evaluate::Evaluated;
use super::iteration::{Completion, Iteration, TurnResult};
use super::ledger::Ledger;
use super::run::Run;
use super::{EngineError, FailureCounts};
use crate::agent::Focus;
use crate::guard::TickRule;
use crate::model::{
    Criterion, CriterionKey, EventKind, FaultClass, Oid, Outcome, Record as _, Task, Turn,
};
use crate::sys::process::reap_orphans;
use crate::task;
use crate::verify::{Fingerprints, StateFiles, TASK};

impl Run {
    /// Works on one criterion once. Returns the outcome if the run ends with it.
    pub(super) async fn iterate(
        &mut self,
        criterion: &Criterion,
    ) -> Result<Option<Outcome>, EngineError> {
        // Background processes of the agent's commands, such as git's maintenance, become our
        // children when their parent ends. A long run must not collect zombies.
        reap_orphans();
        let attempt = self.ledger.next_attempt(&criterion.key);
        self.worker.escalate(&self.ledger, attempt).await?;
        // Open the session first; without one there is no iteration.
        let session = match &criterion.recipe {
            Some(_) => None,
            None => match self.worker.fresh_session(&mut self.ledger).await? {
                Ok(session) => Some(session),
                Err(TurnResult::Failed(_, fault)) => {
                    let outcome = self.worker.handle_failure(&mut self.ledger, &fault).await?;
                    return self.ledger.or_block(&criterion.key, outcome);
                }
                Err(TurnResult::Stopped(_, outcome)) => return Ok(Some(outcome)),
                Err(TurnResult::Ended(_)) => return Ok(None),
            },
        };
        let Some(mut iteration) = self.ledger.open_iteration(criterion)? else {
            if let Some(session) = session {
                self.worker.close_session(&self.ledger, session).await;
            }
            return Ok(None);
        };
        if let Some(providers) = &self.worker.parts.providers {
            providers.begin_iteration();
        }
        let result = match session {
            Some(session) => {
                self.worker.run_turn(&mut self.ledger, session, &mut iteration).await?
            }
            None => self.ledger.recipe(&iteration, self.worker.parts.turn.total).await?,
        };
        self.worker.providers_idle().await?;
        // Processes of the turn must not change the evidence now.
        iteration.spared_git = self.ledger.parts.gate.end_shells()?;
        self.stop_before_holdouts(&criterion.key).await;
        match result {
            TurnResult::Ended(turn) => {
                self.worker.failures = FailureCounts::default();
                self.ledger.spent.iterations += 1;
                Ok(self.ledger.evaluate(iteration, turn, Completion::Whole).await?.outcome)
            }
            TurnResult::Failed(turn, fault) => {
                match self.ledger.evaluate_cut_off(iteration, turn).await? {
                    // The work of a call that ran unasked may be proven; the run ends all the same.
                    Evaluated { outcome: None, proven }
                        if !proven || fault.class == FaultClass::Unasked =>
                    {
                        let outcome = self.worker.handle_failure(&mut self.ledger, &fault).await?;
                        self.ledger.or_block(&criterion.key, outcome)
                    }
                    Evaluated { outcome, .. } => Ok(outcome),
                }
            }
            TurnResult::Stopped(turn, outcome) => {
                let evaluated = self.ledger.evaluate_cut_off(iteration, turn).await?;
                Ok(Some(evaluated.outcome.unwrap_or(outcome)))
            }
        }
    }
}

impl Ledger {
    /// Evaluates a turn that was cut off. It costs an iteration only if it proved the criterion.
    async fn evaluate_cut_off(
        &mut self,
        iteration: Iteration,
        turn: Option<Turn>,
    ) -> Result<Evaluated, EngineError> {
        let turn = turn.unwrap_or_default();
        let evaluated = self.evaluate(iteration, turn, Completion::CutOff).await?;
        self.spent.iterations += u32::from(evaluated.proven);
        Ok(evaluated)
    }

    /// Takes the checkpoint and puts the criterion in the guard's focus. Returns `None` if TASK.md
    /// was edited since the criterion was chosen, so that it is no longer open.
    fn open_iteration(&mut self, criterion: &Criterion) -> Result<Option<Iteration>, EngineError> {
        self.follow_human()?;
        let Some(opened) = self.read_open(&criterion.key)? else { return Ok(None) };
        if opened.2.recipe != criterion.recipe {
            return Ok(None);
        }
        // If the branch was switched or a merge begun since the last turn, an agent would only
        // make it worse.
        self.ready()?;
        let settings = self.parts.repo.settings()?;
        let attempt = self.next_attempt(&criterion.key);
        let number = self.state.iteration.saturating_add(1);
        let origin = self.origins.get(&criterion.key).cloned();
        let iteration = self.iteration(opened, (number, attempt), origin, settings)?;
        self.state.iteration = number;
        self.origins.insert(criterion.key.clone(), iteration.origin.clone());
        self.turns_since.get_or_insert_with(|| iteration.checkpoint.head.clone());
        self.focus_guard(&iteration)?;
        self.parts.events.record(EventKind::IterationStarted {
            iteration: iteration.number,
            criterion: iteration.criterion.key.clone(),
            line: iteration.criterion.line,
            attempt,
            checkpoint: iteration.checkpoint.clone(),
            worker: None,
            turn_millis: 0,
        })?;
        Ok(Some(iteration))
    }

    /// The facts from before a turn. `origin` is the commit before the first attempt at the
    /// criterion; without one, this is the first.
    pub(super) fn iteration(
        &self,
        (files, task, criterion): (StateFiles, Task, Criterion),
        (number, attempt): (u32, u32),
        origin: Option<Oid>,
        settings: Fingerprints,
    ) -> Result<Iteration, EngineError> {
        let checkpoint = self.parts.repo.checkpoint()?;
        Ok(Iteration {
            number,
            attempt,
            origin: origin.unwrap_or_else(|| checkpoint.head.clone()),
            protection: self.protection(&task)?,
            task,
            criterion,
            files,
            settings,
            spared_git: false,
            date: self.parts.clock.today(),
            started: Instant::now(),
            premium_requests: 0,
            sent_back: 0,
            checkpoint,
        })
    }

    /// Reads the state files, and finds a criterion in them. `None` if it is not open there. Read once
    /// for the prompt, the guard and the later comparison: an edit by the human between two reads
    /// would be taken for the agent's.
    pub(super) fn read_open(
        &self,
        key: &CriterionKey,
    ) -> Result<Option<(StateFiles, Task, Criterion)>, EngineError> {
        let layout = &self.parts.layout;
        let files = StateFiles::read(self.parts.repo.root(), layout)?;
        let Some(bytes) = files.bytes(&layout.file(TASK)) else { return Ok(None) };
        let task = task::parse(layout.task(), bytes);
        let found = task::find(&task, key).filter(|found| !found.checked).cloned();
        Ok(found.filter(|_| task::usable(&task)).map(|criterion| (files, task, criterion)))
    }

    /// The number of the next attempt at a criterion, from 1.
    pub(super) fn next_attempt(&self, key: &CriterionKey) -> u32 {
        self.state.find(key).map_or(0, |entry| entry.attempts).saturating_add(1)
    }

    /// Lets the guard decide for this criterion, and follow its box when TASK.md is edited.
    pub(super) fn focus_guard(&self, iteration: &Iteration) -> Result<(), EngineError> {
        let parts = &self.parts;
        let (criterion, named) = (&iteration.criterion, iteration.protection.named());
        let mut policy = parts.policy.clone();
        policy.protect_paths = named.map(|path| policy.workspace.join(path)).collect();
        policy.focus = Some(TickRule { mark: criterion.mark });
        parts.gate.focus(Focus { iteration: iteration.number, policy: Arc::new(policy) })?;
        let (name, key) = (parts.layout.task().to_owned(), criterion.key.clone());
        parts.gate.follow(Box::new(move |bytes| {
            task::find(&task::parse(&name, bytes), &key).map(|found| found.mark)
        }));
        Ok(())
    }
}
