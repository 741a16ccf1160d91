//! Verify commands: in the proof room, in the sandbox of the run's tier; elsewhere without one. In
//! tier `full`, nothing of a preflight remains in the human's tree.
//!
//! Invariant: a check that belongs in a room runs in its sandbox or not at all; when its result is
//! there, none of its processes is alive.

use std::ffi::OsString;
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use async_trait::async_trait;
use tokio::net::unix::pipe;
use tokio::task::spawn_blocking;
use tokio::time::{Instant, timeout};

use super::walls::RunWalls;
use crate::model::{CheckResult, CheckStatus, Redact, Tier};
use crate::sandbox::{CommandEnd, RESTARTS, Room, SandboxError};
use crate::sys::env::withheld;
use crate::verify::{
    CheckOptions, Checks, OutputTail, Purpose, RoomPlace, ShellChecks, runner_environment,
};

/// The checks of a run.
pub(super) struct RoomChecks {
    shell: ShellChecks,
    walls: Arc<RunWalls>,
    redact: Arc<dyn Redact>,
}

impl RoomChecks {
    pub(super) fn new(walls: Arc<RunWalls>, run: &str) -> Self {
        let redact: Arc<dyn Redact> = Arc::clone(walls.redactor()) as _;
        Self { shell: ShellChecks::new(Arc::clone(&redact), run), walls, redact }
    }

    /// Does a check of a preflight leave the human's tree unchanged?
    pub(super) fn leaves_the_tree(&self) -> bool {
        self.walls.tier() == Tier::Full
            && self.walls.preflight().is_ok_and(|room| end(&room).is_ok())
    }

    async fn enclosed(
        &self,
        place: &RoomPlace,
        command: &str,
        options: &CheckOptions,
    ) -> CheckResult {
        let started = Instant::now();
        let tmp = self.walls.proof_tmp(place);
        let room = self.started(place, options).await.map_err(|error| error.to_string());
        let running = room.and_then(|room| {
            let environment = self.environment(Some(tmp), command, options);
            start(room, &place.seen_at, command, environment)
        });
        self.ended(running, started, command, options).await
    }

    /// A sandbox that has started, possibly only when it was tried again.
    async fn started(
        &self,
        place: &RoomPlace,
        options: &CheckOptions,
    ) -> Result<Room, SandboxError> {
        let mut restarts = 0;
        loop {
            let room = self.walls.proof(place, options)?;
            let waiting = spawn_blocking(move || room.ready().map(|()| room)).await;
            match waiting.unwrap_or(Err(SandboxError::Ended)) {
                Err(SandboxError::NotStarted { said }) if restarts < RESTARTS => {
                    tracing::warn!(said, "a sandbox is started again");
                    restarts += 1;
                }
                other => return other,
            }
        }
    }

    /// Runs a command on the human's own tree, and discards its writes. `None` if the kernel cannot
    /// do that.
    async fn on_the_tree(&self, command: &str, options: &CheckOptions) -> Option<CheckResult> {
        let started = Instant::now();
        let room = self.walls.preflight();
        let room =
            room.inspect_err(|error| tracing::debug!(%error, "checks run in the tree")).ok()?;
        let environment = self.environment(None, command, options);
        let running = start(room, self.walls.tree(), command, environment);
        Some(self.ended(running, started, command, options).await)
    }

    async fn ended(
        &self,
        running: Result<Running, String>,
        started: Instant,
        command: &str,
        options: &CheckOptions,
    ) -> CheckResult {
        let mut tail = OutputTail::default();
        let status = match running {
            Ok(running) => running.watch(options, &mut tail).await,
            Err(why) => CheckStatus::NotRun(why),
        };
        tail.result(command, status, started, self.redact.as_ref())
    }

