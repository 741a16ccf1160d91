//! `check`: validates a task and lists its criteria.

use std::path::Path;

use serde_json::{Value, json};

use super::args::TaskArgs;
use super::assemble;
use super::context::TaskContext;
use super::failure::Failure;
use super::print::{annotate, complain, say, say_json};
use super::told::Told;
use crate::config::LayerSettings;
use crate::engine::next_ready;
use crate::model::{Criterion, Diagnostic, Severity, Task, TaskSettings, TaskState};
use crate::report::{NightCriterion, message};
use crate::task;

/// Shows the task. If a run would not start with it, the exit code and the last words are the
/// run's.
pub(super) fn check(directory: Option<&Path>, args: &TaskArgs) -> Result<u8, Failure> {
    let at = TaskContext::find(directory, &args.task)?;
    let task = at.load()?;
    // An unreadable file says nothing about a criterion.
    let told = Told::of(directory, &at).ok();
    let state = told.as_ref().map(|told| told.state.clone()).unwrap_or_default();
    let refusal = assemble::startable(&at, LayerSettings::default())
        .and_then(|(task, settings)| assemble::has_checks(&at, &task, &settings, &state))
        .err();
    let code = refusal.as_ref().map_or(0, |failure| failure.code.number());
    if args.json {
        say_json(&as_json(&at, &task, &state, refusal.as_ref()));
        return Ok(code);
    }
    let known = told.as_ref().map(Told::criteria).unwrap_or_default();
    let steps = told.as_ref().map(Told::next).unwrap_or_default();
    say(&overview(&at, &task, &state, &known, &steps));
    let bare = |it: &&Criterion| !it.checked && it.verify.is_empty() && it.recipe.is_none();
    let bare: Vec<String> =
        task.criteria.iter().filter(bare).map(|it| it.line.to_string()).collect();
    if !bare.is_empty() && task.settings.verify.is_empty() {
        let lines = if bare.len() == 1 { "line" } else { "lines" };
        say(&format!(
            "\nnote: no check can prove what stands on {lines} {}: only a commit will speak for it; \
             give it a `verify:` line",
            bare.join(", ")
        ));
    }
    if let Some(elsewhere) = told.as_ref().and_then(Told::elsewhere) {
        say(&format!("\n{elsewhere}"));
    }
    let refused = refusal.as_ref().map(Failure::reason).unwrap_or_default();
    for remark in at.diagnostics(&task).iter().filter(|remark| !refused.contains(*remark)) {
        complain(&format!("\n{remark}"));
    }
    if let Some(failure) = refusal {
        complain(&format!("\n{failure}"));
    }
    let file = at.layout.file(task::TASK_FILE).display().to_string();
    for found in &task.diagnostics {
        let kind = if found.severity == Severity::Error { "error" } else { "warning" };
        annotate(kind, Some((&file, found.line)), &found.message);
    }
    Ok(code)
}

/// The same object for a task that cannot be read: one diagnostic says why. It is at line 1,
/// column 1, like every diagnostic about a whole file.
pub(super) fn refused(task: Option<&str>, failure: &Failure) -> Value {
    let hint = (!failure.hints.is_empty()).then(|| failure.hints.join("; "));
    let diagnostic = Diagnostic {
        severity: Severity::Error,
        line: 1,
        column: 1,
        message: failure.reason(),
        hint,
        span: 0..0,
        unread: false,
    };
    json!({
        "task": task,
        "file": null,
        "title": null,
        "criteria": [],
        "next": null,
        "totals": { "criteria": 0, "checked": 0, "open": 0 },
        "settings": TaskSettings::default(),
        "diagnostics": [diagnostic],
        "usable": false,
        "refusal": failure.reason(),
    })
}

fn as_json(at: &TaskContext, task: &Task, state: &TaskState, refusal: Option<&Failure>) -> Value {
    let criteria: Vec<Value> = task.criteria.iter().map(criterion).collect();
    let checked = task.criteria.iter().filter(|criterion| criterion.checked).count();
    json!({
        "task": task.name,
        "file": at.layout.file(task::TASK_FILE),
        "title": task.title,
        "criteria": criteria,
        "next": next_ready(task, state).map(criterion),
        "totals": {
            "criteria": task.criteria.len(),
            "checked": checked,
            "open": task.criteria.len() - checked,
        },
        "settings": task.settings,
        "diagnostics": task.diagnostics,
        "usable": refusal.is_none(),
        "refusal": refusal.map(Failure::reason),
    })
}

