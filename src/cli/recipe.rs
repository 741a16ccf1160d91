//! `recipe`: the bridge to `recipe-runner-rs` at the command line.
//!
//! Its exit codes are its own, as listed in docs/recipes.md; see [`code`].

mod doctor;
mod install;
mod list;
mod run;

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::{Args, Subcommand};
use serde_json::{Value, json};

use super::failure::{Failure, FailureKind};
use super::launch;
use crate::config::Span;
use crate::recipe::{
    Bridge, BridgeConfig, IsSecret, NestedLaunch, RecipeError, Runner, SOCKET_VARIABLE,
};
use crate::sys::depth::Depth;
use crate::sys::env::is_secret;
use crate::sys::process::{kill_now, reap_orphans};

/// What `recipe` can do.
#[derive(Debug, Subcommand)]
pub(crate) enum RecipeCommand {
    /// Run a recipe
    #[command(
        after_help = "Exit codes: 0 done, 1 the recipe failed, 2 usage, 3 the runner is not usable, \
4 the runner gave no answer, 5 nested too deep, 11 cannot write, 124 out of time, 129/130/143 \
signals. `docs/recipes.md` tells more."
    )]
    Run(Box<RunRecipeArgs>),
    /// Show where recipes are looked for, and which ones there are
    List(ListArgs),
    /// Show which runner would be used, and what is wrong with it
    Doctor(RecipeDoctorArgs),
    /// Install the runner with cargo from its repository
    Install(InstallRunnerArgs),
}

/// Flags of `recipe`.
#[derive(Args, Debug)]
pub(crate) struct RecipeArgs {
    /// What to do
    #[command(subcommand)]
    command: RecipeCommand,
}

/// Flags of `recipe run`.
#[derive(Args, Debug)]
pub(crate) struct RunRecipeArgs {
    /// The recipe: its name, or the absolute path of its file
    recipe: String,
    /// A value for the recipe; repeatable, and stronger than the file of `--context`
    #[arg(long = "set", value_name = "KEY=VALUE")]
    set: Vec<String>,
    /// Values for the recipe: a file with a JSON object
    #[arg(long, value_name = "FILE")]
    context: Option<PathBuf>,
    /// Look for recipes here and nowhere else; repeatable
    #[arg(short = 'R', long = "recipe-dir", value_name = "DIR")]
    recipe_dirs: Vec<PathBuf>,
    /// Tell of the steps without running them
    #[arg(long)]
    dry_run: bool,
    /// Show each step as it begins and ends
    #[arg(long)]
    progress: bool,
    /// Do not let the runner stage what the steps changed
    #[arg(long)]
    no_auto_stage: bool,
    /// The recipe may not take longer than this
    #[arg(long, value_name = "TIME", default_value = "2h")]
    timeout: Span,
    /// Print the command, the names of its environment and the spilled keys as JSON; run
    /// nothing
    #[arg(long)]
    print: bool,
    /// Print what came of it as JSON
    #[arg(long)]
    json: bool,
}