    /// The human's environment without secrets, and without variables that tell the code under test
    /// that it is watched.
    fn environment(
        &self,
        tmp: Option<PathBuf>,
        command: &str,
        options: &CheckOptions,
    ) -> Vec<OsString> {
        let left_out = match options.purpose {
            Purpose::Check | Purpose::HoldOut | Purpose::Preflight | Purpose::Setup { .. } => {
                withheld()
            }
            Purpose::FirstSetup => Vec::new(),
        };
        let runner = runner_environment(command);
        let pair = |name: &std::ffi::OsStr, value: &std::ffi::OsStr| {
            let mut pair = name.to_owned();
            pair.push("=");
            pair.push(value);
            pair
        };
        let own = std::env::vars_os().filter(|(name, _)| {
            let ours = name.to_str().is_some_and(|name| name.starts_with("RALPH_"));
            let replaced = runner.iter().any(|(other, _)| name == other.as_str());
            let is_tmp = name == "TMPDIR" && tmp.is_some();
            // The shell's name for the program that it started: the runner.
            let is_program = name == "_";
            !ours && !replaced && !left_out.contains(name) && !is_tmp && !is_program
        });
        let own = own.map(|(name, value)| pair(&name, &value));
        let tmp = tmp.as_ref().map(|tmp| pair("TMPDIR".as_ref(), tmp.as_os_str()));
        let more = runner
            .iter()
            .chain(&options.env)
            .map(|(name, value)| pair(name.as_ref(), value.as_ref()));
        own.chain(tmp).chain(more).collect()
    }
}

#[async_trait]
impl Checks for RoomChecks {
    async fn run(&self, command: &str, options: &CheckOptions) -> CheckResult {
        match (&options.place, self.walls.tier()) {
            (Some(place), Tier::Full | Tier::Partial) => {
                self.enclosed(place, command, options).await
            }
            (None, Tier::Full) if options.purpose == Purpose::Preflight => {
                match self.on_the_tree(command, options).await {
                    Some(result) => result,
                    None => self.shell.run(command, options).await,
                }
            }
            (Some(_), Tier::Off) | (None, _) => self.shell.run(command, options).await,
        }
    }
}

/// Starts a command in a sandbox that belongs to it alone.
fn start(
    room: Room,
    cwd: &Path,
    command: &str,
    environment: Vec<OsString>,
) -> Result<Running, String> {
    let room = EndOnDrop(Arc::new(room));
    let text = |error: io::Error| error.to_string();
    // Both streams in one pipe: their lines stay in the order they were written.
    let (reader, writer) = io::pipe().map_err(text)?;
    let output = pipe::Receiver::from_owned_fd(OwnedFd::from(reader)).map_err(text)?;
    let (inside, cwd, command) = (Arc::clone(&room.0), cwd.to_owned(), OsString::from(command));
    let ended = spawn_blocking(move || {
        inside.run_alone(&cwd, &command, &environment, OwnedFd::from(writer))
    });
    Ok(Running { room, output, ended })
}

/// A check that runs.
struct Running {
    room: EndOnDrop,
    output: pipe::Receiver,
    ended: tokio::task::JoinHandle<Result<CommandEnd, SandboxError>>,
}

impl Running {
    /// Reads until the command has ended, or ends it, with everything it started.
    async fn watch(mut self, options: &CheckOptions, tail: &mut OutputTail) -> CheckStatus {
        let ended = {
            let reading = tail.read(&mut self.output);
            tokio::pin!(reading);
            let waiting = timeout(options.limit, &mut self.ended);
            tokio::pin!(waiting);
            tokio::select! {
                ended = &mut waiting => ended,
                () = &mut reading => waiting.await,
            }
        };
        let status = match ended {
            Ok(Ok(Ok(CommandEnd::Exited(0)))) => CheckStatus::Passed,
            Ok(Ok(Ok(CommandEnd::Exited(code)))) => CheckStatus::Failed(code),
            Ok(Ok(Ok(CommandEnd::Killed(signal)))) => CheckStatus::Signalled(signal),
            Ok(Ok(Ok(CommandEnd::Refused(why)))) => CheckStatus::NotRun(why),
            Ok(Ok(Err(error))) => CheckStatus::NotRun(error.to_string()),
            Ok(Err(error)) => CheckStatus::NotRun(error.to_string()),
            Err(_elapsed) => CheckStatus::TimedOut(options.limit.as_secs()),
        };
        let room = Arc::clone(&self.room.0);
        let gone = spawn_blocking(move || end(&room)).await;
        // With its processes the writing end of the pipe is gone.
        tail.read(&mut self.output).await;
        match gone {
            Ok(Ok(())) => status,
            Ok(Err(error)) => CheckStatus::NotRun(error.to_string()),
            Err(error) => CheckStatus::NotRun(error.to_string()),
        }
    }
}

/// A command is ended if its result is no longer awaited.
struct EndOnDrop(Arc<Room>);

impl Drop for EndOnDrop {
    fn drop(&mut self) {
        drop(end(&self.0));
    }
}

/// Ends all processes in the room; writes in HOME are kept for the next check.
fn end(room: &Room) -> Result<(), SandboxError> {
    room.keep_home();
    room.end()
}
