//! The loop, on one screen, and its two halves: the ledger that knows, and the worker that drives the
//! agent.

use std::path::PathBuf;

use super::EngineError;
use super::crew::{ForeignWork, Jobs, Workers};
use super::decide::{NextStep, next, next_only};
use super::ledger::{Ledger, LedgerParts};
use super::schedule::{Step, schedule};
use super::supervisor::{Worker, WorkerParts};
use crate::model::{CriterionKey, Outcome, Task, Usage};
use crate::verify::VerifyError;

/// Everything a run is made of.
pub struct RunParts {
    /// What it knows.
    pub ledger: LedgerParts,
    /// The agent in its own tree.
    pub worker: WorkerParts,
    /// The workers, if there are several jobs.
    pub jobs: Option<Jobs>,
    /// The only criterion to work on.
    pub only: Option<CriterionKey>,
    /// The work of other machines, for a run that does nothing but land it.
    pub handed_in: Option<Vec<ForeignWork>>,
}

/// A run in progress.
pub struct Run {
    pub(super) ledger: Ledger,
    /// The one that works in the run's own tree; in a worker's process, the only one.
    pub(super) worker: Worker,
    /// The workers, if there are several jobs.
    pub(super) workers: Option<Workers>,
    only: Option<CriterionKey>,
    handed_in: Option<Vec<ForeignWork>>,
}

impl Run {
    /// A run that has not begun.
    ///
    /// # Errors
    /// If state.json cannot be read.
    pub fn new(parts: RunParts) -> Result<Self, EngineError> {
        let RunParts { ledger, worker, jobs, only, handed_in } = parts;
        let jobs = jobs.or_else(|| handed_in.is_some().then(Jobs::none));
        Ok(Self {
            ledger: Ledger::new(ledger, jobs.is_none())?,
            worker: Worker::new(worker),
            workers: jobs.map(Workers::new),
            only,
            handed_in,
        })
    }

    /// Works until there is a reason to stop, and returns it.
    ///
    /// # Errors
    /// If the run itself cannot continue; the agent is still stopped.
    pub async fn to_the_end(&mut self) -> Result<Outcome, EngineError> {
        let worked = self.work().await;
        let dismissed = self.dismiss_workers().await;
        let worked = worked.and_then(|outcome| dismissed.map(|()| outcome));
        self.worker.stop_agent().await;
        self.worker.end_providers().await;
        let worked = match worked {
            Ok(outcome) => self.ledger.prove_end(outcome).await,
            Err(error) => Err(error),
        };
        let worked = worked.map(|outcome| self.ledger.verify_records(outcome));
        let worked = worked.and_then(|outcome| self.ledger.tidy_up(outcome));
        // Nothing follows the last event: providers are gone before it.
        let gone = self.worker.providers_gone(&self.ledger).await;
        match worked.and_then(|outcome| gone.map(|()| outcome)) {
            Ok(outcome) => {
                self.ledger.tell_holdouts()?;
                let ended = self.ledger.end(outcome)?;
                self.ledger.close_rooms();
                Ok(ended)
            }
            Err(error) => {
                // Record why the run ends, if the journal can still be written.
                if let Err(unwritten) = self.ledger.end_for(&error) {
                    tracing::debug!(%unwritten, "the journal does not say why the run ended");
                }
                self.ledger.close_rooms();
                Err(error)
            }
        }
    }

    async fn work(&mut self) -> Result<Outcome, EngineError> {
        let WorkerParts { model, providers, .. } = &self.worker.parts;
        self.ledger.begin(model.clone(), providers.as_deref()).await?;
        if let Some(outcome) = self.ledger.prove_left().await? {
            return Ok(outcome);
        }
        if let Some(handed_in) = self.handed_in.take() {
            return self.land_all(handed_in).await;
        }
        if self.workers.is_some() {
            return self.work_together().await;
        }
        loop {
            if let Some(outcome) = self.ledger.interrupted() {
                return Ok(outcome);
            }
            let task = self.ledger.task()?;
            self.ledger.tell_skipped(&task)?;
            self.ledger.learn_costs();
            let (state, spent) = (&self.ledger.state, &self.ledger.spent);
            let limits = &self.ledger.parts.limits;
            let step = match &self.only {
                Some(only) => next_only(only, &task, state, (spent, limits)),
                None => next(&task, state, spent, limits),
            };
            let outcome = match step {
                NextStep::Stop(outcome) => Some(outcome),
                NextStep::Prove => self.prove(&task).await?,
                NextStep::Work(criterion) => self.iterate(criterion).await?,
            };
            if let Some(outcome) = outcome {
                return Ok(outcome);
            }
        }
    }

    /// The same with several workers.
    async fn work_together(&mut self) -> Result<Outcome, EngineError> {
        self.hire(&self.ledger.task()?).await?;
        loop {
            self.take_reports().await?;
            if let Some(outcome) = self.ledger.interrupted() {
                return Ok(outcome);
            }
            let task = self.ledger.task()?;
            self.ledger.tell_skipped(&task)?;
            self.ledger.learn_costs();
            let step = self.next_together(&task);
            if let (Step::Stop(_) | Step::Prove, Some(workers)) = (&step, &mut self.workers) {
                workers.try_again();
                if !workers.queue.is_empty() {
                    continue;
                }
                let files = workers.put_off.iter().flat_map(|(_, files)| files);
                let paths: Vec<PathBuf> = files.map(|file| file.path.clone()).collect();
                if !paths.is_empty() {
                    return Err(VerifyError::InTheWay { paths }.into());
                }
            }
            let outcome = match step {
                Step::Stop(outcome) => Some(outcome),
                Step::Start(criterion) => self.assign(criterion).await.map(|()| None)?,
                Step::Land => self.land_next().await.map(|()| None)?,
                Step::Wait => self.wait_for_workers().await.map(|()| None)?,
                Step::Alone(criterion) => {
                    self.ledger.works_here = true;
                    self.iterate(criterion).await?
                }
                Step::Prove => self.prove(&task).await?,
            };
            if let Some(outcome) = outcome {
                return Ok(outcome);
            }
        }
    }

    async fn prove(&mut self, task: &Task) -> Result<Option<Outcome>, EngineError> {
        self.worker.stop_agent().await;
        self.ledger.prove(task).await
    }

    fn next_together<'t>(&self, task: &'t Task) -> Step<'t> {
        let Some(workers) = &self.workers else { return Step::Prove };
        let busy = workers.busy();
        // What was handed in has cost what it cost, whether it lands or not.
        let mut spent = self.ledger.spent;
        for delivery in workers.queue.iter().filter(|it| !it.counted) {
            spent.premium_requests += delivery.work.premium_requests;
            spent.usage = Usage::sum([spent.usage, delivery.usage()]);
        }
        schedule(task, &self.ledger.state, (&spent, &self.ledger.parts.limits), workers.crew(&busy))
    }
}
