//! ACP, protocol v1: the only place that names the SDK.
//!
//! We own the child and the line transport; the SDK matches requests with answers and defines
//! the messages. One process serves a run, one session an iteration. Handlers never wait: a
//! permission is decided on its own task, so that the stream keeps flowing.

mod answers;
mod channel;
mod connection;
mod convert;
mod fold;
mod modes;
pub mod serve;
mod session;
mod session_state;
#[cfg(test)]
mod tests;
mod transport;
mod updates;

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use tokio::process::Command;

use self::connection::{Connection, HANG_UP, RELEASE, Setup};
use crate::agent::command::{mcp_config, prepare};
use crate::agent::stderr::StderrTail;
use crate::agent::wire_log::{WireLog, WireWriter};
use crate::agent::{Agent, AgentError, AgentKind, AgentLaunch, Session, SessionTools, TurnLimits};
use crate::model::{AgentIdentity, EventKind, FaultClass, SessionId};
use crate::sys::process::{Ladder, Supervised};

/// How long stopping an agent may take, from `session/cancel` to the last of its output: CI
/// services kill a cancelled job soon after that.
const END: Duration = Duration::from_secs(7);
const _: () = assert!(
    TurnLimits::GRACE
        .saturating_add(HANG_UP)
        .saturating_add(Ladder::GENTLE.limit())
        .saturating_add(RELEASE)
        .as_millis()
        <= END.as_millis(),
    "the steps of an end take longer than the end"
);

/// A running agent and the connection to it.
pub struct AcpAgent {
    child: Supervised,
    connection: Connection,
    identity: Option<AgentIdentity>,
    wire: WireWriter,
}

impl AcpAgent {
    /// Starts the agent and sends `initialize`. A Copilot CLI that does not take the run's own MCP
    /// server in its sessions is started again with it in a file.
    ///
    /// # Errors
    /// If the agent cannot be started or does not speak the protocol.
    pub async fn start(launch: &AgentLaunch) -> Result<Self, AgentError> {
        let agent = Self::start_with(launch, None).await?;
        let Some(tools) = launch.tools.as_ref().filter(|_| !agent.connection.takes_servers())
        else {
            return Ok(agent);
        };
        match launch.command.kind {
            AgentKind::Copilot => {
                Box::new(agent).stop().await;
                let opened = SessionTools::open(&tools.server)?;
                opened.write_config(&tools.config)?;
                Self::start_with(launch, Some(opened)).await
            }
            AgentKind::Other => {
                let message = "this agent takes no MCP servers over http, so it gets no memory \
                               and no provider tools";
                launch.gate.record(|_| EventKind::Notice { message: message.to_owned() })?;
                Ok(agent)
            }
        }
    }

    /// Starts the agent with these tools for all its sessions, which a file tells it of.
    async fn start_with(
        launch: &AgentLaunch,
        of_process: Option<SessionTools>,
    ) -> Result<Self, AgentError> {
        let prepare = |path: PathBuf| move |source| AgentError::Prepare { path, source };
        let path = launch.folder.join("wire.log");
        let redactor = launch.gate.redactor();
        let (log, wire) =
            WireLog::open(&path, Arc::clone(redactor)).map_err(prepare(path.clone()))?;
        let program = launch.command.program.clone();
        let config = launch.tools.as_ref().filter(|_| of_process.is_some());
        let config = config.map(|tools| tools.config.as_path());
        let mut child = Supervised::spawn(command(launch, config), launch.run.as_str())
            .map_err(|error| AgentError::Start { program, source: std::io::Error::other(error) })?;
        let missing = || AgentError::Start {
            program: launch.command.program.clone(),
            source: std::io::Error::other("its streams are not connected"),
        };
        let stdin = child.stdin.take().ok_or_else(missing)?;
        let stdout = child.take_output(connection::RELEASE).ok_or_else(missing)?;
        let stderr = child.stderr.take().ok_or_else(missing)?;
        let stderr =
            StderrTail::drain(stderr, &launch.folder.join("stderr.log"), Arc::clone(redactor));
        let setup = Setup {
            gate: Arc::clone(&launch.gate),
            kind: launch.command.kind,
            plugin: launch.plugin.clone(),
            tools: launch.tools.as_ref().map(|tools| Arc::clone(&tools.server)),
            of_process,
            home: launch.home.clone(),
            logs: (launch.command.kind == AgentKind::Copilot).then(|| launch.logs.clone()),
            cwd: launch.cwd.clone(),
            stderr: stderr.clone(),
            known: launch.command.known(),
            pid: Some(child.pid()),
        };
        let Some(connection) = Connection::begin(stdout, stdin, log, setup).await else {
            child.stop(Ladder::GENTLE).await;
            return Err(AgentError::Lost {
                operation: "initialize",
                why: "the connection could not be set up".to_owned(),
                stderr: stderr.last_words().await,
                class: FaultClass::Died,
            });
        };
        let mut agent = Self { child, connection, identity: None, wire };
        match agent.connection.introduce().await {
            Ok(identity) => {
                agent.identity = identity;
                Ok(agent)
            }
            Err(error) => {
                Box::new(agent).stop().await;
                Err(error)
            }
        }
    }
}

#[async_trait]
impl Agent for AcpAgent {
    fn identity(&self) -> Option<AgentIdentity> {
        self.identity.clone()
    }

    fn pid(&self) -> Option<u32> {
        Some(self.child.pid())
    }

    async fn open(&mut self) -> Result<Box<dyn Session>, AgentError> {
        Ok(Box::new(self.connection.open().await?))
    }

    async fn resume(&mut self, id: &SessionId) -> Result<Box<dyn Session>, AgentError> {
        Ok(Box::new(self.connection.resume(id).await?))
    }

    async fn stop(self: Box<Self>) {
        let Self { child, mut connection, identity: _, wire } = *self;
        connection.hang_up().await;
        let report = child.stop(Ladder::GENTLE).await;
        if report.left.is_empty() {
            tracing::debug!(?report, "the agent is stopped");
        } else {
            tracing::warn!(?report, "processes of the agent are still there");
        }
        connection.release_output().await;
        drop(wire);
    }
}

fn command(launch: &AgentLaunch, tools: Option<&Path>) -> Command {
    let mut command = Command::new(&launch.command.program);
    command.args(&launch.command.args).args(&launch.environment.arguments);
    command.stdin(Stdio::piped());
    if let Some(config) = tools {
        command.args(mcp_config(config));
    }
    prepare(&mut command, &launch.environment.variables, &launch.cwd);
    command
}
