//! The output of a provider program, read to its end and kept redacted in a file.
//!
//! Invariant: a program never waits for a full pipe, and its file has a size limit.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt as _};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

use crate::guard::Redactor;
use crate::sys::FileMode;
use crate::sys::append::{AppendFile, Tail};
use crate::sys::process::Supervised;

/// Most output of a program that is kept, in bytes.
const OUTPUT: usize = 4 << 20;
/// Pieces of output that wait to be written.
const PIECES: usize = 16;

/// The output of a program that runs.
pub(super) struct ProgramOutput {
    readers: [Option<JoinHandle<()>>; 2],
    writer: JoinHandle<()>,
}

impl ProgramOutput {
    /// Writes the program's output to the file `log`.
    pub(super) fn keep(program: &mut Supervised, log: PathBuf, redactor: Arc<Redactor>) -> Self {
        let (sender, pieces) = mpsc::channel(PIECES);
        let out =
            program.stdout.take().map(|it| tokio::spawn(read(it, Stream::Out, sender.clone())));
        let err = program.stderr.take().map(|it| tokio::spawn(read(it, Stream::Err, sender)));
        let writer = tokio::task::spawn_blocking(move || write(&log, pieces, &redactor));
        Self { readers: [out, err], writer }
    }

    /// The program has ended: the output read so far is written, within a limit.
    pub(super) async fn end(self, limit: Duration) {
        for reader in self.readers.into_iter().flatten() {
            reader.abort();
        }
        drop(tokio::time::timeout(limit, self.writer).await);
    }
}

/// Where a program said something.
#[derive(Clone, Copy, Debug)]
enum Stream {
    Out,
    Err,
}

/// One read from a stream.
type Piece = (Stream, Vec<u8>);

/// Reads a stream to its end, whoever writes.
async fn read(mut stream: impl AsyncRead + Unpin, name: Stream, to: mpsc::Sender<Piece>) {
    let mut buffer = vec![0; 16 << 10];
    while let Ok(count @ 1..) = stream.read(&mut buffer).await {
        if to.send((name, buffer[..count].to_vec())).await.is_err() {
            return;
        }
    }
}

/// Appends output to a file, redacted, up to a limit; the rest is read and dropped.
fn write(path: &Path, mut pieces: mpsc::Receiver<Piece>, redactor: &Redactor) {
    let mut file = AppendFile::open(path, FileMode::Owner, Tail::Torn).ok();
    let mut written = file.as_ref().and_then(|file| file.metadata().ok());
    let mut written = written.take().map_or(0, |it| usize::try_from(it.len()).unwrap_or(OUTPUT));
    // Output of one stream does not split a secret in the other.
    let mut out = redactor.stream();
    let mut err = redactor.stream();
    let mut keep = |text: String| {
        if written < OUTPUT && !text.is_empty() {
            written += text.len();
            if file.as_mut().is_some_and(|file| file.append(text.as_bytes()).is_err()) {
                file = None;
            }
        }
    };
    while let Some((name, piece)) = pieces.blocking_recv() {
        keep(match name {
            Stream::Out => out.push(&piece),
            Stream::Err => err.push(&piece),
        });
    }
    keep(out.finish());
    keep(err.finish());
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(pieces: Vec<Piece>) -> String {
        let folder = tempfile::tempdir().expect("a folder");
        let log = folder.path().join("log");
        let (sender, receiver) = mpsc::channel(pieces.len());
        for piece in pieces {
            sender.try_send(piece).expect("sent");
        }
        drop(sender);
        write(&log, receiver, &Redactor::new(["pässword-of-the-house"]));
        std::fs::read_to_string(log).expect("read")
    }

    #[test]
    fn a_secret_is_not_torn_by_the_other_stream_or_by_the_end_of_a_piece() {
        let secret = "key: pässword-of-the-house\n".as_bytes();
        for at in 1..secret.len() {
            let (first, second) = secret.split_at(at);
            let text = written(vec![
                (Stream::Out, first.to_vec()),
                (Stream::Err, b"noise\n".to_vec()),
                (Stream::Out, second.to_vec()),
            ]);
            assert!(text.contains("[REDACTED]") && !text.contains("house"), "{at}: {text}");
            assert!(text.contains("noise\n") && !text.contains('\u{fffd}'), "{at}: {text}");
        }
    }

    #[test]
    fn bytes_that_are_no_text_are_marked_and_lose_nothing() {
        let pieces = [&b"a\xff"[..], b"b\xe2\x82", b"\xac c\xe2\x82"];
        let text = written(pieces.map(|piece| (Stream::Err, piece.to_vec())).to_vec());
        assert_eq!(text.trim_end(), "a\u{fffd}b€ c\u{fffd}");
    }
}
