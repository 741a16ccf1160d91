//! Installs the runner with cargo from its own repository, within a time limit.
//!
//! Invariant: only [`install_command`] is ever run. Callers ask the user for consent.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

use tokio_util::sync::CancellationToken;

use super::error::RecipeError;
use super::execute::{RunnerEnd, RunnerLaunch, execute};
use crate::sys::env::is_withheld;

/// The runner's repository.
const REPOSITORY: &str = "https://github.com/rysweet/amplihack-recipe-runner";

/// The variable with the time limit of an installation, in seconds.
pub const INSTALL_VARIABLE: &str = "RECIPE_RUNNER_INSTALL_TIMEOUT";

/// The default limit, in seconds.
const LIMIT: u64 = 300;

/// Reads the limit from the variable's value; the default if it is unset or empty.
///
/// # Errors
/// If it is not a number of seconds above 0.
pub fn install_limit(value: Option<&str>) -> Result<Duration, RecipeError> {
    let Some(value) = value.filter(|value| !value.is_empty()) else {
        return Ok(Duration::from_secs(LIMIT));
    };
    let seconds = value.trim().parse().ok().filter(|seconds| *seconds > 0);
    let wrong = || RecipeError::Limit { name: INSTALL_VARIABLE, value: value.to_owned() };
    seconds.map(Duration::from_secs).ok_or_else(wrong)
}

/// The arguments for cargo.
pub fn install_command() -> [&'static str; 4] {
    ["install", "--git", REPOSITORY, "--locked"]
}

/// Runs cargo. `tell` gets each line of its standard error.
///
/// # Errors
/// If cargo cannot be started, fails or takes too long.
pub async fn install(
    cargo: &Path,
    limit: Duration,
    run: &str,
    stop: &CancellationToken,
    tell: &mut (dyn FnMut(&str) + Send),
) -> Result<(), RecipeError> {
    let passes = |(name, _): &(OsString, OsString)| !is_withheld(&name.to_string_lossy());
    let mut environment: Vec<(OsString, OsString)> = std::env::vars_os().filter(passes).collect();
    environment.push(("GIT_TERMINAL_PROMPT".into(), "0".into()));
    let launch = RunnerLaunch {
        program: cargo.to_owned(),
        arguments: install_command().map(OsString::from).into(),
        environment,
        dir: std::env::current_dir().unwrap_or_else(|_| PathBuf::from("/")),
        limit,
        run: run.to_owned(),
    };
    let ended = execute(launch, stop, tell).await?;
    match ended.end {
        RunnerEnd::Exited(0) => Ok(()),
        RunnerEnd::Exited(code) => Err(RecipeError::Install(format!("exit {code}"))),
        RunnerEnd::Signalled(signal) => Err(RecipeError::Install(format!("signal {signal}"))),
        RunnerEnd::TimedOut => Err(RecipeError::InstallTimedOut { seconds: limit.as_secs() }),
        RunnerEnd::Stopped => Err(RecipeError::InstallStopped),
    }
}
