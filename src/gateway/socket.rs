//! One provider's WebSocket: frames in, the outbox out.

use std::future::Future;

use axum::extract::ws::{CloseFrame, Message, WebSocket};
use futures::stream::{SplitSink, SplitStream};
use futures::{SinkExt as _, StreamExt as _};

use super::close::CloseReason;
use super::frame::ProviderFrame;
use super::handle::Gateway;
use super::ids::ConnectionId;
use super::limits::CLOSE_TIME;
use super::outbox::{Outbound, Outbox, Outgoing};
use super::owner::Input;

/// Serves the socket until either side closes it.
pub(super) async fn run(
    socket: WebSocket,
    id: ConnectionId,
    gateway: &Gateway,
    outbox: &Outbox,
    outgoing: Outgoing,
) {
    let (sink, stream) = socket.split();
    let closing = async {
        outbox.closing().cancelled().await;
        // The other side gets some time to answer; whoever does not read must not need it.
        tokio::time::sleep(CLOSE_TIME).await;
    };
    tokio::select! {
        () = both(read(stream, id, gateway, outbox), write(sink, outgoing)) => {}
        () = closing => {}
    }
}

/// Ends with the reader. The writer ends before it if we close.
async fn both(reader: impl Future<Output = ()>, writer: impl Future<Output = ()>) {
    tokio::pin!(reader);
    tokio::select! {
        () = &mut reader => {}
        () = writer => reader.await,
    }
}

async fn read(
    mut stream: SplitStream<WebSocket>,
    id: ConnectionId,
    gateway: &Gateway,
    outbox: &Outbox,
) {
    while let Some(message) = stream.next().await {
        let input = match message {
            Ok(Message::Text(text)) => said(id, gateway, text.as_bytes()).await,
            Ok(Message::Binary(bytes)) => said(id, gateway, &bytes).await,
            Ok(Message::Ping(_) | Message::Pong(_)) => {
                gateway.budget(0).await.map(|permit| Input::Heard(id, permit))
            }
            Ok(Message::Close(_)) => continue,
            // Too large, broken UTF-8, or not a WebSocket frame: no message can follow.
            Err(_) => {
                gateway.tell(Input::Gone(id));
                outbox.close(CloseReason::Broken);
                return outbox.closed().await;
            }
        };
        let Some(input) = input else { return };
        gateway.tell(input);
    }
}

async fn said(id: ConnectionId, gateway: &Gateway, bytes: &[u8]) -> Option<Input> {
    let permit = gateway.budget(bytes.len()).await?;
    Some(Input::Said(id, ProviderFrame::read(bytes), permit))
}

/// Sends until we close or the other side is gone.
async fn write(mut sink: SplitSink<WebSocket, Message>, mut outgoing: Outgoing) {
    while let Some(next) = outgoing.next().await {
        let sent = match next {
            Outbound::Text(text) => {
                let size = text.len();
                let sent = sink.send(Message::Text(text.into())).await;
                outgoing.sent(size);
                sent
            }
            Outbound::Ping => sink.send(Message::Ping(Default::default())).await,
            Outbound::Close(reason) => {
                let (code, reason) = (reason.status(), reason.text().into());
                let frame = Message::Close(Some(CloseFrame { code, reason }));
                drop(sink.send(frame).await);
                return outgoing.close();
            }
        };
        if sent.is_err() {
            return;
        }
    }
}
