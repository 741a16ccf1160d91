//! `--keep-awake`: keeps the machine from sleeping while a run is at work.
//!
//! Invariant: ends with this process, however that ends: the inhibitor lives as long as a command that
//! reads from a pipe of ours. Without an inhibitor the run goes on, and says so.

use std::process::Stdio;
use std::time::Duration;

use tokio::io::AsyncReadExt as _;
use tokio::process::{Child, Command};
use tokio::time::timeout;

/// How long the inhibitor may take to start.
const LIMIT: Duration = Duration::from_secs(5);

/// Starts the inhibitor, or says why there is none.
pub(super) async fn keep_awake() -> Result<Child, String> {
    let (program, arguments): (&str, &[&str]) = if cfg!(target_os = "macos") {
        ("caffeinate", &["-i", "-s"])
    } else {
        ("systemd-inhibit", &["--what=idle:sleep", "--who=ralph-copilot", "--why=a run is at work"])
    };
    let failed = |why: String| format!("--keep-awake: this machine may go to sleep: {why}");
    let mut child = Command::new(program)
        .args(arguments)
        .args(["sh", "-c", "echo; exec cat"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        // Ctrl-C is for the run, which still has to end in good order.
        .process_group(0)
        .kill_on_drop(true)
        .spawn()
        .map_err(|error| failed(format!("cannot start `{program}`: {error}")))?;
    let (Some(mut out), Some(mut said)) = (child.stdout.take(), child.stderr.take()) else {
        return Err(failed(format!("`{program}` has no output")));
    };
    match timeout(LIMIT, out.read_u8()).await {
        Ok(Ok(_)) => Ok(child),
        Ok(Err(_)) => {
            let mut text = String::new();
            let read = timeout(LIMIT, said.read_to_string(&mut text)).await;
            tracing::debug!(?read, "what the inhibitor said");
            let why = text.lines().find(|line| !line.trim().is_empty()).unwrap_or("no reason");
            Err(failed(format!("`{program}` failed: {}", why.trim())))
        }
        Err(_) => Err(failed(format!("`{program}` did not start within {} s", LIMIT.as_secs()))),
    }
}
