//! Children that do not outlive us, nor their own end.
//!
//! Invariant: every process of a run is started here, in a process session of its own and
//! marked by [`RUN_VARIABLE`] in its environment, and each one ends by a ladder of named
//! steps with limits, its descendants included. What is written to a child and read from
//! it does not live here.
//!
//! Linux: the kernel kills a direct child when we die, orphans of a child come to us (we
//! are their subreaper), and descendants are found in `/proc` by ancestry, session, group
//! and environment. macOS: they are found in what `ps` prints; the system hides the
//! environment of its own programs there, so that one of these which left its session and
//! outlived its parent is not found. What is left when we are killed ourselves is the
//! [guardian's](super::guardian) business.

mod family;
mod output;
#[cfg(any(test, not(target_os = "linux")))]
mod ps_line;
#[cfg(target_os = "linux")]
#[path = "linux.rs"]
mod system;
#[cfg(not(target_os = "linux"))]
#[path = "ps.rs"]
mod system;

use std::collections::BTreeSet;
use std::process::ExitStatus;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process_group};
use tokio::io::AsyncRead;
use tokio::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command};
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep, timeout};

use super::SysError;
pub use system::{may_be_at_work, reap_orphans};

/// Carried by every process of a run; its value is the run's name.
pub const RUN_VARIABLE: &str = "RALPH_RUN_ID";
/// Carried by a supervised child and its descendants; its value is unique to the child.
pub const CHILD_VARIABLE: &str = "RALPH_CHILD_ID";

/// How often it is looked whether killed processes are gone.
const LOOK: Duration = Duration::from_millis(2);
/// How often at last, where one does not go.
const LONGEST_LOOK: Duration = Duration::from_millis(50);
/// Between TERM and KILL for what outlived whoever started it: git, asked to end, takes its
/// lock away, and killed, it leaves it behind. At most a third of the time that there is.
const GRACE: Duration = Duration::from_millis(250);

/// How long each step of an end may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ladder {
    /// After its standard input was closed.
    pub close: Duration,
    /// After SIGTERM to the child and its descendants.
    pub term: Duration,
    /// After SIGKILL to whatever is left.
    pub kill: Duration,
}

impl Ladder {
    /// An end in good order: 5.25 s in all. A CLI that writes its records takes 2 s for each
    /// of the first two steps.
    pub const GENTLE: Self = Self {
        close: Duration::from_millis(2250),
        term: Duration::from_millis(2250),
        kill: Duration::from_millis(750),
    };
    /// An end at once, for what is over its time or for a second signal.
    pub const AT_ONCE: Self =
        Self { close: Duration::ZERO, term: Duration::ZERO, kill: Duration::from_secs(1) };

    /// All the time that it may take.
    pub const fn limit(&self) -> Duration {
        self.close.saturating_add(self.term).saturating_add(self.kill)
    }
}

/// The step at which a child ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExitStep {
    /// It had ended before it was asked to.
    Before,
    /// Its standard input was closed.
    Closed,
    /// SIGTERM.
    Terminated,
    /// SIGKILL.
    Killed,
    /// It is still there (a process in an uninterruptible wait).
    Survived,
}

/// What an end came to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExitReport {
    /// The step that ended the child.
    pub step: ExitStep,
    /// Its exit status; none if it survived or somebody else took the status.
    pub status: Option<ExitStatus>,
    /// Descendants that had outlived the child and were ended.
    pub swept: Vec<u32>,
    /// Processes that are still there.
    pub left: Vec<u32>,
}

/// What a sweep came to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sweep {
    /// Processes that were ended.
    pub ended: Vec<u32>,
    /// Processes that are still there.
    pub left: Vec<u32>,
}

/// A running child with everything that descends from it. Dropped without
/// [`Supervised::stop`], all of it is killed at once.
#[derive(Debug)]
pub struct Supervised {
    /// Its standard input, where it was piped. Whoever takes it drops it before `stop`.
    pub stdin: Option<ChildStdin>,
    /// Its standard output, where it was piped.
    pub stdout: Option<ChildStdout>,
    /// Its standard error, where it was piped.
    pub stderr: Option<ChildStderr>,
    pid: u32,
    child: Child,
    mark: family::Mark,
    /// Nothing is left to be killed when this is dropped.
    over: bool,
}

