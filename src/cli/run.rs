//! `run`: from the command line to the outcome.

use std::path::Path;
use std::sync::Arc;

use tokio::runtime::Runtime;

use super::args::RunArgs;
use super::assemble::{Assembled, assemble};
use super::command_names::{nearest, nearest_command};
use super::context::TaskContext;
use super::failure::Failure;
use super::runtime::runtime;
use super::{dry_run, json_error, on_end, worker};
use crate::engine::Run;
use crate::model::{ExitCode, Outcome};
use crate::task::TaskError;

/// Works on a task and gives the exit code. With `--json`, the reason why no run began is JSON,
/// too.
pub(super) fn run(directory: Option<&Path>, args: &RunArgs) -> Result<u8, Failure> {
    if let Some(place) = &args.worker {
        return worker::worker(place, args);
    }
    match begin(directory, args).map_err(with_command_hint) {
        Ok(BegunRun::Shown(code)) => Ok(code),
        Ok(BegunRun::Run(runtime, assembled)) => runtime.block_on(drive(*assembled)),
        Err(failure) => {
            if args.json {
                json_error::line(&failure);
            }
            Err(failure)
        }
    }
}

/// The name of a missing task may be a misspelled command, unless a task has a similar name.
fn with_command_hint(failure: Failure) -> Failure {
    let meant = match failure.source.downcast_ref() {
        Some(TaskError::Missing { name, available, .. })
            if nearest(name, available.iter().map(String::as_str)).is_none() =>
        {
            nearest_command(name)
        }
        Some(_) | None => None,
    };
    failure.hints(meant.map(|name| format!("did you mean the command `{name}`?")))
}

/// The result of the command line.
pub(super) enum BegunRun {
    /// The plan of a run.
    Shown(u8),
    /// A run.
    Run(Runtime, Box<Assembled>),
}

pub(super) fn begin(directory: Option<&Path>, args: &RunArgs) -> Result<BegunRun, Failure> {
    let Some(name) = args.task.as_deref() else {
        return Err(Failure::new(ExitCode::Usage, "no task given")
            .hint("run `ralph-copilot <task>`; `ralph-copilot --help` lists the commands"));
    };
    if args.dry_run {
        let place = TaskContext::find(directory, name)?;
        return dry_run::dry_run(&place, directory, args).map(BegunRun::Shown);
    }
    let place = TaskContext::find_to_run(directory, name)?;
    let runtime = runtime()?;
    let assembled = runtime.block_on(assemble(place, directory, args))?;
    Ok(BegunRun::Run(runtime, Box::new(assembled)))
}

/// Runs the assembled run to its end.
pub(super) async fn drive(assembled: Assembled) -> Result<u8, Failure> {
    let Assembled { parts, guards, on_end, hand_over } = assembled;
    let (folder, root) = (guards.folder.clone(), parts.ledger.repo.root().to_owned());
    // The process ends soon: to free what is known about a large repository takes tens of
    // milliseconds.
    std::mem::forget(Arc::clone(&parts.ledger.repo));
    let outcome = async { Run::new(parts)?.to_the_end().await }.await;
    let outcome = outcome.map_err(Failure::from).and_then(|outcome| {
        hand_over.map_or(Ok(()), |it| it.write(&outcome))?;
        Ok(outcome)
    });
    guards.end().await;
    if let Some(command) = on_end {
        let code = outcome.as_ref().map_or_else(|it| it.code.number(), Outcome::exit_code);
        on_end::tell(&command, &root, &folder, code).await;
    }
    match outcome {
        Ok(outcome) => Ok(outcome.exit_code()),
        Err(failure) => {
            Err(failure.hint(format!("the journal up to this point is in {}", folder.display())))
        }
    }
}
