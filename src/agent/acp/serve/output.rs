//! One ordered way out, shared by the SDK's frames and by raw bytes.
//!
//! Invariant: what was handed in first is written first, and nothing is written by anybody
//! else. A write that fails ends the task; everything later is dropped, as on a real
//! broken pipe. What the bytes mean does NOT live here.

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

/// Items that may wait; small, so that a client that stops reading stops us.
const QUEUE: usize = 64;
/// Bytes gathered before they are written.
const BUFFER: usize = 64 * 1024;
/// How long the last bytes may take when nobody reads them.
const LAST_WORDS: Duration = Duration::from_secs(2);

/// What goes through the queue.
enum Item {
    /// A line of the SDK's, without its newline.
    Frame(String),
    /// Anything.
    Raw(Vec<u8>),
    /// Let go of the writer, and say so when everything before it has left.
    Seal(oneshot::Sender<()>),
}

/// The handle that everybody who writes holds.
#[derive(Clone)]
pub(super) struct Output {
    queue: mpsc::Sender<Item>,
    handed: Arc<AtomicU64>,
    written: watch::Receiver<u64>,
}

/// The task behind it.
pub(super) struct Writer(JoinHandle<()>);

/// Starts the task that owns `stdout`.
pub(super) fn open<W: AsyncWrite + Send + Unpin + 'static>(stdout: W) -> (Output, Writer) {
    let (queue, items) = mpsc::channel(QUEUE);
    let (count, written) = watch::channel(0);
    let task = tokio::spawn(async move {
        // A client that is gone is the connection's business; here it only ends the task.
        let _ = drain(stdout, items, count).await;
    });
    (Output { queue, handed: Arc::default(), written }, Writer(task))
}

impl Output {
    /// The SDK's side: one string is one line.
    pub(super) fn sink(&self) -> impl Sink<String, Error = io::Error> + Send + 'static {
        PollSender::new(self.queue.clone()).with(|line| ready(Ok(Item::Frame(line)))).sink_map_err(
            |_: tokio_util::sync::PollSendError<Item>| io::Error::from(io::ErrorKind::BrokenPipe),
        )
    }

    /// A number for the frame that the caller is about to hand to the SDK, which keeps
    /// their order but does not say when one has left.
    pub(super) fn ticket(&self) -> u64 {
        self.handed.fetch_add(1, Ordering::SeqCst) + 1
    }

    /// Waits until the frame of that number is written, or nothing can be written any more.
    pub(super) async fn written(&self, ticket: u64) {
        let _ = self.written.clone().wait_for(|count| *count >= ticket).await;
    }

    /// Writes bytes as they are.
    pub(super) async fn raw(&self, bytes: Vec<u8>) {
        let _ = self.queue.send(Item::Raw(bytes)).await;
    }

    /// Waits until everything so far is written; whatever comes after it is dropped.
    pub(super) async fn seal(&self) {
        let (done, sealed) = oneshot::channel();
        if self.queue.send(Item::Seal(done)).await.is_ok() {
            let _ = sealed.await;
        }
    }
}

impl Writer {
    /// Waits for the last bytes, within a limit: a client that does not read any more must
    /// not keep the process.
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
                    // A queue that is gone would be an error to those who still write.
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
