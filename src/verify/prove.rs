//! A proof: checks at a commit, and once more with the harness put back.
//!
//! Invariant: the verdict, the in-turn check, the last proof, and the commands that derive proofs
//! again use this one path. Not in this file: the consequences of the results.

use std::collections::BTreeMap;
use std::path::Path;

use globset::{GlobBuilder, GlobSet, GlobSetBuilder};

use super::checks::{CheckOptions, Checks, Purpose};
use super::classify::{SourceTree as _, TreeEdit};
use super::error::VerifyError;
use super::harness_at::{Harness, written};
use super::holdout::{HoldOutCheck, counts};
use super::master::Warmth;
use super::must_fail::{MustFailRun, must_fail, old_product, unmoved};
use super::plan::PlannedCheck;
use super::proof_room::{ProofRoom, Shown};
use super::proof_rooms::ProofRooms;
use super::proof_rules::ProofRules;
use super::recorded::Recorded;
use super::unfinished::take_back;
use crate::model::{
    Cell, ChangeKind, CheckResult, CheckStatus, CheckWrote, CriterionKey, HoldOutCount, Oid,
    PathChange, PutBackRun, Task, Unmoved,
};

/// The results of the checks.
#[derive(Debug, Default)]
pub struct Proved {
    /// The results at the commit.
    pub checks: Vec<CheckResult>,
    /// Commands that were green and red on the same commit.
    pub flaky: Vec<String>,
    /// Files that commands changed and must not.
    pub wrote: Vec<CheckWrote>,
    /// Checks that pass where they must fail.
    pub unmoved: Vec<Unmoved>,
    /// The run with the harness put back; none if it did not change.
    pub put_back: Option<PutBackRun>,
    /// The hold-out checks, once everything else of their criterion held.
    pub holdout: Vec<HoldOutCount>,
    /// The same with their commands and output: for the human alone.
    pub held_back: Vec<CheckResult>,
}

/// Runs the checks on the shown content, and the green ones again in another room with the harness
/// put back. The checks of `rules.deep` then have to fail where they should.
///
/// # Errors
/// If git fails, or the room cannot be brought to the commit.
pub async fn prove(
    (rooms, warmth): (&mut ProofRooms, Warmth),
    shown: Shown<'_>,
    rules: &ProofRules<'_>,
    (planned, checks): (&[PlannedCheck], &dyn Checks),
    options: &CheckOptions,
) -> Result<Proved, VerifyError> {
    let recorded = Recorded::new(checks);
    let to_run = (planned, &recorded as &dyn Checks);
    let mut proved = prove_in((&mut *rooms, warmth), shown, rules, to_run, options).await?;
    recorded.add_to(&mut proved.checks);
    hold_out((rooms, warmth), shown, rules, &mut proved, (checks, options)).await?;
    Ok(proved)
}

async fn prove_in(
    (rooms, warmth): (&mut ProofRooms, Warmth),
    shown: Shown<'_>,
    rules: &ProofRules<'_>,
    to_run: (&[PlannedCheck], &dyn Checks),
    options: &CheckOptions,
) -> Result<Proved, VerifyError> {
    let mut room = rooms.take(warmth)?;
    let first = first_run(&mut room, shown, rules, to_run, options).await;
    rooms.give_back(room, warmth);
    let First { mut proved, mut again, mut fails } = first?;
    let may_retry = rules.retries && warmth == Warmth::Warm && rooms.are_made_soon();
    if may_retry && proved.is_red_soon() {
        let mut fresh = rooms.fresh(warmth)?;
        let second = first_run(&mut fresh, shown, rules, to_run, options).await;
        fresh.remove();
        let second = second?;
        if second.proved.checks.iter().all(CheckResult::passed) {
            First { proved, again, fails } = second;
        }
    }
    for again in again {
        if again.is_about_new_tests() && !proved.holds_with_old() {
            continue;
        }
        // Effects of the changed harness in the first room must not decide here.
        let mut fresh = rooms.fresh(warmth)?;
        let ran = again.run(&mut fresh, rules, &mut proved, (to_run.1, options)).await;
        fresh.remove();
        ran?;
    }
    if proved.holds_with_old() && !fails.is_empty() {
        let warmth = if proved.put_back.is_none() { warmth } else { Warmth::Cold };
        let mut room = match warmth {
            Warmth::Warm => rooms.take(warmth)?,
            Warmth::Cold => rooms.fresh(Warmth::Warm)?,
        };
        let rests_on = proved.put_back.as_ref().map_or(&[][..], |run| &run.rests_on);
        let found = unmoved(&mut room, shown, fails, rests_on, (to_run.1, options)).await;
        rooms.give_back(room, warmth);
        proved.unmoved = found?;
    }
    Ok(proved)
}

