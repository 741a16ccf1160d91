//! Provider programs of the user's own configuration: started with the run, supervised like all
//! its children, ended with it.
//!
//! Invariant: a program that ends is a notice. It is started again a few times, each time after
//! a longer pause.

use std::path::PathBuf;
use std::process::{ExitStatus, Stdio};
use std::sync::Arc;
use std::time::Duration;

use tokio::process::Command;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use super::feed::Feed;
use super::output::Output;
use crate::gateway::GatewayToken;
use crate::sys::process::{Ladder, Supervised};

/// How often a program that fails is started again.
const RESTARTS: u32 = 5;
/// The first pause; each further one is twice as long.
const PAUSE: Duration = Duration::from_secs(1);
/// How a program is ended that has said goodbye, or has had its time.
const LADDER: Ladder =
    Ladder { close: Duration::ZERO, term: Duration::from_secs(2), kill: Duration::from_secs(1) };

/// What a program is given.
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

impl Program {
    async fn keep_running(self) {
        let mut pause = PAUSE;
        for restart in 0..=RESTARTS {
            let ended = match self.run().await {
                Ok(Some(status)) if status.success() => {
                    return self.say("ended by itself".to_owned());
                }
                Ok(Some(status)) => format!("ended ({status})"),
                Ok(None) => return,
                Err(error) => format!("cannot be started: {error}"),
            };
            if self.no_more.is_cancelled() {
                return;
            }
            if restart == RESTARTS {
                return self.say(format!("{ended}, and is not started again"));
            }
            self.say(format!("{ended}, and is started again in {} s", pause.as_secs()));
            tokio::select! {
                () = tokio::time::sleep(pause) => {}
                () = self.no_more.cancelled() => return,
            }
            pause *= 2;
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
        let output = Output::keep(&mut child, self.log.clone(), redactor);
        let status = tokio::select! {
            status = child.wait() => Some(status?),
            () = self.over.cancelled() => None,
        };
        // What it started ends with it.
        child.stop(LADDER).await;
        output.end(LADDER.kill).await;
        Ok(status)
    }
}
