//! The hook process: hands its input to the running runner and repeats the answer.
//!
//! It is started by the CLI for every tool call, so it does nothing else: no
//! runtime, no configuration. Whatever goes wrong is an [`AskError`], and its
//! caller turns it into a denial.

use std::io::{Read as _, Write as _};
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// How long the runner may take to decide a call. Below the limit that the CLI sets to
/// the hook, since the CLI lets a call pass whose hook ran out of time.
pub const ASK_LIMIT: Duration = Duration::from_secs(20);
/// How long it may take to take a report: the CLI waits for that.
const REPORT: Duration = Duration::from_secs(5);
/// How long it may take to check the work of a turn that is about to end. Its own limit,
/// [`STOP_CHECK_LIMIT`], is below this.
const STOP: Duration = Duration::from_secs(90);

/// How long the runner checks the work of a turn that is about to end.
pub const STOP_CHECK_LIMIT: Duration = Duration::from_secs(60);

/// How long the runner may take to answer a hook.
pub fn ask_limit(event: &str) -> Duration {
    match event {
        "agentStop" => STOP,
        event if super::observes(event) => REPORT,
        _ => ASK_LIMIT,
    }
}

/// The runner cannot be asked.
#[derive(Debug, thiserror::Error)]
#[error("the guard at {socket} does not answer: {source}")]
pub struct AskError {
    /// The run's socket.
    pub socket: PathBuf,
    /// Why.
    pub source: std::io::Error,
}

/// Sends a hook's name and input and returns the runner's answer.
///
/// # Errors
/// If there is no runner, or it says nothing within [`ask_limit`].
pub fn ask(socket: &Path, event: &str, input: &[u8]) -> Result<String, AskError> {
    let failed = |source| AskError { socket: socket.to_owned(), source };
    exchange(socket, event, input).map_err(failed)
}

fn exchange(socket: &Path, event: &str, input: &[u8]) -> std::io::Result<String> {
    let limit = ask_limit(event);
    let mut stream = UnixStream::connect(socket)?;
    stream.set_read_timeout(Some(limit))?;
    stream.set_write_timeout(Some(limit))?;
    stream.write_all(event.as_bytes())?;
    stream.write_all(b"\n")?;
    stream.write_all(input)?;
    stream.shutdown(Shutdown::Write)?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    if answer.is_empty() {
        return Err(std::io::ErrorKind::UnexpectedEof.into());
    }
    Ok(answer)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_check_has_time_for_its_answer_and_a_report_holds_nobody_up() {
        assert!(STOP_CHECK_LIMIT < ask_limit("agentStop"));
        assert!(ask_limit("postToolUse") < ask_limit("preToolUse"));
        assert_eq!(ask_limit("unknown"), ask_limit("preToolUse"));
    }
}