impl Supervised {
    /// Starts the command in a process session of its own, marked as a process of `run`.
    /// The three standard streams are the caller's to set on the command.
    ///
    /// On Linux the child is killed when the thread that called this ends: call it from a
    /// thread that lives as long as the runtime, never from a blocking pool.
    ///
    /// # Errors
    /// If the program cannot be started.
    pub fn spawn(mut command: Command, run: &str) -> Result<Self, SysError> {
        static NUMBER: AtomicU64 = AtomicU64::new(1);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let token = format!("{run}/{}.{number}", std::process::id());
        command.env(RUN_VARIABLE, run).env(CHILD_VARIABLE, &token).kill_on_drop(true);
        detach(&mut command);
        let program = command.as_std().get_program().to_string_lossy().into_owned();
        let mut child = family::spawn(&mut command)
            .map_err(|source| SysError::Spawn { program: program.clone(), source })?;
        let Some(pid) = child.id() else {
            let source = std::io::Error::other("it ended before it was seen");
            return Err(SysError::Spawn { program, source });
        };
        Ok(Self {
            stdin: child.stdin.take(),
            stdout: child.stdout.take(),
            stderr: child.stderr.take(),
            pid,
            child,
            mark: family::Mark::of(pid, token),
            over: false,
        })
    }

    /// Its standard output, which ends with the child: at the latest `drain` after that,
    /// although a descendant may hold the other end open for ever.
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

    /// Waits for the child's end, whatever its descendants do. May be dropped and called
    /// again.
    ///
    /// # Errors
    /// If the operating system does not give its status.
    pub async fn wait(&mut self) -> Result<ExitStatus, SysError> {
        let status = self
            .child
            .wait()
            .await
            .map_err(|source| SysError::Process { operation: "wait for a child", source })?;
        family::ended(self.pid);
        Ok(status)
    }

