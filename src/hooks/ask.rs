//! Asks the runner on behalf of a hook: passes on the hook's input and returns the answer.
//!
//! The CLI starts a hook process for every tool call, so this is all that the process does:
//! no async runtime, no configuration. Every failure is an [`AskError`], which the caller
//! turns into a denial.

use std::io::{Read as _, Write as _};
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Time limit for the runner to decide a call. It is below the CLI's limit for hooks, because
/// the CLI lets a call pass if its hook times out.
pub const ASK_LIMIT: Duration = Duration::from_secs(20);
/// Time limit for the runner to accept a report, during which the CLI waits.
const REPORT: Duration = Duration::from_secs(5);
/// Time limit for the runner to answer `agentStop`. It leaves room for a check that uses up
/// [`STOP_CHECK_LIMIT`].
const STOP: Duration = Duration::from_secs(90);

/// Time limit for the check of the work when the agent wants to end its turn.
pub const STOP_CHECK_LIMIT: Duration = Duration::from_secs(60);

/// Time limit for the runner to answer a hook.
pub fn ask_limit(event: &str) -> Duration {
    match event {
        "agentStop" => STOP,
        event if observes(event) => REPORT,
        _ => ASK_LIMIT,
    }
}

/// Whether a hook only reports. If the runner cannot be asked, such a hook does nothing; all
/// others, including unknown ones, deny.
pub fn observes(event: &str) -> bool {
    matches!(
        event,
        "permissionRequest"
            | "postToolUse"
            | "postToolUseFailure"
            | "errorOccurred"
            | "agentStop"
            | "sessionEnd"
    )
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
/// If the runner is gone, or does not answer within [`ask_limit`].
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
    fn a_check_fits_its_limit_and_a_report_has_a_short_one() {
        assert!(STOP_CHECK_LIMIT < ask_limit("agentStop"));
        assert!(ask_limit("postToolUse") < ask_limit("preToolUse"));
        assert_eq!(ask_limit("unknown"), ask_limit("preToolUse"));
    }
}
