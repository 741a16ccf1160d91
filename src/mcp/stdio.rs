//! MCP on standard input and output.

use std::future::Future;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use futures::SinkExt;
use futures::future::BoxFuture;
use rmcp::model::{ClientRequest, JsonRpcMessage};
use rmcp::service::{
    RoleServer, RxJsonRpcMessage, ServerInitializeError, ServiceExt as _, TxJsonRpcMessage,
};
use rmcp::transport::{Transport, stdio_pipes};
use serde::Serialize;
use tokio::io::{AsyncBufRead, AsyncWrite, BufReader};
use tokio::sync::{Mutex, watch};
use tokio::time::{Instant, timeout_at};
use tokio_util::bytes::Bytes;
use tokio_util::codec::{BytesCodec, FramedWrite};
use tokio_util::sync::CancellationToken;

use super::lines::{ClientLines, Line};
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
        read: ClientLines::new(BufReader::new(read)),
        write: Arc::new(Mutex::new(FramedWrite::new(write, BytesCodec::new()))),
        answering: None,
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

/// Messages as lines, without those that would end the library's handshake.
struct Lines<R, W> {
    read: ClientLines<R>,
    write: Arc<Mutex<Writer<W>>>,
    /// The answer to a line that is not a message, on its way.
    answering: Option<BoxFuture<'static, io::Result<()>>>,
    /// Cancelled at the end of input.
    ended: CancellationToken,
    initialized: bool,
    /// Requests without an answer.
    open: watch::Sender<usize>,
    /// Until when they are waited for, once input has ended.
    patience: Option<Instant>,
}

/// Writes whole lines, even if a write is dropped in the middle of one.
type Writer<W> = FramedWrite<W, BytesCodec>;

impl<R: AsyncBufRead + Send + Unpin, W: AsyncWrite + Send + Unpin + 'static> Lines<R, W> {
    /// Writes a value as a line.
    fn write<V: Serialize>(
        &self,
        value: &V,
    ) -> impl Future<Output = io::Result<()>> + Send + 'static + use<R, W, V> {
        let line = serde_json::to_vec(value).map(|mut line| {
            line.push(b'\n');
            Bytes::from(line)
        });
        let write = Arc::clone(&self.write);
        async move { write.lock().await.send(line?).await }
    }

    /// The next message; other lines are answered with an error.
    async fn message(&mut self) -> Option<RxJsonRpcMessage<RoleServer>> {
        loop {
            if let Some(answering) = &mut self.answering {
                let answered = answering.await;
                self.answering = None;
                if let Err(error) = answered {
                    tracing::debug!(%error, "the client does not read any more");
                    return None;
                }
            }
            match self.read.next().await? {
                Line::Message(message) => return Some(*message),
                Line::Refused(answer) => self.answering = Some(Box::pin(self.write(&answer))),
                Line::Nothing => {}
            }
        }
    }

    /// Input has ended: waits until all requests are answered.
    async fn finish(&mut self) {
        let until = *self.patience.get_or_insert_with(|| Instant::now() + GRACE);
        let mut open = self.open.subscribe();
        if timeout_at(until, open.wait_for(|open| *open == 0)).await.is_err() {
            tracing::debug!("calls are cancelled, for the client is gone");
        }
        self.ended.cancel();
    }
}

impl<R, W> Transport<RoleServer> for Lines<R, W>
where
    R: AsyncBufRead + Send + Unpin + 'static,
    W: AsyncWrite + Send + Unpin + 'static,
{
    type Error = io::Error;

    fn send(
        &mut self,
        item: TxJsonRpcMessage<RoleServer>,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send + 'static {
        let answers = matches!(item, JsonRpcMessage::Response(_) | JsonRpcMessage::Error(_));
        let (sent, open) = (self.write(&item), self.open.clone());
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
                None => self.message().await,
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
        SinkExt::<Bytes>::close(&mut *self.write.lock().await).await
    }
}
