//! The port: TCP connections, http requests, and the upgrade to a WebSocket.
//!
//! Invariant: a connection is in the table from its first byte on, so those that never
//! authenticate are counted and ended like any other. No web page gets in.

use std::io::ErrorKind;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use axum::extract::WebSocketUpgrade;
use axum::extract::ws::rejection::WebSocketUpgradeRejection;
use axum::http::{StatusCode, Uri};
use axum::response::{IntoResponse as _, Response};
use axum::{Extension, Router, middleware};
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::net::{TcpListener, TcpStream};
use tokio_util::task::task_tracker::TaskTrackerToken;

use super::error::GatewayError;
use super::handle::Gateway;
use super::ids::ConnectionId;
use super::limits::{AUTH_TIME, SOCKET_SIZE};
use super::outbox::{Outbox, Outgoing, outbox};
use super::owner::Input;
use super::socket;
use super::stranger::{STRANGER_SIZE, StrangerStream};
use crate::mcp::local_only;

/// Pause after a connection that could not be accepted, for want of files or memory.
const ACCEPT_AGAIN: Duration = Duration::from_millis(100);

/// The connection that a request came over.
#[derive(Clone)]
pub(super) struct Caller(Arc<Presence>);

/// A live connection. When it is dropped, the gateway learns that it has ended.
struct Presence {
    id: ConnectionId,
    gateway: Gateway,
    outbox: Outbox,
    /// Taken by the WebSocket.
    outgoing: Mutex<Option<Outgoing>>,
    _task: TaskTrackerToken,
}

impl Drop for Presence {
    fn drop(&mut self) {
        self.gateway.tell(Input::Gone(self.id));
    }
}

impl Caller {
    /// It has shown a token, and may stay.
    pub(super) fn vouch(&self) {
        self.0.gateway.tell(Input::Vouched(self.0.id));
    }
}

/// Serves providers, and `others` on their paths, until the gateway stops.
pub fn serve(gateway: &Gateway, listeners: Listeners, others: Router) {
    let providers = Router::new().fallback(upgrade).layer(middleware::from_fn(local_only));
    let router = providers.merge(others);
    for listener in listeners.all {
        gateway.tasks().spawn(accept(gateway.clone(), listener, router.clone()));
    }
}

async fn accept(gateway: Gateway, listener: TcpListener, router: Router) {
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            () = gateway.stopped().cancelled() => return,
        };
        match accepted {
            Ok((stream, _)) => {
                drop(tokio::spawn(connection(gateway.clone(), stream, router.clone())))
            }
            Err(_) => tokio::time::sleep(ACCEPT_AGAIN).await,
        }
    }
}

async fn connection(gateway: Gateway, stream: TcpStream, router: Router) {
    // Frames are small, and their answers are waited for.
    drop(stream.set_nodelay(true));
    let (outbox, outgoing) = outbox();
    let id = gateway.next_connection();
    gateway.tell(Input::Arrived(id, outbox.clone()));
    let closing = outbox.closing().clone();
    let stream = StrangerStream::new(stream, outbox.read_limit().clone());
    let stopped = gateway.stopped().clone();
    let task = gateway.tasks().token();
    let outgoing = Mutex::new(Some(outgoing));
    let caller = Caller(Arc::new(Presence { id, gateway, outbox, outgoing, _task: task }));
    let service = TowerToHyperService::new(router.layer(Extension(caller)));
    let http = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(AUTH_TIME)
        .serve_connection(TokioIo::new(stream), service)
        .with_upgrades();
    tokio::select! {
        // After an upgrade, a separate task serves the socket.
        _ended = http => {}
        () = closing.cancelled() => {}
        () = stopped.cancelled() => {}
    }
}

async fn upgrade(
    Extension(Caller(presence)): Extension<Caller>,
    uri: Uri,
    asked: Result<WebSocketUpgrade, WebSocketUpgradeRejection>,
) -> Response {
    let asked = match asked {
        Ok(asked) => asked,
        // A provider may name any path, and other programs only those that have a route.
        Err(_) if uri.path() != "/" => {
            return (StatusCode::NOT_FOUND, "nothing is here\n").into_response();
        }
        Err(rejection) => return rejection.into_response(),
    };
    let outgoing = presence.outgoing.lock().unwrap_or_else(PoisonError::into_inner).take();
    let asked = asked.max_message_size(SOCKET_SIZE).max_frame_size(SOCKET_SIZE);
    let asked = asked.read_buffer_size(STRANGER_SIZE);
    asked.on_upgrade(async move |socket| {
        if let Some(outgoing) = outgoing {
            let Presence { id, gateway, outbox, .. } = &*presence;
            socket::run(socket, *id, gateway, outbox, outgoing).await;
        }
    })
}

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
