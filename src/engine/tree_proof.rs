//! Passes that were seen in the working tree only, and the proof that they still need.
//!
//! Invariant: state.json says `tree` of them until their checks held in a new proof room. So a run
//! that dies before that leaves nothing that looks proven, and the next one proves it first.

use super::EngineError;
use super::ledger::Ledger;
use crate::model::{CriterionKey, Outcome, Proof, ProofMode, Task, Verdict, VerdictResult};

impl Ledger {
    /// A verdict that says where its checks passed.
    pub(super) fn by_place(&self, mut verdict: Verdict) -> Verdict {
        if verdict.result == VerdictResult::Pass(Proof::Check)
            && self.parts.proof != ProofMode::Room
        {
            verdict.result = VerdictResult::Pass(Proof::Tree);
        }
        verdict
    }

    /// The proofs of checks at the end of a run.
    pub(super) fn place_proof(&self) -> Proof {
        if self.rooms.is_some() { Proof::Check } else { Proof::Tree }
    }

    /// Proves criteria that an earlier run proved only in the working tree. Returns the outcome if
    /// the run has to end.
    pub(super) async fn prove_left(&mut self) -> Result<Option<Outcome>, EngineError> {
        let task = self.task()?;
        if self.rooms.is_none() || self.seen_in_tree(&task).is_empty() {
            return Ok(None);
        }
        let outcome = self.prove_so_far(&task).await?;
        if outcome.is_none() {
            self.commit_state()?;
        }
        Ok(outcome)
    }

    /// Records the remaining ones as proven after a proof in a room, which removed the proof of
    /// those whose checks failed there.
    pub(super) fn prove_seen_in_tree(&mut self, task: &Task) {
        if self.rooms.is_none() {
            return;
        }
        for key in self.seen_in_tree(task) {
            self.state.entry(&key).proof = Some(Proof::Check);
            self.proven_since_commit.push((key, Proof::Check));
            // There is state to commit, even without an iteration.
            self.worked_at_all = true;
        }
    }

    /// The ticked criteria with checks that no proof room has seen.
    fn seen_in_tree(&self, task: &Task) -> Vec<CriterionKey> {
        let is_seen = |key| self.state.find(key).is_some_and(|it| it.proof == Some(Proof::Tree));
        let ticked = task.criteria.iter().filter(|it| it.checked && !it.verify.is_empty());
        ticked.filter(|it| is_seen(&it.key)).map(|it| it.key.clone()).collect()
    }
}
