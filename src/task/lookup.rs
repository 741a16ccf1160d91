//! Lookups in a parsed task.

use crate::model::{Criterion, CriterionKey, Severity, Task};

/// Can the task be worked on? True if no diagnostic is an error.
pub fn usable(task: &Task) -> bool {
    task.diagnostics.iter().all(|it| it.severity != Severity::Error)
}

/// The criterion with this key, if it still exists.
pub fn find<'a>(task: &'a Task, key: &CriterionKey) -> Option<&'a Criterion> {
    task.criteria.iter().find(|criterion| criterion.key == *key)
}

/// The criterion whose checkbox is on this 1-based line.
pub fn at_line(task: &Task, line: usize) -> Option<&Criterion> {
    task.criteria.iter().find(|criterion| criterion.line == line)
}
