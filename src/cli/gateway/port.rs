//! Who has a port that is taken.

use super::folder::folder;
use crate::cli::failure::Failure;
use crate::gateway::{GatewayError, gateway_in};
use crate::model::ExitCode;

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
