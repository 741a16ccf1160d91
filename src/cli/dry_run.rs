//! `run --dry-run`: everything that a run looks at before its agent, and its first
//! prompt. Nothing is started, committed or written.

use serde_json::json;

use super::args::RunArgs;
use super::context::{TaskContext, temporary};
use super::failure::Failure;
use super::{assemble, launch, say, say_json};
use crate::prompt::IterationValues;
use crate::sys::clock::Clock;
use crate::verify::{CheckPhase, GUARDRAILS, PROGRESS, plan};

/// Shows what a run would do.
pub(super) fn dry_run(at: &TaskContext, args: &RunArgs) -> Result<u8, Failure> {
    let task = at.usable()?;
    let settings = assemble::settings(&at.place, args, &task)?;
    let preflight = assemble::preflight(at, &settings)?;
    let command = launch::find_agent(&settings)?;
    let templates = assemble::templates(&at.place)?;
    assemble::rules(at, &settings, &preflight, &temporary())?;
    let state = super::status::read_state(at)?;
    let next = task.criteria.iter().find(|criterion| {
        !criterion.checked && !state.find(&criterion.key).is_some_and(|entry| entry.blocked)
    });
    let checks: Vec<_> = plan(&task, CheckPhase::Baseline, &std::collections::BTreeMap::new())
        .into_iter()
        .map(|check| check.command)
        .collect();
    let read = |name| {
        let path = at.place.root().join(at.layout.file(name));
        String::from_utf8_lossy(&std::fs::read(path).unwrap_or_default()).into_owned()
    };
    let prompt = next
        .map(|criterion| {
            let own = criterion.verify.iter().map(|verify| verify.command.clone());
            let attempts = state.find(&criterion.key).map_or(0, |entry| entry.attempts);
            let values = IterationValues {
                iteration: state.iteration + 1,
                task_name: task.name.clone(),
                task_folder: at.layout.folder().display().to_string(),
                task_content: task.source.clone(),
                guardrails_content: read(GUARDRAILS),
                progress_content: read(PROGRESS),
                next_criterion: criterion.key.text.clone(),
                next_line: criterion.line,
                verify_commands: own.chain(task.settings.verify.iter().cloned()).collect(),
                feedback: Vec::new(),
                project_context: std::env::var("COPILOT_PROJECT_CONTEXT").ok(),
                human_changes: preflight
                    .human
                    .paths()
                    .map(|path| path.display().to_string())
                    .collect(),
                attempt: attempts + 1,
                max_attempts: settings.stuck_threshold.get(),
                date: Clock::system().today(),
            };
            templates.iteration(&values, launch::redactor().as_ref())
        })
        .transpose()?;
    if args.json {
        say_json(&json!({
            "task": task.name,
            "branch": preflight.checkpoint.branch,
            "head": preflight.checkpoint.head,
            "agent": { "program": command.program, "args": command.args },
            "model": launch::model(&settings, command.kind),
            "next": next.map(|criterion| json!({
                "line": criterion.line,
                "text": criterion.key.text,
                "recipe": criterion.recipe,
            })),
            "checks": checks,
            "prompt": prompt.map(|prompt| prompt.text),
        }));
        return Ok(0);
    }
    let branch = &preflight.checkpoint.branch;
    say(&format!("task    {} on {branch} at {}", task.name, preflight.checkpoint.head.short()));
    say(&format!("agent   {} {}", command.program.display(), command.args.join(" ")));
    for check in &checks {
        say(&format!("check   {check}"));
    }
    if let Some(recipe) = next.and_then(|criterion| criterion.recipe.as_ref()) {
        say(&format!("recipe  {recipe}, in the place of the prompt, which it gets as a value"));
    }
    match prompt {
        Some(prompt) => say(&format!("\nThe first prompt would be:\n\n{}", prompt.text)),
        None => say("\nNothing is left to work on; what is ticked would be proven."),
    }
    Ok(0)
}
