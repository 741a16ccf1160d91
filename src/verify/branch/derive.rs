//! Derives the ticks of a branch again, in proof rooms.
//!
//! Invariant: each tick is judged by the same path as a verdict of a run. A base's room that lacks
//! something is distinguished from work that is not proven.

use std::path::{Path, PathBuf};

use globset::GlobSet;

use super::claims::{Claims, TickClaim};
use super::records::same_checks;
use super::seen::Seen;
use crate::model::{
    ChangeKind, CheckResult, CriterionKey, FirstSeen, FirstStatus, HoldOutCount, Oid, Proof, Task,
    forget_tests, tests_are_there,
};
use crate::verify::assess::reasons;
use crate::verify::checks::{CheckOptions, Checks};
use crate::verify::classify::{SourceTree, Table};
use crate::verify::error::VerifyError;
use crate::verify::git::GitRepo;
use crate::verify::harness_at::written_at_start;
use crate::verify::holdout::HoldOuts;
use crate::verify::layout::Layout;
use crate::verify::learned::{learned, with_human};
use crate::verify::master::Warmth;
use crate::verify::missing::first_seen;
use crate::verify::plan::{CheckPhase, PlannedCheck, plan};
use crate::verify::proof_room::Shown;
use crate::verify::proof_rooms::ProofRooms;
use crate::verify::proof_rules::ProofRules;
use crate::verify::prove::{Proved, globs, may_change, prove};
use crate::verify::repo::Ancestor;
use crate::verify::room_lacks::{file_names, lost_input, setup_failed};
use crate::verify::runner::worse;
use crate::verify::setup::RoomSetup;
use crate::verify::silent::silent_services;
use crate::verify::stretches::{Stretch, stretches};

/// The input of a derivation.
#[derive(Clone, Copy)]
pub struct Derivation<'a> {
    /// Where objects are.
    pub repo: &'a GitRepo,
    /// The task's files.
    pub layout: &'a Layout,
    /// Which paths are harness by convention.
    pub table: &'a Table,
    /// The commits.
    pub seen: &'a [Seen],
    /// Their claims.
    pub claims: &'a Claims,
    /// The task whose checks and rules count.
    pub task: &'a Task,
    /// The hold-out checks.
    pub holdout: Option<&'a HoldOuts>,
    /// Tests and scripts that humans committed count, as far as the history tells whose they are.
    pub by_hand: bool,
}

/// When a check ran.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProofStage {
    /// Before the work.
    Base,
    /// At the commit that ticks the criterion.
    Tick,
    /// There, with tests, scripts and configuration as they were.
    TickWithOldHarness,
    /// At the head.
    Head,
    /// There, with tests, scripts and configuration as they were.
    HeadWithOldHarness,
}

/// A check that ran for a criterion.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DerivedCheck {
    /// When.
    pub stage: ProofStage,
    /// How it ended.
    pub result: CheckResult,
}

/// The result of a tick.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DerivedTick {
    /// The claim.
    pub claim: TickClaim,
    /// The proof, if there is one.
    pub proof: Option<Proof>,
    /// A human may have changed a file that decides, before the commit that ticks it.
    pub after_human: bool,
    /// Its own checks are green at the head.
    pub green_at_head: bool,
    /// Why it is not proven, or no more than a commit.
    pub why: Vec<String>,
    /// The checks that ran for it.
    pub checks: Vec<DerivedCheck>,
    /// Its hold-out checks at the head.
    pub holdout: Option<HoldOutCount>,
}

/// The result of a branch.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Derived {
    /// Each of its ticks.
    pub ticks: Vec<DerivedTick>,
    /// Tests and the like that are others at the head than when the proofs, which hold with the old
    /// ones, rested on them.
    pub other_tests: Vec<PathBuf>,
    /// Checks of the whole task that are red at the head, as at the base.
    pub still_red: Vec<String>,
    /// Criteria that were ticked before, and a check of theirs that the branch broke.
    pub broken: Vec<(CriterionKey, String)>,
    /// Hold-out checks that failed, with their commands and output: for the human alone.
    pub held_back: Vec<CheckResult>,
    /// What is to be said of hold-out checks that pass at the base.
    pub told: Vec<String>,
}

