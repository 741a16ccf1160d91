//! A port on loopback that serves http to programs of this machine.
//!
//! Invariant: whoever connects and says nothing, or says it slowly, costs a bounded number of
//! connections for a bounded time, and keeps no other client out.

use std::collections::VecDeque;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use axum::{Extension, Router};
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::task::{JoinHandle, JoinSet};
use tokio_util::sync::CancellationToken;

/// Connections at a time. Each client needs a few, and there are few clients.
const MOST_CONNECTIONS: usize = 192;
/// Those of them that have not shown a token; one more ends the oldest.
const MOST_STRANGERS: usize = 64;
/// How long a connection may take to show a token.
const STRANGER_TIME: Duration = Duration::from_secs(10);
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

/// The connections that have not shown a token, the oldest first.
#[derive(Default)]
struct Strangers(Mutex<VecDeque<Arc<Stranger>>>);

/// A connection until it has shown a token.
#[derive(Default)]
struct Stranger {
    admitted: CancellationToken,
    ended: CancellationToken,
}

/// The connection that a request came over.
#[derive(Clone)]
pub(super) struct HttpConnection {
    stranger: Arc<Stranger>,
    strangers: Arc<Strangers>,
}

impl HttpConnection {
    /// It has shown a token, and may stay.
    pub(super) fn vouch(&self) {
        self.stranger.admitted.cancel();
        self.strangers.forget(&self.stranger);
    }
}

impl Strangers {
    fn lock(&self) -> MutexGuard<'_, VecDeque<Arc<Stranger>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn add(self: &Arc<Self>) -> HttpConnection {
        let stranger = Arc::<Stranger>::default();
        let mut all = self.lock();
        if all.len() >= MOST_STRANGERS
            && let Some(oldest) = all.pop_front()
        {
            oldest.ended.cancel();
        }
        all.push_back(Arc::clone(&stranger));
        HttpConnection { stranger, strangers: Arc::clone(self) }
    }

    fn forget(&self, stranger: &Arc<Stranger>) {
        self.lock().retain(|other| !Arc::ptr_eq(other, stranger));
    }
}

impl Stranger {
    /// Comes when it has had its time, or made room for another one.
    async fn over(&self) {
        tokio::select! {
            () = self.ended.cancelled() => {}
            () = tokio::time::sleep(STRANGER_TIME) => {}
            () = self.admitted.cancelled() => std::future::pending().await,
        }
    }
}

async fn accept(listener: TcpListener, routes: Router) {
    let strangers = Arc::<Strangers>::default();
    let room = Arc::new(Semaphore::new(MOST_CONNECTIONS));
    // Its connections end with it.
    let mut connections = JoinSet::new();
    loop {
        let Ok(permit) = Arc::clone(&room).acquire_owned().await else { return };
        match listener.accept().await {
            Ok((stream, _)) => {
                let from = strangers.add();
                let routes = routes.clone().layer(Extension(from.clone()));
                connections.spawn(async move {
                    tokio::select! {
                        () = connection(stream, routes) => {}
                        () = from.stranger.over() => {}
                    }
                    from.strangers.forget(&from.stranger);
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

#[cfg(test)]
mod tests {
    use axum::routing::get;
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

    use super::*;

    const HELLO: &[u8] = b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n";

    async fn port() -> LoopbackPort {
        let vouch = get(|Extension(from): Extension<HttpConnection>| async move { from.vouch() });
        LoopbackPort::serve(Router::new().route("/", vouch)).await.expect("a port")
    }

    async fn connect(port: &LoopbackPort) -> TcpStream {
        TcpStream::connect(port.address()).await.expect("connected")
    }

    async fn is_answered(stream: &mut TcpStream) -> bool {
        let mut answer = [0; 12];
        stream.write_all(HELLO).await.is_ok()
            && stream.read_exact(&mut answer).await.is_ok()
            && answer == *b"HTTP/1.1 200"
    }

    #[tokio::test]
    async fn those_who_say_nothing_keep_no_one_out() {
        let port = port().await;
        let mut first = connect(&port).await;
        assert!(is_answered(&mut first).await);
        let mut strangers = Vec::new();
        for _ in 0..3 * MOST_CONNECTIONS {
            strangers.push(connect(&port).await);
        }
        let mut last = connect(&port).await;
        assert!(is_answered(&mut last).await);
        // The oldest one ended; connections with a token are kept.
        let ended = strangers[0].read(&mut [0]).await;
        assert!(matches!(ended, Ok(0) | Err(_)));
        let mut rest = Vec::new();
        while first.try_read_buf(&mut rest).is_ok_and(|count| count > 0) {}
        first.write_all(HELLO).await.expect("sent");
        assert!(first.read(&mut [0; 64]).await.is_ok_and(|count| count > 0));
    }

    #[tokio::test(start_paused = true)]
    async fn a_stranger_has_ten_seconds_and_a_client_has_longer() {
        let port = port().await;
        let (mut silent, mut client) = (connect(&port).await, connect(&port).await);
        assert!(is_answered(&mut client).await);
        let started = tokio::time::Instant::now();
        assert!(matches!(silent.read(&mut [0]).await, Ok(0) | Err(_)));
        assert!(started.elapsed() < STRANGER_TIME * 2);
        assert!(is_answered(&mut connect(&port).await).await);
        client.write_all(HELLO).await.expect("sent");
        assert!(client.read(&mut [0; 64]).await.is_ok_and(|count| count > 0));
    }
}
