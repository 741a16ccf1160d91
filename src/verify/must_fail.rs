//! Runs that must fail: the checks of a criterion, while their tests expect something else, or while
//! the tests of the work meet the product of the start.
//!
//! Invariant: only checks that are green everywhere else run here, and only those of criteria that
//! nobody proved yet. Runs stop as soon as one says enough.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use super::checks::{CheckOptions, Checks};
use super::classify::{LookedAt, Mutant, Mutants, TreeEdit};
use super::error::VerifyError;
use super::harness_at::Harness;
use super::plan::PlannedCheck;
use super::proof_room::{ProofRoom, Shown};
use super::proof_rules::ProofRules;
use crate::model::{Cell, CheckResult, FirstStatus, MustFail, Unmoved};

/// Checks that take longer do not run once more.
const MOST_MILLIS: u64 = 120_000;
/// No further line of a check's tests changes after so many runs, and after three times its own
/// time, unless a line is under suspicion.
const MOST_RUNS: usize = 4;

/// A check, and the changes with which it must fail.
pub(super) struct MustFailRun {
    check: PlannedCheck,
    millis: u64,
    /// Its tests are those of the work.
    is_new: bool,
    put_back: Vec<TreeEdit>,
    /// Edits that make the product the start's.
    product: Vec<TreeEdit>,
    mutants: Mutants,
}

/// The runs that must fail, for the checks that the work turned green.
pub(super) fn must_fail(
    harness: &Harness,
    rules: &ProofRules<'_>,
    planned: &[PlannedCheck],
    (results, product): (&[CheckResult], &[TreeEdit]),
) -> Vec<MustFailRun> {
    if !results.iter().all(CheckResult::passed) {
        return Vec::new();
    }
    let was_red = |check: &&CheckResult| {
        let seen = rules.first_seen(&check.command);
        seen.is_some_and(|seen| seen.status != FirstStatus::Green)
            && check.millis <= MOST_MILLIS
            && rules.later_harness(&check.command).is_none()
            // It has no tests that could need the work.
            && LookedAt::of(&check.command).is_none()
    };
    let of = |result: &CheckResult| {
        let check = planned.iter().find(|check| check.command == result.command)?.clone();
        let is_new = rules.is_test_new(&check.command);
        let put_back = if is_new { Vec::new() } else { harness.found.edits.clone() };
        let product = product.to_vec();
        let mutants = harness.mutants(result, rules, planned);
        let millis = result.millis;
        Some(MustFailRun { check, millis, is_new, put_back, product, mutants })
    };
    let deep = |check: &&CheckResult| rules.is_deep_command(planned, &check.command);
    results.iter().filter(was_red).filter(deep).filter_map(of).filter(|it| !it.is_empty()).collect()
}

/// The edits that undo the work on the criterion, for its new tests. What other criteria changed
/// before stays: an honest test may be about that, or about what was there all along.
pub(super) fn old_product(
    harness: &Harness,
    shown: Shown<'_>,
    rules: &ProofRules<'_>,
    planned: &[PlannedCheck],
    human: &[TreeEdit],
) -> Result<Vec<TreeEdit>, VerifyError> {
    let can_run = |edits: &[TreeEdit]| edits.iter().any(|edit| runs(edit.path()));
    if harness.changes.is_empty() || rules.deep.is_empty() || !can_run(&harness.found.product) {
        return Ok(Vec::new());
    }
    let since = ProofRules { harness: rules.began, ..*rules };
    let product = match Harness::at(shown, &since, planned, human)? {
        Some(since) => since.found.product,
        None => harness.found.product.clone(),
    };
    Ok(if can_run(&product) { product } else { Vec::new() })
}

/// Can tests depend on a file? They cannot on prose, and not on a workflow of CI.
fn runs(path: &Path) -> bool {
    let is_hidden = path.iter().next().is_some_and(|it| it.to_string_lossy().starts_with('.'));
    let is_prose = path.extension().is_some_and(|it| it == "md" || it == "rst");
    !is_hidden && !is_prose
}

impl MustFailRun {
    fn is_empty(&self) -> bool {
        let Mutants { data, lines, empty } = &self.mutants;
        self.product.is_empty() && data.is_empty() && lines.is_empty() && empty.is_empty()
    }

    fn unmoved(&self, with: MustFail, paths: Vec<PathBuf>, line: Option<u64>) -> Unmoved {
        let (command, criteria) = (self.check.command.clone(), self.check.criteria.clone());
        Unmoved { command, criteria, with, paths, line }
    }
}

