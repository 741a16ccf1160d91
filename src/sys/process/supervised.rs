//! A supervised child and its end.

use std::process::ExitStatus;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process_group};
use tokio::io::AsyncRead;
use tokio::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command};
use tokio::task::JoinHandle;
use tokio::time::timeout;

use super::family::{CHILD_VARIABLE, ChildMark, RUN_VARIABLE};
use super::spawn::{detach, spawn_beside};
use super::sweep::{GRACE, clear};
use super::{children, output, system};
use crate::sys::error::SysError;

/// The time limits of the steps that end a child.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ladder {
    /// After its standard input was closed.
    pub close: Duration,
    /// After SIGTERM to the child and its descendants.
    pub term: Duration,
    /// After SIGKILL to the remaining processes.
    pub kill: Duration,
}

impl Ladder {
    /// An orderly end, 5.25 s in all. A CLI that writes its records takes up to 2 s for each of the
    /// first two steps.
    pub const GENTLE: Self = Self {
        close: Duration::from_millis(2250),
        term: Duration::from_millis(2250),
        kill: Duration::from_millis(750),
    };
    /// An immediate end, after a timeout or a second signal.
    pub const AT_ONCE: Self =
        Self { close: Duration::ZERO, term: Duration::ZERO, kill: Duration::from_secs(1) };

    /// The limit of all steps together.
    pub const fn limit(&self) -> Duration {
        self.close.saturating_add(self.term).saturating_add(self.kill)
    }
}

/// The step at which a child ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExitStep {
    /// It had ended by itself.
    Before,
    /// Its standard input was closed.
    Closed,
    /// SIGTERM.
    Terminated,
    /// SIGKILL.
    Killed,
    /// It is still alive (a process in an uninterruptible wait).
    Survived,
}

/// The result of [`Supervised::stop`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExitReport {
    /// The step that ended the child.
    pub step: ExitStep,
    /// Its exit status; `None` if it survived or the status was taken elsewhere.
    pub status: Option<ExitStatus>,
    /// Descendants that had outlived the child and were ended.
    pub swept: Vec<u32>,
    /// Processes that are still alive.
    pub left: Vec<u32>,
}

/// A running child with its descendants. Dropping it without [`Supervised::stop`] kills all of
/// them at once.
#[derive(Debug)]
pub struct Supervised {
    /// Its standard input, if piped. A caller that takes it drops it before `stop`.
    pub stdin: Option<ChildStdin>,
    /// Its standard output, if piped.
    pub stdout: Option<ChildStdout>,
    /// Its standard error, if piped.
    pub stderr: Option<ChildStderr>,
    pid: u32,
    child: Child,
    mark: ChildMark,
    /// Have all processes ended? Then nothing is killed on drop.
    over: bool,
}

impl Supervised {
    /// Starts the command in its own process session, marked as a process of `run`. The caller
    /// sets the three standard streams on the command.
    ///
    /// On Linux the child is killed when the calling thread ends: call it from a thread that lives
    /// as long as the runtime, never from a blocking pool.
    ///
    /// # Errors
    /// If the program cannot be started.
    pub fn spawn(mut command: Command, run: &str) -> Result<Self, SysError> {
        static NUMBER: AtomicU64 = AtomicU64::new(1);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let token = format!("{run}/{}.{number}", std::process::id());
        command.env(RUN_VARIABLE, run).env(CHILD_VARIABLE, &token).kill_on_drop(true);
        detach(&mut command);
        let mut child = spawn_beside(&mut command)?;
        let Some(pid) = child.id() else {
            let program = command.as_std().get_program().to_string_lossy().into_owned();
            let source = std::io::Error::other("it ended before its process id was read");
            return Err(SysError::Spawn { program, source });
        };
        Ok(Self {
            stdin: child.stdin.take(),
            stdout: child.stdout.take(),
            stderr: child.stderr.take(),
            pid,
            child,
            mark: ChildMark::of(pid, token),
            over: false,
        })
    }

