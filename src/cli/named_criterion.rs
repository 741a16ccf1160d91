//! The criterion that a user names by its line or its text.

use super::failure::Failure;
use crate::model::{Criterion, ExitCode, Task};
use crate::task;

/// The similarity, from 0 to 1, from which a criterion is suggested for an unknown text.
const ALIKE: f64 = 0.8;

/// Finds the criteria that are named; several can have the same text.
///
/// # Errors
/// If there is none.
pub(super) fn named<'t>(task: &'t Task, named: &str) -> Result<Vec<&'t Criterion>, Failure> {
    let line = named.parse::<usize>().ok();
    let of_line = line.and_then(|line| task::at_line(task, line));
    let by_text = || task.criteria.iter().filter(|it| it.key.text == named).collect::<Vec<_>>();
    let found = of_line.map_or_else(by_text, |it| vec![it]);
    if !found.is_empty() {
        return Ok(found);
    }
    let what = match line {
        Some(line) => format!("no criterion on line {line} of the TASK.md of `{}`", task.name),
        None => format!("task `{}` has no criterion `{named}`", task.name),
    };
    let alike =
        |it: &&Criterion| strsim::jaro_winkler(&it.key.text.to_lowercase(), &named.to_lowercase());
    let nearest = task.criteria.iter().filter(|it| line.is_none() && alike(it) >= ALIKE);
    let hint = match nearest.max_by(|one, other| alike(one).total_cmp(&alike(other))) {
        Some(it) => format!("did you mean `{}` (line {})?", it.key.text, it.line),
        None if task.criteria.is_empty() => {
            "the file has no criteria: add a list item with a checkbox, `- [ ] text`".to_owned()
        }
        None => {
            let lines = task.criteria.iter().take(20).map(|it| it.line.to_string());
            format!("lines with a criterion: {}", lines.collect::<Vec<_>>().join(", "))
        }
    };
    Err(Failure::new(ExitCode::Usage, what).hint(hint))
}
