//! One process, with a limit, its output bounded, and everything it started gone at the end.

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
use super::failure::RunnerStderr;
use super::response::LARGEST;
use crate::sys::process::{Ladder, Supervised};

/// Between TERM and KILL.
const GRACE: Duration = Duration::from_secs(2);
/// How long output is read after the process ended.
const DRAIN: Duration = Duration::from_secs(2);
/// Longest line of standard error that is told of, in bytes.
const LINE: usize = 64 * 1024;

/// What is started.
pub(super) struct RunnerLaunch {
    pub(super) program: PathBuf,
    pub(super) arguments: Vec<OsString>,
    /// All of its environment.
    pub(super) environment: Vec<(OsString, OsString)>,
    pub(super) dir: PathBuf,
    pub(super) limit: Duration,
    /// The run that it belongs to.
    pub(super) run: String,
}

/// How it ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RunnerEnd {
    Exited(i32),
    Signalled(i32),
    TimedOut,
    Stopped,
}

/// What it came to.
pub(super) struct RunnerOutput {
    pub(super) end: RunnerEnd,
    /// Standard output; one byte more than is read at most where there was more.
    pub(super) stdout: Vec<u8>,
    pub(super) said: RunnerStderr,
}

/// Runs it to its end, its limit's or `stop`'s, and tells each line of its standard error.
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
    // Taken, so that `stop` does not read them away.
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
        // A grandchild that holds the output open is ended, and a full pipe keeps nobody from
        // ending.
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

/// Keeps the beginning, and reads the rest away.
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
