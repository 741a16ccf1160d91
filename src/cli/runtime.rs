//! The async runtimes of the commands that wait for something.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use tokio::runtime::{Builder, Runtime};

use super::failure::Failure;
use crate::model::ExitCode;
use crate::sys::shutdown::outlive_full_files;

/// A runtime for the commands that wait for something.
pub(super) fn runtime() -> Result<Runtime, Failure> {
    started(Builder::new_multi_thread().worker_threads(2))
}

/// Runs a future to its end, or to its panic, and leaves blocking reads behind: a read of standard
/// input that no end of input follows would be waited for.
pub(super) fn block_on_detached<F: Future>(runtime: Runtime, work: F) -> F::Output {
    let ended = catch_unwind(AssertUnwindSafe(|| runtime.block_on(work)));
    runtime.shutdown_background();
    ended.unwrap_or_else(|panic| resume_unwind(panic))
}

/// A runtime whose tasks begin in the order in which they were spawned.
pub(super) fn runtime_in_order() -> Result<Runtime, Failure> {
    started(&mut Builder::new_current_thread())
}

fn started(builder: &mut Builder) -> Result<Runtime, Failure> {
    let runtime = builder
        .max_blocking_threads(32)
        .enable_all()
        .build()
        .map_err(|error| Failure::new(ExitCode::Internal, error))?;
    runtime.block_on(async { outlive_full_files() })?;
    Ok(runtime)
}
