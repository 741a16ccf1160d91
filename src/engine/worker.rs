//! A worker of a run with several jobs: it works on one assignment after the other, in its own tree,
//! and hands in what the agent did.
//!
//! Invariant: it proves nothing, and changes no branch but that of its own tree. The evidence from
//! git and from the guard is complete when the work is handed in.

use std::time::Duration;

use tokio::sync::mpsc;
use tokio::time::Instant;

use super::EngineError;
use super::iteration::{Iteration, TurnResult};
use super::ledger::Ledger;
use super::run::Run;
use super::turn::merge;
use super::wire::{Assignment, HandedIn, WorkerAnswer};
use crate::model::{Checkpoint, Outcome, Turn, TurnEnd};
use crate::sys::process::reap_orphans;
use crate::verify::{Baseline, PROGRESS, StateFiles};

impl Run {
    /// Answers assignments until there are no more.
    ///
    /// # Errors
    /// If the worker itself cannot continue; the agent is still stopped.
    pub async fn serve(
        &mut self,
        mut orders: mpsc::Receiver<Assignment>,
        answer: &(dyn Fn(WorkerAnswer) + Sync),
    ) -> Result<(), EngineError> {
        let mut worked = Ok(());
        while let Some(order) = orders.recv().await {
            match self.work_on(order).await {
                Ok(answered) => answer(answered),
                Err(error) => {
                    worked = Err(error);
                    break;
                }
            }
        }
        self.worker.stop_agent().await;
        worked
    }

    async fn work_on(&mut self, order: Assignment) -> Result<WorkerAnswer, EngineError> {
        reap_orphans();
        self.worker.failures = Default::default();
        let Some(mut iteration) = self.ledger.open_assigned(order)? else {
            return Ok(WorkerAnswer::Obsolete);
        };
        self.worker.escalate(&self.ledger, iteration.attempt).await?;
        let (mut before, mut spared_git) = (None, true);
        loop {
            let result = match self.worker.fresh_session(&mut self.ledger).await? {
                Ok(session) => {
                    self.worker.run_turn(&mut self.ledger, session, &mut iteration).await?
                }
                Err(result) => result,
            };
            // Processes of the turn must not change the evidence now.
            spared_git &= self.ledger.parts.gate.end_shells()?;
            let (turn, stopped) = match result {
                TurnResult::Ended(turn) => (turn, None),
                TurnResult::Stopped(turn, outcome) => (turn.unwrap_or_default(), Some(outcome)),
                TurnResult::Failed(turn, fault) => {
                    let turn = turn.unwrap_or_default();
                    let outcome = self.worker.handle_failure(&mut self.ledger, &fault).await?;
                    match outcome.or_else(|| self.ledger.interrupted()) {
                        Some(outcome) => (turn, Some(outcome)),
                        // What it did so far stays in the tree, and counts.
                        None => {
                            before = Some(merge(before, turn));
                            self.ledger.parts.gate.go_on()?;
                            continue;
                        }
                    }
                }
            };
            let turn = merge(before, turn);
            iteration.spared_git = spared_git;
            let handed_in = self.ledger.hand_in(iteration, &turn, stopped)?;
            return Ok(WorkerAnswer::HandedIn(Box::new(handed_in)));
        }
    }
}

impl Ledger {
    /// Takes over what the run knows, and looks at the tree. Returns `None` if the criterion is not
    /// open in it.
    fn open_assigned(&mut self, order: Assignment) -> Result<Option<Iteration>, EngineError> {
        let key = order.criterion;
        (self.started, self.last_head) = (Instant::now(), None);
        self.spent = Default::default();
        self.parts.limits.duration = order.seconds.map(Duration::from_secs);
        self.parts.limits.tokens = order.tokens;
        self.parts.limits.credits = order.credits;
        self.state = order.state;
        self.baseline = Baseline::new(order.baseline);
        self.commit_hooks = order.commit_hooks;
        self.parts.layout = self.parts.layout.clone().with_commit_prefix(&order.commit_prefix);
        self.feedback.insert(key.clone(), order.feedback);
        let Some(opened) = self.read_open(&key)? else { return Ok(None) };
        let settings = self.parts.repo.settings()?;
        let number = (order.iteration, order.attempt);
        let iteration = self.iteration(opened, number, Some(order.base), settings)?;
        self.focus_guard(&iteration)?;
        Ok(Some(iteration))
    }

    fn hand_in(
        &mut self,
        mut iteration: Iteration,
        turn: &Turn,
        stopped: Option<Outcome>,
    ) -> Result<HandedIn, EngineError> {
        self.unlock()?;
        let denials = self.parts.gate.denials();
        let mut collected = self.collect_evidence(&iteration, turn)?;
        self.take_over_git_settings(&mut iteration, &mut collected.evidence)?;
        let parts = &self.parts;
        let repo = parts.repo.as_ref();
        let Checkpoint { head, .. } = repo.checkpoint()?;
        let message =
            format!("{}[{}] - an attempt", parts.layout.prefix(), iteration.criterion.key.text);
        let human = &parts.preflight.human;
        let kept = repo.save_attempt(&parts.layout, 1, &message, human)?.commit;
        let file = parts.layout.file(PROGRESS);
        let now = StateFiles::read(repo.root(), &parts.layout)?;
        let before = iteration.files.bytes(&file).unwrap_or_default();
        let added = now.bytes(&file).and_then(|now| now.strip_prefix(before)).unwrap_or_default();
        Ok(HandedIn {
            criterion: iteration.criterion.key,
            base: iteration.origin,
            head,
            kept,
            evidence: collected.evidence,
            denials,
            stuck: match &turn.end {
                TurnEnd::Stuck(stuck) => Some(stuck.clone()),
                TurnEnd::EndTurn
                | TurnEnd::CutByDenial { .. }
                | TurnEnd::Interrupted
                | TurnEnd::Lost
                | TurnEnd::Other(_) => None,
            },
            stopped,
            progress: String::from_utf8_lossy(added).into_owned(),
            premium_requests: iteration.premium_requests,
            millis: u64::try_from(iteration.started.elapsed().as_millis()).unwrap_or(u64::MAX),
        })
    }
}
