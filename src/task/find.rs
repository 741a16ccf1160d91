//! Looking criteria up.

use crate::model::{Criterion, CriterionKey, Severity, Task};

/// Whether the task may be worked on: no diagnostic is an error.
pub fn usable(task: &Task) -> bool {
    task.diagnostics.iter().all(|it| it.severity != Severity::Error)
}

/// The criterion with this identity, if it is still there.
pub fn find<'a>(task: &'a Task, key: &CriterionKey) -> Option<&'a Criterion> {
    task.criteria.iter().find(|criterion| criterion.key == *key)
}

/// The criterion whose box stands on this 1-based line.
pub fn at_line(task: &Task, line: usize) -> Option<&Criterion> {
    task.criteria.iter().find(|criterion| criterion.line == line)
}
