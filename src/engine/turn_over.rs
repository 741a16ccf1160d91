//! The turn of a worker that is over, as an iteration of the run.
//!
//! Invariant: what happened in the turn is recorded in one piece, under the number that the run gives
//! it.

use super::EngineError;
use super::crew::{AtWork, Delivery};
use super::iteration::Iteration;
use super::ledger::Ledger;
use crate::model::{CriterionKey, EventKind, Oid, Record as _};
use crate::task::{self, Tick};
use crate::verify::StateFiles;

impl Ledger {
    /// Begins the iteration whose turn is over: everything from here on is as after a turn in the
    /// run's own tree.
    pub(super) fn open_landing(
        &mut self,
        delivery: &Delivery,
    ) -> Result<Option<Iteration>, EngineError> {
        let (worker, millis) = (delivery.worker, delivery.work.millis);
        let turn = (worker, millis, delivery.events.as_slice());
        let iteration = self.open_turn(&delivery.key, &delivery.base, turn)?;
        let Some(mut iteration) = iteration else { return Ok(None) };
        iteration.premium_requests = delivery.work.premium_requests;
        self.spent.premium_requests += delivery.work.premium_requests;
        self.spent.iterations += u32::from(delivery.work.stopped.is_none() && !delivery.counted);
        Ok(Some(iteration))
    }

    /// Records the turn of a worker that died: its decisions are no secret.
    pub(super) fn record_lost(&mut self, number: usize, work: &AtWork) -> Result<(), EngineError> {
        let millis = u64::try_from(work.begun.elapsed().as_millis()).unwrap_or(u64::MAX);
        let turn = (number, millis, work.events.as_slice());
        match self.open_turn(&work.key, &work.base, turn)? {
            Some(iteration) => self.end_iteration(&iteration, millis),
            None => Ok(()),
        }
    }

    /// Begins the iteration of a turn that is over, and records what happened in it. Returns `None`
    /// if the criterion is no longer open.
    fn open_turn(
        &mut self,
        key: &CriterionKey,
        base: &Oid,
        (worker, turn_millis, events): (usize, u64, &[EventKind]),
    ) -> Result<Option<Iteration>, EngineError> {
        self.follow_human()?;
        // A human may have ticked it meanwhile: that proves nothing, and its work is here.
        if self.state.find(key).is_none_or(|entry| entry.proof.is_none()) {
            self.set_tick(key, Tick::Open)?;
        }
        self.ready()?;
        let task = self.task()?;
        let found = task::find(&task, key).filter(|found| !found.checked).cloned();
        let Some(criterion) = found else { return Ok(None) };
        let attempt = self.next_attempt(key);
        let number = self.state.iteration.saturating_add(1);
        let files = StateFiles::read(self.parts.repo.root(), &self.parts.layout)?;
        let opened = (files, task, criterion);
        let iteration =
            self.iteration(opened, (number, attempt), Some(base.clone()), Default::default())?;
        let iteration = Iteration { spared_git: true, ..iteration };
        self.state.iteration = number;
        let parts = &self.parts;
        let Iteration { number, criterion, checkpoint, .. } = &iteration;
        self.origins.insert(criterion.key.clone(), checkpoint.head.clone());
        self.turns_since.get_or_insert_with(|| checkpoint.head.clone());
        parts.events.record(EventKind::IterationStarted {
            iteration: *number,
            criterion: criterion.key.clone(),
            line: criterion.line,
            attempt,
            checkpoint: checkpoint.clone(),
            worker: Some(worker),
            turn_millis,
        })?;
        for event in events {
            let mut event = event.clone();
            event.renumber(*number);
            if let EventKind::TurnEnded { turn, .. } = &event {
                self.count_tokens(turn);
            } else if let EventKind::Notice { message } = &mut event {
                // Paths in it are those of the worker's tree.
                *message = format!("worker {worker}: {message}");
            }
            self.parts.events.record(event)?;
        }
        Ok(Some(iteration))
    }
}
