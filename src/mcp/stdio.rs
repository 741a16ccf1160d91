//! MCP on standard input and output.

use std::future::Future;
use std::sync::Arc;

use rmcp::model::{ClientRequest, JsonRpcMessage};
use rmcp::service::{
    RoleServer, RxJsonRpcMessage, ServerInitializeError, ServiceExt as _, TxJsonRpcMessage,
};
use rmcp::transport::async_rw::AsyncRwTransport;
use rmcp::transport::{Transport, stdio_pipes};
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

/// Serves the tools until standard input ends or `stop` is cancelled; either cancels the calls
/// that still run.
pub async fn serve_stdio(tools: Arc<dyn Tools>, stop: CancellationToken) -> Result<(), McpError> {
    let ended = stop.child_token();
    let (read, write) = stdio_pipes();
    let lines = Lines {
        inner: AsyncRwTransport::new_server(read, write),
        ended: ended.clone(),
        initialized: false,
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
}

impl<T: Transport<RoleServer>> Transport<RoleServer> for Lines<T> {
    type Error = T::Error;

    fn send(
        &mut self,
        item: TxJsonRpcMessage<RoleServer>,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send + 'static {
        self.inner.send(item)
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleServer>> {
        loop {
            let Some(message) = self.inner.receive().await else {
                self.ended.cancel();
                return None;
            };
            match &message {
                JsonRpcMessage::Request(request) => {
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