/// Runs the hold-out checks of the criteria of which everything else held, with the harness put
/// back.
async fn hold_out(
    (rooms, warmth): (&mut ProofRooms, Warmth),
    shown: Shown<'_>,
    rules: &ProofRules<'_>,
    proved: &mut Proved,
    (checks, options): (&dyn Checks, &CheckOptions),
) -> Result<(), VerifyError> {
    let Some((holdouts, keys)) = rules.holdout else { return Ok(()) };
    let due =
        |check: &&HoldOutCheck| keys.contains(&check.criterion) && proved.holds(&check.criterion);
    let due: Vec<&HoldOutCheck> = holdouts.checks.iter().filter(due).collect();
    if due.is_empty() {
        return Ok(());
    }
    let planned: Vec<PlannedCheck> = due.iter().map(|check| check.planned()).collect();
    let mut room = rooms.fresh(warmth)?;
    let harness = Harness::at(shown, rules, &planned, room.human())?;
    let rests_on = proved.put_back.as_ref().map_or(&[][..], |run| &run.rests_on);
    let mut edits = shown.edits.to_vec();
    if let Some(harness) = &harness {
        let put_back = harness.found.edits.iter().filter(|it| !rests_on.contains(it.path()));
        edits.extend(put_back.cloned());
    }
    let with_old = Shown { edits: &edits, ..shown };
    let failed = set_up(&mut room, with_old, rules, (checks, options)).await?;
    let all = [&edits[..], &holdouts.files].concat();
    let mut fixed = harness.as_ref().map(Harness::fixed).unwrap_or_default();
    fixed.extend(holdouts.files.iter().map(|file| file.path().clone()));
    let options = CheckOptions { purpose: Purpose::HoldOut, fixed, ..options.clone() };
    let shown = Shown { edits: &all, ..shown };
    let ran = match failed {
        // The other checks said so.
        Some(_) => Ok(Vec::new()),
        None => room.run(shown, &planned, checks, &options).await,
    };
    room.remove();
    proved.held_back = ran?.into_iter().map(|ran| ran.result).collect();
    proved.holdout = counts(&due, &proved.held_back);
    Ok(())
}

/// The first run, and those that follow it.
#[derive(Default)]
struct First {
    proved: Proved,
    again: Vec<Again>,
    fails: Vec<MustFailRun>,
}

impl Proved {
    /// Is a check red, and is it cheap to try them all again?
    fn is_red_soon(&self) -> bool {
        const SOON: u64 = 10_000;
        let is_red = |check: &CheckResult| matches!(check.status, CheckStatus::Failed(_));
        self.checks.iter().any(is_red) && self.checks.iter().map(|it| it.millis).sum::<u64>() < SOON
    }

    /// Does nothing speak against the checks of a criterion?
    fn holds(&self, key: &CriterionKey) -> bool {
        let own = |command: &String| {
            let mut checks = self.checks.iter();
            checks.any(|check| check.command == *command && check.criteria.contains(key))
        };
        let again = self.put_back.iter().flat_map(|run| &run.checks);
        let red = self.checks.iter().chain(again).filter(|it| !it.passed()).map(|it| &it.command);
        let against = red.chain(&self.flaky).chain(self.wrote.iter().map(|it| &it.command));
        !against.chain(self.unmoved.iter().map(|it| &it.command)).any(own)
    }

    fn holds_with_old(&self) -> bool {
        let mut again = self.put_back.iter().flat_map(|run| &run.checks);
        again.all(CheckResult::passed)
    }
}

/// A run with the harness put back.
struct Again {
    commit: Oid,
    /// Additions to the commit.
    edits: Vec<TreeEdit>,
    harness: Harness,
    checks: Vec<PlannedCheck>,
    role: Role,
}