/// Runs the checks, and returns those that pass all the same.
pub(super) async fn unmoved(
    room: &mut ProofRoom,
    shown: Shown<'_>,
    runs: Vec<MustFailRun>,
    rests_on: &[PathBuf],
    (checks, options): (&dyn Checks, &CheckOptions),
) -> Result<Vec<Unmoved>, VerifyError> {
    let mut found = Vec::new();
    for run in &runs {
        let Mutants { lines, empty, .. } = &run.mutants;
        let counts = run.is_new && lines.is_empty() || empty.iter().any(|it| rests_on.contains(it));
        if !empty.is_empty() && counts {
            found.push(run.unmoved(MustFail::NoAssertion, empty.clone(), None));
            continue;
        }
        // What the proof rests on stays.
        let stays = |edit: &&TreeEdit| !rests_on.contains(edit.path());
        let old_tests = run.put_back.iter().filter(stays).cloned().collect();
        // A run that goes on for longer waits for a value that never comes.
        let limit = Duration::from_millis(2 * run.millis) + Duration::from_secs(30);
        let options = CheckOptions { limit: options.limit.min(limit), ..options.clone() };
        let began = Instant::now();
        let room = &mut *room;
        let mut runner = Runner { room, shown, run, old_tests, checks, options, ran: 0, began };
        found.extend(runner.find(run.is_new || !rests_on.is_empty()).await?);
    }
    Ok(found)
}

/// The runs of one check.
struct Runner<'a> {
    room: &'a mut ProofRoom,
    shown: Shown<'a>,
    run: &'a MustFailRun,
    old_tests: Vec<TreeEdit>,
    checks: &'a dyn Checks,
    options: CheckOptions,
    ran: usize,
    began: Instant,
}

impl Runner<'_> {
    /// The first run that passes, though it must fail. `rests_on_new` says that the proof rests on
    /// files that are new, so that they have to fail without the work.
    async fn find(&mut self, rests_on_new: bool) -> Result<Option<Unmoved>, VerifyError> {
        let run = self.run;
        let data = &run.mutants.data;
        if rests_on_new
            && !run.product.is_empty()
            && self.passes(Cell::OldProduct, &run.product).await?
        {
            let paths = run.product.iter().map(|edit| edit.path().clone()).collect();
            return Ok(Some(run.unmoved(MustFail::OldProduct, paths, None)));
        }
        if !data.is_empty() && self.passes(Cell::OtherExpectation, data).await? {
            let paths = data.iter().map(|edit| edit.path().clone()).collect();
            return Ok(Some(run.unmoved(MustFail::OtherExpectation, paths, None)));
        }
        self.lines().await
    }

    /// One line of the tests after the other expects something else. A single line may be no
    /// expectation at all, so that another one has to agree, if there is one.
    async fn lines(&mut self) -> Result<Option<Unmoved>, VerifyError> {
        let (mut found, mut deciding): (Option<&Mutant>, usize) = (None, 0);
        for mutant in &self.run.mutants.lines {
            if !self.may_run(found.is_some()) || deciding > 1 {
                break;
            }
            let mut decides = false;
            for code in &mutant.changed {
                let edit = mutant.edit(code, self.ran);
                decides = !self.passes(Cell::OtherExpectation, &[edit]).await?;
                if decides {
                    break;
                }
            }
            if decides && (found.is_some() || mutant.is_about_the_work) {
                return Ok(None);
            }
            if decides {
                deciding += 1;
                continue;
            }
            let failing = mutant.edit(&mutant.failing, self.ran);
            if self.passes(Cell::OtherExpectation, &[failing]).await? {
                continue;
            }
            if found.is_some() {
                break;
            }
            found = Some(mutant);
        }
        Ok(found.map(|mutant| {
            let (paths, line) = (vec![mutant.path.clone()], Some(mutant.line));
            self.run.unmoved(MustFail::OtherExpectation, paths, line)
        }))
    }

    fn may_run(&self, is_suspect: bool) -> bool {
        const LEAST: Duration = Duration::from_millis(500);
        let most = Duration::from_millis(3 * self.run.millis).max(LEAST);
        self.ran == 0 || is_suspect || self.ran < MOST_RUNS && self.began.elapsed() < most
    }

    async fn passes(&mut self, cell: Cell, edits: &[TreeEdit]) -> Result<bool, VerifyError> {
        self.ran += 1;
        let old_tests = match cell {
            Cell::OldProduct => &[][..],
            Cell::Work | Cell::PutBack | Cell::EndMark | Cell::OtherExpectation => &self.old_tests,
        };
        let all = [self.shown.edits, old_tests, edits].concat();
        let shown = Shown { edits: &all, ..self.shown };
        let check = std::slice::from_ref(&self.run.check);
        let options = CheckOptions { cell, ..self.options.clone() };
        let mut ran = self.room.run(shown, check, self.checks, &options).await?;
        Ok(ran.remove(0).result.passed())
    }
}
