//! `sh -c`, supervised, with a limit and a bounded memory.
//!
//! Invariant: when the result is there, none of the command's processes is alive, and a grandchild
//! that holds the output open is not waited for. Secrets of the runner's environment never reach
//! the command. Not in this file: which commands run.

use std::io;
use std::ops::Range;
use std::os::fd::OwnedFd;
use std::os::unix::process::ExitStatusExt;
use std::process::{ExitStatus, Stdio};
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use tokio::io::AsyncReadExt;
use tokio::net::unix::pipe;
use tokio::process::Command;
use tokio::time::{Instant, timeout};

use super::checks::{CheckOptions, Checks};
use super::excerpt;
use super::runner::{Judgment, TestScanner, judge_tests, runner_environment};
use crate::model::{CheckResult, CheckStatus, Redact};
use crate::sys::env::withheld;
use crate::sys::process::{Ladder, Supervised};

/// How much of the output's end a result holds, in bytes.
const TAIL: usize = 8 * 1024;

/// The size of the additional part that is kept if the line with the reason of the failure comes
/// before that.
const WHY: usize = 2 * 1024;

/// How much of the output's end is looked through for that line.
const SEARCHED: usize = 256 * 1024;

/// The additional bytes to read, so that a secret at the cut is whole when it is redacted.
const MARGIN: usize = 4 * 1024;

/// Between TERM and KILL.
const GRACE: Duration = Duration::from_secs(2);

/// How long the output is read after the command ended.
const DRAIN: Duration = Duration::from_millis(500);

/// The real thing.
pub struct ShellChecks {
    redact: Arc<dyn Redact>,
    run: String,
}

impl ShellChecks {
    /// `redact` is applied to all output; every process of a command carries `run`.
    pub fn new(redact: Arc<dyn Redact>, run: impl Into<String>) -> Self {
        Self { redact, run: run.into() }
    }

    fn start(
        &self,
        command: &str,
        options: &CheckOptions,
    ) -> Result<(Supervised, pipe::Receiver), String> {
        let text = |error: io::Error| error.to_string();
        // Both streams in one pipe: their lines stay in the order they were written.
        let (reader, writer) = io::pipe().map_err(text)?;
        let mut shell = Command::new("sh");
        // `--` keeps a command that begins with `-` from being taken for an option.
        shell
            .args(["-c", "--", command])
            .current_dir(&options.dir)
            .stdin(Stdio::null())
            .stdout(writer.try_clone().map_err(text)?)
            .stderr(writer);
        for name in withheld() {
            shell.env_remove(name);
        }
        shell.envs(runner_environment(command));
        shell.envs(options.env.iter().map(|(name, value)| (name, value)));
        // The command takes the writing end along; kept here, the end was never seen.
        let child = Supervised::spawn(shell, &self.run).map_err(|error| error.to_string())?;
        let output = pipe::Receiver::from_owned_fd(OwnedFd::from(reader)).map_err(text)?;
        Ok((child, output))
    }
}

#[async_trait]
impl Checks for ShellChecks {
    async fn run(&self, command: &str, options: &CheckOptions) -> CheckResult {
        let started = Instant::now();
        let mut tail = OutputTail::default();
        let status = match self.start(command, options) {
            Ok((child, output)) => watch(child, output, options.limit, &mut tail).await,
            Err(why) => CheckStatus::NotRun(why),
        };
        tail.result(command, status, started, self.redact.as_ref())
    }
}

/// Reads until the command has ended, or ends it, with everything it started.
async fn watch(
    mut child: Supervised,
    mut output: pipe::Receiver,
    limit: Duration,
    tail: &mut OutputTail,
) -> CheckStatus {
    let ended = {
        let reading = tail.read(&mut output);
        tokio::pin!(reading);
        let waiting = timeout(limit, child.wait());
        tokio::pin!(waiting);
        tokio::select! {
            ended = &mut waiting => ended,
            () = &mut reading => waiting.await,
        }
    };
    let (status, ladder) = match ended {
        Ok(Ok(status)) => (meaning(status), Ladder::AT_ONCE),
        Ok(Err(error)) => (CheckStatus::NotRun(error.to_string()), Ladder::AT_ONCE),
        Err(_elapsed) => {
            (CheckStatus::TimedOut(limit.as_secs()), Ladder { term: GRACE, ..Ladder::AT_ONCE })
        }
    };
    // A full pipe must not keep the command from ending.
    let stopping = child.stop(ladder);
    let draining = timeout(ladder.term + DRAIN, tail.read(&mut output));
    let (_report, _drained) = tokio::join!(stopping, draining);
    status
}