/// The question that a run with the harness put back answers.
enum Role {
    /// Whether the checks hold with the harness of the start.
    Start {
        /// Commands that have no old test.
        left_out: Vec<String>,
    },
    /// Whether they hold with the harness that a later proof rested on.
    Later,
    /// Whether new tests hold with it, too.
    NewTests,
}

impl Again {
    async fn run(
        self,
        room: &mut ProofRoom,
        rules: &ProofRules<'_>,
        proved: &mut Proved,
        (checks, options): (&dyn Checks, &CheckOptions),
    ) -> Result<(), VerifyError> {
        let Self { commit, edits, harness, checks: planned, role } = self;
        let (mut results, mut rests_on) = (Vec::new(), Vec::new());
        if !planned.is_empty() {
            let shown = Shown { commit: &commit, edits: &edits };
            // It succeeded in the first room.
            set_up(room, shown, rules, (checks, options)).await?;
            let (fixed, cell) = (harness.fixed(), Cell::PutBack);
            let options = &CheckOptions { fixed, cell, ..options.clone() };
            let ran = room.run(shown, &planned, checks, options).await?;
            if !matches!(role, Role::NewTests) {
                proved.wrote.extend(harness.written(&ran, rules));
            }
            results.extend(ran.into_iter().map(|check| harness.compared(check.result, rules)));
            for check in &planned {
                let is_red = |it: &CheckResult| it.command == check.command && !it.passed();
                let rest = harness.without_looked_at(&edits, rules, &check.command);
                if let Some(rest) = rest.filter(|_| results.iter().any(is_red)) {
                    let shown = Shown { edits: &rest, ..shown };
                    let check = std::slice::from_ref(check);
                    let ran = room.run(shown, check, checks, options).await?;
                    results.retain(|it| !is_red(it));
                    results.extend(ran.into_iter().map(|it| harness.compared(it.result, rules)));
                }
            }
            // A check may be about new tests, such as their coverage. And new sources may need the
            // new list of what is built: then the tests of the start, which a runner counts, decide.
            let new_tests = match role {
                Role::Start { .. } => harness.new_tests(rules),
                Role::Later | Role::NewTests => Vec::new(),
            };
            for (kept, is_build) in [(&new_tests, false), (&harness.found.build, true)] {
                let is_red = |check: &&PlannedCheck| {
                    (!is_build || rules.counts_tests(check))
                        && results.iter().any(|it| it.command == check.command && !it.passed())
                };
                let red: Vec<_> = planned.iter().filter(is_red).cloned().collect();
                if kept.is_empty() || red.is_empty() {
                    continue;
                }
                let rest = edits.iter().filter(|edit| !kept.contains(edit.path()));
                let rest: Vec<TreeEdit> = rest.cloned().collect();
                let shown = Shown { edits: &rest, ..shown };
                for ran in room.run(shown, &red, checks, options).await? {
                    let ran = harness.compared(ran.result, rules);
                    if ran.passed() {
                        rests_on.extend(kept.iter().cloned());
                        results.retain(|it| it.command != ran.command);
                        results.push(ran);
                    }
                }
            }
        }
        let put_back = proved.put_back.get_or_insert_with(PutBackRun::default);
        match role {
            Role::Start { left_out } => {
                let is_red = results.iter().any(|it| !it.passed());
                let missing = harness.missing_tests().filter(|_| is_red);
                let (harness, checks) = (harness.changes, results);
                *put_back =
                    PutBackRun { harness, rests_on, checks, left_out, missing, apart: false };
            }
            Role::Later => {
                put_back.checks.extend(results);
                put_back.rests_on.extend(rests_on);
                let known: Vec<_> = put_back.harness.iter().map(|it| it.path.clone()).collect();
                let more = harness.changes.into_iter().filter(|it| !known.contains(&it.path));
                put_back.harness.extend(more);
            }
            Role::NewTests => put_back.apart = !results.iter().all(CheckResult::passed),
        }
        Ok(())
    }

    fn is_about_new_tests(&self) -> bool {
        matches!(self.role, Role::NewTests)
    }
}

