//! Runs that must fail: the checks at the commit, while their tests expect something else.
//!
//! All tests change in the first run. If it fails, one of them decides, and the others may not. So
//! in further runs, one assertion of each test changes, and where a test passes then, one assertion
//! alone. Invariant: only checks that are green everywhere else run once more here.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use super::checks::{CheckOptions, Checks};
use super::error::VerifyError;
use super::harness::{Mutants, PlantedFailure, TestFile, TreeEdit};
use super::harness_at::Harness;
use super::plan::PlannedCheck;
use super::proof_room::{ProofRoom, Shown};
use super::proof_rules::ProofRules;
use crate::model::{CheckResult, FirstStatus, TestCount, Unmoved};

/// Checks that take longer do not run once more.
const MOST_MILLIS: u64 = 120_000;
/// No further run begins after this time, and after so many.
const MOST_TIME: Duration = Duration::from_secs(30);
const MOST_RUNS: usize = 24;
/// The runs in which one assertion of each test changes.
const MOST_ROUNDS: usize = 6;

/// A check, and the changes with which it must fail.
pub(super) struct MutantRun {
    check: PlannedCheck,
    tests: Vec<TestCount>,
    /// A run that goes on for longer waits for a value that never comes.
    limit: Duration,
    put_back: Vec<TreeEdit>,
    mutants: Mutants,
}

/// The runs that must fail, for the checks that the work turned green.
pub(super) fn mutant_runs(
    harness: &Harness,
    rules: &ProofRules<'_>,
    planned: &[PlannedCheck],
    results: &[CheckResult],
) -> Vec<MutantRun> {
    if !results.iter().all(CheckResult::passed) {
        return Vec::new();
    }
    let was_red = |check: &&CheckResult| {
        let seen = rules.first_seen(&check.command);
        seen.is_some_and(|seen| seen.status == FirstStatus::Red) && check.millis <= MOST_MILLIS
    };
    let of = |result: &CheckResult| {
        let check = planned.iter().find(|check| check.command == result.command)?.clone();
        let mutants = harness.mutants(result, rules, planned);
        let put_back = match rules.measures_tests(result) {
            true => harness.with_new_tests(&harness.found.edits, rules),
            false => harness.found.edits.clone(),
        };
        let tests = result.tests.clone();
        let is_empty = mutants.data.is_empty() && mutants.tests.is_empty();
        let limit = Duration::from_millis(2 * result.millis) + MOST_TIME;
        (!is_empty).then_some(MutantRun { check, tests, limit, put_back, mutants })
    };
    results.iter().filter(was_red).filter_map(of).collect()
}

/// Runs the checks, and returns those that pass all the same.
pub(super) async fn unmoved(
    room: &mut ProofRoom,
    shown: Shown<'_>,
    runs: Vec<MutantRun>,
    (checks, options): (&dyn Checks, &CheckOptions),
) -> Result<Vec<Unmoved>, VerifyError> {
    let mut found = Vec::new();
    for run in &runs {
        let options = CheckOptions { limit: options.limit.min(run.limit), ..options.clone() };
        let mut runner = Runner { room: &mut *room, shown, run, checks, options, ran: 0 };
        let data = &run.mutants.data;
        if !data.is_empty() && runner.run(data).await?.is_none() {
            found.push(run.unmoved(data, None));
        }
        if !run.mutants.tests.is_empty() {
            found.extend(runner.tests().await?);
        }
    }
    Ok(found)
}

impl MutantRun {
    fn unmoved(&self, edits: &[TreeEdit], line: Option<u64>) -> Unmoved {
        Unmoved {
            command: self.check.command.clone(),
            criteria: self.check.criteria.clone(),
            paths: edits.iter().map(|edit| edit.path().clone()).collect(),
            line,
        }
    }

    /// Each change, by its file and its place there: the first of each file, then the second.
    fn each(&self) -> Vec<(&TestFile, usize)> {
        let tests = self.mutants.tests.iter();
        let mut all: Vec<_> =
            tests.flat_map(|file| (0..file.code.len()).map(move |at| (file, at))).collect();
        all.sort_by_key(|(_, at)| *at);
        all
    }
}

/// The runs of one check.
struct Runner<'a> {
    room: &'a mut ProofRoom,
    shown: Shown<'a>,
    run: &'a MutantRun,
    checks: &'a dyn Checks,
    options: CheckOptions,
    ran: usize,
}

