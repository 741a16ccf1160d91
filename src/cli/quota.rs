//! The user's remaining premium requests, from a script of theirs.
//!
//! `copilot-usage.sh --remaining` on the PATH is asked once, before the work. It can only
//! warn: a script that is slow, fails or prints anything but a number says nothing.

use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use tokio::io::AsyncReadExt as _;
use tokio::process::Command;
use tokio::time::timeout;

use crate::sys::process::{Ladder, Supervised};

/// The script.
const SCRIPT: &str = "copilot-usage.sh";
/// How long it may take.
const LIMIT: Duration = Duration::from_secs(10);
/// The time that its output may take to arrive after it has ended.
const DRAIN: Duration = Duration::from_millis(200);
/// The most that is read of its output, in bytes.
const LONGEST: u64 = 1 << 10;
/// A lower number shows a warning.
const LOW: f64 = 10.0;

/// The warning, if there is one to give.
pub(super) async fn warning(run: &str, cwd: &Path) -> Option<String> {
    let script = which::which(SCRIPT).ok()?;
    let mut command = Command::new(script);
    command.arg("--remaining").current_dir(cwd);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = match Supervised::spawn(command, run) {
        Ok(child) => child,
        Err(error) => {
            tracing::debug!(%error, "{SCRIPT} cannot be started");
            return None;
        }
    };
    let mut printed = Vec::new();
    // Processes that the script leaves keep its output open; the answer is complete when the script
    // itself has ended.
    if let Some(stdout) = child.take_output(DRAIN) {
        let mut stdout = stdout.take(LONGEST);
        let read = timeout(LIMIT, stdout.read_to_end(&mut printed)).await;
        if !matches!(read, Ok(Ok(_))) {
            printed.clear();
        }
    }
    child.stop(Ladder::AT_ONCE).await;
    told(&String::from_utf8_lossy(&printed))
}

/// The meaning of a script's output.
fn told(printed: &str) -> Option<String> {
    let remaining = printed.trim();
    let number: f64 = remaining.parse().ok()?;
    (number.is_finite() && number < LOW)
        .then(|| format!("⚠️ Low premium request quota: {remaining} remaining"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_number_below_ten_is_a_warning() {
        for (printed, warns) in [
            ("9\n", true),
            ("0", true),
            ("-3\n", true),
            ("10\n", false),
            ("300\n", false),
            ("", false),
            ("few", false),
            ("3 remaining", false),
            ("NaN", false),
            ("-inf", false),
        ] {
            assert_eq!(told(printed).is_some(), warns, "{printed:?}");
        }
        assert_eq!(told(" 4\n").as_deref(), Some("⚠️ Low premium request quota: 4 remaining"));
    }
}
