//! The line transport between the child and the SDK.
//!
//! A task drains the child's stdout without ever waiting. It folds `session/update` itself and
//! passes only requests and responses to the SDK. Lines have a maximum length, invalid UTF-8
//! and halves of surrogate pairs are replaced, and lines that are not JSON objects are logged and
//! skipped, as is what stands before the first message. A line that is too long, or a broken one
//! that may have been a message, ends the connection: waiting for a lost answer would hang.

use std::borrow::Cow;
use std::io;
use std::sync::Arc;

use agent_client_protocol::Lines;
use futures::channel::mpsc::{UnboundedSender, unbounded};
use futures::{Sink, SinkExt as _, Stream, StreamExt as _};
use serde::Deserialize;
use serde_json::value::RawValue;
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt as _};
use tokio::task::JoinHandle;
use tokio_util::codec::{AnyDelimiterCodec, AnyDelimiterCodecError, FramedRead};

use super::updates::Updates;
use crate::agent::wire_log::{Way, WireLog};
use crate::model::whole_letters;

/// Longest line, in bytes.
const LONGEST: usize = 16 << 20;

/// Why an agent that speaks as a language server does is not understood.
const FRAMED: &str =
    "it frames its messages with `Content-Length`; ACP has one message on each line";

#[derive(Deserialize)]
struct Envelope<'a> {
    #[serde(default, borrow)]
    method: Option<Cow<'a, str>>,
    #[serde(default, borrow)]
    id: Option<&'a RawValue>,
    #[serde(default, borrow)]
    params: Option<&'a RawValue>,
}

/// How a line is handled.
enum Line {
    Update,
    HandOn,
    Noise,
    Broken(String),
}

/// Connects the child's streams. The SDK drives the returned lines; the returned task reads
/// until the output ends. A process left behind can hold the output open for ever, so the
/// task is aborted when the agent is stopped.
pub(super) fn connect<R, W>(
    stdout: R,
    stdin: W,
    updates: Arc<Updates>,
    log: WireLog,
) -> (
    Lines<
        impl Sink<String, Error = io::Error> + Send + 'static,
        impl Stream<Item = io::Result<String>> + Send + 'static,
    >,
    JoinHandle<()>,
)
where
    R: AsyncRead + Unpin + Send + 'static,
    W: AsyncWrite + Unpin + Send + 'static,
{
    let (hand_on, incoming) = unbounded();
    let reader = tokio::spawn(read(stdout, hand_on, updates, log.clone()));
    let (outgoing, lines) = unbounded::<String>();
    tokio::spawn(write(stdin, lines, log));
    (Lines::new(outgoing.sink_map_err(io::Error::other), incoming), reader)
}

async fn read<R: AsyncRead + Unpin>(
    stdout: R,
    hand_on: UnboundedSender<io::Result<String>>,
    updates: Arc<Updates>,
    log: WireLog,
) {
    let codec = AnyDelimiterCodec::new_with_max_length(b"\n".to_vec(), Vec::new(), LONGEST);
    let mut lines = FramedRead::with_capacity(stdout, codec, 64 << 10);
    let mut first = true;
    while let Some(line) = lines.next().await {
        let problem = match line {
            Ok(bytes) => {
                let mut text = String::from_utf8_lossy(&bytes);
                if first && let Some(at) = first_message(&text) {
                    text = text[at..].to_owned().into();
                }
                if let Some(whole) = whole_letters(text.as_bytes()) {
                    text = String::from_utf8_lossy(&whole).into_owned().into();
                }
                match sort(&text, &updates) {
                    Line::Update => {
                        log.note(Way::Received, &text);
                        None
                    }
                    Line::HandOn => {
                        first = false;
                        log.note(Way::Received, &text);
                        // Read on even if the connection is over: an agent that blocks on
                        // a full pipe would not end.
                        let _over = hand_on.unbounded_send(Ok(text.into_owned()));
                        None
                    }
                    Line::Noise => {
                        log.note(Way::Noise, &text);
                        let framed = first && text.starts_with("Content-Length:");
                        framed.then(|| FRAMED.to_owned())
                    }
                    Line::Broken(why) => {
                        log.note(Way::Noise, &text);
                        Some(why)
                    }
                }
            }
            Err(AnyDelimiterCodecError::MaxChunkLengthExceeded) => {
                Some(format!("it sent a line of more than {} MiB", LONGEST >> 20))
            }
            Err(AnyDelimiterCodecError::Io(error)) => Some(format!("its output broke: {error}")),
        };
        if let Some(why) = problem {
            updates.break_off(why.clone());
            let _over =
                hand_on.unbounded_send(Err(io::Error::new(io::ErrorKind::InvalidData, why)));
            return;
        }
    }
}

/// Where the first message begins on a line that has something else before it: a byte-order mark,
/// a terminal's title, a greeting without its newline.
fn first_message(text: &str) -> Option<usize> {
    let begins = |(at, _): &(usize, &str)| {
        let message = serde_json::from_str::<Envelope<'_>>(text[*at..].trim());
        message.is_ok_and(|it| it.method.is_some() || it.id.is_some())
    };
    text.match_indices('{').take(8).find(begins).map(|(at, _)| at)
}

fn sort(text: &str, updates: &Updates) -> Line {
    let trimmed = text.trim();
    if !trimmed.starts_with('{') {
        return Line::Noise;
    }
    match serde_json::from_str::<Envelope<'_>>(trimmed) {
        Ok(Envelope { method: Some(method), id: None, params: Some(params) })
            if method == "session/update" =>
        {
            updates.take(params.get());
            Line::Update
        }
        Ok(_) => Line::HandOn,
        Err(error) => {
            // We would wait for a lost answer, and a lost update may have reported an
            // undecided call.
            let message = ["\"jsonrpc\"", "\"result\"", "\"error\"", "\"id\""];
            if message.iter().any(|key| trimmed.contains(key)) {
                Line::Broken(format!("it sent a broken message: {error}"))
            } else {
                Line::Noise
            }
        }
    }
}

async fn write<W: AsyncWrite + Unpin>(
    mut stdin: W,
    mut lines: futures::channel::mpsc::UnboundedReceiver<String>,
    log: WireLog,
) {
    while let Some(mut line) = lines.next().await {
        log.note(Way::Sent, &line);
        line.push('\n');
        let written = async {
            stdin.write_all(line.as_bytes()).await?;
            stdin.flush().await
        };
        if let Err(error) = written.await {
            return tracing::debug!(%error, "the agent's stdin is closed");
        }
    }
}
