//! The async runtime of the commands that wait for something.

use super::failure::Failure;
use crate::model::ExitCode;
use crate::sys::shutdown::outlive_full_files;

/// A runtime for the commands that wait for something.
pub(super) fn runtime() -> Result<tokio::runtime::Runtime, Failure> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .max_blocking_threads(32)
        .enable_all()
        .build()
        .map_err(|error| Failure::new(ExitCode::Internal, error))?;
    runtime.block_on(async { outlive_full_files() })?;
    Ok(runtime)
}
