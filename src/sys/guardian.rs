//! The run's guardian: a second process of ours that outlives the runner, and ends whatever
//! of the run is left when the runner is killed.
//!
//! The runner holds the only write end of a pipe, closed on exec, so that no child has it;
//! the guardian reads the other one. One byte says that the run is over and nothing is
//! left; the pipe's end without it says that the runner died, however that came.
//!
//! Invariant: the guardian is no process of the run. It carries no mark of it and nothing of
//! the runner's environment, stands in a session of its own, heeds no signal that can be
//! ignored, holds no stream of the runner's, and ends by itself once its work is done.
//! How processes are found and ended lives in `process`.

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

use super::SysError;
use super::process::{OrphanedRun, Sweep, ended_apart, spawn_apart};

/// What the runner says when the run is over.
const DONE: &[u8] = b".";
/// Between TERM and KILL. All has to be over 3 s after the runner's death.
const GRACE: Duration = Duration::from_millis(500);
/// After this what is still there cannot be ended by anybody.
const LIMIT: Duration = Duration::from_secs(60);
/// How long a dismissed guardian may take to end.
const END: Duration = Duration::from_secs(1);

/// The running guardian, as the runner has it. Dropped without [`Guardian::dismiss`], it
/// does its work.
#[derive(Debug)]
pub struct Guardian {
    line: std::io::PipeWriter,
    dismissed: Arc<AtomicBool>,
    watch: JoinHandle<()>,
}

impl Guardian {
    /// Starts the guardian: `command` names the program that calls [`guard`] on its standard
    /// input. `lost` is called if it ends before it is dismissed.
    ///
    /// # Errors
    /// If there is no pipe or the program cannot be started.
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
        let told = Arc::clone(&dismissed);
        let watch = tokio::spawn(async move {
            let pid = child.id();
            let status = child.wait().await.ok();
            if let Some(pid) = pid {
                ended_apart(pid);
            }
            if !told.load(Ordering::SeqCst) {
                lost(status);
            }
        });
        Ok(Self { line, dismissed, watch })
    }

    /// Says that the run is over and nothing of it is left, and waits for the guardian's end.
    pub async fn dismiss(mut self) {
        self.dismissed.store(true, Ordering::SeqCst);
        if let Err(error) = self.line.write_all(DONE) {
            tracing::debug!(%error, "the guardian was gone already");
        }
        drop(self.line);
        if timeout(END, self.watch).await.is_err() {
            tracing::warn!("the guardian does not end");
        }
    }
}

/// What a guardian's work came to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Guarded {
    /// The runner ended the run itself.
    Dismissed,
    /// The runner died; this became of the run's processes.
    Cleared(Sweep),
}

/// The guardian's work: waits for the end of `line`, whose other end the runner holds, and
/// ends every process of the run if that came without a word.
///
/// # Errors
/// If the line is no pipe, or signals cannot be listened to.
pub async fn guard(run: String, runner: u32, line: OwnedFd) -> Result<Guarded, SysError> {
    let failed = |operation| move |source| SysError::Process { operation, source };
    let _deaf = deafen().map_err(failed("listen for signals"))?;
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

/// Takes the signals that would end us, and does nothing about them, as long as the answer
/// is kept.
fn deafen() -> std::io::Result<Vec<Signal>> {
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

    /// Starts a program as a guardian; what `lost` is told arrives at the receiver.
    fn start(program: &str) -> Result<(Guardian, oneshot::Receiver<Option<ExitStatus>>), SysError> {
        let (tell, told) = oneshot::channel();
        let lost = move |status| {
            let _told = tell.send(status);
        };
        Ok((Guardian::start(Command::new(program), lost)?, told))
    }

    #[tokio::test]
    async fn one_that_is_dismissed_is_waited_for_and_is_not_lost() {
        // `cat` ends with its input, as a guardian does.
        let (guardian, told) = start("cat").expect("cat");
        guardian.dismiss().await;
        told.await.expect_err("it is not lost");
    }

    #[tokio::test]
    async fn one_that_ends_by_itself_is_told() {
        let (guardian, told) = start("false").expect("false");
        assert_eq!(told.await.expect("told"), Some(ExitStatus::from_raw(1 << 8)));
        guardian.dismiss().await;
    }

    #[tokio::test]
    async fn one_that_cannot_be_started_is_an_error() {
        let error = start("/no/such/guardian").expect_err("missing");
        assert!(error.to_string().starts_with("cannot start /no/such/guardian: "), "{error}");
    }
}
