//! A plan as a TASK.md.

use std::fmt::Write as _;

use crate::model::TaskPlan;

/// What becomes a TASK.md.
#[derive(Clone, Copy, Debug)]
pub struct PlanText<'p> {
    /// The task's name.
    pub name: &'p str,
    /// The goal, as it was given.
    pub goal: &'p str,
    /// The plan.
    pub plan: &'p TaskPlan,
    /// For each sub-task its `id:`.
    pub ids: &'p [String],
    /// For each sub-task the text of its criterion: one line, with nothing that Markdown or TASK.md
    /// takes for something else.
    pub texts: &'p [String],
    /// For each sub-task its verify commands.
    pub checks: &'p [Vec<String>],
    /// Said of each check that is not the human's.
    pub mark: Option<&'p str>,
    /// Lines of front matter.
    pub settings: &'p [String],
}

/// Writes the TASK.md of a plan: a criterion for each sub-task.
pub fn document(text: &PlanText<'_>) -> String {
    let PlanText { name, goal, plan, ids, texts, checks, mark, settings } = text;
    let around = fence(goal, 3);
    let lines: String = settings.iter().map(|line| format!("{line}\n")).collect();
    let front = if lines.is_empty() { lines } else { format!("---\n{lines}---\n") };
    let mut out = format!(
        "{front}# {name}\n\nThe goal:\n\n{around}text\n{}\n{around}\n\n## Success Criteria\n\n",
        goal.trim()
    );
    for (at, task) in plan.tasks.iter().enumerate() {
        let _infallible = write!(out, "- [ ] {}\n  - id: {}\n", texts[at], ids[at]);
        let before = plan.dependencies.get(&task.id).into_iter().flatten();
        let before = before.filter_map(|id| plan.tasks.iter().position(|other| other.id == *id));
        let before: Vec<&str> = before.map(|at| ids[at].as_str()).collect();
        if !before.is_empty() {
            let _infallible = writeln!(out, "  - after: {}", before.join(", "));
        }
        for check in &checks[at] {
            let (ticks, space) = (fence(check, 1), if check.contains('`') { " " } else { "" });
            if let Some(mark) = mark {
                let _infallible = writeln!(out, "  <!-- {mark} -->");
            }
            let _infallible = writeln!(out, "  - verify: {ticks}{space}{check}{space}{ticks}");
        }
    }
    out
}

/// More backticks than any that a text has in a row, and at least so many.
pub fn fence(text: &str, least: usize) -> String {
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or_default();
    "`".repeat(least.max(longest + 1))
}
