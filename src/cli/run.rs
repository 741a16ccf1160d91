//! `run`: from the command line to the outcome.

use std::path::Path;

use super::args::RunArgs;
use super::assemble::{Assembled, assemble};
use super::failure::{Failure, Kind};
use super::place::TaskPlace;
use super::{dry_run, runtime};
use crate::engine::{EngineError, Run};
use crate::verify::VerifyError;

/// Works on a task and gives the exit code.
pub(super) fn run(directory: Option<&Path>, args: &RunArgs) -> Result<u8, Failure> {
    let Some(name) = args.task.as_deref() else {
        return Err(Failure::new(Kind::Usage, "no task is named")
            .hint("ralph-copilot <task>; `ralph-copilot --help` tells the rest"));
    };
    let place = TaskPlace::find(directory, name)?;
    if args.dry_run {
        return dry_run::dry_run(&place, args);
    }
    let task = place.usable()?;
    runtime()?.block_on(async {
        let assembled = assemble(place, &task, args).await?;
        drive(assembled).await
    })
}

/// Runs what was assembled to its end.
pub(super) async fn drive(assembled: Assembled) -> Result<u8, Failure> {
    let Assembled { parts, keep } = assembled;
    let folder = keep.folder.clone();
    let outcome = async { Run::new(parts)?.to_the_end().await }.await;
    drop(keep);
    match outcome {
        Ok(outcome) => Ok(outcome.exit_code()),
        Err(error) => {
            Err(failure(error).hint(format!("what happened until then is in {}", folder.display())))
        }
    }
}

/// The kind of an engine's error.
pub(super) fn failure(error: EngineError) -> Failure {
    let kind = match &error {
        EngineError::Record(_) | EngineError::State(_) => Kind::Write,
        EngineError::Task(_)
        | EngineError::TaskInvalid { .. }
        | EngineError::StateBroken { .. }
        | EngineError::Journal(_)
        | EngineError::Damaged { .. }
        | EngineError::Prompt(_)
        | EngineError::Policy(_) => Kind::Invalid,
        EngineError::StateRead { .. } => Kind::Write,
        EngineError::Verify(error) => match error {
            VerifyError::Io { .. } => Kind::Write,
            VerifyError::Glob { .. } => Kind::Invalid,
            VerifyError::Git { .. } if error.cannot_write() => Kind::Write,
            VerifyError::Git { .. } | VerifyError::Moved { .. } | VerifyError::NoBranch { .. } => {
                Kind::Repository
            }
        },
        EngineError::Agent(_) => return agent_failure(error),
    };
    if let EngineError::StateBroken { file, .. } = &error {
        let hint = format!(
            "take the last good one from git (git log -- {}), or remove it: attempts and proofs are then \
             forgotten",
            file.display()
        );
        return Failure::new(kind, error).hint(hint);
    }
    if let EngineError::Damaged { folder, .. } = &error {
        let hint = format!(
            "look at the last commits and the working tree, then remove {}: the next run begins \
             with what is there",
            folder.display()
        );
        return Failure::new(kind, error).hint(hint);
    }
    Failure::new(kind, error)
}

fn agent_failure(error: EngineError) -> Failure {
    match error {
        EngineError::Agent(error) => Failure::from(error),
        other => Failure::new(Kind::Internal, other),
    }
}
