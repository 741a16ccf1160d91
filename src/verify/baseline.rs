//! The results of the verify commands before the work.
//!
//! Invariant: pure. A command that passed once in a run counts as passing before, so that a
//! failure caused by an earlier attempt is not forgiven. The commands of an open criterion keep
//! their results from before its first attempt, so that in a second attempt its check does not
//! count as passing all along.

use std::collections::BTreeMap;

use super::plan::PlannedCheck;
use crate::model::{CheckResult, CriterionKey};

/// The remembered result of each command.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Baseline {
    results: BTreeMap<String, CheckResult>,
    millis: BTreeMap<String, u64>,
}

impl Baseline {
    /// From the results before any work; empty if `--no-baseline` skipped them.
    pub fn new(results: Vec<CheckResult>) -> Self {
        let mut it = Self::default();
        it.time(&results);
        it.results = results.into_iter().map(|check| (check.command.clone(), check)).collect();
        it
    }

    /// Adds the results after a turn that did not prove `open`, the criterion in focus.
    pub fn learn_open(&mut self, results: &[CheckResult], open: &CriterionKey) {
        self.time(results);
        for check in results.iter().filter(|check| !check.criteria.contains(open)) {
            self.turn_green(check);
        }
    }

    /// Adds the results after a turn that proved its criterion.
    pub fn learn_passed(&mut self, results: &[CheckResult]) {
        self.time(results);
        for check in results {
            self.turn_green(check);
            // Tests that pass since then must not fail again.
            let of_task_alone = check.whole_task && check.criteria.is_empty();
            if of_task_alone && self.red(&check.command).is_some() {
                self.results.insert(check.command.clone(), check.clone());
            }
        }
    }

    /// The result of a command that failed.
    pub fn red(&self, command: &str) -> Option<&CheckResult> {
        self.results.get(command).filter(|check| !check.passed())
    }

    /// The results of the commands that a task has now, for the judge of a turn: a human may have
    /// changed the task since they ran.
    pub fn of(&self, planned: &[PlannedCheck]) -> Vec<CheckResult> {
        let results = planned.iter().filter_map(|now| {
            let (criteria, whole_task) = (now.criteria.clone(), now.whole_task);
            let result = self.results.get(&now.command)?.clone();
            Some(CheckResult { criteria, whole_task, ..result })
        });
        results.collect()
    }

    /// All results.
    pub fn before(&self) -> Vec<CheckResult> {
        self.results.values().cloned().collect()
    }

    /// The time that each command took when it last ran.
    pub fn millis(&self) -> &BTreeMap<String, u64> {
        &self.millis
    }

    /// Records only passes: a failure after a pass is a regression and stays one.
    fn turn_green(&mut self, check: &CheckResult) {
        if check.passed() {
            self.results.insert(check.command.clone(), check.clone());
        }
    }

    fn time(&mut self, results: &[CheckResult]) {
        for check in results {
            self.millis.insert(check.command.clone(), check.millis);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::CheckStatus;

    fn key(text: &str) -> CriterionKey {
        CriterionKey { text: text.into(), occurrence: 0 }
    }

    fn check(command: &str, owner: &str, status: CheckStatus, millis: u64) -> CheckResult {
        CheckResult { criteria: vec![key(owner)], millis, ..CheckResult::new(command, status) }
    }

    fn passed(baseline: &Baseline, command: &str) -> Option<bool> {
        baseline.before().iter().find(|check| check.command == command).map(CheckResult::passed)
    }

    #[test]
    fn red_after_green_is_not_forgotten() {
        let mut it = Baseline::new(vec![check("x", "a", CheckStatus::Passed, 5)]);
        it.learn_open(&[check("x", "a", CheckStatus::Failed(1), 9)], &key("b"));
        assert_eq!(passed(&it, "x"), Some(true));
        assert_eq!(it.millis()["x"], 9);
    }

    #[test]
    fn an_open_criterion_keeps_what_was_before_its_first_attempt() {
        let mut it = Baseline::new(vec![check("x", "a", CheckStatus::Failed(1), 5)]);
        it.learn_open(&[check("x", "a", CheckStatus::Passed, 5)], &key("a"));
        assert_eq!(passed(&it, "x"), Some(false));
        it.learn_passed(&[check("x", "a", CheckStatus::Passed, 5)]);
        assert_eq!(passed(&it, "x"), Some(true));
    }
}
