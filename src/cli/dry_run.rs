//! `run --dry-run`: everything that a run checks before it starts its agent, and the first
//! prompt. Nothing is started, committed or written.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::args::RunArgs;
use super::assemble::{self, RunPlan};
use super::command_names::next_commands;
use super::context::TaskContext;
use super::failure::Failure;
use super::paths::temporary;
use super::print::{checkpoint_for_people, say, say_json};
use super::{environment, holdout, launch, models};
use crate::config::Settings;
use crate::engine::{NextStep, Spent, lessons_for, next, skipped, ticked_without_proof};
use crate::gateway::DEFAULT_PORT;
use crate::model::{Criterion, GatewayUse, Outcome, TaskState, in_quotes};
use crate::prompt::IterationValues;
use crate::sys::clock::Clock;
use crate::verify::{CheckPhase, GUARDRAILS, PROGRESS, plan};

/// A run that could start.
struct DryRun<'t> {
    at: &'t TaskContext,
    plan: &'t RunPlan,
    state: TaskState,
}

/// Shows the plan of a run, with the exit code of a run that would end at once.
pub(super) fn dry_run(
    at: &TaskContext,
    directory: Option<&std::path::Path>,
    args: &RunArgs,
) -> Result<u8, Failure> {
    let plan = &RunPlan::of(at, args)?;
    let RunPlan { task, settings, preflight, command, chosen, .. } = plan;
    assemble::run_policy(at, settings, preflight, chosen.tier, &temporary())?;
    launch::environment(command.kind, &temporary(), &[])?;
    let state = super::told::read_state(at)?;
    assemble::has_checks(at, task, settings, &state)?;
    holdout::usable(at, (task, settings, chosen.tier))?;
    let limits = assemble::limits(settings);
    let dry = DryRun { at, plan, state };
    let only = plan.only.as_ref().map(NextStep::Work);
    let step = only.unwrap_or_else(|| next(task, &dry.state, &Spent::default(), &limits));
    let first = match step {
        NextStep::Work(criterion) => Ok(criterion),
        NextStep::Stop(outcome) => Err(outcome),
        NextStep::Prove => Err(dry.end()),
    };
    let prompt = first.as_ref().ok().map(|criterion| dry.prompt(criterion)).transpose()?;
    if args.json {
        say_json(&dry.as_json(first.as_ref().ok().copied(), prompt.as_deref()));
    } else {
        say(&dry.as_text(first.as_ref().ok().copied()));
        match (&prompt, &first) {
            (Some(prompt), _) => say(&format!("\nThe first prompt would be:\n\n{prompt}")),
            (None, Err(Outcome::LimitReached { .. })) => {
                say("\nThe run would end at once: a limit is already reached.");
            }
            (None, Err(Outcome::Stuck { reason })) => {
                say(&format!("\nThe run would end as stuck: {reason}"));
                if !dry.blocked().is_empty() {
                    say(&format!(
                        "Next: {}",
                        next_commands(directory, at.layout.task(), None, Vec::new()).retry
                    ));
                }
            }
            (None, _) => {
                say("\nNo open criteria: the run would only check the ticked ones.");
            }
        }
    }
    Ok(first.map_or_else(|outcome| outcome.exit_code(), |_| 0))
}