/// Flags of `recipe list`.
#[derive(Args, Debug)]
pub(crate) struct ListArgs {
    /// Look here and nowhere else; repeatable
    #[arg(short = 'R', long = "recipe-dir", value_name = "DIR")]
    recipe_dirs: Vec<PathBuf>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Flags of `recipe doctor`.
#[derive(Args, Debug)]
pub(crate) struct RecipeDoctorArgs {
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Flags of `recipe install`.
#[derive(Args, Debug)]
pub(crate) struct InstallRunnerArgs {
    /// Do it without asking
    #[arg(short, long)]
    yes: bool,
    /// Install although a runner that can be used is there
    #[arg(long)]
    force: bool,
    /// Print what came of it as JSON
    #[arg(long)]
    json: bool,
}

/// Does it.
pub(super) fn recipe(directory: Option<&Path>, args: &RecipeArgs) -> Result<u8, Failure> {
    match &args.command {
        RecipeCommand::Run(args) => run::run(directory, args),
        RecipeCommand::List(args) => list::list(directory, args),
        RecipeCommand::Doctor(args) => doctor::doctor(directory, args),
        RecipeCommand::Install(args) => install::install(args),
    }
}

/// The exit code of a recipe that did not succeed. A signal that ended us has its own.
fn code(error: &RecipeError) -> u8 {
    match error {
        RecipeError::Failed { .. } | RecipeError::Install(_) => 1,
        RecipeError::Name { .. }
        | RecipeError::Value { .. }
        | RecipeError::ContextFile { .. }
        | RecipeError::Limit { .. } => FailureKind::Usage.code(),
        RecipeError::NotFound { .. }
        | RecipeError::WorldWritable { .. }
        | RecipeError::Version { .. }
        | RecipeError::Start(_)
        | RecipeError::NoCargo => 3,
        RecipeError::Exit { .. } | RecipeError::Signal { .. } | RecipeError::Unparseable { .. } => {
            4
        }
        RecipeError::Depth(_) => 5,
        RecipeError::Spill { .. } => FailureKind::Write.code(),
        RecipeError::TimedOut { .. } | RecipeError::InstallTimedOut { .. } => 124,
        RecipeError::Stopped | RecipeError::InstallStopped => 130,
    }
}

/// A runner, for programs.
fn runner_json(runner: Option<&Runner>) -> Value {
    json!(runner.map(|runner| json!({
        "path": runner.found.path,
        "rule": runner.found.rule.name(),
        "version": runner.version.to_string(),
    })))
}

/// An error's kind and message, for programs.
fn error_json(error: Option<(&str, &str)>) -> Value {
    json!(error.map(|(kind, message)| json!({ "kind": kind, "message": message })))
}

/// An error for people, with what to do.
fn explain(error: &RecipeError) -> String {
    let mut text = format!("error: {error}");
    if let Some(hint) = error.hint() {
        text.push_str(&format!("\nhint: {hint}"));
    }
    text
}

/// The name that processes started here carry: the run's that this is part of, or our own.
fn run_name() -> String {
    launch::run_around().unwrap_or_else(|| format!("recipe-{}", std::process::id()))
}

/// The second signal: everything that carries our own name ends now. What belongs to a run
/// around us is left to that run; our own child dies with us.
fn end_now(signal: i32) {
    if launch::run_around().is_none() {
        kill_now(&run_name());
        reap_orphans();
    }
    std::process::exit(128 + signal);
}

/// A bridge in the surroundings of this command.
fn bridge(depth: Depth, tmp: PathBuf) -> Result<Bridge, Failure> {
    let socket = std::env::var_os(SOCKET_VARIABLE).filter(|socket| !socket.is_empty());
    bridge_under(depth, socket.map(PathBuf::from), Vec::new(), run_name(), tmp)
}

/// The bridge to the recipe runner. What its recipes launch is ours again, one deeper, with
/// `more` in its environment, and under the guard that listens at `socket`.
pub(super) fn bridge_under(
    depth: Depth,
    socket: Option<PathBuf>,
    more: Vec<(OsString, OsString)>,
    run: String,
    tmp: PathBuf,
) -> Result<Bridge, Failure> {
    let launcher =
        std::env::current_exe().map_err(|error| Failure::new(FailureKind::Internal, error))?;
    Ok(Bridge::new(BridgeConfig {
        ours: std::env::vars_os().collect(),
        home: etcetera::home_dir().ok(),
        nested: NestedLaunch { launcher, depth: depth.next(), socket, more },
        run,
        tmp,
        secret: secret(),
    }))
}

/// Whether a value is a secret, by its key or by what it holds.
fn secret() -> IsSecret {
    Arc::new(|value| {
        is_secret(&value.key) || launch::redactor().redact_str(&value.text) != value.text.as_str()
    })
}
