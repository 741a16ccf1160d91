//! Runs that must fail: the checks at the commit, while their tests expect something else.
//!
//! Invariant: only checks that are green everywhere else run once more here.

use super::checks::{CheckOptions, Checks};
use super::error::VerifyError;
use super::harness::TreeEdit;
use super::harness_at::Harness;
use super::plan::PlannedCheck;
use super::proof_room::{ProofRoom, Shown};
use super::proof_rules::ProofRules;
use crate::model::{CheckResult, FirstStatus, Unmoved};

/// Checks that take longer do not run once more.
const MOST_MILLIS: u64 = 120_000;

/// A check, and the edits with which it must fail.
pub(super) struct MutantRun {
    check: PlannedCheck,
    put_back: Vec<TreeEdit>,
    mutants: Vec<Vec<TreeEdit>>,
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
        let put_back = harness.found.edits.clone();
        (!mutants.is_empty()).then_some(MutantRun { check, put_back, mutants })
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
    for MutantRun { check, put_back, mutants } in runs {
        for edits in mutants {
            let all = [shown.edits, &put_back, &edits].concat();
            let shown = Shown { edits: &all, ..shown };
            let ran = room.run(shown, std::slice::from_ref(&check), checks, options).await?;
            if ran.iter().all(|ran| ran.result.passed() && !ran.flaky) {
                let paths = edits.into_iter().map(|edit| edit.path().clone()).collect();
                let command = check.command.clone();
                found.push(Unmoved { command, criteria: check.criteria.clone(), paths });
            }
        }
    }
    Ok(found)
}
