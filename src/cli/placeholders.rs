//! Lines of a TASK.md that are still those of the template that `init` writes.

use crate::model::{Diagnostic, Severity, Task};
use crate::prompt::TASK_TEMPLATE;

/// An error for each item of the template that a task still has, and a warning for each other
/// sentence of it.
pub(super) fn placeholders(task: &Task) -> Vec<Diagnostic> {
    let body = TASK_TEMPLATE.rsplit("---\n").next().unwrap_or_default();
    let template: Vec<(&str, Severity)> = body
        .lines()
        .filter(|line| !line.trim().is_empty() && !line.starts_with('#'))
        .map(|line| {
            let is_item = line.trim_start().starts_with('-');
            (text(line), if is_item { Severity::Error } else { Severity::Warning })
        })
        .collect();
    let mut found = Vec::new();
    let mut start = 0;
    for (number, line) in task.source.split_inclusive('\n').enumerate() {
        let seen = text(line);
        if let Some((_, severity)) = template.iter().find(|(known, _)| *known == seen) {
            let before = &line[..line.find(seen).unwrap_or_default()];
            let at = start + before.len();
            found.push(Diagnostic {
                severity: *severity,
                line: number + 1,
                column: before.chars().count() + 1,
                message: format!("line {} is still the template's", number + 1),
                hint: Some(hint(seen, *severity).to_owned()),
                span: at..at + seen.len(),
                unread: false,
            });
        }
        start += line.len();
    }
    found
}

fn hint(seen: &str, severity: Severity) -> &'static str {
    match severity {
        Severity::Error if seen.starts_with("verify:") => {
            "write a command that fails until the criterion is met, or remove the line"
        }
        Severity::Error => "write what should be true when the task is done",
        Severity::Warning => "write what the agent should know, or remove the line",
    }
}

/// A line without its bullet and its box.
fn text(line: &str) -> &str {
    let text = line.trim().trim_start_matches(['-', '*', '+']).trim_start();
    let behind = ["[ ]", "[x]", "[X]"].iter().find_map(|mark| text.strip_prefix(mark));
    behind.unwrap_or(text).trim_start()
}
