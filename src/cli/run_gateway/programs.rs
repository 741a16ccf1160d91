//! Provider programs of the user's own configuration: started with the run, supervised like all
//! its children, ended with it.
//!
//! Invariant: a program that ends is a notice. It is started again a few times, each time after
//! a longer pause.

use std::path::PathBuf;
use std::process::{ExitStatus, Stdio};
use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt as _};
use tokio::process::Command;
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use super::feed::Feed;
use crate::gateway::GatewayToken;
use crate::guard::{RedactStream, Redactor};
use crate::sys::FileMode;
use crate::sys::append::{AppendFile, Tail};
use crate::sys::process::{Ladder, Supervised};

/// How often a program that fails is started again.
const RESTARTS: u32 = 5;
/// The first pause; each further one is twice as long.
const PAUSE: Duration = Duration::from_secs(1);
/// How a program is ended that has said goodbye, or has had its time.
const LADDER: Ladder =
    Ladder { close: Duration::ZERO, term: Duration::from_secs(2), kill: Duration::from_secs(1) };
/// Most output of a program that is kept, in bytes.
const OUTPUT: usize = 4 << 20;
/// Pieces of output that wait to be written.
const PIECES: usize = 16;

/// What a program is given.
#[derive(Clone)]
pub(super) struct Provided {
    pub(super) token: GatewayToken,
    pub(super) port: u16,
    pub(super) run: String,
    pub(super) cwd: PathBuf,
    /// Where its output is kept.
    pub(super) folder: PathBuf,
}

/// The running programs. Dropping it kills them.
pub(super) struct ProviderPrograms {
    tasks: JoinSet<()>,
    no_more: CancellationToken,
    over: CancellationToken,
}

impl ProviderPrograms {
    /// Starts each command.
    pub(super) fn start(commands: &[String], provided: &Provided, feed: &Arc<Feed>) -> Self {
        let (no_more, over) = (CancellationToken::new(), CancellationToken::new());
        let mut tasks = JoinSet::new();
        for (number, command) in (1..).zip(commands) {
            let program = Program {
                command: command.clone(),
                log: provided.folder.join(format!("provider-{number}.log")),
                provided: provided.clone(),
                feed: Arc::clone(feed),
                no_more: no_more.clone(),
                over: over.clone(),
            };
            tasks.spawn(program.keep_running());
        }
        Self { tasks, no_more, over }
    }

    /// The run ends: programs may go, and none is started again.
    pub(super) fn restart_no_more(&self) {
        self.no_more.cancel();
    }

    /// Ends all of them.
    pub(super) async fn end(mut self) {
        self.no_more.cancel();
        self.over.cancel();
        while self.tasks.join_next().await.is_some() {}
    }
}

/// Where a program said something.
#[derive(Clone, Copy, Debug)]
enum Stream {
    Out,
    Err,
}

/// What came from a stream at once.
type Piece = (Stream, Vec<u8>);

/// One program.
struct Program {
    command: String,
    log: PathBuf,
    provided: Provided,
    feed: Arc<Feed>,
    no_more: CancellationToken,
    over: CancellationToken,
}

impl Program {
    async fn keep_running(self) {
        let mut pause = PAUSE;
        for restart in 0..=RESTARTS {
            let ended = match self.run().await {
                Ok(Some(status)) if status.success() => {
                    return self.say("ended by itself".to_owned());
                }
                Ok(Some(status)) => format!("ended ({status})"),
                Ok(None) => return,
                Err(error) => format!("cannot be started: {error}"),
            };
            if self.no_more.is_cancelled() {
                return;
            }
            if restart == RESTARTS {
                return self.say(format!("{ended}, and is not started again"));
            }
            self.say(format!("{ended}, and is started again in {} s", pause.as_secs()));
            tokio::select! {
                () = tokio::time::sleep(pause) => {}
                () = self.no_more.cancelled() => return,
            }
            pause *= 2;
        }
    }

