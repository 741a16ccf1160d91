//! Runs one process with a time limit and bounded output, and ends everything it started.

use std::ffi::OsString;
use std::os::unix::process::ExitStatusExt as _;
use std::path::PathBuf;
use std::process::Stdio;
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt as _};
use tokio::process::Command;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use super::error::RecipeError;
use super::response::LARGEST;
use super::runner_stderr::RunnerStderr;
use crate::sys::process::{Ladder, Supervised};

/// Between TERM and KILL.
const GRACE: Duration = Duration::from_secs(2);
/// How long output is read after the process ended.
const DRAIN: Duration = Duration::from_secs(2);
/// Longest line of standard error that is passed on, in bytes.
const LINE: usize = 64 * 1024;

/// A process to start.
pub(super) struct RunnerLaunch {
    pub(super) program: PathBuf,
    pub(super) arguments: Vec<OsString>,
    /// All of its environment.
    pub(super) environment: Vec<(OsString, OsString)>,
    pub(super) dir: PathBuf,
    pub(super) limit: Duration,
    /// The id of the run that it belongs to.
    pub(super) run: String,
}

/// How the process ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RunnerEnd {
    Exited(i32),
    Signalled(i32),
    TimedOut,
    Stopped,
}

/// The end and the output of the process.
pub(super) struct RunnerOutput {
    pub(super) end: RunnerEnd,
    /// Standard output. If it exceeded [`LARGEST`], it is cut one byte above that.
    pub(super) stdout: Vec<u8>,
    pub(super) said: RunnerStderr,
}

/// Runs the process until it ends, its limit is over or `stop` is cancelled. `tell` gets each
/// line of its standard error.
pub(super) async fn execute(
    launch: RunnerLaunch,
    stop: &CancellationToken,
    tell: &mut (dyn FnMut(&str) + Send),
) -> Result<RunnerOutput, RecipeError> {
    let mut command = Command::new(&launch.program);
    command
        .args(&launch.arguments)
        .env_clear()
        .envs(launch.environment)
        .current_dir(&launch.dir)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut child = Supervised::spawn(command, &launch.run)?;
    let mut stdout = Vec::new();
    let mut lines = Lines { said: RunnerStderr::default(), tell, line: Vec::new() };
    // Taken here, so that `child.stop` does not consume them.
    let (out, err) = (child.stdout.take(), child.stderr.take());
    let end = {
        let reading = async {
            tokio::join!(collect(out, &mut stdout), lines.read(err));
        };
        tokio::pin!(reading);
        let mut read = false;
        let ended = {
            let waiting = timeout(launch.limit, child.wait());
            tokio::pin!(waiting);
            loop {
                tokio::select! {
                    biased;
                    () = stop.cancelled() => break None,
                    ended = &mut waiting => break Some(ended),
                    () = &mut reading, if !read => read = true,
                }
            }
        };
        let (end, ladder) = match ended {
            Some(Ok(Ok(status))) => {
                let end = match (status.code(), status.signal()) {
                    (Some(code), _) => RunnerEnd::Exited(code),
                    (None, signal) => RunnerEnd::Signalled(signal.unwrap_or_default()),
                };
                (end, Ladder::AT_ONCE)
            }
            Some(Ok(Err(error))) => return Err(error.into()),
            Some(Err(_elapsed)) => (RunnerEnd::TimedOut, Ladder { term: GRACE, ..Ladder::AT_ONCE }),
            None => (RunnerEnd::Stopped, Ladder { term: GRACE, ..Ladder::AT_ONCE }),
        };
        // This also ends grandchildren that hold the output open. Reading continues meanwhile, so
        // that a full pipe cannot keep a process from ending.
        let stopping = child.stop(ladder);
        if read {
            stopping.await;
        } else {
            let (_report, _drained) =
                tokio::join!(stopping, timeout(ladder.term + DRAIN, &mut reading));
        }
        end
    };
    lines.flush();
    Ok(RunnerOutput { end, stdout, said: lines.said })
}

/// Keeps the beginning of a stream and discards the rest.
async fn collect(from: Option<impl AsyncRead + Unpin>, into: &mut Vec<u8>) {
    let Some(mut from) = from else { return };
    let mut buffer = vec![0; 64 * 1024];
    while let Ok(count @ 1..) = from.read(&mut buffer).await {
        let room = (LARGEST + 1).saturating_sub(into.len());
        into.extend_from_slice(&buffer[..count.min(room)]);
    }
}

/// Standard error, line by line.
struct Lines<'a> {
    said: RunnerStderr,
    tell: &'a mut (dyn FnMut(&str) + Send),
    line: Vec<u8>,
}

impl Lines<'_> {
    async fn read(&mut self, from: Option<impl AsyncRead + Unpin>) {
        let Some(mut from) = from else { return };
        let mut buffer = vec![0; 16 * 1024];
        while let Ok(count @ 1..) = from.read(&mut buffer).await {
            for piece in buffer[..count].split_inclusive(|byte| *byte == b'\n') {
                let room = LINE.saturating_sub(self.line.len());
                self.line.extend_from_slice(&piece[..piece.len().min(room)]);
                if piece.ends_with(b"\n") {
                    self.flush();
                }
            }
        }
    }

    fn flush(&mut self) {
        if self.line.is_empty() {
            return;
        }
        let line = std::mem::take(&mut self.line);
        let line = String::from_utf8_lossy(&line);
        let line = line.trim_end_matches(['\r', '\n']);
        self.said.take(line);
        (self.tell)(line);
    }
}
