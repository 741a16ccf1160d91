//! One ordered output for the SDK's frames and for raw bytes.
//!
//! Invariant: items are written in the order they were queued, by one task alone. A failed
//! write ends the task, and everything later is dropped, as on a real broken pipe.

use std::future::ready;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use futures::{Sink, SinkExt};
use tokio::io::{AsyncWrite, AsyncWriteExt, BufWriter};
use tokio::sync::{mpsc, oneshot, watch};
use tokio::task::JoinHandle;
use tokio_util::sync::PollSender;

/// Items that may wait; few, so that a client that stops reading stops us.
const QUEUE: usize = 64;
/// Bytes gathered before they are written.
const BUFFER: usize = 64 * 1024;
/// How long to wait for a client to read the last bytes.
const LAST_WORDS: Duration = Duration::from_secs(2);

/// An item of the queue.
enum Item {
    /// A line from the SDK, without its newline.
    Frame(String),
    /// Raw bytes.
    Raw(Vec<u8>),
    /// Drop the writer, and confirm when everything before it is written.
    Seal(oneshot::Sender<()>),
}

/// A handle for writing.
#[derive(Clone)]
pub(super) struct Output {
    queue: mpsc::Sender<Item>,
    handed: Arc<AtomicU64>,
    written: watch::Receiver<u64>,
}

/// The task that writes.
pub(super) struct Writer(JoinHandle<()>);

/// Starts the task that owns `stdout`.
pub(super) fn open<W: AsyncWrite + Send + Unpin + 'static>(stdout: W) -> (Output, Writer) {
    let (queue, items) = mpsc::channel(QUEUE);
    let (count, written) = watch::channel(0);
    let task = tokio::spawn(async move {
        // The connection notices a client that is gone; here it only ends the task.
        let _ = drain(stdout, items, count).await;
    });
    (Output { queue, handed: Arc::default(), written }, Writer(task))
}

impl Output {
    /// The sink for the SDK, one string per line.
    pub(super) fn sink(&self) -> impl Sink<String, Error = io::Error> + Send + 'static {
        PollSender::new(self.queue.clone()).with(|line| ready(Ok(Item::Frame(line)))).sink_map_err(
            |_: tokio_util::sync::PollSendError<Item>| io::Error::from(io::ErrorKind::BrokenPipe),
        )
    }

    /// Numbers the frame that the caller is about to give to the SDK. The SDK keeps the order
    /// of frames but does not report when one is written.
    pub(super) fn ticket(&self) -> u64 {
        self.handed.fetch_add(1, Ordering::SeqCst) + 1
    }

    /// Waits until the frame of that number is written, or nothing can be written any more.
    pub(super) async fn written(&self, ticket: u64) {
        let _ = self.written.clone().wait_for(|count| *count >= ticket).await;
    }

    /// Queues raw bytes.
    pub(super) async fn raw(&self, bytes: Vec<u8>) {
        let _ = self.queue.send(Item::Raw(bytes)).await;
    }

    /// Waits until everything so far is written; anything later is dropped.
    pub(super) async fn seal(&self) {
        let (done, sealed) = oneshot::channel();
        if self.queue.send(Item::Seal(done)).await.is_ok() {
            let _ = sealed.await;
        }
    }
}

impl Writer {
    /// Waits for the last bytes, for a limited time: a client that stopped reading must not keep
    /// the process alive.
    pub(super) async fn finish(mut self) {
        if tokio::time::timeout(LAST_WORDS, &mut self.0).await.is_err() {
            self.0.abort();
        }
    }
}

async fn drain<W: AsyncWrite + Unpin>(
    stdout: W,
    mut items: mpsc::Receiver<Item>,
    count: watch::Sender<u64>,
) -> io::Result<()> {
    let mut out = BufWriter::with_capacity(BUFFER, stdout);
    let mut frames = 0;
    while let Some(item) = items.recv().await {
        let mut next = Some(item);
        while let Some(item) = next {
            match item {
                Item::Frame(line) => {
                    out.write_all(line.as_bytes()).await?;
                    out.write_all(b"\n").await?;
                    frames += 1;
                }
                Item::Raw(bytes) => out.write_all(&bytes).await?,
                Item::Seal(done) => {
                    out.flush().await?;
                    drop(out);
                    let _ = done.send(());
                    // Keep the queue open: a closed one would be an error to later writers.
                    while items.recv().await.is_some() {}
                    return Ok(());
                }
            }
            next = items.try_recv().ok();
        }
        out.flush().await?;
        count.send_replace(frames);
    }
    Ok(())
}
