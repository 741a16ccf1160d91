//! Writes redacted wire frames to the run's folder, for people; the runner never reads them.
//!
//! Invariant: the caller never waits. Frames go through a bounded queue to a writer thread;
//! frames that do not fit are counted and reported. The file is rotated when it is full, so
//! the newest frames are kept.

use std::fs::File;
use std::io::{BufWriter, Write as _};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::Duration;

use chrono::Utc;

use crate::guard::Redactor;
use crate::sys::append::rotate;

/// Bytes kept of one frame.
const FRAME: usize = 64 << 10;
/// Bytes beyond them that are still redacted: half a secret is not recognized as one.
const SLACK: usize = 8 << 10;
/// Bytes that may wait in the queue, including the frames' own overhead.
const QUEUED: usize = 1 << 20;
/// How long to wait for the last frames at the end of the run.
const LAST: Duration = Duration::from_secs(1);
/// Size at which the file is rotated, in bytes; the previous rotated file is replaced.
const FULL: u64 = 16 << 20;

/// The direction of a frame.
#[derive(Clone, Copy, Debug)]
pub(super) enum Way {
    Sent,
    Received,
    /// A line that is not a frame.
    Noise,
}

struct Frame {
    way: Way,
    text: String,
    /// Length of the original line, in bytes.
    whole: usize,
}

impl Frame {
    /// Bytes that the frame takes in the queue.
    fn size(&self) -> usize {
        self.text.len() + size_of::<Self>()
    }
}

struct Shared {
    queued: AtomicUsize,
    missed: AtomicU64,
}

/// The sending side of the queue.
#[derive(Clone)]
pub(super) struct WireLog {
    entrance: Sender<Frame>,
    shared: Arc<Shared>,
}

/// The writer thread; it ends when the last sender is dropped.
pub(super) struct WireWriter(Receiver<()>);

impl Drop for WireWriter {
    /// Waits for the last frames, for a limited time: a sender may still be held, or the disk
    /// may hang.
    fn drop(&mut self) {
        if self.0.recv_timeout(LAST) == Err(RecvTimeoutError::Timeout) {
            tracing::warn!("the last frames may not be in the wire log");
        }
    }
}

impl WireLog {
    /// Opens the file.
    pub(super) fn open(
        path: &Path,
        redactor: Arc<Redactor>,
    ) -> std::io::Result<(Self, WireWriter)> {
        let file = open(path)?;
        let path = path.to_owned();
        let (entrance, exit) = channel();
        let shared = Arc::new(Shared { queued: AtomicUsize::new(0), missed: AtomicU64::new(0) });
        let of_thread = Arc::clone(&shared);
        let (done, written) = channel();
        std::thread::Builder::new().name("wire-log".to_owned()).spawn(move || {
            // Dropping this signals that everything is written.
            let _done: Sender<()> = done;
            write(&path, file, &exit, &of_thread, &redactor);
        })?;
        Ok((Self { entrance, shared }, WireWriter(written)))
    }

    /// Queues a frame, or counts it as missed.
    pub(super) fn note(&self, way: Way, line: &str) {
        let end = line.floor_char_boundary((FRAME + SLACK).min(line.len()));
        let frame = Frame { way, text: line[..end].to_owned(), whole: line.len() };
        let size = frame.size();
        if self.shared.queued.fetch_add(size, Ordering::Relaxed) + size > QUEUED
            || self.entrance.send(frame).is_err()
        {
            self.shared.queued.fetch_sub(size, Ordering::Relaxed);
            self.shared.missed.fetch_add(1, Ordering::Relaxed);
        }
    }
}

/// The frame's text, redacted, then cut with a visible mark.
fn shown(frame: &Frame, redactor: &Redactor) -> String {
    let mut text = redactor.redact_str(&frame.text).into_owned();
    if frame.whole > FRAME {
        text.truncate(text.floor_char_boundary(FRAME.min(text.len())));
        text.push_str(&format!("[… {} bytes left out …]", frame.whole.saturating_sub(text.len())));
    }
    text
}

fn open(path: &Path) -> std::io::Result<File> {
    File::options().create(true).append(true).open(path)
}

fn write(path: &Path, file: File, exit: &Receiver<Frame>, shared: &Shared, redactor: &Redactor) {
    let mut written = file.metadata().map_or(0, |metadata| metadata.len());
    let mut out = BufWriter::new(file);
    let mut failed = false;
    while let Ok(frame) = exit.recv() {
        shared.queued.fetch_sub(frame.size(), Ordering::Relaxed);
        if failed {
            shared.missed.fetch_add(1, Ordering::Relaxed);
            continue;
        }
        if written > FULL {
            match turn_over(path, &mut out) {
                Ok(file) => out = BufWriter::new(file),
                Err(error) => tracing::warn!(%error, "the wire log grows on"),
            }
            written = 0;
        }
        let way = match frame.way {
            Way::Sent => ">",
            Way::Received => "<",
            Way::Noise => "?",
        };
        let time = Utc::now().format("%Y-%m-%dT%H:%M:%S%.3fZ");
        let line = format!("{time} {way} {}\n", shown(&frame, redactor));
        written += line.len() as u64;
        let idle = shared.queued.load(Ordering::Relaxed) == 0;
        let result =
            out.write_all(line.as_bytes()).and_then(|()| if idle { out.flush() } else { Ok(()) });
        if let Err(error) = result {
            tracing::warn!(%error, "the wire log cannot be written");
            failed = true;
        }
    }
    let missed = shared.missed.load(Ordering::Relaxed);
    if missed > 0 {
        let note = writeln!(out, "# {missed} frames are missing: this file never delays the agent");
        failed |= note.is_err();
    }
    if out.flush().is_err() || failed {
        tracing::warn!("the wire log is not whole");
    }
}

/// Rotates the full file and opens a new one.
fn turn_over(path: &Path, out: &mut BufWriter<File>) -> std::io::Result<File> {
    out.flush()?;
    rotate(path, 0).map_err(std::io::Error::other)?;
    open(path)
}