impl DryRun<'_> {
    /// The open criteria that used up their attempts, or of which the agent says that they cannot be
    /// met.
    fn blocked(&self) -> Vec<&str> {
        let blocked = self.plan.task.criteria.iter().filter(|criterion| {
            !criterion.checked && self.state.find(&criterion.key).is_some_and(|entry| entry.blocked)
        });
        blocked.map(|criterion| criterion.key.text.as_str()).collect()
    }

    /// The criteria that are ticked and that no check at the end can prove.
    fn unproven(&self) -> Vec<&str> {
        ticked_without_proof(&self.plan.task, &self.state)
            .filter(|criterion| criterion.verify.is_empty())
            .map(|criterion| criterion.key.text.as_str())
            .collect()
    }

    /// The outcome of a run that has nothing to work on, if every check passes.
    fn end(&self) -> Outcome {
        let named = |said: &str, criteria: Vec<&str>| {
            let names: Vec<_> = criteria.iter().map(|text| in_quotes(text)).collect();
            (!names.is_empty()).then(|| format!("{said}: {}.", names.join(", ")))
        };
        let reasons =
            [named("stuck", self.blocked()), named("ticked but not proven", self.unproven())];
        let skipped = skipped(&self.plan.task, &self.state);
        let skipped =
            skipped.iter().map(|it| format!("skipped: {}, {it}.", it.criterion.key.quoted()));
        let reasons: Vec<_> = reasons.into_iter().flatten().chain(skipped).collect();
        if reasons.is_empty() {
            Outcome::Proven
        } else {
            Outcome::Stuck { reason: reasons.join(" ") }
        }
    }

    /// What the open criteria may take, by past runs.
    fn forecast(&self) -> Option<String> {
        let open = self.plan.task.criteria.iter().filter(|criterion| !criterion.checked);
        super::stats::of_task(self.at).ok()?.forecast(open.count())
    }

    /// The verify commands that run before the work.
    fn checks(&self) -> Vec<String> {
        let planned = plan(&self.plan.task, CheckPhase::Baseline, &BTreeMap::new());
        planned.into_iter().map(|check| check.command).collect()
    }

    /// The first prompt for a criterion.
    fn prompt(&self, criterion: &Criterion) -> Result<String, Failure> {
        let read = |name| {
            let path = self.at.place.root().join(self.at.layout.file(name));
            String::from_utf8_lossy(&std::fs::read(path).unwrap_or_default()).into_owned()
        };
        let own = criterion.verify.iter().map(|verify| verify.command.clone());
        let attempts = self.state.find(&criterion.key).map_or(0, |entry| entry.attempts);
        let human = self.plan.preflight.human.paths();
        let values = IterationValues {
            iteration: self.state.iteration + 1,
            task_name: self.plan.task.name.clone(),
            commit_prefix: assemble::prefixed(&self.at.layout, &self.plan.settings).prefix(),
            task_folder: self.at.layout.folder().display().to_string(),
            task_content: self.plan.task.source.clone(),
            guardrails_content: read(GUARDRAILS),
            progress_content: read(PROGRESS),
            next_criterion: criterion.key.text.clone(),
            next_line: criterion.line,
            verify_commands: own.chain(self.plan.task.settings.verify.iter().cloned()).collect(),
            passed_before: false,
            feedback: Vec::new(),
            lessons: match self.plan.settings.lessons {
                true => lessons_for(self.at.place.root(), &criterion.key.text),
                false => Vec::new(),
            },
            project_context: std::env::var("COPILOT_PROJECT_CONTEXT").ok(),
            commit_hooks: None,
            human_changes: human.map(|path| path.display().to_string()).collect(),
            attempt: attempts + 1,
            max_attempts: self.plan.settings.stuck_threshold.get(),
            date: Clock::system().today(),
        };
        Ok(self.plan.templates.iteration(&values, environment::redactor().as_ref())?.text)
    }

    fn as_json(&self, first: Option<&Criterion>, prompt: Option<&str>) -> Value {
        json!({
            "task": self.plan.task.name,
            "branch": self.plan.preflight.checkpoint.branch,
            "head": self.plan.preflight.checkpoint.head,
            "agent": { "program": self.plan.command.program, "args": self.plan.command.args },
            "model": models::choose(&self.plan.settings, &self.plan.command, self.at.place.root()).model,
            "next": first.map(|criterion| json!({
                "line": criterion.line,
                "text": criterion.key.text,
                "recipe": criterion.recipe,
            })),
            "blocked": self.blocked(),
            "unproven": self.unproven(),
            "checks": self.checks(),
            "gateway": self.plan.settings.gateway,
            "provider_programs": self.plan.settings.providers,
            "forecast": self.forecast(),
            "prompt": prompt,
        })
    }

    fn as_text(&self, first: Option<&Criterion>) -> String {
        let checkpoint = checkpoint_for_people(&self.plan.preflight.checkpoint);
        let command = &self.plan.command;
        let mut lines = vec![
            format!("task    {} on {checkpoint}", self.plan.task.name),
            format!("agent   {} {}", command.program.display(), command.args.join(" ")),
        ];
        lines.extend(self.forecast().map(|said| format!("{:8}{said}", "cost")));
        lines.extend(gateway(&self.plan.settings));
        lines.extend(self.checks().iter().map(|check| format!("check   {check}")));
        if let Some(recipe) = first.and_then(|criterion| criterion.recipe.as_ref()) {
            lines.push(format!(
                "recipe  {recipe} (runs instead of the agent; gets the prompt as a value)"
            ));
        }
        lines.join("\n")
    }
}

/// The lines about the gateway that a run would have.
fn gateway(settings: &Settings) -> Vec<String> {
    let port = match settings.gateway {
        GatewayUse::Off => return Vec::new(),
        GatewayUse::On => format!("gateway port {DEFAULT_PORT} on loopback, if it is free"),
        GatewayUse::Port(0) => "gateway a free port on loopback".to_owned(),
        GatewayUse::Port(port) => format!("gateway port {port} on loopback"),
    };
    let programs = settings.providers.iter().map(|command| format!("program {command}"));
    std::iter::once(port).chain(programs).collect()
}
