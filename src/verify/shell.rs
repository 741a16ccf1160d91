//! `sh -c`, in a group of its own, with a limit and a bounded memory.
//!
//! Invariant: when the result is there, nothing of the command's group is alive; a
//! grandchild that left the group and holds the output open is not waited for. Secrets of
//! the runner's environment never reach the command. What does NOT live here: which
//! commands run.

use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::process::ExitStatusExt;
use std::process::{ExitStatus, Stdio};
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use rustix::process::{Pid, Signal, kill_process_group};
use tokio::io::AsyncReadExt;
use tokio::net::unix::pipe;
use tokio::process::{Child, Command};
use tokio::time::{Instant, timeout};

use super::checks::{CheckOptions, Checks};
use crate::model::{CheckResult, CheckStatus};
use crate::sys::env::kept_back;

/// Takes what must not be shown out of a text.
pub type Redact = Arc<dyn Fn(&str) -> String + Send + Sync>;

/// How much of the output's end a result holds, in bytes.
const TAIL: usize = 8 * 1024;

/// Read besides, so that a secret that the cut goes through is whole when it is redacted.
const MARGIN: usize = 4 * 1024;

/// Between TERM and KILL.
const GRACE: Duration = Duration::from_secs(2);

/// How long the output is read after the command ended.
const DRAIN: Duration = Duration::from_millis(500);

/// The real thing.
pub struct ShellChecks {
    redact: Redact,
}

impl ShellChecks {
    /// `redact` is applied to all output.
    pub fn new(redact: Redact) -> Self {
        Self { redact }
    }

    fn start(command: &str, options: &CheckOptions) -> io::Result<(Group, pipe::Receiver)> {
        // Both streams in one pipe: their lines stay in the order they were written.
        let (reader, writer) = io::pipe()?;
        let mut shell = Command::new("sh");
        // `--` keeps a command that begins with `-` from being taken for an option.
        shell
            .args(["-c", "--", command])
            .current_dir(&options.dir)
            .stdin(Stdio::null())
            .stdout(writer.try_clone()?)
            .stderr(writer)
            .process_group(0)
            .kill_on_drop(true);
        for name in kept_back() {
            shell.env_remove(name);
        }
        shell.envs(options.env.iter().map(|(name, value)| (name, value)));
        let child = shell.spawn()?;
        // The command holds the writing end now; ours must go, or the end is never seen.
        drop(shell);
        let output = pipe::Receiver::from_owned_fd(OwnedFd::from(reader))?;
        Ok((Group::new(child), output))
    }
}

#[async_trait]
impl Checks for ShellChecks {
    async fn run(&self, command: &str, options: &CheckOptions) -> CheckResult {
        let started = Instant::now();
        let mut tail = Tail::default();
        let status = match Self::start(command, options) {
            Ok((group, output)) => watch(group, output, options.limit, &mut tail).await,
            Err(error) => CheckStatus::NotRun(error.to_string()),
        };
        CheckResult {
            command: command.to_owned(),
            criteria: Vec::new(),
            whole_task: false,
            status,
            millis: u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX),
            output: tail.finish(&self.redact),
        }
    }
}

/// Reads until the command has ended, or ends it.
async fn watch(
    mut group: Group,
    mut output: pipe::Receiver,
    limit: Duration,
    tail: &mut Tail,
) -> CheckStatus {
    let ended = {
        let reading = read(&mut output, tail);
        tokio::pin!(reading);
        let waiting = timeout(limit, group.child.wait());
        tokio::pin!(waiting);
        tokio::select! {
            ended = &mut waiting => ended,
            () = &mut reading => waiting.await,
        }
    };
    let status = match ended {
        Ok(Ok(status)) => meaning(status),
        Ok(Err(error)) => CheckStatus::NotRun(error.to_string()),
        Err(_elapsed) => {
            group.signal(Signal::TERM);
            // It may ignore TERM; KILL follows either way.
            let _ended = timeout(GRACE, group.child.wait()).await;
            CheckStatus::TimedOut(limit.as_secs())
        }
    };
    // Whatever the command left running in the background is ended too.
    group.signal(Signal::KILL);
    let _reaped = timeout(GRACE, group.child.wait()).await;
    let _drained = timeout(DRAIN, read(&mut output, tail)).await;
    status
}

/// Reads to the end of the stream.
async fn read(output: &mut pipe::Receiver, tail: &mut Tail) {
    let mut buffer = [0; 16 * 1024];
    loop {
        match output.read(&mut buffer).await {
            Ok(0) | Err(_) => return,
            Ok(count) => tail.push(&buffer[..count]),
        }
    }
}

fn meaning(status: ExitStatus) -> CheckStatus {
    match (status.code(), status.signal()) {
        (Some(0), _) => CheckStatus::Passed,
        (Some(code), _) => CheckStatus::Failed(code),
        (None, Some(signal)) => CheckStatus::Signalled(signal),
        (None, None) => CheckStatus::NotRun("it ended without a status".into()),
    }
}

/// A child that leads a process group; dropping it ends the group.
struct Group {
    child: Child,
    group: Option<Pid>,
}

impl Group {
    fn new(child: Child) -> Self {
        let group = child.id().and_then(|id| i32::try_from(id).ok()).and_then(Pid::from_raw);
        Self { child, group }
    }

    fn signal(&self, signal: Signal) {
        if let Some(group) = self.group {
            // An error means that nobody is left.
            let _gone = kill_process_group(group, signal);
        }
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        self.signal(Signal::KILL);
    }
}

/// The end of a stream, in constant memory.
#[derive(Default)]
struct Tail {
    bytes: Vec<u8>,
    total: u64,
}

impl Tail {
    fn push(&mut self, bytes: &[u8]) {
        self.total += bytes.len() as u64;
        self.bytes.extend_from_slice(bytes);
        if self.bytes.len() > 2 * (TAIL + MARGIN) {
            self.bytes.drain(..self.bytes.len() - (TAIL + MARGIN));
        }
    }

    fn finish(&self, redact: &Redact) -> String {
        let from = self.bytes.len().saturating_sub(TAIL + MARGIN);
        let whole = from == 0 && self.total == self.bytes.len() as u64;
        let text = redact(&String::from_utf8_lossy(&self.bytes[from..]));
        if whole && text.len() <= TAIL {
            return text;
        }
        let mut from = text.len().saturating_sub(TAIL);
        while !text.is_char_boundary(from) {
            from += 1;
        }
        format!("[the first part of {} bytes is left out]\n{}", self.total, &text[from..])
    }
}
