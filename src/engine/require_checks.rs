//! `--require-checks`: criteria that only a commit could speak for are refused before the first
//! prompt, so that no attempt is spent on them.

use std::path::Path;

use super::EngineError;
use super::decide::open_criteria;
use crate::model::{CheckResult, Criterion, FirstStatus, Proof, Task, TaskState};

/// Refuses criteria that no check can prove, or, once they are ticked, has proven. `before` holds
/// the results of the checks before the work, and is empty as long as they did not run; `file` is
/// TASK.md.
///
/// # Errors
/// [`EngineError::ChecksRequired`] with every criterion that has no check of its own, or
/// is open although its checks all passed before the work.
pub fn require_checks(
    task: &Task,
    state: &TaskState,
    file: &Path,
    before: &[CheckResult],
) -> Result<(), EngineError> {
    let proven = |key| {
        let proof = state.find(key).and_then(|entry| entry.proof);
        matches!(proof, Some(Proof::Check | Proof::Tree | Proof::Accepted))
    };
    let ticked = task.criteria.iter().filter(|criterion| criterion.checked);
    let refused: Vec<String> = open_criteria(task, state)
        .chain(ticked.filter(|criterion| !proven(&criterion.key)))
        .filter_map(|criterion| {
            let green = |command: &str| {
                before.iter().any(|check| check.command == command && check.passed())
                    && !matches!(
                        state.first_seen(command),
                        Some(FirstStatus::Red | FirstStatus::Missing)
                    )
            };
            let why = unprovable(criterion, green)?;
            let (line, text) = (criterion.line, criterion.key.quoted());
            Some(format!("\n  {}:{line}: {text} {why}", file.display()))
        })
        .collect();
    if refused.is_empty() {
        return Ok(());
    }
    Err(EngineError::ChecksRequired { refused: refused.concat() })
}

fn unprovable(criterion: &Criterion, green: impl Fn(&str) -> bool) -> Option<&'static str> {
    if criterion.verify.is_empty() {
        Some("has no verify command")
    } else if !criterion.checked && criterion.verify.iter().all(|verify| green(&verify.command)) {
        Some("passes its verify commands before any work")
    } else {
        None
    }
}
