//! Where the token files lie.

use std::path::PathBuf;

use crate::cli::failure::Failure;
use crate::cli::launch::copilot_home;
use crate::gateway::{GatewayError, gateway_in, token_folder};
use crate::model::ExitCode;

/// The folder of the token files.
pub(super) fn folder() -> Result<PathBuf, Failure> {
    let home = copilot_home().ok_or_else(|| {
        Failure::new(ExitCode::Invalid, "no home directory for the token file")
            .hint("set COPILOT_HOME to a folder of yours")
    })?;
    Ok(token_folder(&home))
}

/// The gateway that uses this port, as far as it is known.
pub(in crate::cli) fn gateway_on(port: u16) -> Option<String> {
    let (process, its_port) = gateway_in(&folder().ok()?)?;
    (its_port == port).then(|| format!("another gateway (process {process})"))
}

/// A port that cannot be listened to, with who has it if that is known.
pub(in crate::cli) fn not_listening(error: GatewayError, port: u16) -> Failure {
    match gateway_on(port) {
        Some(other) => Failure::new(ExitCode::Invalid, error).hint(format!(
            "{other} is using the port: use that one, stop it, or choose another port"
        )),
        None => Failure::from(error),
    }
}
