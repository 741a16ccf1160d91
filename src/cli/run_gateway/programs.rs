//! Provider programs of the user's own configuration: started with the run, supervised like all
//! its children, ended with it.
//!
//! Invariant: a failing program is restarted a few times, with growing pauses. Of failures in a
//! row, the first and the last are reported.

use std::path::PathBuf;
use std::process::{ExitStatus, Stdio};
use std::sync::Arc;
use std::time::Duration;

use tokio::process::Command;
use tokio::task::JoinSet;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::feed::Feed;
use super::output::ProgramOutput;
use crate::gateway::GatewayToken;
use crate::sys::process::{Ladder, Supervised};

/// How often a program that fails is started again.
const RESTARTS: u32 = 5;
/// The first pause; each further one is twice as long.
const PAUSE: Duration = Duration::from_secs(1);
/// A program that ran this long has worked: its next failure is the first one again.
const WORKED: Duration = Duration::from_secs(60);
/// How a program is ended that has said goodbye, or has had its time.
const LADDER: Ladder =
    Ladder { close: Duration::ZERO, term: Duration::from_secs(2), kill: Duration::from_secs(1) };

/// The input of a program.
#[derive(Clone)]
pub(super) struct Provided {
    pub(super) token: GatewayToken,
    pub(super) port: u16,
    pub(super) run: String,
    pub(super) cwd: PathBuf,
    /// Where its output is kept.
    pub(super) folder: PathBuf,
}

/// The running programs. Dropping it kills them.
pub(super) struct ProviderPrograms {
    tasks: JoinSet<()>,
    no_more: CancellationToken,
    over: CancellationToken,
}

impl ProviderPrograms {
    /// Starts each command.
    pub(super) fn start(commands: &[String], provided: &Provided, feed: &Arc<Feed>) -> Self {
        let (no_more, over) = (CancellationToken::new(), CancellationToken::new());
        let mut tasks = JoinSet::new();
        for (number, command) in (1..).zip(commands) {
            let program = Program {
                command: command.clone(),
                log: provided.folder.join(format!("provider-{number}.log")),
                provided: provided.clone(),
                feed: Arc::clone(feed),
                no_more: no_more.clone(),
                over: over.clone(),
            };
            tasks.spawn(program.keep_running());
        }
        Self { tasks, no_more, over }
    }

    /// The run ends: programs may go, and none is started again.
    pub(super) fn restart_no_more(&self) {
        self.no_more.cancel();
    }

    /// Ends all of them.
    pub(super) async fn end(mut self) {
        self.no_more.cancel();
        self.over.cancel();
        while self.tasks.join_next().await.is_some() {}
    }
}

/// One program.
struct Program {
    command: String,
    log: PathBuf,
    provided: Provided,
    feed: Arc<Feed>,
    no_more: CancellationToken,
    over: CancellationToken,
}

/// The step after a failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Next {
    /// The program is started again after a pause.
    Start { pause: Duration, is_first: bool },
    /// It is not started again.
    GiveUp,
}

/// Counts the failures in a row.
#[derive(Debug, Default)]
struct Failures(u32);

impl Failures {
    /// The program failed after it `ran` this long.
    fn another(&mut self, ran: Duration) -> Next {
        if ran >= WORKED {
            self.0 = 0;
        }
        let before = self.0;
        self.0 += 1;
        if before == RESTARTS {
            return Next::GiveUp;
        }
        Next::Start { pause: PAUSE * 2_u32.pow(before), is_first: before == 0 }
    }
}

impl Program {
    async fn keep_running(self) {
        let mut failures = Failures::default();
        loop {
            let started = Instant::now();
            let ended = match self.run().await {
                Ok(Some(status)) if status.success() => {
                    return self.say("ended by itself".to_owned());
                }
                Ok(Some(status)) => format!("ended ({status})"),
                Ok(None) => return,
                Err(error) => format!("cannot be started: {error}"),
            };
            let pause = match failures.another(started.elapsed()) {
                Next::Start { pause, is_first } => {
                    if is_first {
                        self.say(format!("{ended}, and is started again up to {RESTARTS} times"));
                    }
                    pause
                }
                Next::GiveUp => {
                    let times = RESTARTS + 1;
                    return self.say(format!(
                        "{ended}, and is not started again after {times} failures in a row"
                    ));
                }
            };
            tokio::select! {
                () = tokio::time::sleep(pause) => {}
                () = self.no_more.cancelled() => return,
            }
        }
    }

    fn say(&self, what: String) {
        if !self.no_more.is_cancelled() {
            let log = self.log.file_name().unwrap_or_default().to_string_lossy();
            self.feed.notice(format!(
                "the provider program `{}` {what}; its output is in the run's folder, in {log}",
                self.command
            ));
        }
    }

    /// Runs it until it ends, or until the run does: then there is no status.
    async fn run(&self) -> Result<Option<ExitStatus>, crate::sys::SysError> {
        let mut command = Command::new("sh");
        command
            .arg("-c")
            .arg(&self.command)
            .current_dir(&self.provided.cwd)
            .env("TAP_PROVIDER_TOKEN", self.provided.token.expose())
            .env("TAP_GATEWAY_PORT", self.provided.port.to_string())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut child = Supervised::spawn(command, &self.provided.run)?;
        let redactor = Arc::clone(self.feed.redactor());
        let output = ProgramOutput::keep(&mut child, self.log.clone(), redactor);
        let status = tokio::select! {
            status = child.wait() => Some(status?),
            () = self.over.cancelled() => None,
        };
        // The processes that it started end with it.
        child.stop(LADDER).await;
        output.end(LADDER.kill).await;
        Ok(status)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failures_in_a_row_are_told_twice_and_a_program_that_worked_has_its_tries_back() {
        let mut failures = Failures::default();
        let mut row = |ran: &[u64]| -> Vec<Next> {
            ran.iter().map(|ran| failures.another(Duration::from_secs(*ran))).collect()
        };
        let start = |seconds, is_first| {
            let pause = Duration::from_secs(seconds);
            Next::Start { pause, is_first }
        };
        let all = [start(1, true), start(2, false), start(4, false), start(8, false)];
        assert_eq!(row(&[0, 59, 0, 0]), all);
        // It worked for a while: this is a first failure.
        assert_eq!(row(&[60, 0, 0, 0]), all);
        assert_eq!(row(&[0, 0]), [start(16, false), Next::GiveUp]);
    }
}