    fn say(&self, what: String) {
        if !self.no_more.is_cancelled() {
            let log = self.log.file_name().unwrap_or_default().to_string_lossy();
            self.feed.notice(format!(
                "the provider program `{}` {what}; its output is in the run's folder, in {log}",
                self.command
            ));
        }
    }

    /// Runs it until it ends, or until the run does: then there is no status.
    async fn run(&self) -> Result<Option<ExitStatus>, crate::sys::SysError> {
        let mut command = Command::new("sh");
        command
            .arg("-c")
            .arg(&self.command)
            .current_dir(&self.provided.cwd)
            .env("TAP_PROVIDER_TOKEN", self.provided.token.expose())
            .env("TAP_GATEWAY_PORT", self.provided.port.to_string())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut child = Supervised::spawn(command, &self.provided.run)?;
        let (sender, pieces) = mpsc::channel(PIECES);
        let readers = [
            child
                .stdout
                .take()
                .map(|stream| tokio::spawn(read(stream, Stream::Out, sender.clone()))),
            child.stderr.take().map(|stream| tokio::spawn(read(stream, Stream::Err, sender))),
        ];
        let (log, redactor) = (self.log.clone(), Arc::clone(self.feed.redactor()));
        let writer = tokio::task::spawn_blocking(move || write(&log, pieces, &redactor));
        let status = tokio::select! {
            status = child.wait() => Some(status?),
            () = self.over.cancelled() => None,
        };
        // What it started ends with it.
        child.stop(LADDER).await;
        for reader in readers.into_iter().flatten() {
            reader.abort();
        }
        drop(tokio::time::timeout(LADDER.kill, writer).await);
        Ok(status)
    }
}

/// Reads a stream to its end, whoever writes.
async fn read(mut stream: impl AsyncRead + Unpin, name: Stream, to: mpsc::Sender<Piece>) {
    let mut buffer = vec![0; 16 << 10];
    while let Ok(count @ 1..) = stream.read(&mut buffer).await {
        if to.send((name, buffer[..count].to_vec())).await.is_err() {
            return;
        }
    }
}

/// Appends what comes to a file, redacted, up to a limit; the rest is read and dropped.
fn write(path: &std::path::Path, mut pieces: mpsc::Receiver<Piece>, redactor: &Redactor) {
    let mut file = AppendFile::open(path, FileMode::Owner, Tail::Torn).ok();
    let mut written = file.as_ref().and_then(|file| file.metadata().ok());
    let mut written = written.take().map_or(0, |it| usize::try_from(it.len()).unwrap_or(OUTPUT));
    // A secret in one is not torn by what the other says meanwhile.
    let mut out = RedactedBytes::new(redactor);
    let mut err = RedactedBytes::new(redactor);
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

/// Bytes in pieces, as redacted text.
struct RedactedBytes {
    stream: RedactStream,
    /// The beginning of a character that goes on in the next piece.
    begun: Vec<u8>,
}

impl RedactedBytes {
    fn new(redactor: &Redactor) -> Self {
        Self { stream: redactor.stream(), begun: Vec::new() }
    }

    fn push(&mut self, piece: &[u8]) -> String {
        self.begun.extend_from_slice(piece);
        let begins = self.begun.utf8_chunks().last().map_or(0, |last| match last.invalid() {
            // Only what ends the piece may go on; an error within it is one.
            end if is_begun(end) => end.len(),
            _ => 0,
        });
        let rest = self.begun.split_off(self.begun.len() - begins);
        let text = String::from_utf8_lossy(&self.begun).into_owned();
        self.begun = rest;
        self.stream.push(&text)
    }

    fn finish(mut self) -> String {
        let end = self.stream.push(&String::from_utf8_lossy(&self.begun));
        end + &self.stream.finish()
    }
}

/// Is this the beginning of a character, without its end?
fn is_begun(bytes: &[u8]) -> bool {
    std::str::from_utf8(bytes).is_err_and(|error| error.error_len().is_none())
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