fn meaning(status: ExitStatus) -> CheckStatus {
    match (status.code(), status.signal()) {
        (Some(0), _) => CheckStatus::Passed,
        (Some(code), _) => CheckStatus::Failed(code),
        (None, Some(signal)) => CheckStatus::Signalled(signal),
        (None, None) => CheckStatus::NotRun("it ended without a status".into()),
    }
}

/// The end of a command's output, and its test runners' reports from all of it, in constant memory.
#[derive(Debug, Default)]
pub struct OutputTail {
    bytes: Vec<u8>,
    total: u64,
    scanner: TestScanner,
}

impl OutputTail {
    /// Reads to the end of the stream.
    pub async fn read(&mut self, output: &mut pipe::Receiver) {
        let mut buffer = [0; 16 * 1024];
        loop {
            match output.read(&mut buffer).await {
                Ok(0) | Err(_) => return,
                Ok(count) => self.push(&buffer[..count]),
            }
        }
    }

    fn push(&mut self, bytes: &[u8]) {
        self.total += bytes.len() as u64;
        self.scanner.feed(bytes);
        self.bytes.extend_from_slice(bytes);
        if self.bytes.len() > 2 * (SEARCHED + MARGIN) {
            self.bytes.drain(..self.bytes.len() - (SEARCHED + MARGIN));
        }
    }

    /// The result of a command with this output. Exit 0 is not a pass if a test runner's report
    /// contradicts it.
    pub fn result(
        mut self,
        command: &str,
        status: CheckStatus,
        started: Instant,
        redact: &dyn Redact,
    ) -> CheckResult {
        let report = std::mem::take(&mut self.scanner).finish();
        let status = match judge_tests(command, status == CheckStatus::Passed, &report) {
            Judgment::Red | Judgment::ExitStatus | Judgment::Green | Judgment::Silenced { .. } => {
                status
            }
            Judgment::NothingRan { why } => CheckStatus::NothingRan(why),
            Judgment::Incomplete { why } => CheckStatus::Incomplete(why),
        };
        let output = self.finish(&status, redact);
        CheckResult {
            millis: u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX),
            tests: report.counts(),
            output,
            ..CheckResult::new(command, status)
        }
    }

    /// The end, and the line that says why it failed, redacted first and cut afterwards.
    fn finish(&self, status: &CheckStatus, redact: &dyn Redact) -> String {
        let from = self.bytes.len().saturating_sub(SEARCHED + MARGIN);
        let whole = from == 0 && self.total == self.bytes.len() as u64;
        let text = redact.text(&String::from_utf8_lossy(&self.bytes[from..]));
        if whole && text.len() <= TAIL {
            return text;
        }
        // The margin may hold the rest of a secret that the beginning of the text cuts.
        let searched = text.ceil_char_boundary(if whole { 0 } else { MARGIN.min(text.len()) });
        let from = text.ceil_char_boundary(text.len().saturating_sub(TAIL));
        let head = format!("[the first part of {} bytes is left out]\n", self.total);
        let why = match status {
            CheckStatus::Passed => None,
            CheckStatus::Failed(_)
            | CheckStatus::Signalled(_)
            | CheckStatus::TimedOut(_)
            | CheckStatus::NotRun(_)
            | CheckStatus::NothingRan(_)
            | CheckStatus::Incomplete(_) => telling(&text, searched..from),
        };
        let Some(why) = why else { return format!("{head}{}", &text[from..]) };
        let end = text.floor_char_boundary((why + WHY).min(from));
        let left_out = match from - end {
            0 => String::new(),
            bytes => format!("\n[{bytes} bytes are left out]\n"),
        };
        format!("{head}{}{left_out}{}", &text[why..end], &text[from..])
    }
}

/// Where the line begins that says most surely why a command failed, if it is in this part.
fn telling(text: &str, part: Range<usize>) -> Option<usize> {
    let lines: Vec<&str> = text[part.start..].split_inclusive('\n').collect();
    let at = excerpt::telling(&lines)?;
    let begin = part.start + lines[..at].iter().map(|line| line.len()).sum::<usize>();
    (begin < part.end).then_some(begin)
}
