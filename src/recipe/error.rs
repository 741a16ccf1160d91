//! Why a recipe did not succeed, each reason with a name that programs can rely on.

use std::path::PathBuf;

use super::failure::signal_name;
use super::version::{MINIMUM, VersionProblem};
use crate::model::RecipeNameError;
use crate::sys;
use crate::sys::depth::DepthError;

/// Why a recipe did not succeed.
#[derive(Debug, thiserror::Error)]
pub enum RecipeError {
    /// The recipe's name is none.
    #[error("`{name}` is no recipe: {source}")]
    Name {
        /// What was given.
        name: String,
        /// What is wrong with it.
        source: RecipeNameError,
    },
    /// A context value cannot be handed over.
    #[error("the context value `{given}` cannot be used: {why}")]
    Value {
        /// The argument or the key.
        given: String,
        /// What is wrong with it.
        why: &'static str,
    },
    /// The context file cannot be used.
    #[error("cannot use the context file {path}: {why}")]
    ContextFile {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        why: String,
    },
    /// Launches are nested too deep.
    #[error(transparent)]
    Depth(#[from] DepthError),
    /// There is no runner.
    #[error("recipe-runner-rs is not found; looked at: {}", looked.join(", "))]
    NotFound {
        /// The places, in order.
        looked: Vec<String>,
    },
    /// Any user of the machine could replace the runner.
    #[error("{path} is world-writable (mode {mode:o}) and is not run")]
    WorldWritable {
        /// The binary.
        path: PathBuf,
        /// Its permission bits.
        mode: u32,
    },
    /// The runner's version is not one that is relied on.
    #[error("{path} is not run: {problem}")]
    Version {
        /// The binary.
        path: PathBuf,
        /// What is wrong with it.
        problem: VersionProblem,
    },
    /// A large value cannot be written for the recipe.
    #[error("cannot {operation} {path} for a context value: {source}")]
    Spill {
        /// What was tried, as a verb.
        operation: &'static str,
        /// The file or folder.
        path: PathBuf,
        /// Why it failed.
        source: std::io::Error,
    },
    /// The runner or cargo cannot be started.
    #[error(transparent)]
    Start(#[from] sys::SysError),
    /// The runner ended with a code and without an answer.
    #[error("recipe-runner-rs failed (exit {code}): {}", said.as_deref().unwrap_or("no stderr"))]
    Exit {
        /// Its exit code.
        code: i32,
        /// The end of what it said on standard error, if anything.
        said: Option<String>,
    },
    /// The runner was killed.
    #[error("recipe-runner-rs was killed by signal {} ({signal}){}", signal_name(*signal), below(said))]
    Signal {
        /// The signal's number.
        signal: i32,
        /// The end of what it said on standard error, if anything.
        said: Option<String>,
    },
    /// The runner ended well and its answer is none.
    #[error("recipe-runner-rs returned unparseable output (exit {code}): {why}{}", below(said))]
    Unparseable {
        /// Its exit code.
        code: i32,
        /// What it printed instead, or what is wrong with it.
        why: String,
        /// The end of what it said on standard error, if anything.
        said: Option<String>,
    },
    /// The recipe ran longer than it may; it was ended with all it had started.
    #[error("the recipe ran longer than {seconds} s and was ended")]
    TimedOut {
        /// The limit.
        seconds: u64,
    },
    /// We were ended, and the recipe with us.
    #[error("the recipe was ended with the run")]
    Stopped,
    /// The runner answered that the recipe failed.
    #[error("the recipe {recipe} failed{why}")]
    Failed {
        /// Its name.
        recipe: String,
        /// The steps that failed, or nothing.
        why: String,
    },
    /// There is no cargo to install with.
    #[error("cargo is not found, and it is what installs recipe-runner-rs")]
    NoCargo,
    /// A limit that is no number of seconds.
    #[error("{name} is `{value}` and should be a number of seconds")]
    Limit {
        /// The variable.
        name: &'static str,
        /// What it holds.
        value: String,
    },
    /// The installation failed.
    #[error("cargo install failed ({0})")]
    Install(String),
    /// We were ended, and the installation with us.
    #[error("cargo install was ended")]
    InstallStopped,
    /// The installation took too long.
    #[error("cargo install took longer than {seconds} s and was ended")]
    InstallTimedOut {
        /// The limit.
        seconds: u64,
    },
}

/// What was said, on lines of its own.
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

    /// What to do about it, where that can be said.
    pub fn hint(&self) -> Option<String> {
        let install = "install it with `ralph-copilot recipe install`";
        let hint = match self {
            Self::Name { .. } => {
                "name it as in `my-recipe`, or give the absolute path of its file".to_owned()
            }
            Self::NotFound { .. } | Self::Start(_) => {
                format!("{install}, or name it with RECIPE_RUNNER_RS_PATH")
            }
            Self::WorldWritable { path, .. } => {
                format!("if nobody has touched it: chmod o-w {}", path.display())
            }
            Self::Version { .. } => {
                let [major, minor, patch] = MINIMUM;
                format!("{install}: {major}.{minor}.{patch} is the oldest that is run")
            }
            Self::NoCargo => "install Rust from https://rustup.rs".to_owned(),
            Self::InstallTimedOut { .. } => {
                "give it more time with RECIPE_RUNNER_INSTALL_TIMEOUT=900".to_owned()
            }
            Self::TimedOut { .. } => "give it more time with `--timeout`".to_owned(),
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

    /// Whether the runner cannot be used at all, whatever recipe it is asked for.
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