    /// Takes its standard output, which ends at the latest `drain` after the child does, even if a
    /// descendant holds the pipe open.
    pub fn take_output(
        &mut self,
        drain: Duration,
    ) -> Option<impl AsyncRead + Unpin + Send + use<>> {
        let stdout = self.stdout.take()?;
        Some(output::until_the_end(stdout, self.pid, drain))
    }

    /// The child's process id.
    pub fn pid(&self) -> u32 {
        self.pid
    }

    /// Waits for the child's end, not for its descendants'. Cancel safe.
    ///
    /// # Errors
    /// If the status cannot be read.
    pub async fn wait(&mut self) -> Result<ExitStatus, SysError> {
        let status = self
            .child
            .wait()
            .await
            .map_err(|source| SysError::Process { operation: "wait for a child", source })?;
        children::ended(self.pid);
        Ok(status)
    }

    /// Ends the child and its descendants: closes its standard input, sends SIGTERM, then SIGKILL,
    /// each step with its limit; then ends the descendants that outlived the child. Discards
    /// unread output meanwhile, so that a full pipe does not block the child's end.
    pub async fn stop(mut self, ladder: Ladder) -> ExitReport {
        // Before its input is closed: it may end at once then.
        let status = self.child.try_wait().ok().flatten();
        drop(self.stdin.take());
        let drains = [self.stdout.take().map(discard), self.stderr.take().map(discard)];
        let (mut step, status) = self.climb(ladder, status).await;
        if status.is_some() {
            children::ended(self.pid);
        } else {
            step = ExitStep::Survived;
        }
        let rest = clear(|| self.mark.members(), GRACE.min(ladder.kill / 3), ladder.kill).await;
        for drain in drains.into_iter().flatten() {
            drain.abort();
        }
        let mut left = rest.left;
        if status.is_none() && !left.contains(&self.pid) {
            left.push(self.pid);
        }
        self.over = left.is_empty();
        ExitReport { step, status, swept: rest.ended, left }
    }

    /// Takes the steps one after the other until the child ends.
    async fn climb(
        &mut self,
        ladder: Ladder,
        mut status: Option<ExitStatus>,
    ) -> (ExitStep, Option<ExitStatus>) {
        let mut step = ExitStep::Before;
        for (next, signal, limit) in [
            (ExitStep::Closed, None, ladder.close),
            (ExitStep::Terminated, Some(Signal::TERM), ladder.term),
            (ExitStep::Killed, Some(Signal::KILL), ladder.kill),
        ] {
            if status.is_some() {
                break;
            }
            if limit.is_zero() {
                continue;
            }
            step = next;
            if let Some(signal) = signal {
                self.signal(signal);
            }
            status = timeout(limit, self.child.wait()).await.ok().and_then(Result::ok);
        }
        (step, status)
    }

    /// Sends a signal to the child, its group and every descendant found.
    fn signal(&self, signal: Signal) {
        // The ids of the child and its group cannot be reused before the child is reaped.
        if let Some(group) = self.child.id().and_then(|pid| Pid::from_raw(pid.cast_signed())) {
            // The group may have ended meanwhile.
            let _ = kill_process_group(group, signal);
            if signal != Signal::KILL {
                // A stopped process handles SIGTERM only once it is continued.
                let _ = kill_process_group(group, Signal::CONT);
            }
        }
        system::signal(&self.mark.members(), signal);
    }
}

impl Drop for Supervised {
    fn drop(&mut self) {
        if !self.over {
            self.signal(Signal::KILL);
        }
    }
}

/// Reads and discards.
fn discard(mut from: impl AsyncRead + Unpin + Send + 'static) -> JoinHandle<()> {
    tokio::spawn(async move {
        // An error ends the stream as well.
        let _ = tokio::io::copy(&mut from, &mut tokio::io::sink()).await;
    })
}
