//! Runs a hook script of the project with an input, a time limit, and bounded output.
//!
//! Invariant: when the result is returned, no process of the script is alive. A script that
//! does not read its input, or writes endless output, blocks nothing. The meaning of the
//! output does NOT live here.

use std::os::unix::process::ExitStatusExt as _;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWriteExt as _};
use tokio::process::{ChildStdin, Command};
use tokio::time::timeout;

use crate::sys::process::{Ladder, Supervised};

/// Size up to which each stream is kept, in bytes; the rest is read and dropped.
const KEPT: usize = 1 << 20;

/// Time for reading output after the script has ended.
const DRAIN: Duration = Duration::from_millis(500);

/// How a script ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ScriptEnd {
    /// It exited with this code.
    Exited(i32),
    /// It was killed by this signal.
    Signalled(i32),
    /// It exceeded this limit, in seconds, and was killed with everything it had started.
    TimedOut(u64),
    /// It could not be started, or its exit status is unknown.
    NotRun(String),
}

impl ScriptEnd {
    /// A predicate for a sentence that begins with the script's name.
    pub fn describe(&self) -> String {
        match self {
            Self::Exited(code) => format!("ended with exit code {code}"),
            Self::Signalled(signal) => format!("was killed by signal {signal}"),
            Self::TimedOut(limit) => format!("did not answer within {limit} s"),
            Self::NotRun(why) => format!("could not be run: {why}"),
        }
    }
}

/// The result of running a script.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScriptRun {
    /// How it ended.
    pub end: ScriptEnd,
    /// The beginning of its standard output.
    pub stdout: String,
    /// The beginning of its standard error.
    pub stderr: String,
    /// Whether there was more output than is kept.
    pub cut: bool,
}

impl ScriptRun {
    /// Its error message: standard error or, if that is empty, standard output.
    pub fn complaint(&self) -> &str {
        let said = self.stderr.trim();
        if said.is_empty() { self.stdout.trim() } else { said }
    }

    /// A sentence that says how the script failed, with its error message.
    pub fn failure(&self, name: &str) -> String {
        let said = self.complaint();
        let said = if said.is_empty() { String::new() } else { format!(": {said}") };
        format!("{name} {}{said}", self.end.describe())
    }
}

/// Runs a script until it ends or `limit` is over. Its processes are marked with `run`.
///
/// Call this from a thread that lives as long as the runtime.
pub async fn run_script(
    mut command: Command,
    input: &[u8],
    limit: Duration,
    run: &str,
) -> ScriptRun {
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = match Supervised::spawn(command, run) {
        Ok(child) => child,
        Err(error) => {
            let end = ScriptEnd::NotRun(error.to_string());
            return ScriptRun { end, stdout: String::new(), stderr: String::new(), cut: false };
        }
    };
    let stdin = child.stdin.take();
    let mut out = Kept::new(child.stdout.take());
    let mut err = Kept::new(child.stderr.take());
    let ended = {
        let moving = async { tokio::join!(feed(stdin, input), out.read(), err.read()) };
        tokio::pin!(moving);
        let waiting = timeout(limit, child.wait());
        tokio::pin!(waiting);
        tokio::select! {
            ended = &mut waiting => ended,
            _ = &mut moving => waiting.await,
        }
    };
    let end = match ended {
        Ok(Ok(status)) => meaning(status),
        Ok(Err(error)) => ScriptEnd::NotRun(error.to_string()),
        Err(_elapsed) => ScriptEnd::TimedOut(limit.as_secs_f64().round() as u64),
    };
    // This ends processes that inherited the streams, so that reading them comes to an end.
    let stopping = child.stop(Ladder::AT_ONCE);
    let draining = timeout(DRAIN, async { tokio::join!(out.read(), err.read()) });
    let (_report, _drained) = tokio::join!(stopping, draining);
    let cut = out.cut || err.cut;
    ScriptRun { end, stdout: out.text(), stderr: err.text(), cut }
}

/// Writes the input; a script that does not read it has closed its end.
async fn feed(stdin: Option<ChildStdin>, input: &[u8]) {
    if let Some(mut stdin) = stdin {
        // The exit code counts, not whether the script read everything.
        let _written = stdin.write_all(input).await;
    }
}

fn meaning(status: ExitStatus) -> ScriptEnd {
    match (status.code(), status.signal()) {
        (Some(code), _) => ScriptEnd::Exited(code),
        (None, Some(signal)) => ScriptEnd::Signalled(signal),
        (None, None) => ScriptEnd::NotRun("it ended without a status".to_owned()),
    }
}

/// A stream and its kept part.
struct Kept<S> {
    stream: Option<S>,
    bytes: Vec<u8>,
    cut: bool,
}

impl<S: AsyncRead + Unpin> Kept<S> {
    fn new(stream: Option<S>) -> Self {
        Self { stream, bytes: Vec::new(), cut: false }
    }

    /// Reads to the end of the stream. May be dropped and called again.
    async fn read(&mut self) {
        let Some(stream) = &mut self.stream else { return };
        let mut buffer = [0; 16 * 1024];
        loop {
            match stream.read(&mut buffer).await {
                Ok(0) | Err(_) => break,
                Ok(count) => {
                    let room = (KEPT - self.bytes.len()).min(count);
                    self.bytes.extend_from_slice(&buffer[..room]);
                    self.cut |= room < count;
                }
            }
        }
        self.stream = None;
    }

    fn text(&self) -> String {
        String::from_utf8_lossy(&self.bytes).into_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sh(script: &str) -> Command {
        let mut command = Command::new("sh");
        command.args(["-c", "--", script]);
        command
    }

    async fn run(script: &str, input: &[u8], limit: Duration) -> ScriptRun {
        run_script(sh(script), input, limit, "hook-test").await
    }

    const LONG: Duration = Duration::from_secs(20);

    #[tokio::test]
    async fn input_that_is_not_read_does_not_block() {
        let ran = run("exit 0", &vec![b'x'; 4 << 20], LONG).await;
        assert_eq!(ran.end, ScriptEnd::Exited(0));
    }

    #[tokio::test]
    async fn endless_output_is_read_and_cut() {
        let ran = run("head -c 3000000 /dev/zero", b"", LONG).await;
        assert_eq!((ran.end, ran.stdout.len(), ran.cut), (ScriptEnd::Exited(0), KEPT, true));
    }

    #[tokio::test]
    async fn a_grandchild_that_holds_the_output_is_not_waited_for() {
        let ran = run("sleep 600 & echo $!; exit 0", b"", LONG).await;
        assert_eq!(ran.end, ScriptEnd::Exited(0));
        assert!(gone(ran.stdout.trim()), "{ran:?}");
    }

    /// Whether a process is gone or a zombie.
    fn gone(pid: &str) -> bool {
        let ps = std::process::Command::new("ps").args(["-o", "stat=", "-p", pid]).output();
        let state = String::from_utf8_lossy(&ps.expect("ps").stdout).trim().to_owned();
        state.is_empty() || state.starts_with('Z')
    }
}