/// Runs the checks of every tick, and all of them at the head. `Err` in the answer has the missing
/// part of the room, with the line that helps.
///
/// # Errors
/// If git fails or a room cannot be made.
pub async fn derive(
    it: &Derivation<'_>,
    rooms: &mut ProofRooms,
    to_run: (&dyn Checks, &CheckOptions),
) -> Result<Result<Derived, String>, VerifyError> {
    let start = it.claims.start_commit(it.seen);
    let setup = RoomSetup::of(&it.task.settings);
    let files = it.repo.files(start, &[])?;
    if let Some(failed) = rooms.set_up(start, &setup, &files, to_run).await? {
        return Ok(Err(setup_failed(&failed)));
    }
    let needed = it.needed();
    let head = &it.seen[it.seen.len() - 1].commit.id;
    let named = (&files as &dyn SourceTree, it.table);
    if let Some(lacks) = rooms.leads_back(start, &needed, named, to_run).await? {
        return Ok(Err(lacks));
    }
    let shown = Shown { commit: start, edits: &[] };
    let ran = rooms.warm()?.run(shown, &needed, to_run.0, to_run.1).await?;
    let wrote = written_at_start(&ran);
    let base: Vec<CheckResult> = ran.into_iter().map(|check| check.result).collect();
    let mut run = Deriving {
        it,
        to_run,
        setup: &setup,
        protect: globs(&it.task.settings.protect)?,
        first_seen: first_seen((&base, &wrote), &files, it.table),
        base,
        by_human: Vec::new(),
        names: file_names(&it.repo.files(head, &[])?),
        needed: &needed,
        harness: start.clone(),
        holdout: it.holdout.cloned(),
        keys: it.claims.ticks.iter().map(|tick| tick.key.clone()).collect(),
    };
    let told = match run.try_holdouts(rooms, start, &files).await? {
        Ok(told) => told,
        Err(broken) => return Ok(Err(broken)),
    };
    let mut ticks = Vec::new();
    let mut human = it.human();
    for claim in &it.claims.ticks {
        for (at, from, to) in human.extract_if(.., |(at, ..)| *at <= claim.at) {
            if it.by_hand {
                run.add_human(&from, &to)?;
            } else {
                let changes = it.repo.between(&from, &to)?;
                run.by_human.extend(changes.into_iter().map(|change| (at, change.path)));
            }
        }
        match run.tick(rooms, claim).await? {
            Ok(tick) => ticks.push(tick),
            Err(lacks) => return Ok(Err(lacks)),
        }
    }
    let before = it.ticked_before(&needed);
    let all = [&needed[..], &before].concat();
    let proved = run.prove((rooms, Warmth::Cold), head, &all, (None, None)).await?;
    let broken = broken(rooms, shown, &before, &proved, to_run).await?;
    for tick in &mut ticks {
        let derived = tick.proof.is_some();
        run.holds_at_head(tick, &proved);
        if derived
            && tick.proof.is_none()
            && let Some(lacks) = it.lacks(rooms)?
        {
            return Ok(Err(lacks));
        }
    }
    let all = ticks.iter().all(|tick| tick.proof.is_some());
    let put_back = proved.put_back.iter().filter(|_| all).flat_map(|run| &run.harness);
    let is_protected = |path: &Path| run.protect.is_match(path);
    let others = put_back.filter(|it| it.kind != ChangeKind::Added && !is_protected(&it.path));
    let other_tests = others.map(|change| change.path.clone()).collect();
    let still_red = run.still_red(&proved);
    let held_back = proved.held_back.into_iter().filter(|ran| !ran.passed()).collect();
    Ok(Ok(Derived { ticks, other_tests, still_red, broken, held_back, told }))
}

/// The checks of criteria that were ticked before which are red at the head and pass at the start.
async fn broken(
    rooms: &mut ProofRooms,
    start: Shown<'_>,
    before: &[PlannedCheck],
    proved: &Proved,
    (checks, options): (&dyn Checks, &CheckOptions),
) -> Result<Vec<(CriterionKey, String)>, VerifyError> {
    let is_red = |check: &&PlannedCheck| {
        proved.checks.iter().any(|it| it.command == check.command && !it.passed())
    };
    let red: Vec<PlannedCheck> = before.iter().filter(is_red).cloned().collect();
    if red.is_empty() {
        return Ok(Vec::new());
    }
    let ran = rooms.warm()?.run(start, &red, checks, options).await?;
    let passed = ran.into_iter().map(|check| check.result).filter(CheckResult::passed);
    let named = |it: CheckResult| {
        let command = it.command;
        it.criteria.into_iter().map(move |key| (key, command.clone()))
    };
    Ok(passed.flat_map(named).collect())
}

