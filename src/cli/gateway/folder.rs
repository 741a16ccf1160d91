//! Where the token files lie.

use std::path::PathBuf;

use crate::cli::failure::Failure;
use crate::cli::launch::copilot_home;
use crate::gateway::token_folder;
use crate::model::ExitCode;

/// The folder of the token files.
pub(super) fn folder() -> Result<PathBuf, Failure> {
    let home = copilot_home().ok_or_else(|| {
        Failure::new(ExitCode::Invalid, "no home directory for the token file")
            .hint("set COPILOT_HOME to a folder of yours")
    })?;
    Ok(token_folder(&home))
}
