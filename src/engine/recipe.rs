//! A criterion's recipe, run instead of a prompt.
//!
//! Invariant: the result is a turn like any other: a claim, judged by the same evidence.
//! A runner that cannot be used ends the run; a recipe that fails is a failed attempt.

use std::path::{Path, PathBuf};
use std::time::Duration;

use tokio::time::Instant;

use super::EngineError;
use super::iteration::{Iteration, TurnResult};
use super::ledger::Ledger;
use super::prompt_inputs::folder_of;
use crate::model::{
    EventKind, Fault, FaultClass, Limit, Outcome, RECIPE_FOLDERS, RecipeFault, RecipeName,
    Record as _, RecordError, Stuck, Task, Turn, TurnEnd,
};
use crate::recipe::{
    AutoStage, Context, RecipeError, RecipeMode, RecipeReport, RecipeRequest, Runner, ShowProgress,
    read_line,
};

/// The recipe files that must not change, relative to the root: the folders in which the runner
/// finds recipes, and the files that the task names. A folder with a recipe's name does not count.
pub(super) fn protected(task: &Task, root: &Path) -> Vec<PathBuf> {
    let names: Vec<&RecipeName> =
        task.criteria.iter().filter_map(|criterion| criterion.recipe.as_ref()).collect();
    if names.is_empty() {
        return Vec::new();
    }
    let inside = |name: &&RecipeName| {
        let path = Path::new(name.as_str());
        let inside = if path.is_absolute() { path.strip_prefix(root).ok()? } else { path };
        (!root.join(inside).is_dir()).then(|| inside.to_owned())
    };
    let named = names.iter().filter_map(inside);
    RECIPE_FOLDERS.iter().map(PathBuf::from).chain(named).collect()
}

impl Ledger {
    /// Runs the criterion's recipe to its end.
    pub(super) async fn recipe(
        &mut self,
        iteration: &Iteration,
        limit: Duration,
    ) -> Result<TurnResult, EngineError> {
        // Only criteria with a recipe get here.
        let Some(name) = iteration.criterion.recipe.clone() else {
            return Ok(TurnResult::Ended(Turn::default()));
        };
        let request = self.request_for(iteration, &name)?;
        let stop = self.parts.stop.token().clone();
        let found = tokio::select! {
            biased;
            () = stop.cancelled() => Err(RecipeError::Stopped),
            found = self.parts.recipes.runner() => found,
        };
        let result = match found {
            Ok(runner) => {
                let report = self.run_recipe(iteration, (&request, limit), &runner).await?;
                self.turn_of(iteration, report)
            }
            Err(error) => self.turn_of(iteration, RecipeReport::refused(error)),
        };
        self.parts.gate.rest();
        self.parts.gate.check_recorded()?;
        result
    }

    fn request_for(
        &self,
        iteration: &Iteration,
        name: &RecipeName,
    ) -> Result<RecipeRequest, EngineError> {
        let parts = &self.parts;
        let criterion = &iteration.criterion;
        let mut context = Context::default();
        for (key, text) in [
            ("ralph_task", parts.layout.task().to_owned()),
            ("ralph_task_folder", folder_of(&parts.layout)),
            ("ralph_criterion", parts.gate.redactor().redact_str(&criterion.key.text).into_owned()),
            ("ralph_line", criterion.line.to_string()),
            ("ralph_iteration", iteration.number.to_string()),
            ("ralph_attempt", iteration.attempt.to_string()),
            ("ralph_date", iteration.date.to_string()),
            ("ralph_commit_prefix", parts.layout.prefix()),
            ("ralph_prompt", self.prompt_for(iteration)?.text),
        ] {
            context.set(key, text)?;
        }
        Ok(RecipeRequest {
            recipe: name.clone(),
            dir: parts.repo.root().to_owned(),
            recipe_dirs: Vec::new(),
            context,
            mode: RecipeMode::Run,
            // The human's uncommitted files must not be staged.
            auto_stage: AutoStage::Off,
            progress: ShowProgress::Shown,
        })
    }

    async fn run_recipe(
        &self,
        iteration: &Iteration,
        (request, limit): (&RecipeRequest, Duration),
        runner: &Runner,
    ) -> Result<RecipeReport, EngineError> {
        let parts = &self.parts;
        let events = parts.events.as_ref();
        let number = iteration.number;
        events.record(EventKind::RecipeStarted {
            iteration: number,
            recipe: request.recipe.clone(),
            runner: runner.found.path.display().to_string(),
            version: runner.version.to_string(),
        })?;
        let mut broken: Option<RecordError> = None;
        let mut tell = |line: &str| {
            let Some(step) = read_line(line) else { return };
            let event = EventKind::RecipeProgress {
                iteration: number,
                step: step.step,
                status: step.status,
            };
            if let Err(error) = events.record(event) {
                broken.get_or_insert(error);
            }
        };
        let left = self.deadline().map(|deadline| deadline.duration_since(Instant::now()));
        let limit = left.map_or(limit, |left| left.min(limit));
        let token = parts.stop.token();
        let report = parts.recipes.run(request, runner, limit, token, &mut tell).await;
        if let Some(error) = broken {
            return Err(error.into());
        }
        events.record(EventKind::RecipeEnded {
            iteration: number,
            recipe: request.recipe.clone(),
            steps: report.steps.len(),
            error: report.error.as_ref().map(|error| RecipeFault {
                kind: error.kind().to_owned(),
                message: error.to_string(),
            }),
            millis: report.millis,
        })?;
        Ok(report)
    }

    /// A recipe's report as a turn.
    fn turn_of(
        &self,
        iteration: &Iteration,
        report: RecipeReport,
    ) -> Result<TurnResult, EngineError> {
        let last = report.steps.last();
        let said = last.map(|step| step.output.trim().to_owned()).unwrap_or_default();
        let mut turn = Turn { said, millis: report.millis, ..Turn::default() };
        let fault = |error: &RecipeError, hint: Option<String>| {
            let hint = hint.map(|hint| format!("; {hint}")).unwrap_or_default();
            let message = format!("{error}{hint}");
            Fault::new(FaultClass::Fatal, message)
        };
        let late = self.deadline().is_some_and(|deadline| Instant::now() >= deadline);
        let outcome = match report.error {
            None => None,
            Some(RecipeError::Stopped) => {
                turn.end = TurnEnd::Interrupted;
                Some(self.interrupted().unwrap_or(Outcome::Interrupted { signal: 2 }))
            }
            Some(RecipeError::TimedOut { .. }) if late => {
                turn.end = TurnEnd::Interrupted;
                Some(Outcome::LimitReached { limit: Limit::Duration })
            }
            Some(RecipeError::TimedOut { seconds }) => {
                turn.end = TurnEnd::Stuck(Stuck::TooLong(seconds));
                None
            }
            Some(error @ RecipeError::Spill { .. }) => return Err(error.into()),
            Some(error) if error.is_unusable() => {
                let fault = fault(&error, error.hint());
                turn.fault = Some(fault.clone());
                Some(Outcome::AgentUnusable { fault })
            }
            Some(error) => {
                turn.fault = Some(fault(&error, None));
                None
            }
        };
        let ended = EventKind::TurnEnded { iteration: iteration.number, turn: turn.clone() };
        self.parts.events.record(ended)?;
        Ok(match outcome {
            None => TurnResult::Ended(turn),
            Some(outcome) => TurnResult::Stopped(Some(turn), outcome),
        })
    }
}