async fn first_run(
    room: &mut ProofRoom,
    shown: Shown<'_>,
    rules: &ProofRules<'_>,
    (planned, checks): (&[PlannedCheck], &dyn Checks),
    options: &CheckOptions,
) -> Result<First, VerifyError> {
    let harness = Harness::at(shown, rules, planned, room.human())?;
    let put_back = harness.as_ref().map_or(&[][..], |harness| &harness.found.edits);
    let edits = [shown.edits, put_back].concat();
    let is_build =
        |edit: &&TreeEdit| harness.as_ref().is_some_and(|it| it.found.build.contains(edit.path()));
    let for_setup: Vec<TreeEdit> = edits.iter().filter(|it| !is_build(it)).cloned().collect();
    let with_old = Shown { edits: &for_setup, ..shown };
    if let Some(failed) = set_up(room, with_old, rules, (checks, options)).await? {
        let checks = planned.iter().map(|check| not_set_up(check, &failed)).collect();
        let proved = Proved { checks, ..Proved::default() };
        return Ok(First { proved, ..First::default() });
    }
    let fixed = harness.as_ref().map(Harness::fixed).unwrap_or_default();
    let deep = planned.iter().filter(|check| rules.is_deep(check));
    let twice = deep.map(|check| check.command.clone()).collect();
    let ran = {
        let options = &CheckOptions { fixed: fixed.clone(), twice, ..options.clone() };
        room.run(shown, planned, checks, options).await?
    };
    let options = &CheckOptions { fixed, ..options.clone() };
    let wrote = match &harness {
        Some(harness) => harness.written(&ran, rules),
        None => written(&ran, &|path| path.starts_with(rules.layout.folder())),
    };
    let flaky = ran.iter().filter(|check| check.flaky).map(|check| check.result.command.clone());
    let mut proved = Proved { flaky: flaky.collect(), wrote, ..Proved::default() };
    proved.checks = ran.into_iter().map(|check| check.result).collect();
    let Some(harness) = harness else {
        return Ok(First { proved, ..First::default() });
    };
    let ends: Vec<_> =
        harness.found.ends.iter().filter(|it| rules.is_deep_command(planned, &it.check)).collect();
    take_back(room, shown, &mut proved.checks, &ends, (checks, options)).await?;
    let is_green = |check: &&PlannedCheck| {
        proved.checks.iter().any(|it| it.command == check.command && it.passed())
    };
    let green: Vec<PlannedCheck> = planned.iter().filter(is_green).cloned().collect();
    let mut again = with_later(shown, rules, &green, room.human())?;
    let product = old_product(&harness, shown, rules, planned, room.human())?;
    if harness.found.edits.is_empty() {
        let checks = std::mem::take(&mut proved.checks).into_iter();
        proved.checks = checks.map(|check| harness.compared(check, rules)).collect();
        let fails = must_fail(&harness, rules, planned, (&proved.checks, &product));
        return Ok(First { proved, again, fails });
    }
    again.extend(with_new_tests((shown, rules), &harness, &green, room.human())?);
    let has_old = |check: &&PlannedCheck| !rules.is_test_new(&check.command);
    let checks = green.iter().filter(has_old).cloned().collect();
    let is_left_out =
        |command: &&String| rules.is_test_new(command) && rules.later_harness(command).is_none();
    let commands = planned.iter().map(|check| &check.command);
    let left_out = commands.filter(is_left_out).cloned().collect();
    let (commit, role) = (shown.commit.clone(), Role::Start { left_out });
    let fails = must_fail(&harness, rules, planned, (&proved.checks, &product));
    again.insert(0, Again { commit, edits, harness, checks, role });
    Ok(First { proved, again, fails })
}

/// The runs of commands that have to pass a harness of a later proof.
fn with_later(
    shown: Shown<'_>,
    rules: &ProofRules<'_>,
    green: &[PlannedCheck],
    human: &[TreeEdit],
) -> Result<Vec<Again>, VerifyError> {
    let mut by_harness: BTreeMap<&str, (&Oid, Vec<PlannedCheck>)> = BTreeMap::new();
    for check in green {
        if let Some(later) = rules.later_harness(&check.command) {
            let entry = by_harness.entry(later.as_str()).or_insert((later, Vec::new()));
            entry.1.push(check.clone());
        }
    }
    let mut again = Vec::new();
    for (later, checks) in by_harness.into_values() {
        // Another clone may not have it.
        if rules.repo.files(later, &[]).is_err() {
            continue;
        }
        let rules = ProofRules { harness: Some(later), first_seen: &[], ..*rules };
        let Some(harness) = Harness::at(shown, &rules, &checks, human)? else {
            continue;
        };
        if harness.found.edits.is_empty() {
            continue;
        }
        let edits = [shown.edits, &harness.found.edits].concat();
        let commit = shown.commit.clone();
        again.push(Again { commit, edits, harness, checks, role: Role::Later });
    }
    Ok(again)
}

