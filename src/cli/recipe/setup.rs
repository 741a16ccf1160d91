//! The bridge to the recipe runner, as this process sets it up.

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;

use serde_json::{Value, json};

use crate::cli::environment;
use crate::cli::failure::Failure;
use crate::cli::paths::own_program;
use crate::model::ExitCode;
use crate::recipe::{
    Bridge, BridgeConfig, IsSecret, NestedLaunch, RecipeError, Runner, SOCKET_VARIABLE,
};
use crate::sys::depth::Depth;
use crate::sys::env::is_secret;
use crate::sys::process::{kill_now, reap_orphans};

/// The name that processes started here carry.
pub(super) fn run_name() -> String {
    environment::run_name("recipe")
}

/// The second signal ends all processes with our own name at once. Those of a run around us are
/// left to that run; our own child dies with us.
pub(super) fn end_now(signal: i32) {
    if environment::run_around().is_none() {
        kill_now(&run_name());
        reap_orphans();
    }
    std::process::exit(128 + signal);
}

/// A bridge in the surroundings of this command.
pub(super) fn bridge(depth: Depth, tmp: PathBuf) -> Result<Bridge, Failure> {
    let socket = std::env::var_os(SOCKET_VARIABLE).filter(|socket| !socket.is_empty());
    bridge_under(depth, socket.map(PathBuf::from), Vec::new(), run_name(), tmp)
}

/// The bridge to the recipe runner. Its recipes launch us again, one level deeper, with `more` in
/// the environment, and under the guard that listens at `socket`.
pub(in crate::cli) fn bridge_under(
    depth: Depth,
    socket: Option<PathBuf>,
    more: Vec<(OsString, OsString)>,
    run: String,
    tmp: PathBuf,
) -> Result<Bridge, Failure> {
    let launcher = own_program()?;
    Ok(Bridge::new(BridgeConfig {
        ours: std::env::vars_os().collect(),
        home: etcetera::home_dir().ok(),
        nested: NestedLaunch { launcher, depth: depth.next(), socket, more },
        run,
        tmp,
        secret: secret(),
    }))
}

/// Is a value a secret, by its key or by its content?
fn secret() -> IsSecret {
    Arc::new(|value| {
        is_secret(&value.key)
            || environment::redactor().redact_str(&value.text) != value.text.as_str()
    })
}

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
