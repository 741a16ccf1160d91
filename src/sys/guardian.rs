//! The guardian of a run: a second process that outlives the runner and, if the runner is killed,
//! ends the remaining processes of the run.
//!
//! The runner holds the only write end of a pipe, closed on exec so that children do not inherit
//! it; the guardian reads the other end. One byte means that the run is over and nothing is left;
//! an end of file without it means that the runner died.
//!
//! Invariant: the guardian does not belong to the run. It has neither the run's mark nor the
//! runner's environment and streams, has its own session, ignores every signal that can be
//! ignored, and ends by itself. Finding and ending processes lives in `process`.

use std::io::Write as _;
use std::os::fd::OwnedFd;
use std::process::{ExitStatus, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tokio::io::AsyncReadExt as _;
use tokio::net::unix::pipe;
use tokio::process::Command;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::task::JoinHandle;
use tokio::time::{MissedTickBehavior, interval, timeout};

use super::error::SysError;
use super::process::{OrphanedRun, Sweep, ended_apart, spawn_apart};

/// The message that the run is over.
const DONE: &[u8] = b".";
/// Time between SIGTERM and SIGKILL. All must be over 3 s after the runner's death.
const GRACE: Duration = Duration::from_millis(500);
/// Limit after which the remaining processes cannot be ended.
const LIMIT: Duration = Duration::from_secs(60);
/// How long to wait for the end of a dismissed guardian.
const END: Duration = Duration::from_secs(1);

/// The runner's handle of its guardian. Dropping it without [`Guardian::dismiss`] makes the
/// guardian end the run's processes.
#[derive(Debug)]
pub struct Guardian {
    line: std::io::PipeWriter,
    dismissed: Arc<AtomicBool>,
    watch: JoinHandle<()>,
}

impl Guardian {
    /// Starts the guardian: `command` is a program that calls [`guard`] on its standard input.
    /// Calls `lost` if it ends before it is dismissed.
    ///
    /// # Errors
    /// If the pipe cannot be created or the program cannot be started.
    pub fn start(
        mut command: Command,
        lost: impl FnOnce(Option<ExitStatus>) + Send + 'static,
    ) -> Result<Self, SysError> {
        let program = command.as_std().get_program().to_string_lossy().into_owned();
        let failed = |source| SysError::Spawn { program, source };
        let (reader, line) = match std::io::pipe() {
            Ok(ends) => ends,
            Err(source) => return Err(failed(source)),
        };
        command.stdin(reader).stdout(Stdio::null()).stderr(Stdio::null());
        let mut child = spawn_apart(&mut command).map_err(failed)?;
        let dismissed = Arc::new(AtomicBool::new(false));
        let expected = Arc::clone(&dismissed);
        let watch = tokio::spawn(async move {
            let pid = child.id();
            let status = child.wait().await.ok();
            if let Some(pid) = pid {
                ended_apart(pid);
            }
            if !expected.load(Ordering::SeqCst) {
                lost(status);
            }
        });
        Ok(Self { line, dismissed, watch })
    }

    /// Tells the guardian that the run is over, and waits for its end.
    pub async fn dismiss(mut self) {
        self.dismissed.store(true, Ordering::SeqCst);
        if let Err(error) = self.line.write_all(DONE) {
            tracing::debug!(%error, "the guardian had already ended");
        }
        drop(self.line);
        if timeout(END, self.watch).await.is_err() {
            tracing::warn!("the dismissed guardian is still running");
        }
    }
}

/// The result of [`guard`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Guarded {
    /// The runner finished the run itself.
    Dismissed,
    /// The runner died, and the run's processes were ended.
    Cleared(Sweep),
}

/// Waits until the runner dismisses the guardian or dies, and ends every process of the run in the
/// second case. `line` is the pipe whose other end the runner holds.
///
/// # Errors
/// If `line` is not a pipe, or signals cannot be handled.
pub async fn guard(run: String, runner: u32, line: OwnedFd) -> Result<Guarded, SysError> {
    let failed = |operation| move |source| SysError::Process { operation, source };
    let _ignored = ignore_signals().map_err(failed("listen for signals"))?;
    let mut line = pipe::Receiver::from_owned_fd(line).map_err(failed("listen to the runner"))?;
    let mut orphaned = OrphanedRun::of(run, runner);
    let mut looks = interval(OrphanedRun::LOOK);
    looks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut word = [0; DONE.len()];
    loop {
        tokio::select! {
            biased;
            read = line.read(&mut word) => match read {
                Ok(0) | Err(_) => break,
                Ok(_) => return Ok(Guarded::Dismissed),
            },
            _ = looks.tick() => orphaned.look(),
        }
    }
    Ok(Guarded::Cleared(orphaned.end(GRACE, LIMIT).await))
}

/// Ignores the signals that would end this process, as long as the result is kept.
fn ignore_signals() -> std::io::Result<Vec<Signal>> {
    [
        SignalKind::interrupt(),
        SignalKind::terminate(),
        SignalKind::hangup(),
        SignalKind::quit(),
        SignalKind::user_defined1(),
        SignalKind::user_defined2(),
        SignalKind::alarm(),
    ]
    .map(signal)
    .into_iter()
    .collect()
}

#[cfg(test)]
mod tests {
    use std::os::unix::process::ExitStatusExt as _;

    use tokio::sync::oneshot;

    use super::*;

    /// Starts a program as a guardian; the receiver gets the argument of `lost`.
    fn start(program: &str) -> Result<(Guardian, oneshot::Receiver<Option<ExitStatus>>), SysError> {
        let (sender, lost_status) = oneshot::channel();
        let lost = move |status| {
            let _sent = sender.send(status);
        };
        Ok((Guardian::start(Command::new(program), lost)?, lost_status))
    }

    #[tokio::test]
    async fn a_dismissed_guardian_is_waited_for_and_not_reported_lost() {
        // `cat` ends with its input, as a guardian does.
        let (guardian, lost) = start("cat").expect("cat");
        guardian.dismiss().await;
        lost.await.expect_err("it is not lost");
    }

    #[tokio::test]
    async fn a_guardian_that_ends_by_itself_is_reported_lost() {
        let (guardian, lost) = start("false").expect("false");
        assert_eq!(lost.await.expect("reported"), Some(ExitStatus::from_raw(1 << 8)));
        guardian.dismiss().await;
    }

    #[tokio::test]
    async fn a_guardian_that_cannot_start_is_an_error() {
        let error = start("/no/such/guardian").expect_err("missing");
        assert!(error.to_string().starts_with("cannot start /no/such/guardian: "), "{error}");
    }
}