/// The run that puts only changed files back, so that new tests meet old helpers.
fn with_new_tests(
    (shown, rules): (Shown<'_>, &ProofRules<'_>),
    harness: &Harness,
    green: &[PlannedCheck],
    human: &[TreeEdit],
) -> Result<Option<Again>, VerifyError> {
    let was_there = |path: &Path| harness.start.paths().contains_key(path);
    let old = harness.found.edits.iter().filter(|edit| was_there(edit.path()));
    let old: Vec<TreeEdit> = old.cloned().collect();
    let is_new = harness.changes.iter().any(|change| change.kind == ChangeKind::Added)
        || green.iter().any(|check| rules.is_test_new(&check.command));
    if !rules.learns || old.is_empty() || !is_new {
        return Ok(None);
    }
    let edits = [shown.edits, &old].concat();
    let (commit, checks) = (shown.commit.clone(), green.to_vec());
    let harness = Harness::at(shown, rules, green, human)?;
    Ok(harness.map(|harness| Again { commit, edits, harness, checks, role: Role::NewTests }))
}

/// Runs `setup:` if the commit needs it, with the harness put back. Returns the failed command.
async fn set_up(
    room: &mut ProofRoom,
    shown: Shown<'_>,
    rules: &ProofRules<'_>,
    to_run: (&dyn Checks, &CheckOptions),
) -> Result<Option<CheckResult>, VerifyError> {
    if rules.setup.commands.is_empty() {
        return Ok(None);
    }
    let edits: Vec<TreeEdit> = room.human().iter().chain(shown.edits).cloned().collect();
    let files = rules.repo.files(shown.commit, &edits)?;
    room.set_up_again(shown, rules.setup, &files, to_run).await
}

/// The result of a check that did not run since the room is not prepared for it.
fn not_set_up(check: &PlannedCheck, setup: &CheckResult) -> CheckResult {
    CheckResult {
        command: check.command.clone(),
        criteria: check.criteria.clone(),
        whole_task: check.whole_task,
        output: format!("`{}` in `setup:` failed:\n{}", setup.command, setup.output),
        tests: Vec::new(),
        ..setup.clone()
    }
}

/// How a commit's harness differs from the one that counts.
///
/// # Errors
/// If git fails.
pub fn harness_changes(
    commit: &Oid,
    rules: &ProofRules<'_>,
    planned: &[PlannedCheck],
) -> Result<Vec<PathChange>, VerifyError> {
    let shown = Shown { commit, edits: &[] };
    let harness = Harness::at(shown, rules, planned, &[])?;
    Ok(harness.map(|harness| harness.changes).unwrap_or_default())
}

/// The paths of the harness that may change: for the whole task, and in the work on a criterion.
///
/// # Errors
/// If a glob cannot be understood.
pub fn may_change(task: &Task, focus: Option<&CriterionKey>) -> Result<GlobSet, VerifyError> {
    let own = task.criteria.iter().filter(|criterion| Some(&criterion.key) == focus);
    let own = own.flat_map(|criterion| &criterion.may_change);
    globs(task.settings.may_change.iter().chain(own))
}

/// Globs, and everything below their matches.
///
/// # Errors
/// If one cannot be understood.
pub fn globs<'a>(texts: impl IntoIterator<Item = &'a String>) -> Result<GlobSet, VerifyError> {
    let mut set = GlobSetBuilder::new();
    for text in texts {
        let invalid = |source| VerifyError::Glob { glob: text.clone(), source };
        let text = text.strip_prefix("./").unwrap_or(text).trim_end_matches('/');
        for glob in [text.to_owned(), format!("{text}/**")] {
            let glob = GlobBuilder::new(&glob).literal_separator(true).build();
            set.add(glob.map_err(invalid)?);
        }
    }
    set.build().map_err(|source| VerifyError::Glob { glob: "all of them".to_owned(), source })
}
