//! MCP on standard input and output.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use rmcp::model::{ClientRequest, JsonRpcMessage};
use rmcp::service::{
    RoleServer, RxJsonRpcMessage, ServerInitializeError, ServiceExt as _, TxJsonRpcMessage,
};
use rmcp::transport::async_rw::AsyncRwTransport;
use rmcp::transport::{Transport, stdio_pipes};
use tokio::sync::watch;
use tokio::time::{Instant, timeout_at};
use tokio_util::sync::CancellationToken;

use super::server::Server;
use super::tools::Tools;

/// A server that could not go on.
#[derive(Debug, thiserror::Error)]
pub enum McpError {
    /// Standard output is closed, or the client's handshake is impossible.
    #[error("cannot serve MCP on standard input and output: {0}")]
    Handshake(#[source] Box<ServerInitializeError>),
    /// The server's task panicked.
    #[error("the MCP server failed: {0}")]
    Panicked(#[from] tokio::task::JoinError),
}

/// How long calls that were read may take to be answered when standard input has ended.
const GRACE: Duration = Duration::from_secs(2);

/// Serves the tools until standard input ends or `stop` is cancelled; either cancels the calls
/// that still run, the former after a moment: whoever pipes lines in wants their answers.
pub async fn serve_stdio(tools: Arc<dyn Tools>, stop: CancellationToken) -> Result<(), McpError> {
    let ended = stop.child_token();
    let (read, write) = stdio_pipes();
    let lines = Lines {
        inner: AsyncRwTransport::new_server(read, write),
        ended: ended.clone(),
        initialized: false,
        open: watch::Sender::new(0),
        patience: None,
    };
    match Server::new(tools, ended).serve_with_ct(lines, stop).await {
        Ok(running) => Ok(running.waiting().await.map(drop)?),
        Err(ServerInitializeError::Cancelled | ServerInitializeError::ConnectionClosed(_)) => {
            Ok(())
        }
        Err(error) => Err(McpError::Handshake(Box::new(error))),
    }
}

/// The library's lines, without the messages that would end its handshake.
struct Lines<T> {
    inner: T,
    /// Cancelled at the end of input.
    ended: CancellationToken,
    initialized: bool,
    /// Requests without an answer.
    open: watch::Sender<usize>,
    /// Until when they are waited for, once input has ended.
    patience: Option<Instant>,
}

impl<T: Transport<RoleServer>> Lines<T> {
    /// Input has ended: waits until what was asked is answered.
    async fn finish(&mut self) {
        let until = *self.patience.get_or_insert_with(|| Instant::now() + GRACE);
        let mut open = self.open.subscribe();
        if timeout_at(until, open.wait_for(|open| *open == 0)).await.is_err() {
            tracing::debug!("calls are cancelled, for the client is gone");
        }
        self.ended.cancel();
    }
}

impl<T: Transport<RoleServer>> Transport<RoleServer> for Lines<T> {
    type Error = T::Error;

    fn send(
        &mut self,
        item: TxJsonRpcMessage<RoleServer>,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send + 'static {
        let answers = matches!(item, JsonRpcMessage::Response(_) | JsonRpcMessage::Error(_));
        let (sent, open) = (self.inner.send(item), self.open.clone());
        async move {
            let sent = sent.await;
            if answers {
                open.send_modify(|open| *open = open.saturating_sub(1));
            }
            sent
        }
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleServer>> {
        loop {
            // A transport is asked again while an answer is on its way.
            let message = match self.patience {
                None => self.inner.receive().await,
                Some(_) => None,
            };
            let Some(message) = message else {
                self.finish().await;
                return None;
            };
            match &message {
                JsonRpcMessage::Request(request) => {
                    self.open.send_modify(|open| *open += 1);
                    self.initialized |=
                        matches!(request.request, ClientRequest::InitializeRequest(_));
                    return Some(message);
                }
                _ if self.initialized => return Some(message),
                // An answer or a notification before the handshake means nothing.
                _ => {}
            }
        }
    }

    async fn close(&mut self) -> Result<(), Self::Error> {
        self.inner.close().await
    }
}
