//! The port of a run's gateway, taken before the run changes anything.

use std::io::ErrorKind;

use crate::cli::failure::Failure;
use crate::cli::gateway::{gateway_on, not_listening};
use crate::gateway::{DEFAULT_PORT, GatewayError, Listeners};
use crate::model::GatewayUse;

/// The result of taking the port.
pub(in crate::cli) enum ReservedPort {
    /// No gateway, with the notice to people.
    None(Option<String>),
    /// It listens.
    Listening(Listeners),
}

/// Takes the port that the settings name. The default port may be taken by another program.
pub(in crate::cli) async fn reserve(gateway: GatewayUse) -> Result<ReservedPort, Failure> {
    let (port, named) = match gateway {
        GatewayUse::Off => return Ok(ReservedPort::None(None)),
        GatewayUse::On => (DEFAULT_PORT, false),
        GatewayUse::Port(port) => (port, true),
    };
    match Listeners::bind(port).await {
        Ok(listeners) => Ok(ReservedPort::Listening(listeners)),
        Err(GatewayError::Listen { source, .. })
            if !named && source.kind() == ErrorKind::AddrInUse =>
        {
            let who = gateway_on(port).unwrap_or_else(|| "another program".to_owned());
            Ok(ReservedPort::None(Some(format!(
                "{who} is using port {port}, so this run has no gateway; choose another port with \
                 `--gateway=PORT`"
            ))))
        }
        Err(error) => Err(not_listening(error, port)),
    }
}
