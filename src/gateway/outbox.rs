//! A connection's outgoing frames, in order and bounded.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::close::CloseReason;
use super::limits::UNREAD_SIZE;
use super::stranger::ReadLimit;

/// Something to send.
#[derive(Debug)]
pub(super) enum Outbound {
    Text(String),
    Ping,
    Close(CloseReason),
}

/// The sending end.
#[derive(Clone, Debug)]
pub(super) struct Outbox {
    queue: mpsc::UnboundedSender<Outbound>,
    /// Bytes in the queue.
    unread: Arc<AtomicUsize>,
    closing: CancellationToken,
    limit: ReadLimit,
}

/// The end that the socket's writer reads.
#[derive(Debug)]
pub(super) struct Outgoing {
    queue: mpsc::UnboundedReceiver<Outbound>,
    unread: Arc<AtomicUsize>,
}

/// An outbox with its other end.
pub(super) fn outbox() -> (Outbox, Outgoing) {
    let (sender, queue) = mpsc::unbounded_channel();
    let unread = Arc::new(AtomicUsize::new(0));
    let (closing, limit) = (CancellationToken::new(), ReadLimit::default());
    let outgoing = Outgoing { queue, unread: Arc::clone(&unread) };
    (Outbox { queue: sender, unread, closing, limit }, outgoing)
}

impl Outbox {
    /// Queues a frame; `false` if too much is queued already.
    pub(super) fn send(&self, text: String) -> bool {
        let size = text.len();
        if self.unread.load(Ordering::Relaxed) + size > UNREAD_SIZE {
            return false;
        }
        self.unread.fetch_add(size, Ordering::Relaxed);
        // Frames to an ended connection are dropped.
        drop(self.queue.send(Outbound::Text(text)));
        true
    }

    pub(super) fn ping(&self) {
        drop(self.queue.send(Outbound::Ping));
    }

    /// Closes the connection after sending the queued frames.
    pub(super) fn close(&self, reason: CloseReason) {
        drop(self.queue.send(Outbound::Close(reason)));
        self.closing.cancel();
    }

    /// The signal to read the rest of the connection.
    pub(super) fn read_limit(&self) -> &ReadLimit {
        &self.limit
    }

    /// Waits until everything is sent.
    pub(super) async fn closed(&self) {
        self.queue.closed().await;
    }

    /// Cancelled once the connection is to be closed.
    pub(super) fn closing(&self) -> &CancellationToken {
        &self.closing
    }
}

impl Outgoing {
    /// The next thing to send. The bytes of a text count until it was sent.
    pub(super) async fn next(&mut self) -> Option<Outbound> {
        self.queue.recv().await
    }

    /// Nothing more is sent.
    pub(super) fn close(mut self) {
        self.queue.close();
    }

    /// A text of this size was sent.
    pub(super) fn sent(&self, size: usize) {
        self.unread.fetch_sub(size, Ordering::Relaxed);
    }
}
