//! `guardian`: the process that ends the processes of a run whose runner was killed, and removes
//! its temporary files.

use std::os::fd::AsFd as _;
use std::path::Path;

use tokio::process::Command;

use super::args::GuardianArgs;
use super::failure::Failure;
use super::paths::own_program;
use crate::model::{ExitCode, RunId};
use crate::sys::guardian::{Guarded, Guardian, guard};
use crate::sys::remove_tree;

/// The command that starts the guardian of this process's run.
pub(super) fn command(run: &RunId, scratch: &Path) -> Result<Command, Failure> {
    let program = own_program()?;
    let mut command = Command::new(program);
    command.args(["guardian", "--run", run.as_str(), "--runner"]);
    command.arg(std::process::id().to_string()).arg("--scratch").arg(scratch);
    Ok(command)
}

/// Starts the guardian of a recipe or a launch outside a run. If it is killed later, the recipe or
/// launch continues.
pub(super) fn stand_by(name: &RunId, scratch: &Path) -> Result<Guardian, Failure> {
    let lost = |status| tracing::warn!(?status, "the guardian ended early");
    Ok(Guardian::start(command(name, scratch)?, lost)?)
}

/// Waits for the runner's end, on standard input.
pub(super) fn guardian(args: GuardianArgs) -> Result<u8, Failure> {
    let failed =
        |error| Failure::new(ExitCode::Usage, error).hint("the runner starts it by itself");
    let line = std::io::stdin().as_fd().try_clone_to_owned().map_err(failed)?;
    // One thread, because every run pays for this process from start to end.
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| Failure::new(ExitCode::Internal, error))?;
    let guarded = runtime.block_on(guard(args.run, args.runner, line)).map_err(|error| {
        Failure::new(ExitCode::Usage, error).hint("the runner starts it by itself")
    })?;
    match guarded {
        Guarded::Dismissed => {}
        Guarded::Cleared(swept) => {
            // The runner is dead, so a failure can only be traced.
            let removed = remove_tree(&args.scratch);
            tracing::debug!(?swept, ?removed, "the run's processes and files are removed");
        }
    }
    Ok(0)
}