impl Derivation<'_> {
    /// What this machine lacks, whatever the work is.
    fn lacks(&self, rooms: &mut ProofRooms) -> Result<Option<String>, VerifyError> {
        let not_fetched = rooms.warm()?.not_fetched().told();
        Ok(not_fetched.or_else(|| silent_services(&self.task.settings.services)))
    }

    /// The commits of humans, each with its place and its parent.
    fn human(&self) -> Vec<(usize, Oid, Oid)> {
        let pairs = self.seen.windows(2);
        let mut commits: Vec<Ancestor> = pairs
            .map(|pair| Ancestor {
                id: pair[1].commit.id.clone(),
                parent: Some(pair[0].commit.id.clone()),
                subject: pair[1].commit.subject.clone(),
                trailers: pair[1].commit.trailers.clone(),
            })
            .collect();
        commits.reverse();
        let place = |id: &Oid| self.seen.iter().position(|seen| seen.commit.id == *id);
        let found = stretches(&commits, self.layout).into_iter().filter_map(|it| match it {
            Stretch::Human { from, to } => Some(place(&from)?..place(&to)?),
            Stretch::Turns { .. } => None,
        });
        let id = |at: usize| self.seen[at].commit.id.clone();
        found.flatten().map(|from| (from + 1, id(from), id(from + 1))).collect()
    }

    /// Does a criterion have other checks than when the branch began? Then its proof may be older
    /// than they are.
    fn has_new_check(&self, key: &CriterionKey) -> bool {
        let first = self.seen.iter().find_map(|seen| seen.task.as_ref());
        first.is_some_and(|first| !same_checks(first, self.task, key))
    }

    /// The checks of criteria that were ticked before, other than those that run anyway.
    fn ticked_before(&self, needed: &[PlannedCheck]) -> Vec<PlannedCheck> {
        let mut checks = self.checks_of(|key| self.claims.before.contains(key));
        checks.retain(|check| needed.iter().all(|it| it.command != check.command));
        checks
    }

    /// The checks of all ticks, and of the whole task.
    fn needed(&self) -> Vec<PlannedCheck> {
        self.checks_of(|key| self.claims.ticks.iter().any(|it| it.key == *key))
    }

    /// The checks of some criteria, and of the whole task.
    fn checks_of(&self, is_ticked: impl Fn(&CriterionKey) -> bool) -> Vec<PlannedCheck> {
        let mut task = self.task.clone();
        for criterion in &mut task.criteria {
            criterion.checked = is_ticked(&criterion.key);
        }
        plan(&task, CheckPhase::End, &Default::default())
    }
}

struct Deriving<'a> {
    it: &'a Derivation<'a>,
    to_run: (&'a dyn Checks, &'a CheckOptions),
    setup: &'a RoomSetup,
    protect: GlobSet,
    base: Vec<CheckResult>,
    /// The humans' changes so far that do not count, each with the place of its commit.
    by_human: Vec<(usize, PathBuf)>,
    first_seen: Vec<FirstSeen>,
    /// Names of files and folders at the head.
    names: Vec<String>,
    /// The checks of all ticks, and of the whole task.
    needed: &'a [PlannedCheck],
    /// The harness that counts: the start's, and tests that proofs rested on.
    harness: Oid,
    holdout: Option<HoldOuts>,
    /// The criteria of all ticks.
    keys: Vec<CriterionKey>,
}

