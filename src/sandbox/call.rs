//! The client of one call: it stands in the place of the agent's shell command, and ends as
//! the command in the sandbox ends.
//!
//! Invariant: it runs nothing by itself. Without the runner's word, or without the sandbox, it
//! fails.

use std::ffi::OsString;
use std::io;
use std::os::fd::BorrowedFd;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;

use tokio::signal::unix::{SignalKind, signal};

use super::server::{EXITED, KILLED, REFUSED, SIGNAL};
use super::wire::{Frame, receive, send};

/// Sent by the client first: `call ID CWD [NAME=VALUE]...` with its standard input, output and
/// error.
pub(super) const CALL: &str = "call";

/// Signals that may be sent to a shell command.
const PASSED_ON: [SignalKind; 7] = [
    SignalKind::hangup(),
    SignalKind::interrupt(),
    SignalKind::quit(),
    SignalKind::terminate(),
    SignalKind::user_defined1(),
    SignalKind::user_defined2(),
    SignalKind::window_change(),
];

/// A command that was not run, or whose end is not known.
#[derive(Debug, thiserror::Error)]
pub enum CallError {
    /// The sandbox is gone.
    #[error("the sandbox ended before the command did")]
    Ended,
    /// The runner cannot be asked, or its answer was lost.
    #[error("the runner does not answer: {0}")]
    Unanswered(#[from] io::Error),
    /// The runner or the sandbox did not run it.
    #[error("{0}")]
    Refused(String),
}

/// Asks at `socket` for the command of the call `id` to be run in the sandbox, with this
/// standard input, output and error, and returns its exit code. Does not return if the command
/// was ended by a signal: this process then ends by the same one.
///
/// # Errors
/// If the command was not run, or its end is not known.
pub fn call(socket: &Path, id: &str, stdio: [BorrowedFd<'_>; 3]) -> Result<u8, CallError> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let frame = runtime.block_on(exchange(socket, id, stdio))?;
    as_it_ended(&frame.ok_or(CallError::Ended)?)
}

async fn exchange(
    socket: &Path,
    id: &str,
    stdio: [BorrowedFd<'_>; 3],
) -> io::Result<Option<Frame>> {
    let runner = Arc::new(UnixStream::connect(socket)?);
    for kind in PASSED_ON {
        let mut signals = signal(kind)?;
        let runner = Arc::clone(&runner);
        tokio::spawn(async move {
            while signals.recv().await.is_some() {
                let number = kind.as_raw_value().to_string();
                drop(send(&runner, [SIGNAL, &number], &[]));
            }
        });
    }
    let environment = std::env::vars_os().map(|(name, value)| {
        let mut pair = name;
        pair.push("=");
        pair.push(value);
        pair
    });
    let head = [OsString::from(CALL), id.into(), std::env::current_dir()?.into()];
    send(&runner, head.into_iter().chain(environment), &stdio)?;
    tokio::task::spawn_blocking(move || receive(&runner)).await.map_err(io::Error::other)?
}

fn as_it_ended(frame: &Frame) -> Result<u8, CallError> {
    let number: i32 = frame.text(1).parse().unwrap_or(i32::from(u8::MAX));
    match frame.text(0) {
        EXITED => Ok(u8::try_from(number).unwrap_or(u8::MAX)),
        KILLED => {
            // A new program has no handlers: it ends as the command did.
            let kill = format!("kill -s {number} $$");
            let error = Command::new("/bin/sh").args(["-c", &kill]).exec();
            Err(CallError::Unanswered(error))
        }
        REFUSED => Err(CallError::Refused(frame.text(1).to_owned())),
        other => Err(CallError::Refused(format!("this version does not know `{other}`"))),
    }
}