impl Runner<'_> {
    /// The counts of a run that fails; none if it passes.
    async fn run(&mut self, edits: &[TreeEdit]) -> Result<Option<Vec<TestCount>>, VerifyError> {
        self.ran += 1;
        let all = [self.shown.edits, &self.run.put_back, edits].concat();
        let shown = Shown { edits: &all, ..self.shown };
        let check = std::slice::from_ref(&self.run.check);
        let mut ran = self.room.run(shown, check, self.checks, &self.options).await?;
        let ran = ran.remove(0);
        let passes = ran.result.passed() && !ran.flaky;
        Ok((!passes).then_some(ran.result.tests))
    }

    /// An assertion, or all of them, that may expect anything.
    async fn tests(&mut self) -> Result<Option<Unmoved>, VerifyError> {
        let run = self.run;
        let begun = Instant::now();
        let edits = self.edits(|file| file.code.assertions());
        let tests = match self.run(&edits).await? {
            Some(tests) => tests,
            None if self.runs_some().await? => return Ok(Some(run.unmoved(&edits, None))),
            // A test that the check does not run says nothing.
            None => return Ok(None),
        };
        let rounds = run.mutants.tests.iter().map(|file| file.code.most()).max();
        let rounds = if run.tests.is_empty() { 0 } else { rounds.unwrap_or_default() };
        // With one assertion in each test, the first run was such a round.
        let mut settled = BTreeSet::new();
        if all_failed(&run.tests, &tests) {
            settled.extend((rounds == 1).then_some(0));
        } else if self.some_hold(|file| file.code.assertions(), &tests).await? {
            return Ok(Some(run.unmoved(&edits, None)));
        }
        for at in settled.len()..rounds.min(MOST_ROUNDS) {
            if begun.elapsed() > MOST_TIME {
                return Ok(None);
            }
            let edits = self.edits(|file| file.code.of_each_test(at));
            let Some(tests) = self.run(&edits).await? else { continue };
            if all_failed(&run.tests, &tests) {
                settled.insert(at);
            } else if self.some_hold(|file| file.code.of_each_test(at), &tests).await? {
                return Ok(Some(run.unmoved(&edits, None)));
            }
        }
        for (file, at) in run.each() {
            if begun.elapsed() > MOST_TIME || self.ran >= MOST_RUNS {
                break;
            }
            let is_settled = file.code.round_of(at).is_some_and(|round| settled.contains(&round));
            if !is_settled && self.holds(file, at).await? {
                let alone = [file.edit(file.code.with(&[at]))];
                return Ok(Some(run.unmoved(&alone, Some(file.code.line(at)))));
            }
        }
        Ok(None)
    }

    /// Whether the check runs some of the tests: it fails with failures planted in all of them. Where
    /// none can be planted, it may.
    async fn runs_some(&mut self) -> Result<bool, VerifyError> {
        let tests = self.run.mutants.tests.iter();
        let failing = tests.filter_map(|file| {
            let code = file.code.failing(&file.path)?;
            Some(self.edit(file, code))
        });
        let failing: Vec<TreeEdit> = failing.collect();
        Ok(failing.is_empty() || self.run(&failing).await?.is_some())
    }

    /// Whether the check passes whatever one assertion expects, though it is reached, or must be.
    async fn holds(&mut self, file: &TestFile, at: usize) -> Result<bool, VerifyError> {
        let before = file.code.failing_before(&file.path, &[at], PlantedFailure::OfProcess);
        let around = file.code.failing_around(&file.path, at);
        if before.is_none() && around.is_none() {
            return Ok(false);
        }
        let alone = [self.edit(file, file.code.with(&[at]))];
        if self.run(&alone).await?.is_some() {
            return Ok(false);
        }
        for failing in before.into_iter().chain(around) {
            let failing = [self.edit(file, failing)];
            if self.run(&failing).await?.is_some() {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Whether a test passes with some of the changes, though it fails by name with a failure
    /// before each of them.
    async fn some_hold(
        &mut self,
        some: impl Fn(&TestFile) -> Vec<usize>,
        changed: &[TestCount],
    ) -> Result<bool, VerifyError> {
        let tests = self.run.mutants.tests.iter();
        let failing = tests.filter_map(|file| {
            let code = file.code.failing_before(&file.path, &some(file), PlantedFailure::OfTest)?;
            Some(self.edit(file, code))
        });
        let failing: Vec<TreeEdit> = failing.collect();
        if failing.is_empty() {
            return Ok(false);
        }
        let Some(failed) = self.run(&failing).await? else { return Ok(false) };
        Ok(self.run.tests.iter().any(|before| {
            let of = |counts: &[TestCount]| {
                let count = count_of(counts, before)?;
                let is_whole =
                    count.ran >= before.ran && count.failed.len() < TestCount::MOST_FAILED;
                is_whole.then(|| count.failed.clone())
            };
            let (Some(changed), Some(failed)) = (of(changed), of(&failed)) else { return false };
            failed.iter().any(|name| changed.binary_search(name).is_err())
        }))
    }

    fn edits(&self, some: impl Fn(&TestFile) -> Vec<usize>) -> Vec<TreeEdit> {
        let tests = self.run.mutants.tests.iter();
        tests.map(|file| self.edit(file, file.code.with(&some(file)))).collect()
    }

    /// A file with other code, and with another size in each run: what is made of it may be kept by
    /// its size and its time.
    fn edit(&self, file: &TestFile, code: String) -> TreeEdit {
        file.edit(code + &"\n".repeat(self.ran + 1))
    }
}

/// Whether all the tests that passed at first fail.
fn all_failed(before: &[TestCount], now: &[TestCount]) -> bool {
    !before.is_empty()
        && before.iter().all(|before| {
            count_of(now, before)
                .is_some_and(|now| now.ran >= before.ran && now.failed.len() as u64 >= now.ran)
        })
}

fn count_of<'c>(counts: &'c [TestCount], before: &TestCount) -> Option<&'c TestCount> {
    counts.iter().find(|count| count.runner == before.runner)
}