    /// Ends the child and its descendants: closes its standard input, then SIGTERM, then
    /// SIGKILL, each step with its limit; then whatever outlived the child is ended, too.
    /// Output that nobody took is read away meanwhile, so that a full pipe keeps no
    /// child from ending.
    pub async fn stop(mut self, ladder: Ladder) -> ExitReport {
        drop(self.stdin.take());
        let drains = [self.stdout.take().map(read_away), self.stderr.take().map(read_away)];
        let mut step = ExitStep::Before;
        let mut status = self.child.try_wait().ok().flatten();
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
        if status.is_some() {
            family::ended(self.pid);
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

    /// Sends a signal to the child, its group and every descendant that is found.
    fn signal(&self, signal: Signal) {
        // While the child is not reaped its number, and so its group's, is not given away.
        if let Some(group) = self.child.id().and_then(|pid| Pid::from_raw(pid.cast_signed())) {
            // A group that is gone needs no signal.
            let _ = kill_process_group(group, signal);
            if signal != Signal::KILL {
                // A stopped process takes no signal but SIGKILL before it is continued.
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

/// Puts the child into a session, and so a process group, of its own: a signal from the
/// terminal does not reach it, and a password prompt in it fails instead of hanging.
#[expect(unsafe_code, reason = "there is no safe way to run code between fork and exec")]
fn detach(command: &mut Command) {
    #[cfg(target_os = "linux")]
    let parent = rustix::process::getpid();
    let prepare = move || {
        rustix::process::setsid()?;
        #[cfg(target_os = "linux")]
        {
            rustix::process::set_parent_process_death_signal(Some(Signal::KILL))?;
            // Whoever lost its parent before the line above would never be told.
            if rustix::process::getppid() != Some(parent) {
                return Err(rustix::io::Errno::SRCH.into());
            }
        }
        Ok(())
    };
    // SAFETY: the closure makes system calls only; it neither allocates nor takes a lock.
    unsafe {
        command.pre_exec(prepare);
    }
}

/// Kills everything that carries a run's name, at once and without waiting: for the end
/// of a run that may not take any more time. What is forked meanwhile is caught by looking
/// again.
pub fn kill_now(run: &str) {
    for _ in 0..5 {
        let found = family::of_run(run);
        if found.is_empty() {
            return;
        }
        system::signal(&found, Signal::KILL);
        std::thread::sleep(LOOK);
    }
}

/// Ends every process of a run, whoever started it, us excepted: those that carry its
/// name in [`RUN_VARIABLE`], and orphans that came to us without one. Each is asked, and
/// killed a moment later. Looks again until none is left or the limit is over.
pub async fn sweep(run: &str, limit: Duration) -> Sweep {
    clear(|| family::of_run(run), GRACE.min(limit / 3), limit).await
}

/// Everything of a run whose runner is dead: remembered while it lives, ended afterwards.
#[derive(Debug)]
pub(super) struct OrphanedRun {
    run: String,
    kin: family::Descendants,
}

impl OrphanedRun {
    /// The processes of the run that this living runner leads.
    pub(super) fn of(run: String, runner: u32) -> Self {
        Self { run, kin: family::Descendants::of(runner) }
    }

    /// How often [`OrphanedRun::look`] may be called without being felt.
    pub(super) const LOOK: Duration = system::LOOK;

    /// Remembers who descends from the runner now.
    pub(super) fn look(&mut self) {
        self.kin.look();
    }

    /// Ends them: SIGTERM, and SIGKILL to whatever is left after `grace`, until two looks
    /// find none or the limit is over.
    pub(super) async fn end(&self, grace: Duration, limit: Duration) -> Sweep {
        clear(|| self.kin.members(&self.run), grace, limit).await
    }
}

/// Starts a child in our own session and group, as a shell does: it has our terminal. What
/// it leaves behind comes to us; the caller marks it, waits for it and sweeps.
///
/// # Errors
/// If the program cannot be started.
pub fn spawn_beside(command: &mut Command) -> Result<Child, SysError> {
    let program = command.as_std().get_program().to_string_lossy().into_owned();
    family::spawn(command).map_err(|source| SysError::Spawn { program, source })
}

/// Starts a child that is to outlive us: in a session of its own, without the mark of a run,
/// with nothing of our environment.
pub(super) fn spawn_apart(command: &mut Command) -> std::io::Result<Child> {
    command.env_clear().current_dir("/");
    // SAFETY: the closure makes one system call; it neither allocates nor takes a lock.
    #[expect(unsafe_code, reason = "there is no safe way to run code between fork and exec")]
    unsafe {
        command.pre_exec(|| Ok(rustix::process::setsid().map(drop)?));
    }
    family::spawn(command)
}

/// The child of [`spawn_apart`] was reaped.
pub(super) fn ended_apart(pid: u32) {
    family::ended(pid);
}

/// Ends what `find` finds, again and again, since a process may fork before it dies: asks
/// each once, and kills whatever is there after `grace`.
async fn clear(
    find: impl Fn() -> Vec<family::ProcessInfo>,
    grace: Duration,
    limit: Duration,
) -> Sweep {
    let began = Instant::now();
    let mut ended = BTreeSet::new();
    let mut killed = false;
    let mut pause = LOOK;
    // What is forked while the table is read may stand where it was read already: after a
    // find, only the second look that finds nothing tells that nothing is left.
    let mut quiet = true;
    loop {
        let found = find();
        reap_orphans();
        let left: Vec<u32> = found.iter().map(|found| found.pid).collect();
        if (left.is_empty() && quiet) || (began.elapsed() >= limit && killed) {
            ended.retain(|pid| !left.contains(pid));
            return Sweep { ended: ended.into_iter().collect(), left };
        }
        quiet = left.is_empty();
        if began.elapsed() < grace {
            let new: Vec<_> = found.into_iter().filter(|it| ended.insert(it.pid)).collect();
            system::signal(&new, Signal::TERM);
        } else {
            killed = true;
            ended.extend(left);
            system::signal(&found, Signal::KILL);
        }
        sleep(pause).await;
        pause = (pause * 2).min(LONGEST_LOOK);
    }
}

/// Reads and forgets.
fn read_away(mut from: impl AsyncRead + Unpin + Send + 'static) -> JoinHandle<()> {
    tokio::spawn(async move {
        // Whatever goes wrong here, the stream is over.
        let _ = tokio::io::copy(&mut from, &mut tokio::io::sink()).await;
    })
}

#[cfg(test)]
mod tests;
