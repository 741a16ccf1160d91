//! `recipe run`: one recipe from the command line.

use std::path::Path;

use serde_json::{Value, json};

use super::setup::{bridge, end_now, run_name};
use super::setup::{code, error_json, explain, runner_json};
use crate::cli::args::RunRecipeArgs;
use crate::cli::failure::Failure;
use crate::cli::print::{complain, say, say_json};
use crate::cli::runtime::runtime;
use crate::cli::{environment, guardian, launch, paths};
use crate::model::{ExitCode, RecipeName, RunId};
use crate::recipe::{
    AutoStage, Bridge, Context, RecipeError, RecipeMode, RecipeReport, RecipeRequest, Runner,
    ShowProgress, read_line,
};
use crate::sys::depth::Depth;
use crate::sys::shutdown::Shutdown;

/// Runs a recipe and gives the exit code.
pub(super) fn run(directory: Option<&Path>, args: &RunRecipeArgs) -> Result<u8, Failure> {
    match prepare(directory, args) {
        Ok((request, depth)) => {
            if args.print {
                return print(&request, depth);
            }
            go(args, &request, depth)
        }
        Err(Unready::Recipe(error)) => {
            let report = RecipeReport::refused(error);
            Ok(tell(args, None, &report, None))
        }
        Err(Unready::Place(failure)) if args.json => {
            let message = failure.source.to_string();
            say_json(&object(false, &[], json!({}), None, Some(("usage", &message))));
            Ok(failure.code.number())
        }
        Err(Unready::Place(failure)) => Err(failure),
    }
}

/// Why a recipe cannot be begun.
enum Unready {
    Recipe(RecipeError),
    Place(Failure),
}

impl From<RecipeError> for Unready {
    fn from(error: RecipeError) -> Self {
        Self::Recipe(error)
    }
}

/// The parsed request.
fn prepare(
    directory: Option<&Path>,
    args: &RunRecipeArgs,
) -> Result<(RecipeRequest, Depth), Unready> {
    let recipe = RecipeName::parse(&args.recipe)
        .map_err(|source| RecipeError::Name { name: args.recipe.clone(), source })?;
    let depth = Depth::current().map_err(RecipeError::from)?;
    let dir = paths::directory(directory).map_err(Unready::Place)?;
    let dir = dir.canonicalize().unwrap_or(dir);
    let mut context = Context::default();
    if let Some(file) = &args.context {
        let path = dir.join(file);
        let wrong = |why: String| RecipeError::ContextFile { path: path.clone(), why };
        let text = std::fs::read_to_string(&path).map_err(|error| wrong(error.to_string()))?;
        let value: Value = serde_json::from_str(text.trim_start_matches('\u{feff}'))
            .map_err(|error| wrong(error.to_string()))?;
        let fields = value.as_object().ok_or_else(|| wrong("not a JSON object".to_owned()))?;
        context.set_all(fields)?;
    }
    args.set.iter().try_for_each(|pair| context.set_pair(pair))?;
    let request = RecipeRequest {
        recipe,
        dir,
        recipe_dirs: args.recipe_dirs.clone(),
        context,
        mode: if args.dry_run { RecipeMode::Dry } else { RecipeMode::Run },
        auto_stage: if args.no_auto_stage { AutoStage::Off } else { AutoStage::On },
        progress: if args.progress { ShowProgress::Shown } else { ShowProgress::Silent },
    };
    Ok((request, depth))
}

fn print(request: &RecipeRequest, depth: Depth) -> Result<u8, Failure> {
    let plan = bridge(depth, paths::temporary())?.plan(request);
    let argv: Vec<_> = plan.argv.iter().map(|word| word.to_string_lossy()).collect();
    say_json(&json!({
        "argv": argv,
        "environment": plan.environment,
        "spilled": plan.spilled,
    }));
    Ok(0)
}

