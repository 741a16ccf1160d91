//! The landing of work that other machines handed in.
//!
//! Invariant: it passes through the same queue and the same proof as a worker's. Of a machine's own
//! words, only two count: that the work is done, which is proven here, and how many attempts failed.

use std::collections::BTreeSet;

use super::EngineError;
use super::crew::{Delivery, ForeignWork};
use super::decide::next_ready;
use super::ledger::Ledger;
use super::run::Run;
use super::wire::HandedIn;
use crate::agent::Denials;
use crate::model::{Attribution, CriterionKey, Evidence, Outcome, TaskFileChange};
use crate::verify::VerifyError;

impl Run {
    /// Takes over the attempts of other machines, and lands what they did.
    pub(super) async fn land_all(
        &mut self,
        handed_in: Vec<ForeignWork>,
    ) -> Result<Outcome, EngineError> {
        for (at, work) in handed_in.iter().enumerate() {
            self.ledger.take_over(work);
            if let (true, Some(workers)) = (work.done, &mut self.workers) {
                workers.queue.push(delivery(at + 1, work));
            }
        }
        while let Some(workers) = &mut self.workers {
            if let Some(outcome) = self.ledger.interrupted() {
                return Ok(outcome);
            }
            if workers.queue.is_empty() {
                workers.try_again();
            }
            if workers.queue.is_empty() {
                break;
            }
            self.land_next().await?;
        }
        let put_off = self.workers.iter().flat_map(|it| &it.put_off).flat_map(|(_, files)| files);
        let paths: Vec<_> = put_off.map(|file| file.path.clone()).collect();
        if !paths.is_empty() {
            return Err(VerifyError::InTheWay { paths }.into());
        }
        for work in handed_in.iter().filter(|work| !work.done) {
            self.ledger.count_foreign(work)?;
        }
        self.ledger.commit_state()?;
        let task = self.ledger.task()?;
        let proven = match next_ready(&task, &self.ledger.state) {
            Some(_) => None,
            None => self.ledger.prove(&task).await?,
        };
        let keys: BTreeSet<_> = handed_in.iter().map(|work| &work.key).collect();
        let is_done = |key: &&&CriterionKey| self.ledger.state.is_proven(key);
        let (landed, of) = (keys.iter().filter(is_done).count(), keys.len());
        Ok(proven.unwrap_or(Outcome::Landed { landed, of }))
    }
}

impl Ledger {
    fn take_over(&mut self, work: &ForeignWork) {
        let most = self.parts.limits.attempts;
        self.state.attempt_refs = self.state.attempt_refs.max(work.kept.number.saturating_add(1));
        self.worked_at_all = true;
        let entry = self.state.entry(&work.key);
        if entry.proof.is_none() {
            // Work that is done has an attempt left.
            let most = if work.done { most.saturating_sub(1) } else { most };
            let all = entry.attempts.saturating_add(work.attempts).min(most);
            entry.attempts = entry.attempts.max(all);
        }
    }

    /// Tells of attempts that failed elsewhere, and blocks a criterion that has none left.
    fn count_foreign(&mut self, work: &ForeignWork) -> Result<(), EngineError> {
        let ForeignWork { key, kept, attempts, .. } = work;
        self.notice(&format!(
            "{} is not done: {attempts} failed attempts on another machine; kept in {}",
            key.quoted(),
            kept.name
        ))?;
        let entry = self.state.entry(key);
        let is_open = entry.proof.is_none() && entry.held.is_none() && !entry.blocked;
        if is_open && entry.attempts >= self.parts.limits.attempts {
            let why = format!("the attempts on another machine failed: git log -p {}", kept.name);
            let kept = Some(kept.name.clone());
            self.block_criterion(key, self.state.iteration, &why, kept)?;
        }
        Ok(())
    }
}

/// Work as a worker hands it in, without evidence: that is collected here.
fn delivery(worker: usize, work: &ForeignWork) -> Delivery {
    let unchanged = TaskFileChange::none(Attribution::Unchanged);
    Delivery {
        worker,
        key: work.key.clone(),
        base: work.base.clone(),
        events: Vec::new(),
        kept: Some(work.kept.clone()),
        from_afar: true,
        counted: false,
        work: HandedIn {
            criterion: work.key.clone(),
            base: work.base.clone(),
            head: work.head.clone(),
            kept: work.kept.commit.clone(),
            evidence: Evidence::none(work.key.clone(), unchanged),
            denials: Denials::default(),
            stuck: None,
            stopped: None,
            progress: String::new(),
            premium_requests: 0,
            millis: 0,
        },
    }
}
