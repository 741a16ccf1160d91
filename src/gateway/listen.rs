//! The loopback ports that a gateway listens on.

use std::io::ErrorKind;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};

use tokio::net::TcpListener;

use super::error::GatewayError;

/// The port of the protocol.
pub const DEFAULT_PORT: u16 = 9400;
/// How often a free port is tried that must be free on two addresses.
const TRIES: u32 = 16;

/// Listeners on 127.0.0.1 and, with IPv6, on ::1: `localhost` may mean either.
#[derive(Debug)]
pub struct Listeners {
    pub(super) all: Vec<TcpListener>,
    port: u16,
}

impl Listeners {
    /// Listens on a port; 0 takes a free one.
    ///
    /// # Errors
    /// If the port is taken on either address, or cannot be used on 127.0.0.1.
    pub async fn bind(port: u16) -> Result<Self, GatewayError> {
        let mut tries = 0;
        loop {
            tries += 1;
            match Self::bind_once(port).await {
                Err(GatewayError::Listen { source, .. })
                    if port == 0 && tries < TRIES && source.kind() == ErrorKind::AddrInUse => {}
                done => return done,
            }
        }
    }

    async fn bind_once(port: u16) -> Result<Self, GatewayError> {
        let first = listen((Ipv4Addr::LOCALHOST, port).into()).await?;
        let port = match first.local_addr() {
            Ok(address) => address.port(),
            Err(source) => {
                let address = Ipv4Addr::LOCALHOST.to_string();
                return Err(GatewayError::Listen { address, source });
            }
        };
        let mut all = vec![first];
        match listen((Ipv6Addr::LOCALHOST, port).into()).await {
            Ok(second) => all.push(second),
            Err(GatewayError::Listen { source, .. }) if source.kind() != ErrorKind::AddrInUse => {}
            Err(error) => return Err(error),
        }
        Ok(Self { all, port })
    }

    /// The port.
    pub fn port(&self) -> u16 {
        self.port
    }
}

async fn listen(address: SocketAddr) -> Result<TcpListener, GatewayError> {
    let failed = |source| GatewayError::Listen { address: address.to_string(), source };
    TcpListener::bind(address).await.map_err(failed)
}
