//! The stream of a connection that is read only a little before it has shown its token.
//!
//! Invariant: a stranger can make the gateway buffer at most [`STRANGER_SIZE`], whatever it sends.
//! It is not cut off at once, because a provider may send more frames right after its token.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};

use futures::task::AtomicWaker;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// Bytes that are read of a connection that has not authenticated: its request, and its token.
pub(super) const STRANGER_SIZE: usize = 16 << 10;
/// Bytes that are read of it at once.
const PIECE: usize = 4 << 10;

/// Whether a connection has authenticated.
#[derive(Clone, Debug, Default)]
pub(super) struct ReadLimit(Arc<Gate>);

#[derive(Debug, Default)]
struct Gate {
    open: AtomicBool,
    reader: AtomicWaker,
}

impl ReadLimit {
    /// It has: everything is read.
    pub(super) fn lift(&self) {
        self.0.open.store(true, Ordering::Release);
        self.0.reader.wake();
    }

    fn is_open(&self) -> bool {
        self.0.open.load(Ordering::Acquire)
    }
}

/// A stream that pauses after its first bytes until the connection is admitted.
#[derive(Debug)]
pub(super) struct StrangerStream<S> {
    stream: S,
    left: usize,
    limit: ReadLimit,
}

impl<S> StrangerStream<S> {
    pub(super) fn new(stream: S, limit: ReadLimit) -> Self {
        Self { stream, left: STRANGER_SIZE, limit }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for StrangerStream<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if self.left == 0 {
            // Registered before it is looked at, so that no limit is missed.
            self.limit.0.reader.register(context.waker());
        }
        if self.limit.is_open() {
            return Pin::new(&mut self.stream).poll_read(context, into);
        }
        if self.left == 0 {
            return Poll::Pending;
        }
        let mut piece = [0; PIECE];
        let length = PIECE.min(self.left).min(into.remaining());
        let mut piece = ReadBuf::new(&mut piece[..length]);
        let read = Pin::new(&mut self.stream).poll_read(context, &mut piece);
        self.left -= piece.filled().len();
        into.put_slice(piece.filled());
        read
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for StrangerStream<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        pieces: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write_vectored(context, pieces)
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::AsyncReadExt as _;

    use super::*;

    #[tokio::test]
    async fn a_stranger_is_read_up_to_its_limit_and_then_on_once_it_is_admitted() {
        let sent: &'static [u8] = vec![7; STRANGER_SIZE + 100_000].leak();
        let limit = ReadLimit::default();
        let mut stream = StrangerStream::new(sent, limit.clone());
        let mut first = vec![0; STRANGER_SIZE];
        stream.read_exact(&mut first).await.expect("read");
        let reading =
            tokio::spawn(async move { stream.read_u8().await.map(|_| stream.stream.len()) });
        tokio::task::yield_now().await;
        assert!(!reading.is_finished());
        limit.lift();
        // The rest could be read at once.
        assert_eq!(reading.await.expect("joined").expect("read"), 99_999);
    }
}