fn criterion(criterion: &Criterion) -> Value {
    json!({
        "line": criterion.line,
        "column": criterion.column,
        "checked": criterion.checked,
        "text": criterion.key.text,
        "occurrence": criterion.key.occurrence,
        "recipe": criterion.recipe,
        "id": criterion.id,
        "after": criterion.after,
        "verify": criterion.verify.iter().map(|verify| &verify.command).collect::<Vec<_>>(),
    })
}

fn overview(
    at: &TaskContext,
    task: &Task,
    state: &TaskState,
    known: &[NightCriterion],
    steps: &[String],
) -> String {
    let file = at.layout.file(task::TASK_FILE);
    let mut text = format!("{}  {}", task.name, file.display());
    if let Some(title) = &task.title {
        text.push_str(&format!("\n{title}"));
    }
    text.push('\n');
    for criterion in &task.criteria {
        let mark = if criterion.checked { "x" } else { " " };
        text.push_str(&format!("\n{:>5}  [{mark}] {}", criterion.line, criterion.key.text));
        let known = known.iter().find(|it| it.line == criterion.line);
        let said = known.filter(|it| it.said != "open");
        text.extend(said.map(|it| format!("  {}", it.said)));
        let reason = known.and_then(NightCriterion::why);
        text.extend(reason.map(|why| format!("\n             {}", message(why))));
        if !criterion.after.is_empty() {
            let before: Vec<_> = criterion.after.iter().map(|key| key.quoted()).collect();
            text.push_str(&format!("\n             after: {}", before.join(", ")));
        }
        if let Some(recipe) = &criterion.recipe {
            text.push_str(&format!("\n             recipe: {recipe}"));
        }
        for verify in &criterion.verify {
            text.push_str(&format!("\n             verify: {}", verify.command));
        }
        if !criterion.may_change.is_empty() {
            let globs = criterion.may_change.join(", ");
            text.push_str(&format!("\n             may change: {globs}"));
        }
        let next = known.and_then(|it| it.next.as_ref());
        text.extend(next.map(|way| format!("\n             {way}")));
    }
    for command in &task.settings.verify {
        text.push_str(&format!("\n\nafter every iteration: {command}"));
    }
    for command in &task.settings.setup {
        text.push_str(&format!("\n\nbefore the checks, in the proof room: {command}"));
    }
    if !task.settings.may_change.is_empty() {
        text.push_str(&format!("\n\nmay change: {}", task.settings.may_change.join(", ")));
    }
    let openings = openings(&task.settings);
    if !openings.is_empty() {
        text.push_str(&format!("\n\nin the sandbox: {}", openings.join("; ")));
    }
    if let Some(gateway) = task.settings.gateway {
        text.push_str(&format!("\n\ngateway: {gateway}"));
    }
    let has_checks = task.criteria.iter().any(|criterion| !criterion.verify.is_empty());
    if has_checks && let Some(line) = at.place.where_checks_run() {
        text.push_str(&format!("\n\n{line}"));
    }
    if task.criteria.is_empty() {
        text.push_str("\nNo criteria");
        return text;
    }
    let checked = task.criteria.iter().filter(|criterion| criterion.checked).count();
    text.push_str(&format!("\n\n{checked} of {} ticked", task.criteria.len()));
    if let Some(next) = next_ready(task, state) {
        text.push_str(&format!("; next on line {}: {}", next.line, next.key.text));
    } else if !steps.is_empty() {
        text.push_str(&format!("\n\nNext\n  {}", steps.join("\n  ")));
    }
    text
}

/// The parts of the sandbox that a task opens, for people.
fn openings(settings: &TaskSettings) -> Vec<String> {
    fn all<T: ToString>(what: &str, values: &[T]) -> Option<String> {
        let values: Vec<String> = values.iter().map(T::to_string).collect();
        (!values.is_empty()).then(|| format!("{what} {}", values.join(", ")))
    }
    let commands: Vec<String> =
        settings.network_for.iter().map(|command| format!("`{command}`")).collect();
    [
        all("services", &settings.services),
        settings.network.map(|network| format!("network {network}")),
        all("network for", &commands),
        all("readable", &settings.readable),
        all("visible", &settings.visible),
        all("devices", &settings.devices),
    ]
    .into_iter()
    .flatten()
    .collect()
}
