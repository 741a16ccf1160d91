//! The task of a plan: its folder with a TASK.md, and the plan beside it.
//!
//! Invariant: nothing is overwritten, and the TASK.md is read back before it is used: each
//! sub-task is one criterion, with these checks and no others.

use std::path::{Path, PathBuf};

use serde_json::json;

use super::args::PLAN_JOBS;
use super::context::{RepoContext, TASKS};
use super::failure::Failure;
use super::inert::inert;
use super::init::create;
use super::{assemble, environment};
use crate::config::{LayerSettings, resolve};
use crate::model::{Diagnostic, ExitCode, Task, TaskPlan};
use crate::plan::{PlanText, PlannedCriterion, check, criterion_ids, document};
use crate::prompt::ScaffoldValues;
use crate::task::{TASK_FILE, parse, wrong_with_name};
use crate::verify::{GUARDRAILS, Identity, PROGRESS};

/// The plan, beside TASK.md.
const PLAN_FILE: &str = "plan.json";
/// Said of each check that a model wrote.
const MARK: &str = "the planner wrote this check: read it before you trust it";

/// The task of a plan, by name.
pub(super) struct PlannedTask<'a> {
    pub(super) place: &'a RepoContext,
    pub(super) name: &'a str,
}

/// The checks of each sub-task.
pub(super) struct PlannedChecks {
    pub(super) of_tasks: Vec<Vec<String>>,
    /// Did the planner write them?
    pub(super) by_planner: bool,
}

/// Front matter with the settings that no layer has: several workers, which skip what is stuck.
fn settings_of(place: &RepoContext, plan: &TaskPlan) -> Result<Vec<String>, Failure> {
    let layers = place.layers(LayerSettings::default(), None)?;
    let unset = |is: fn(&LayerSettings) -> bool| !layers.iter().any(|it| is(&it.values));
    let mut lines = Vec::new();
    if unset(|it| it.jobs.is_some()) {
        lines.push(format!("jobs: {PLAN_JOBS}"));
    }
    if unset(|it| it.on_stuck.is_some()) {
        lines.push("on_stuck: skip".to_owned());
    }
    if unset(|it| it.max_iterations.is_some()) {
        let attempts = resolve(&layers).stuck_threshold.get();
        let tasks = u32::try_from(plan.tasks.len()).unwrap_or(u32::MAX);
        lines.push(format!("max_iterations: {}", attempts.saturating_mul(tasks)));
    }
    Ok(lines)
}

impl<'a> PlannedTask<'a> {
    /// The task, if a task can have this name.
    pub(super) fn named(place: &'a RepoContext, name: &'a str) -> Result<Self, Failure> {
        match wrong_with_name(name) {
            None => Ok(Self { place, name }),
            Some(why) => Err(Failure::new(
                ExitCode::Usage,
                format!("`{name}` is not a valid task name: {why}"),
            )
            .hint("a name has letters, digits, `-`, and `_`, such as --name login-form")),
        }
    }

    fn folder(&self) -> PathBuf {
        Path::new(TASKS).join(self.name)
    }

    /// The TASK.md, relative to the repository's root.
    pub(super) fn file(&self) -> PathBuf {
        self.folder().join(TASK_FILE)
    }

