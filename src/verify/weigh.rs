//! The reasons why a criterion's checks prove nothing, from their results.
//!
//! Invariant: pure. The loop's judge says the same as findings; this is for commands without a run.

use super::prove::Proved;
use crate::model::{CheckResult, CriterionKey};

/// The reasons; empty if the checks hold. `at` says where they ran, as in `at the head`.
pub fn reasons(proved: &Proved, key: &CriterionKey, at: &str) -> Vec<String> {
    let own = |check: &&CheckResult| check.criteria.contains(key);
    let mut why = Vec::new();
    for check in proved.checks.iter().filter(own) {
        let command = &check.command;
        if proved.flaky.contains(command) {
            why.push(format!("`{command}` passes and fails {at}"));
        } else if !check.passed() {
            why.push(format!("`{command}` fails {at}"));
        }
        if let Some(wrote) = proved.wrote.iter().find(|wrote| wrote.command == *command) {
            let path = wrote.paths.first().map(|change| change.path.display().to_string());
            why.push(format!("`{command}` changes {} {at}", path.unwrap_or_default()));
        }
    }
    for unmoved in proved.unmoved.iter().filter(|it| it.criteria.contains(key)) {
        let paths = unmoved.paths.iter().map(|path| path.display().to_string());
        let paths = paths.collect::<Vec<_>>().join(", ");
        let line = unmoved.line.map(|line| format!("line {line} of ")).unwrap_or_default();
        why.push(format!("`{}` passes {at} whatever {line}{paths} expects", unmoved.command));
    }
    let Some(put_back) = &proved.put_back else { return why };
    let changed = put_back.harness.iter().map(|change| change.path.display().to_string());
    let changed = changed.collect::<Vec<_>>().join(", ");
    for check in put_back.checks.iter().filter(own).filter(|check| !check.passed()) {
        why.push(format!("`{}` fails {at}, with {changed} as it was", check.command));
    }
    for inline in &put_back.inline_tests {
        why.push(format!("tests inside {} changed", inline.path.display()));
    }
    why
}
