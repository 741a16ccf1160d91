//! The end of the agent's stderr, for the message when it dies.

use std::collections::VecDeque;
use std::io::Write as _;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::io::{AsyncRead, AsyncReadExt as _};

use crate::guard::Redactor;

/// Bytes that are kept in memory.
const KEPT: usize = 8 << 10;
/// Bytes that are kept in the run's folder.
const CAP: usize = 1 << 20;

/// Shares what was read last.
#[derive(Clone, Default)]
pub(super) struct StderrTail {
    bytes: Arc<Mutex<VecDeque<u8>>>,
    redactor: Option<Arc<Redactor>>,
}

impl StderrTail {
    /// Drains the stream on a task of its own; a copy goes to `path` up to a cap.
    pub(super) fn drain<R>(stream: R, path: &Path, redactor: Arc<Redactor>) -> Self
    where
        R: AsyncRead + Unpin + Send + 'static,
    {
        let tail = Self { bytes: Arc::default(), redactor: Some(redactor) };
        tokio::spawn(read(stream, path.to_owned(), tail.clone()));
        tail
    }

    /// The end of it, redacted.
    pub(super) fn text(&self) -> String {
        let bytes: Vec<u8> = self.lock().iter().copied().collect();
        let text = String::from_utf8_lossy(&bytes);
        match &self.redactor {
            Some(redactor) => redactor.redact_str(&text).into_owned(),
            None => text.into_owned(),
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, VecDeque<u8>> {
        self.bytes.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

async fn read<R: AsyncRead + Unpin>(mut stream: R, path: std::path::PathBuf, tail: StderrTail) {
    let mut file = std::fs::File::options().create(true).append(true).open(&path).ok();
    let (mut buffer, mut written) = (vec![0; 8 << 10], 0);
    while let Ok(count) = stream.read(&mut buffer).await {
        if count == 0 {
            return;
        }
        let mut bytes = tail.lock();
        bytes.extend(&buffer[..count]);
        let over = bytes.len().saturating_sub(KEPT);
        bytes.drain(..over);
        drop(bytes);
        written += count;
        if let (Some(out), Some(redactor)) = (&mut file, &tail.redactor) {
            let text = String::from_utf8_lossy(&buffer[..count]);
            if written > CAP || out.write_all(redactor.redact_str(&text).as_bytes()).is_err() {
                file = None;
            }
        }
    }
}
