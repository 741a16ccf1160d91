//! The criterion that a user names by its `id`, its line, or its text, or as a matrix names it.

use super::command_names::nearest;
use super::failure::Failure;
use crate::engine::criterion_name;
use crate::model::{Criterion, ExitCode, Task, in_quotes};
use crate::task;

/// Finds the criteria that are named; several can have the same text.
///
/// # Errors
/// If there is none.
pub(super) fn named<'t>(task: &'t Task, name: &str) -> Result<Vec<&'t Criterion>, Failure> {
    let line = name.parse::<usize>().ok();
    let of_line = line.and_then(|line| task::at_line(task, line));
    let all = || task.criteria.iter();
    let by_text = || all().filter(|it| it.key.text == name).collect::<Vec<_>>();
    let by_name = all().find(|it| criterion_name(it) == name);
    let found = of_line.or(by_name).map_or_else(by_text, |it| vec![it]);
    if !found.is_empty() {
        return Ok(found);
    }
    let what = match line {
        Some(line) => format!("no criterion on line {line} of the TASK.md of `{}`", task.name),
        None => format!("task `{}` has no criterion {}", task.name, in_quotes(name)),
    };
    let texts = task.criteria.iter().map(|it| it.key.text.as_str());
    let meant = nearest(name, texts).filter(|_| line.is_none());
    let hint = match task.criteria.iter().find(|it| Some(it.key.text.as_str()) == meant) {
        Some(it) => format!("did you mean {} (line {})?", it.key.quoted(), it.line),
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
