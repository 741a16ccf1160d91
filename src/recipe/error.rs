//! The reasons why a recipe fails, each with a stable name for programs.

use std::path::PathBuf;

use super::runner_stderr::signal_name;
use super::version::{MINIMUM, VersionProblem};
use crate::model::RecipeNameError;
use crate::sys;
use crate::sys::depth::DepthError;

/// The reason why a recipe failed.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "the messages say it")]
pub enum RecipeError {
    #[error("`{name}` is not a recipe name: {source}")]
    Name { name: String, source: RecipeNameError },
    #[error("the context value `{argument}` cannot be used: {why}")]
    Value { argument: String, why: &'static str },
    #[error("cannot use the context file {path}: {why}")]
    ContextFile { path: PathBuf, why: String },
    /// Launches are nested too deep.
    #[error(transparent)]
    Depth(#[from] DepthError),
    #[error("recipe-runner-rs was not found; looked at: {}", looked.join(", "))]
    NotFound { looked: Vec<String> },
    #[error("{path} is world-writable (mode {mode:o}), so it was not run")]
    WorldWritable { path: PathBuf, mode: u32 },
    #[error("{path} was not run: {problem}")]
    Version { path: PathBuf, problem: VersionProblem },
    #[error("cannot {operation} {path} for a context value: {source}")]
    Spill { operation: &'static str, path: PathBuf, source: std::io::Error },
    /// The runner or cargo cannot be started.
    #[error(transparent)]
    Start(#[from] sys::SysError),
    #[error("recipe-runner-rs failed (exit {code}): {}", said.as_deref().unwrap_or("no stderr"))]
    Exit { code: i32, said: Option<String> },
    #[error("recipe-runner-rs was killed by signal {} ({signal}){}", signal_name(*signal), below(said))]
    Signal { signal: i32, said: Option<String> },
    #[error("recipe-runner-rs returned unparseable output (exit {code}): {why}{}", below(said))]
    Unparseable { code: i32, why: String, said: Option<String> },
    #[error("the recipe ran longer than {seconds} s and was ended")]
    TimedOut { seconds: u64 },
    #[error("the recipe was ended with the run")]
    Stopped,
    #[error("the recipe {recipe} failed{why}")]
    Failed { recipe: String, why: String },
    #[error("cargo was not found, and recipe-runner-rs is installed with it")]
    NoCargo,
    #[error("{name}={value} is not a number of seconds")]
    Limit { name: &'static str, value: String },
    #[error("cargo install failed ({0})")]
    Install(String),
    #[error("cargo install was ended")]
    InstallStopped,
    #[error("cargo install took longer than {seconds} s and was ended")]
    InstallTimedOut { seconds: u64 },
}

/// The end of standard error, on separate lines.
pub(super) fn below(said: &Option<String>) -> String {
    said.as_ref().map(|said| format!("\n{said}")).unwrap_or_default()
}

impl RecipeError {
    /// The name of the reason, as listed in docs/recipes.md.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Name { .. } => "invalid_recipe",
            Self::Value { .. } | Self::ContextFile { .. } => "invalid_context",
            Self::Depth(_) => "too_deep",
            Self::NotFound { .. } => "not_found",
            Self::WorldWritable { .. } => "world_writable",
            Self::Version { problem, .. } => match problem {
                VersionProblem::Unknown { .. } => "version_unknown",
                VersionProblem::Unparseable { .. } => "version_unparseable",
                VersionProblem::TooOld { .. } => "version_too_old",
            },
            Self::Spill { .. } => "spill",
            Self::Start(_) => "start",
            Self::Exit { .. } => "exit",
            Self::Signal { .. } => "signal",
            Self::Unparseable { .. } => "unparseable",
            Self::TimedOut { .. } => "timeout",
            Self::Stopped => "stopped",
            Self::Failed { .. } => "failed",
            Self::NoCargo => "no_cargo",
            Self::Limit { .. } => "invalid_limit",
            Self::Install(_) => "install",
            Self::InstallStopped => "stopped",
            Self::InstallTimedOut { .. } => "install_timeout",
        }
    }

    /// A next step for the user, if there is one.
    pub fn hint(&self) -> Option<String> {
        let install = "install it with `ralph-copilot recipe install`";
        let hint = match self {
            Self::Name { .. } => {
                "use a name such as `my-recipe`, or the absolute path of the recipe's file"
                    .to_owned()
            }
            Self::NotFound { .. } | Self::Start(_) => {
                format!("{install}, or set RECIPE_RUNNER_RS_PATH to its path")
            }
            Self::WorldWritable { path, .. } => {
                format!("check that it was not replaced, then run: chmod o-w {}", path.display())
            }
            Self::Version { .. } => {
                let [major, minor, patch] = MINIMUM;
                format!("{install}; at least version {major}.{minor}.{patch} is required")
            }
            Self::NoCargo => "install Rust from https://rustup.rs".to_owned(),
            Self::InstallTimedOut { .. } => {
                "allow more time with RECIPE_RUNNER_INSTALL_TIMEOUT=900".to_owned()
            }
            Self::TimedOut { .. } => "allow more time with `--timeout`".to_owned(),
            Self::Value { .. }
            | Self::ContextFile { .. }
            | Self::Depth(_)
            | Self::Spill { .. }
            | Self::Exit { .. }
            | Self::Signal { .. }
            | Self::Unparseable { .. }
            | Self::Stopped
            | Self::Failed { .. }
            | Self::Limit { .. }
            | Self::Install(_)
            | Self::InstallStopped => return None,
        };
        Some(hint)
    }

    /// Whether the runner cannot be used for any recipe.
    pub fn is_unusable(&self) -> bool {
        match self {
            Self::NotFound { .. }
            | Self::WorldWritable { .. }
            | Self::Version { .. }
            | Self::Start(_)
            | Self::Depth(_) => true,
            Self::Name { .. }
            | Self::Value { .. }
            | Self::ContextFile { .. }
            | Self::Spill { .. }
            | Self::Exit { .. }
            | Self::Signal { .. }
            | Self::Unparseable { .. }
            | Self::TimedOut { .. }
            | Self::Stopped
            | Self::Failed { .. }
            | Self::NoCargo
            | Self::Limit { .. }
            | Self::Install(_)
            | Self::InstallStopped
            | Self::InstallTimedOut { .. } => false,
        }
    }
}
