//! Checks in the proof room: at a commit, and with the harness put back.
//!
//! Invariant: the verdict, the in-turn check, and the last proof use the same path. Without rooms
//! (`proof: tree`) checks run in the working tree.
//!
//! Invariant: state.json says `tree` of them until their checks held in a new proof room. So a run
//! that dies before that leaves nothing that looks proven, and the next one proves it first.

use std::sync::Arc;

use super::EngineError;
use super::ledger::Ledger;
use crate::model::{CriterionKey, Oid, Outcome, Proof, ProofMode, Task, Verdict, VerdictResult};
use crate::verify::{
    Checks, PlannedCheck, ProofRooms, ProofRules, Proved, Purpose, RoomSetup, Shown, Status,
    Warmth, globs, may_change, prove, setup_failed,
};

/// What a proof is about.
#[derive(Clone, Copy)]
pub(super) struct About<'a> {
    pub(super) task: &'a Task,
    /// The criterion that was worked on.
    pub(super) focus: Option<&'a CriterionKey>,
    /// The commit that the work on it began on.
    pub(super) began: Option<&'a Oid>,
    pub(super) depth: ProofDepth,
    /// Whether all of them run once more in a new room if one is red.
    pub(super) retries: bool,
}

/// Whose checks run where they must fail, too.
#[derive(Clone, Copy)]
pub(super) enum ProofDepth {
    /// Nobody's: nothing is proven by it yet.
    Quick,
    /// Those of the criterion in focus.
    Focus,
    /// Those of every criterion that no room proved.
    Unproven,
    /// Nobody's, but the hold-out checks of open criteria run, before any work.
    HoldOuts,
}

impl<'a> About<'a> {
    /// The whole task, and no criterion of it.
    pub(super) fn task(task: &'a Task, depth: ProofDepth) -> Self {
        Self { task, focus: None, began: None, depth, retries: true }
    }

    /// Work on a criterion, since a commit.
    pub(super) fn work(
        task: &'a Task,
        (focus, began): (&'a CriterionKey, &'a Oid),
        depth: ProofDepth,
    ) -> Self {
        Self { task, focus: Some(focus), began: Some(began), depth, retries: true }
    }
}

impl Ledger {
    /// Runs checks on HEAD; in the working tree, if there are no rooms. `status` is the tree's.
    pub(super) async fn run_proof(
        &mut self,
        warmth: Warmth,
        about: About<'_>,
        (planned, checks): (&[PlannedCheck], &dyn Checks),
        status: &Status,
    ) -> Result<Proved, EngineError> {
        if planned.is_empty() && self.held_back(&about).is_empty() {
            return Ok(Proved::default());
        }
        let in_tree = warmth == Warmth::Warm && self.parts.proof != ProofMode::Room;
        if self.rooms.is_none() || in_tree {
            let ran = self.run_checks(checks, planned, status, Purpose::Check).await?;
            // Files that the commands left behind are not blamed on the agent later.
            self.artefacts.extend(ran.artefacts);
            return Ok(Proved { checks: ran.results, ..Proved::default() });
        }
        let commit = self.parts.repo.checkpoint()?.head;
        self.prove_at(warmth, &commit, about, (planned, checks)).await
    }

    /// Proves a commit in a room. It need not be on the branch.
    pub(super) async fn prove_at(
        &mut self,
        warmth: Warmth,
        commit: &Oid,
        about: About<'_>,
        to_run: (&[PlannedCheck], &dyn Checks),
    ) -> Result<Proved, EngineError> {
        let harness = self.harness().cloned();
        self.prove_against(harness.as_ref(), (warmth, commit), about, to_run).await
    }

    /// Proves a commit with another harness than the run's.
    pub(super) async fn prove_against(
        &mut self,
        harness: Option<&Oid>,
        (warmth, commit): (Warmth, &Oid),
        about: About<'_>,
        to_run: (&[PlannedCheck], &dyn Checks),
    ) -> Result<Proved, EngineError> {
        let Some(mut rooms) = self.rooms.take() else { return Ok(Proved::default()) };
        let proved = self.prove_in((&mut rooms, warmth), (commit, harness), about, to_run).await;
        self.rooms = Some(rooms);
        proved
    }

    /// Runs `setup:` in the proof room, before an agent works.
    pub(super) async fn set_up_rooms(&mut self, task: &Task) -> Result<(), EngineError> {
        let setup = RoomSetup::of(&task.settings);
        let Some(mut rooms) = self.rooms.take_if(|_| !setup.commands.is_empty()) else {
            return Ok(());
        };
        let names = setup.commands.iter().map(|it| format!("`{it}`")).collect::<Vec<_>>();
        self.notice(&format!("running {} in the proof room", names.join(", ")))?;
        let repo = Arc::clone(&self.parts.repo);
        let head = repo.checkpoint()?.head;
        let files = repo.files(&head, rooms.human())?;
        let (checks, options) = (Arc::clone(&self.parts.checks), self.check_options(repo.root()));
        let failed = rooms.set_up(&head, &setup, &files, (checks.as_ref(), &options)).await;
        self.rooms = Some(rooms);
        match failed? {
            Some(failed) if self.interrupted().is_none() => {
                Err(EngineError::RoomLacks { what: setup_failed(&failed) })
            }
            _ => Ok(()),
        }
    }

    /// Notes for the next run where this one ended.
    pub(super) fn close_rooms(&self) {
        let repo = self.parts.repo.as_ref();
        if let (Some(rooms), Ok(at), Ok(ignored)) = (&self.rooms, repo.checkpoint(), repo.ignored())
        {
            rooms.close(&at.head, &ignored);
        }
    }

    async fn prove_in(
        &self,
        room: (&mut ProofRooms, Warmth),
        (commit, harness): (&Oid, Option<&Oid>),
        about: About<'_>,
        to_run: (&[PlannedCheck], &dyn Checks),
    ) -> Result<Proved, EngineError> {
        let About { task, focus, began, depth, retries } = about;
        let setup = RoomSetup::of(&task.settings);
        let (may_change, protect) = (may_change(task, focus)?, globs(&task.settings.protect)?);
        let is_open = |key: &CriterionKey| {
            self.state.find(key).is_none_or(|entry| entry.proof.is_none_or(|it| it == Proof::Tree))
        };
        let unproven = task.criteria.iter().map(|it| it.key.clone()).filter(is_open);
        let deep: Vec<CriterionKey> = match depth {
            ProofDepth::Quick | ProofDepth::HoldOuts => Vec::new(),
            ProofDepth::Focus => focus.into_iter().cloned().collect(),
            ProofDepth::Unproven => unproven.collect(),
        };
        let held_back = self.held_back(&about);
        let rules = ProofRules {
            repo: self.parts.repo.as_ref(),
            layout: &self.parts.layout,
            table: &self.parts.table,
            harness,
            began,
            may_change: &may_change,
            protect: &protect,
            first_seen: &self.state.first_seen,
            setup: &setup,
            deep: &deep,
            learns: focus.is_some(),
            holdout: self.parts.holdout.as_ref().map(|it| (&it.checks, &held_back[..])),
            retries,
        };
        let options = self.check_options(self.parts.repo.root());
        let shown = Shown { commit, edits: &[] };
        Ok(prove(room, shown, &rules, to_run, &options).await?)
    }
}

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
