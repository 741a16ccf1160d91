//! `gateway`: tool providers without a run.

mod call;
mod commands;
mod events;
mod folder;
mod host;
mod serve;

use std::path::Path;

use super::args::GatewayCommand;
use super::failure::Failure;
use crate::gateway::{DirectError, GatewayError, gateway_in};
use crate::model::ExitCode;

/// Does it.
pub(super) fn gateway(directory: Option<&Path>, command: &GatewayCommand) -> Result<u8, Failure> {
    match command {
        GatewayCommand::Serve(args) => serve::serve(directory, args),
        GatewayCommand::Call(args) => call::call(args),
    }
}

/// What is known of a gateway that has this port.
pub(super) fn gateway_on(port: u16) -> Option<String> {
    let (process, its_port) = gateway_in(&folder::folder().ok()?)?;
    (its_port == port).then(|| format!("another gateway (process {process})"))
}

/// A port that cannot be listened to, with who has it if that is known.
pub(super) fn not_listening(error: GatewayError, port: u16) -> Failure {
    match gateway_on(port) {
        Some(other) => Failure::new(ExitCode::Invalid, error)
            .hint(format!("{other} has the port: use that one, stop it, or choose another port")),
        None => Failure::from(error),
    }
}

impl From<GatewayError> for Failure {
    fn from(error: GatewayError) -> Self {
        let (code, hint) = match &error {
            GatewayError::Listen { .. } => (
                ExitCode::Invalid,
                Some("another program uses the port: stop it, or choose another port"),
            ),
            GatewayError::Owned { .. } => {
                (ExitCode::Invalid, Some("stop the other gateway, or set another COPILOT_HOME"))
            }
            GatewayError::Folder { .. } | GatewayError::File(_) => (ExitCode::Write, None),
            GatewayError::Random(_) => (ExitCode::Internal, None),
        };
        Self::new(code, error).hints(hint.map(str::to_owned))
    }
}

impl From<DirectError> for Failure {
    fn from(error: DirectError) -> Self {
        let hint = match &error {
            DirectError::Connect { .. } => {
                Some("start one with `ralph-copilot gateway serve`, or see TAP_GATEWAY_PORT")
            }
            DirectError::Refused { .. }
            | DirectError::Broken(_)
            | DirectError::NotAGateway(_)
            | DirectError::Token(_) => None,
        };
        Self::new(ExitCode::Invalid, error).hints(hint.map(str::to_owned))
    }
}