impl Deriving<'_> {
    async fn prove(
        &self,
        room: (&mut ProofRooms, Warmth),
        commit: &Oid,
        planned: &[PlannedCheck],
        (focus, began): (Option<&CriterionKey>, Option<&Oid>),
    ) -> Result<Proved, VerifyError> {
        let may_change = may_change(self.it.task, focus)?;
        let rules = ProofRules {
            repo: self.it.repo,
            layout: self.it.layout,
            table: self.it.table,
            harness: Some(&self.harness),
            began,
            may_change: &may_change,
            protect: &self.protect,
            first_seen: &self.first_seen,
            setup: self.setup,
            deep: focus.map(std::slice::from_ref).unwrap_or_default(),
            learns: focus.is_some(),
            // They run at the base and at the head.
            holdout: self
                .holdout
                .as_ref()
                .filter(|_| focus.is_none())
                .map(|it| (it, &self.keys[..])),
            retries: true,
        };
        let shown = Shown { commit, edits: &[] };
        prove(room, shown, &rules, (planned, self.to_run.0), self.to_run.1).await
    }

    /// Runs the hold-out checks at the base. `Err` in the answer has one that cannot run.
    async fn try_holdouts(
        &mut self,
        rooms: &mut ProofRooms,
        start: &Oid,
        files: &dyn SourceTree,
    ) -> Result<Result<Vec<String>, String>, VerifyError> {
        if self.holdout.is_none() {
            return Ok(Ok(Vec::new()));
        }
        let proved = self.prove((rooms, Warmth::Warm), start, &[], (None, None)).await?;
        let is_there = |path: &Path| files.paths().contains_key(path);
        let Some(holdout) = &mut self.holdout else { return Ok(Ok(Vec::new())) };
        let tried = holdout.tried(&proved.held_back, self.it.task, is_there);
        Ok(tried.map_err(|(_, why)| why))
    }

    /// Judges the commit that ticks a criterion; `Err` has the missing part of the room.
    async fn tick(
        &mut self,
        rooms: &mut ProofRooms,
        claim: &TickClaim,
    ) -> Result<Result<DerivedTick, String>, VerifyError> {
        let commit = &self.it.seen[claim.at].commit.id;
        let own = |check: &&PlannedCheck| check.criteria.contains(&claim.key);
        let planned: Vec<_> = self.needed.iter().filter(own).cloned().collect();
        let work = (Some(&claim.key), Some(&self.it.seen[claim.from].commit.id));
        let proved = self.prove((rooms, Warmth::Warm), commit, &planned, work).await?;
        let mut tick = DerivedTick {
            claim: claim.clone(),
            proof: None,
            green_at_head: false,
            after_human: self.after_human(claim, &proved),
            why: Vec::new(),
            checks: Vec::new(),
            holdout: None,
        };
        for check in self.base.iter().filter(|check| check.criteria.contains(&claim.key)) {
            tick.checks.push(DerivedCheck { stage: ProofStage::Base, result: check.clone() });
            let now = proved.checks.iter().find(|now| now.command == check.command);
            let Some(now) = now else { continue };
            let room = rooms.warm()?;
            let at_tick = "fails at the commit that ticks it";
            let lacks = lost_input(now, at_tick, &self.names, |path| room.ignores(path));
            if let Some(lacks) = lacks {
                return Ok(Err(lacks));
            }
        }
        add(&mut tick, &proved, ProofStage::Tick, &claim.key);
        if tick.why.is_empty() {
            let from = &self.it.seen[claim.from].commit.id;
            let worked = self.it.repo.changes_content(Some(from), commit, self.it.layout)?;
            tick.proof = self.proof(claim, &planned, worked, &mut tick.why);
        }
        if tick.proof.is_none()
            && let Some(lacks) = self.it.lacks(rooms)?
        {
            return Ok(Err(lacks));
        }
        if tick.proof.is_some() {
            self.learn(commit, &proved, &claim.key)?;
        }
        Ok(Ok(tick))
    }

    /// Is something put back that a human may have changed before the tick, or with it? A human's
    /// commit claims no proof.
    fn after_human(&self, claim: &TickClaim, proved: &Proved) -> bool {
        let state = self.it.seen[claim.at].state.as_ref().and_then(|state| state.as_ref().ok());
        let claims = state.and_then(|state| state.find(&claim.key)?.proof).is_some();
        let counts = |at: usize| at < claim.at || at == claim.at && !claims;
        let put_back = proved.put_back.iter().flat_map(|run| &run.harness);
        let mut put_back = put_back.map(|change| &change.path);
        put_back.any(|path| self.by_human.iter().any(|(at, by)| counts(*at) && by == path))
    }

    /// The proof from green checks at a commit.
    fn proof(
        &self,
        claim: &TickClaim,
        planned: &[PlannedCheck],
        worked: bool,
        why: &mut Vec<String>,
    ) -> Option<Proof> {
        let first = |command: &str| self.first_seen.iter().find(|seen| seen.command == command);
        let was_red = |check: &PlannedCheck| {
            first(&check.command).is_some_and(|seen| seen.status != FirstStatus::Green)
        };
        if planned.iter().any(was_red) {
            return Some(Proof::Check);
        }
        let text = claim.key.quoted();
        if !worked {
            why.push(format!(
                "no commit of {text} changes more than the task's state files, white space, line \
                 endings, or file modes"
            ));
            return None;
        }
        let claims_check = matches!(claim.claimed, Some(Proof::Check | Proof::Tree));
        if claims_check && !self.it.has_new_check(&claim.key) {
            why.push("its checks were green before the work".to_owned());
            return None;
        }
        Some(Proof::Commit)
    }

    fn add_human(&mut self, from: &Oid, to: &Oid) -> Result<(), VerifyError> {
        let it = self.it;
        if let Some(harness) = with_human(it.repo, it.layout, &self.harness, (from, to))? {
            self.harness = harness;
            for later in self.first_seen.iter_mut().filter_map(|seen| seen.harness.as_mut()) {
                if let Some(newer) = with_human(it.repo, it.layout, later, (from, to))? {
                    *later = newer;
                }
            }
            // Tests may have gone rightly.
            forget_tests(&mut self.first_seen);
        }
        Ok(())
    }

    /// Tests that a proof rested on are old from then on.
    fn learn(
        &mut self,
        commit: &Oid,
        proved: &Proved,
        focus: &CriterionKey,
    ) -> Result<(), VerifyError> {
        let run = proved.put_back.as_ref();
        let apart = run.filter(|run| run.apart).map(|_| commit);
        let changed = run.filter(|_| apart.is_none()).map_or(&[][..], |run| &run.harness);
        let may_change = may_change(self.it.task, Some(focus))?;
        if let Some(learned) =
            learned(self.it.repo, &self.harness, commit, changed, (self.it.table, &may_change))?
        {
            self.harness = learned.harness;
            if learned.fewer_tests {
                forget_tests(&mut self.first_seen);
            }
        }
        tests_are_there(&mut self.first_seen, &proved.checks, apart);
        Ok(())
    }

    /// Takes the proof back if a check fails at the head.
    fn holds_at_head(&self, tick: &mut DerivedTick, proved: &Proved) {
        let key = tick.claim.key.clone();
        let mut own = proved.checks.iter().filter(|check| check.criteria.contains(&key));
        tick.green_at_head = own.all(CheckResult::passed);
        add(tick, proved, ProofStage::Head, &key);
        tick.holdout = proved.holdout.iter().find(|count| count.criterion == key).cloned();
        // A check of the whole task that was red before may still be, while criteria are open.
        let broken = proved
            .checks
            .iter()
            .filter(|check| check.whole_task && !check.passed() && !self.is_no_worse(check));
        tick.why.extend(broken.map(|check| format!("`{}` fails at the head", check.command)));
        if !tick.why.is_empty() {
            tick.proof = None;
        }
    }

    /// Was a check red at the base, too, and do no more of its tests fail now?
    fn is_no_worse(&self, check: &CheckResult) -> bool {
        let mut before = self.base.iter().filter(|it| it.command == check.command);
        before.any(|it| !it.passed() && worse(&it.tests, &check.tests).is_none())
    }

    /// Checks of the whole task that were red at the base, and are red at the head.
    fn still_red(&self, proved: &Proved) -> Vec<String> {
        let red = |it: &&CheckResult| it.whole_task && !it.passed() && self.is_no_worse(it);
        proved.checks.iter().filter(red).map(|it| it.command.clone()).collect()
    }
}

/// Adds the checks of a criterion, and why they prove nothing.
fn add(tick: &mut DerivedTick, proved: &Proved, stage: ProofStage, key: &CriterionKey) {
    let (with_old, at) = match stage {
        ProofStage::Head | ProofStage::HeadWithOldHarness => {
            (ProofStage::HeadWithOldHarness, "at the head")
        }
        ProofStage::Base | ProofStage::Tick | ProofStage::TickWithOldHarness => {
            (ProofStage::TickWithOldHarness, "at the commit that ticks it")
        }
    };
    let own = |check: &&CheckResult| check.criteria.contains(key);
    let again = proved.put_back.iter().flat_map(|run| &run.checks).map(|check| (with_old, check));
    let all = proved.checks.iter().map(|check| (stage, check)).chain(again);
    let own = all.filter(|(_, check)| own(check));
    let own = own.map(|(stage, result)| DerivedCheck { stage, result: result.clone() });
    tick.checks.extend(own);
    tick.why.extend(reasons(proved, key, at));
}
