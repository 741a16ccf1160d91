//! The end of the agent's stderr, for the error message if the agent dies.

use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWriteExt as _};
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use crate::guard::Redactor;

/// Bytes kept in memory.
const KEPT: usize = 8 << 10;
/// Bytes kept in the run's folder.
const CAP: usize = 1 << 20;
/// Longest line that is written in one piece, in bytes.
const LINE: usize = 64 << 10;
/// How long to wait for the end of the stream; a surviving child may never close it.
const LAST_WORDS: Duration = Duration::from_millis(250);

/// A shared view of the most recent lines.
#[derive(Clone)]
pub(super) struct StderrTail {
    bytes: Arc<Mutex<VecDeque<u8>>>,
    /// Cancelled when the stream has ended.
    ended: CancellationToken,
    redactor: Arc<Redactor>,
}

impl StderrTail {
    /// A tail with nothing in it yet.
    pub(super) fn new(redactor: Arc<Redactor>) -> Self {
        Self { bytes: Arc::default(), ended: CancellationToken::new(), redactor }
    }

    /// Drains the stream in a separate task; a copy goes to `path` up to a cap.
    pub(super) fn drain<R>(stream: R, path: &Path, redactor: Arc<Redactor>) -> Self
    where
        R: AsyncRead + Unpin + Send + 'static,
    {
        let tail = Self::new(redactor);
        tokio::spawn(read(stream, path.to_owned(), tail.clone()));
        tail
    }

    /// The end of the stream, after waiting for it to close: the last lines may arrive after
    /// the process has ended.
    pub(super) async fn last_words(&self) -> String {
        let _late = timeout(LAST_WORDS, self.ended.cancelled()).await;
        self.text()
    }

    /// The end of it so far. Begins with a whole line, or at least word, where the
    /// beginning is gone: half a secret is not recognized as one.
    pub(super) fn text(&self) -> String {
        let bytes: Vec<u8> = self.lock().iter().copied().collect();
        let text = String::from_utf8_lossy(&bytes);
        let whole = if bytes.len() < KEPT {
            text.as_ref()
        } else {
            let cut = text.find('\n').or_else(|| text.find(' '));
            cut.map_or("", |at| &text[at + 1..])
        };
        whole.to_owned()
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, VecDeque<u8>> {
        self.bytes.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

async fn read<R: AsyncRead + Unpin>(mut stream: R, path: PathBuf, tail: StderrTail) {
    let _ended = tail.ended.clone().drop_guard();
    let mut file = tokio::fs::File::options().create(true).append(true).open(&path).await.ok();
    let mut buffer = vec![0; 8 << 10];
    let (mut line, mut written) = (Vec::new(), 0);
    loop {
        let count = stream.read(&mut buffer).await.unwrap_or(0);
        if count > 0 {
            let mut bytes = tail.lock();
            bytes.extend(&buffer[..count]);
            let over = bytes.len().saturating_sub(KEPT);
            bytes.drain(..over);
            drop(bytes);
            line.extend(&buffer[..count]);
        }
        // Whole lines only: half a secret is not recognized as one.
        let end = match line.iter().rposition(|byte| *byte == b'\n') {
            _ if count == 0 => line.len(),
            Some(at) => at + 1,
            None if line.len() > LINE => line.len(),
            None => 0,
        };
        let ready: Vec<u8> = line.drain(..end).collect();
        written += ready.len();
        if let Some(out) = &mut file {
            let text = String::from_utf8_lossy(&ready);
            let text = tail.redactor.redact_str(&text);
            let failed = out.write_all(text.as_bytes()).await.is_err();
            if failed || (count == 0 && out.flush().await.is_err()) || written > CAP {
                file = None;
            }
        }
        if count == 0 {
            return;
        }
    }
}
