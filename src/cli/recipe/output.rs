//! Exit codes and answers that the recipe commands share.
//!
//! Their exit codes are their own: docs/recipes.md lists them.

use serde_json::{Value, json};

use crate::model::ExitCode;
use crate::recipe::{RecipeError, Runner};

/// The exit code of a recipe that did not succeed. A signal that ended us has its own.
pub(super) fn code(error: &RecipeError) -> u8 {
    match error {
        RecipeError::Failed { .. } | RecipeError::Install(_) => 1,
        RecipeError::Name { .. }
        | RecipeError::Value { .. }
        | RecipeError::ContextFile { .. }
        | RecipeError::Limit { .. } => ExitCode::Usage.number(),
        RecipeError::NotFound { .. }
        | RecipeError::WorldWritable { .. }
        | RecipeError::Version { .. }
        | RecipeError::Start(_)
        | RecipeError::NoCargo => 3,
        RecipeError::Exit { .. } | RecipeError::Signal { .. } | RecipeError::Unparseable { .. } => {
            4
        }
        RecipeError::Depth(_) => 5,
        RecipeError::Spill { .. } => ExitCode::Write.number(),
        RecipeError::TimedOut { .. } | RecipeError::InstallTimedOut { .. } => 124,
        RecipeError::Stopped | RecipeError::InstallStopped => 130,
    }
}

/// A runner, for programs.
pub(super) fn runner_json(runner: Option<&Runner>) -> Value {
    json!(runner.map(|runner| json!({
        "path": runner.found.path,
        "rule": runner.found.rule.name(),
        "version": runner.version.to_string(),
    })))
}

/// An error's kind and message, for programs.
pub(super) fn error_json(error: Option<(&str, &str)>) -> Value {
    json!(error.map(|(kind, message)| json!({ "kind": kind, "message": message })))
}

/// An error for people, with hints.
pub(super) fn explain(error: &RecipeError) -> String {
    let mut text = format!("error: {error}");
    if let Some(hint) = error.hint() {
        text.push_str(&format!("\nhint: {hint}"));
    }
    text
}