    /// The goal and the plan of a task that is there; none if there is no task of that name.
    pub(super) fn existing(&self) -> Result<Option<(String, TaskPlan)>, Failure> {
        let folder = self.place.root().join(self.folder());
        if !folder.join(TASK_FILE).exists() {
            return Ok(None);
        }
        let path = folder.join(PLAN_FILE);
        let other = format!(
            "`ralph-copilot run {}` works on the task as it is; --name gives a new one another name",
            self.name
        );
        let failed = |why: String| {
            let why = format!("{}: {why}", path.display());
            Failure::new(ExitCode::Invalid, why).hint(other.clone())
        };
        let text = match std::fs::read_to_string(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                let why = format!("the task `{}` exists, and is not a plan's", self.name);
                return Err(Failure::new(ExitCode::Invalid, why).hint(other));
            }
            Err(error) => return Err(failed(error.to_string())),
        };
        let plan = check(&text).map_err(|error| failed(error.to_string()))?;
        let goal = serde_json::from_str::<serde_json::Value>(&text).ok();
        let goal = goal.and_then(|all| Some(all.get("goal")?.as_str()?.to_owned()));
        Ok(Some((goal.unwrap_or_default(), plan)))
    }

    /// Writes the task's files. Returns them, relative to the repository's root.
    pub(super) fn write(
        &self,
        goal: &str,
        plan: &TaskPlan,
        checks: &PlannedChecks,
    ) -> Result<Vec<PathBuf>, Failure> {
        let templates = assemble::templates(self.place)?;
        let values = ScaffoldValues { task_name: self.name.to_owned() };
        let task = self.text(goal, plan, checks)?;
        let beside = json!({
            "goal": goal, "tasks": plan.tasks, "dependencies": plan.dependencies,
            "fallback": plan.fallback,
        });
        let beside = serde_json::to_string_pretty(&beside)
            .map_err(|error| Failure::new(ExitCode::Internal, error))?;
        let files = [
            (PLAN_FILE, beside + "\n"),
            (GUARDRAILS, templates.guardrails(&values)?),
            (PROGRESS, templates.progress(&values)?),
            // Last: with it the task is there.
            (TASK_FILE, task),
        ];
        let mut made = Vec::new();
        for (name, text) in files {
            let path = self.folder().join(name);
            create(&self.place.root().join(&path), &text)?;
            made.push(path);
        }
        Ok(made)
    }

    /// The TASK.md.
    fn text(&self, goal: &str, plan: &TaskPlan, checks: &PlannedChecks) -> Result<String, Failure> {
        let ids = criterion_ids(plan);
        let texts: Vec<String> = plan.tasks.iter().map(|task| inert(&task.description)).collect();
        let text = document(&PlanText {
            name: self.name,
            goal,
            plan,
            ids: &ids,
            texts: &texts,
            checks: &checks.of_tasks,
            mark: checks.by_planner.then_some(MARK),
            settings: &settings_of(self.place, plan)?,
        });
        let read = parse(self.name, text.as_bytes());
        let as_meant = read.criteria.len() == plan.tasks.len()
            && read.criteria.iter().enumerate().all(|(at, it)| {
                let commands: Vec<&str> = it.verify.iter().map(|it| it.command.as_str()).collect();
                it.key.text == texts[at]
                    && it.id.as_ref() == Some(&ids[at])
                    && commands == checks.of_tasks[at]
            })
            && !read.diagnostics.iter().any(counts);
        if as_meant {
            return Ok(text);
        }
        let odd: Vec<String> = read.diagnostics.iter().map(|it| it.message.clone()).collect();
        let why = format!("the plan cannot be written as a TASK.md: {}", odd.join("; "));
        Err(Failure::new(ExitCode::Internal, why).hint("write the task by hand, or report it"))
    }

    /// Commits these files of the task.
    pub(super) fn commit(&self, files: &[PathBuf]) -> Result<(), Failure> {
        let repo = &self.place.repo;
        let identity =
            repo.identity(&environment::variable)?.unwrap_or_else(Identity::of_the_runner);
        let message = format!("Add the task {}, from a plan", self.name);
        let branch = repo.checkpoint()?.branch;
        repo.commit_paths(&branch, files, &message, &identity)?;
        Ok(())
    }
}

/// The criteria of a plan's task, by their ids: a human may have edited the rest.
pub(super) fn planned(task: &Task, plan: &TaskPlan) -> Vec<PlannedCriterion> {
    let pairs = plan.tasks.iter().zip(criterion_ids(plan)).filter_map(|(part, id)| {
        let criterion = task.criteria.iter().find(|it| it.id.as_ref() == Some(&id))?;
        let (id, description) = (part.id.clone(), part.description.clone());
        Some(PlannedCriterion { id, description, key: criterion.key.clone() })
    });
    pairs.collect()
}

/// Does a remark say more than that two criteria have the same text?
fn counts(remark: &Diagnostic) -> bool {
    !remark.message.contains("appears more than once")
}