/// Runs it, with both banners.
fn go(args: &RunRecipeArgs, request: &RecipeRequest, depth: Depth) -> Result<u8, Failure> {
    complain(&format!("[amplihack] recipe-runner --- starting: {}", request.recipe));
    let scratch = launch::scratch()?;
    let bridge = bridge(depth, scratch.path().to_owned())?;
    runtime()?.block_on(async {
        // The run around us has a guardian, which finds our processes by the run's name.
        let guardian = match environment::run_around() {
            Some(_) => None,
            None => Some(guardian::stand_by(&RunId::new(run_name()), scratch.path())?),
        };
        let stop = Shutdown::default();
        let folder = scratch.path().to_owned();
        stop.listen(move |signal| at_once(&folder, signal))?;
        let (runner, report) = work(args, request, &bridge, &stop).await;
        // Remove the folder while the guardian still runs.
        drop(scratch);
        if let Some(guardian) = guardian {
            guardian.dismiss().await;
        }
        Ok(tell(args, runner.as_ref(), &report, stop.signal()))
    })
}

async fn work(
    args: &RunRecipeArgs,
    request: &RecipeRequest,
    bridge: &Bridge,
    stop: &Shutdown,
) -> (Option<Runner>, RecipeReport) {
    let found = tokio::select! {
        biased;
        () = stop.token().cancelled() => Err(RecipeError::Stopped),
        found = bridge.runner() => found,
    };
    let runner = match found {
        Ok(runner) => runner,
        Err(error) => return (None, RecipeReport::refused(error)),
    };
    complain(&format!("[amplihack] recipe-runner --- executing: {}", request.recipe));
    let mut tell = |line: &str| {
        if !args.progress {
            return;
        }
        if !args.json {
            complain(line);
        } else if let Some(step) = read_line(line) {
            let event = json!({
                "event": "recipe_progress",
                "recipe": request.recipe,
                "step": step.step,
                "status": step.status,
            });
            complain(&event.to_string());
        }
    };
    let report = bridge.run(request, &runner, args.timeout.0, stop.token(), &mut tell).await;
    (Some(runner), report)
}

/// The second signal: everything ends now, the large values on disk too.
fn at_once(folder: &Path, signal: i32) {
    // Files that cannot be removed are still private.
    let _ = std::fs::remove_dir_all(folder);
    end_now(signal);
}

/// Prints the result, and returns the exit code.
fn tell(
    args: &RunRecipeArgs,
    runner: Option<&Runner>,
    report: &RecipeReport,
    signal: Option<i32>,
) -> u8 {
    let code = match (&report.error, signal) {
        (Some(RecipeError::Stopped), Some(signal)) => u8::try_from(128 + signal).unwrap_or(130),
        (Some(error), _) => code(error),
        (None, _) => 0,
    };
    if args.json {
        let message = report.error.as_ref().map(|error| (error.kind(), error.to_string()));
        let steps: Vec<Value> = report
            .steps
            .iter()
            .map(|step| serde_json::to_value(step).unwrap_or_default())
            .collect();
        let context = Value::Object(report.context.clone());
        let error = message.as_ref().map(|(kind, message)| (*kind, message.as_str()));
        say_json(&object(report.success(), &steps, context, runner, error));
        return code;
    }
    for step in &report.steps {
        let why = step.error.trim().lines().next().unwrap_or_default();
        let why = if why.is_empty() { String::new() } else { format!("  {why}") };
        let line = format!("{:<10} {}{why}", step.status, step.step_id);
        say(&line);
    }
    match &report.error {
        None => {
            let seconds = report.millis / 1000;
            let tenth = report.millis % 1000 / 100;
            say(&format!("{} succeeded in {seconds}.{tenth} s", args.recipe));
        }
        Some(error) => complain(&explain(error)),
    }
    code
}

fn object(
    success: bool,
    steps: &[Value],
    context: Value,
    runner: Option<&Runner>,
    error: Option<(&str, &str)>,
) -> Value {
    json!({
        "success": success,
        "steps": steps,
        "context": context,
        "runner": runner_json(runner),
        "error": error_json(error),
    })
}

impl From<RecipeError> for Failure {
    fn from(error: RecipeError) -> Self {
        let hint = error.hint();
        let kind = if error.is_unusable() { ExitCode::Agent } else { ExitCode::Invalid };
        Self::new(kind, error).hints(hint)
    }
}
