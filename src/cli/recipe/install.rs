//! `recipe install`: cargo, from the runner's repository, after confirmation.

use serde_json::{Value, json};

use super::setup::{bridge, end_now, run_name};
use super::setup::{code, error_json, explain, runner_json};
use crate::cli::args::InstallRunnerArgs;
use crate::cli::ask::agreed;
use crate::cli::failure::Failure;
use crate::cli::paths;
use crate::cli::print::{complain, say, say_json};
use crate::cli::runtime::runtime;
use crate::model::ExitCode;
use crate::recipe::{
    INSTALL_VARIABLE, RecipeError, Runner, install as run_cargo, install_command, install_limit,
};
use crate::sys::depth::Depth;
use crate::sys::shutdown::Shutdown;

/// Installs the runner and checks it.
pub(super) fn install(args: &InstallRunnerArgs) -> Result<u8, Failure> {
    match go(args) {
        Ok(Ok(done)) => {
            tell(args, &done);
            Ok(0)
        }
        Ok(Err((error, signal))) => {
            if args.json {
                let message = error.to_string();
                say_json(&object(None, Some((error.kind(), &message))));
            } else {
                complain(&explain(&error));
            }
            let signal = signal.and_then(|signal| u8::try_from(128 + signal).ok());
            Ok(signal.unwrap_or_else(|| code(&error)))
        }
        Err(failure) if args.json => {
            say_json(&object(None, Some(("usage", &failure.to_string()))));
            Ok(failure.code.number())
        }
        Err(failure) => Err(failure),
    }
}

/// The runner that can be used now.
enum Done {
    There(Runner),
    Installed(Runner),
}

fn tell(args: &InstallRunnerArgs, done: &Done) {
    if args.json {
        say_json(&object(Some(done), None));
        return;
    }
    let shown = |runner: &Runner| format!("{} {}", runner.found.path.display(), runner.version);
    match done {
        Done::There(runner) => {
            say(&format!(
                "{} is already installed; use --force to install it again",
                shown(runner)
            ));
        }
        Done::Installed(runner) => say(&format!("{} is installed", shown(runner))),
    }
}

fn object(done: Option<&Done>, error: Option<(&str, &str)>) -> Value {
    let (installed, runner) = match done {
        None => (false, None),
        Some(Done::There(runner)) => (false, Some(runner)),
        Some(Done::Installed(runner)) => (true, Some(runner)),
    };
    json!({
        "success": runner.is_some(),
        "installed": installed,
        "runner": runner_json(runner),
        "error": error_json(error),
    })
}

type Outcome = Result<Done, (RecipeError, Option<i32>)>;

fn go(args: &InstallRunnerArgs) -> Result<Outcome, Failure> {
    let depth = match Depth::current() {
        Ok(depth) => depth,
        Err(error) => return Ok(Err((error.into(), None))),
    };
    let limit = match install_limit(std::env::var(INSTALL_VARIABLE).ok().as_deref()) {
        Ok(limit) => limit,
        Err(error) => return Ok(Err((error, None))),
    };
    let bridge = bridge(depth, paths::temporary())?;
    let runtime = runtime()?;
    if let (Ok(runner), false) = (runtime.block_on(bridge.runner()), args.force) {
        return Ok(Ok(Done::There(runner)));
    }
    let Ok(cargo) = which::which("cargo") else { return Ok(Err((RecipeError::NoCargo, None))) };
    let command = format!("cargo {}", install_command().join(" "));
    if !args.yes && !agreed(&format!("Run `{command}`?")) {
        return Err(Failure::new(ExitCode::Usage, "not installed: this needs your confirmation")
            .hint(format!("`ralph-copilot recipe install --yes` runs `{command}`")));
    }
    complain(&format!("running `{command}`, for at most {} s", limit.as_secs()));
    runtime.block_on(async {
        let stop = Shutdown::default();
        stop.listen(end_now)?;
        let mut tell = |line: &str| complain(line);
        let done = run_cargo(&cargo, limit, &run_name(), stop.token(), &mut tell).await;
        Ok(match done {
            Ok(()) => bridge.runner().await.map(Done::Installed).map_err(|error| (error, None)),
            Err(error) => Err((error, stop.signal())),
        })
    })
}
