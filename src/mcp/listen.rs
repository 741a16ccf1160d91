//! A port on loopback that serves http to programs of this machine.
//!
//! Invariant: whoever connects and says nothing, or says it slowly, costs a bounded number of
//! connections for a bounded time.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::task::{JoinHandle, JoinSet};

/// Connections at a time. Each client needs a few, and there are few clients.
const MOST_CONNECTIONS: usize = 128;
/// How long a connection may wait for the head of a request. Clients end idle ones before: a server
/// that does it may meet the next request on its way.
const HEAD_TIME: Duration = Duration::from_secs(120);
/// Pause after a connection that could not be accepted, for want of files or memory.
const ACCEPT_AGAIN: Duration = Duration::from_millis(100);

/// A port that is served until this is dropped.
pub struct LoopbackPort {
    address: SocketAddr,
    task: JoinHandle<()>,
}

impl LoopbackPort {
    /// Serves on a free port of 127.0.0.1.
    ///
    /// # Errors
    /// If there is none.
    pub async fn serve(routes: Router) -> std::io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        let address = listener.local_addr()?;
        Ok(Self { address, task: tokio::spawn(accept(listener, routes)) })
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }
}

impl Drop for LoopbackPort {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn accept(listener: TcpListener, routes: Router) {
    let room = Arc::new(Semaphore::new(MOST_CONNECTIONS));
    // Its connections end with it.
    let mut connections = JoinSet::new();
    loop {
        let Ok(permit) = Arc::clone(&room).acquire_owned().await else { return };
        match listener.accept().await {
            Ok((stream, _)) => {
                let routes = routes.clone();
                connections.spawn(async move {
                    connection(stream, routes).await;
                    drop(permit);
                });
            }
            Err(_) => tokio::time::sleep(ACCEPT_AGAIN).await,
        }
        while connections.try_join_next().is_some() {}
    }
}

async fn connection(stream: TcpStream, routes: Router) {
    // Messages are small, and their answers are waited for.
    drop(stream.set_nodelay(true));
    let served = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_TIME)
        .serve_connection(TokioIo::new(stream), TowerToHyperService::new(routes));
    if let Err(error) = served.await {
        tracing::debug!(%error, "a connection to an MCP endpoint broke");
    }
}
