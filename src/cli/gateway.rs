//! `gateway`: tool providers without a run.

mod call;
mod commands;
mod events;
mod folder;
mod host;
mod serve;

use std::path::Path;

pub(super) use self::folder::{gateway_on, not_listening};
use super::args::GatewayCommand;
use super::failure::Failure;
use crate::gateway::{DirectError, GatewayError};
use crate::model::ExitCode;

/// Does it.
pub(super) fn gateway(directory: Option<&Path>, command: &GatewayCommand) -> Result<u8, Failure> {
    match command {
        GatewayCommand::Serve(args) => serve::serve(directory, args),
        GatewayCommand::Call(args) => call::call(args),
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
        let serve = "start one with `ralph-copilot gateway serve`, or see TAP_GATEWAY_PORT";
        let (code, hint) = match &error {
            DirectError::Connect { .. } | DirectError::NotAGateway { .. } => {
                (ExitCode::Invalid, Some(serve))
            }
            DirectError::Unauthorized => {
                (ExitCode::Invalid, Some("unset TAP_PROVIDER_TOKEN, or set it to this gateway's"))
            }
            DirectError::NoSession(_) | DirectError::Token(_) => (ExitCode::Invalid, None),
            DirectError::Unacceptable(_) => (ExitCode::Usage, None),
        };
        Self::new(code, error).hints(hint.map(str::to_owned))
    }
}
