//! The reasons why a recipe fails, each with a stable name for programs.

use std::path::PathBuf;

use super::runner_stderr::signal_name;
use super::version::{MINIMUM, VersionProblem};
use crate::model::RecipeNameError;
use crate::sys;
use crate::sys::depth::DepthError;

/// The reason why a recipe failed.
#[derive(Debug, thiserror::Error)]
pub enum RecipeError {
    /// The recipe's name is not valid.
    #[error("`{name}` is not a recipe name: {source}")]
    Name {
        /// The name as written.
        name: String,
        /// Why it is not valid.
        source: RecipeNameError,
    },
    /// A context value cannot be passed to the runner.
    #[error("the context value `{argument}` cannot be used: {why}")]
    Value {
        /// The argument or the key.
        argument: String,
        /// Why not.
        why: &'static str,
    },
    /// The context file cannot be used.
    #[error("cannot use the context file {path}: {why}")]
    ContextFile {
        /// The file.
        path: PathBuf,
        /// Why not.
        why: String,
    },
    /// Launches are nested too deep.
    #[error(transparent)]
    Depth(#[from] DepthError),
    /// The runner was not found.
    #[error("recipe-runner-rs was not found; looked at: {}", looked.join(", "))]
    NotFound {
        /// The places, in order.
        looked: Vec<String>,
    },
    /// Any user of the machine could replace the runner.
    #[error("{path} is world-writable (mode {mode:o}), so it was not run")]
    WorldWritable {
        /// The binary.
        path: PathBuf,
        /// Its permission bits.
        mode: u32,
    },
    /// The runner's version is too old or unknown.
    #[error("{path} was not run: {problem}")]
    Version {
        /// The binary.
        path: PathBuf,
        /// The problem with the version.
        problem: VersionProblem,
    },
    /// A large value cannot be written for the recipe.
    #[error("cannot {operation} {path} for a context value: {source}")]
    Spill {
        /// The operation, as a verb.
        operation: &'static str,
        /// The file or folder.
        path: PathBuf,
        /// Why it failed.
        source: std::io::Error,
    },
    /// The runner or cargo cannot be started.
    #[error(transparent)]
    Start(#[from] sys::SysError),
    /// The runner exited with an error and printed no answer.
    #[error("recipe-runner-rs failed (exit {code}): {}", said.as_deref().unwrap_or("no stderr"))]
    Exit {
        /// Its exit code.
        code: i32,
        /// The end of its standard error, if any.
        said: Option<String>,
    },
    /// The runner was killed.
    #[error("recipe-runner-rs was killed by signal {} ({signal}){}", signal_name(*signal), below(said))]
    Signal {
        /// The signal's number.
        signal: i32,
        /// The end of its standard error, if any.
        said: Option<String>,
    },
    /// The runner exited 0 with invalid output.
    #[error("recipe-runner-rs returned unparseable output (exit {code}): {why}{}", below(said))]
    Unparseable {
        /// Its exit code.
        code: i32,
        /// The output, or the problem with it.
        why: String,
        /// The end of its standard error, if any.
        said: Option<String>,
    },
    /// The recipe exceeded its time limit and was ended with everything it had started.
    #[error("the recipe ran longer than {seconds} s and was ended")]
    TimedOut {
        /// The limit.
        seconds: u64,
    },
    /// This program was ended, and the recipe with it.
    #[error("the recipe was ended with the run")]
    Stopped,
    /// The runner reported that the recipe failed.
    #[error("the recipe {recipe} failed{why}")]
    Failed {
        /// Its name.
        recipe: String,
        /// The failed steps; may be empty.
        why: String,
    },
    /// cargo was not found.
    #[error("cargo was not found, and recipe-runner-rs is installed with it")]
    NoCargo,
    /// A limit that is not a number of seconds.
    #[error("{name}={value} is not a number of seconds")]
    Limit {
        /// The variable.
        name: &'static str,
        /// Its value.
        value: String,
    },
    /// The installation failed.
    #[error("cargo install failed ({0})")]
    Install(String),
    /// This program was ended, and the installation with it.
    #[error("cargo install was ended")]
    InstallStopped,
    /// The installation took too long.
    #[error("cargo install took longer than {seconds} s and was ended")]
    InstallTimedOut {
        /// The limit.
        seconds: u64,
    },
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
