//! ACP, protocol v1: the only place that names the SDK.
//!
//! Our own child and our own line transport; the SDK matches requests with
//! answers and knows the messages. One process serves a run, one session an
//! iteration. Handlers only hand over: a permission is decided on a task of its
//! own, so that the stream keeps flowing meanwhile.

mod convert;
mod copilot;
pub mod serve;
mod session;
mod stderr;
mod transport;
mod updates;
mod wire_log;

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;

use agent_client_protocol::schema::ProtocolVersion;
use agent_client_protocol::v1::ConnectionTo;
use agent_client_protocol::v1::schema::{
    ClientCapabilities, Implementation, InitializeRequest, InitializeResponse, NewSessionRequest,
    NewSessionResponse, RequestPermissionRequest, RequestPermissionResponse, SetSessionModeRequest,
};
use agent_client_protocol::{Agent as AgentRole, Client, Error as AcpError};
use async_trait::async_trait;
use tokio::process::Command;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use tokio::time::timeout;

use self::copilot::SessionRecords;
use self::session::{AcpSession, failed};
use self::stderr::StderrTail;
use self::updates::Updates;
use self::wire_log::{WireLog, WireWriter};
use crate::agent::{Agent, AgentCommand, AgentError, AgentKind, Gate, Session};
use crate::hooks::Plugin;
use crate::model::{AgentIdentity, Fault, FaultClass, RunId, SessionId, Usage};
use crate::sys::process::{Ladder, Supervised};

/// How long the agent may take to start, and to open a session.
const START: Duration = Duration::from_secs(90);

/// Everything that is needed to start an agent.
pub struct Launch<'a> {
    /// The program.
    pub command: &'a AgentCommand,
    /// Arguments that the run adds.
    pub extra: Vec<OsString>,
    /// Variables that are set (`Some`) or removed (`None`).
    pub environment: Vec<(OsString, Option<OsString>)>,
    /// The run; every process of it carries its name.
    pub run: &'a RunId,
    /// The repository's root: the sessions' working directory.
    pub cwd: &'a Path,
    /// The run's folder, for wire frames and stderr.
    pub folder: &'a Path,
    /// Where the CLI keeps its records, for Copilot.
    pub home: Option<PathBuf>,
    /// The guard's plugin, for Copilot: checked before each session.
    pub plugin: Option<Plugin>,
    /// Decides what the agent asks for.
    pub gate: Arc<Gate>,
}

/// A running agent and the connection to it.
pub struct AcpAgent {
    child: Supervised,
    connection: ConnectionTo<AgentRole>,
    hang_up: Option<oneshot::Sender<()>>,
    driver: JoinHandle<()>,
    updates: Arc<Updates>,
    gate: Arc<Gate>,
    kind: AgentKind,
    plugin: Option<Plugin>,
    home: Option<PathBuf>,
    cwd: PathBuf,
    stderr: StderrTail,
    identity: Option<AgentIdentity>,
    _wire: WireWriter,
}

impl AcpAgent {
    /// Starts the agent and introduces us (`initialize`).
    ///
    /// # Errors
    /// If it cannot be started or does not speak the protocol.
    pub async fn start(launch: Launch<'_>) -> Result<Self, AgentError> {
        let prepare = |path: PathBuf| move |source| AgentError::Prepare { path, source };
        let wire = launch.folder.join("wire.log");
        let (log, writer) = WireLog::open(&wire, Arc::clone(launch.gate.redactor()))
            .map_err(prepare(wire.clone()))?;
        let program = launch.command.program.clone();
        let mut child = Supervised::spawn(command(&launch), launch.run.as_str())
            .map_err(|error| AgentError::Start { program, source: std::io::Error::other(error) })?;
        let missing = || AgentError::Start {
            program: launch.command.program.clone(),
            source: std::io::Error::other("its streams are not connected"),
        };
        let stdin = child.stdin.take().ok_or_else(missing)?;
        let stdout = child.stdout.take().ok_or_else(missing)?;
        let stderr = child.stderr.take().ok_or_else(missing)?;
        let redactor = Arc::clone(launch.gate.redactor());
        let stderr = StderrTail::drain(stderr, &launch.folder.join("stderr.log"), redactor);
        let updates = Arc::new(Updates::default());
        let lines = transport::connect(stdout, stdin, Arc::clone(&updates), log);
        let (ready, connected) = oneshot::channel();
        let (hang_up, hung_up) = oneshot::channel::<()>();
        let driver = tokio::spawn(drive(
            lines,
            ready,
            hung_up,
            Arc::clone(&launch.gate),
            Arc::clone(&updates),
        ));
        let mut agent = match connected.await {
            Ok(connection) => Self {
                child,
                connection,
                hang_up: Some(hang_up),
                driver,
                updates,
                gate: launch.gate,
                kind: launch.command.kind,
                plugin: launch.plugin,
                home: launch.home,
                cwd: launch.cwd.to_owned(),
                stderr,
                identity: None,
                _wire: writer,
            },
            Err(_) => {
                child.stop(Ladder::GENTLE).await;
                let why = "the connection could not be set up".to_owned();
                return Err(AgentError::Lost {
                    operation: "initialize",
                    why,
                    stderr: stderr.text(),
                    class: FaultClass::Died,
                });
            }
        };
        match agent.introduce().await {
            Ok(response) => {
                agent.identity = response
                    .agent_info
                    .map(|info| AgentIdentity { name: info.name, version: info.version });
                Ok(agent)
            }
            Err(error) => {
                Box::new(agent).stop().await;
                Err(error)
            }
        }
    }

    async fn introduce(&self) -> Result<InitializeResponse, AgentError> {
        let request = InitializeRequest::new(ProtocolVersion::V1)
            .client_capabilities(ClientCapabilities::default())
            .client_info(Implementation::new("ralph-copilot", env!("CARGO_PKG_VERSION")));
        let response =
            self.ask("initialize", self.connection.send_request(request).block_task()).await?;
        if response.protocol_version != ProtocolVersion::V1 {
            let message = format!("it speaks protocol {} and not 1", response.protocol_version);
            return Err(AgentError::Refused {
                operation: "initialize",
                fault: Fault { class: FaultClass::Protocol, message },
            });
        }
        Ok(response)
    }

    async fn ask<T>(
        &self,
        operation: &'static str,
        answer: impl Future<Output = Result<T, AcpError>>,
    ) -> Result<T, AgentError> {
        match timeout(START, answer).await {
            Ok(Ok(response)) => Ok(response),
            Ok(Err(error)) => {
                // The last words on stderr arrive beside the end of stdout.
                tokio::time::sleep(Duration::from_millis(20)).await;
                Err(failed(operation, &error, &self.updates, &self.stderr))
            }
            Err(_) => Err(AgentError::Silent {
                operation,
                seconds: START.as_secs(),
                stderr: self.stderr.text(),
            }),
        }
    }

    /// Makes sure that the session asks before it acts.
    async fn assert_mode(&self, session: &NewSessionResponse) -> Result<(), AgentError> {
        let Some(modes) = &session.modes else { return Ok(()) };
        let current = modes.current_mode_id.0.as_ref();
        if !convert::widens(current) {
            return Ok(());
        }
        let asking = modes.available_modes.iter().find(|mode| convert::asks(mode.id.0.as_ref()));
        let Some(asking) = asking else {
            let message =
                format!("its mode is `{current}`, which does not ask, and it offers no other");
            return Err(AgentError::Refused {
                operation: "session/set_mode",
                fault: Fault { class: FaultClass::Protocol, message },
            });
        };
        let request = SetSessionModeRequest::new(session.session_id.clone(), asking.id.clone());
        self.ask("session/set_mode", self.connection.send_request(request).block_task()).await?;
        Ok(())
    }
}

#[async_trait]
impl Agent for AcpAgent {
    fn identity(&self) -> Option<AgentIdentity> {
        self.identity.clone()
    }

    fn pid(&self) -> u32 {
        self.child.pid()
    }

    async fn open(&mut self) -> Result<Box<dyn Session>, AgentError> {
        if let Some(plugin) = &self.plugin {
            plugin.check()?;
        }
        let request = NewSessionRequest::new(self.cwd.clone());
        let response =
            self.ask("session/new", self.connection.send_request(request).block_task()).await?;
        self.assert_mode(&response).await?;
        let id = SessionId::new(response.session_id.0.to_string());
        let home = self.home.as_deref().filter(|_| self.kind == AgentKind::Copilot);
        Ok(Box::new(AcpSession {
            records: home.map(|home| SessionRecords::of(home, id.as_str())),
            id,
            connection: self.connection.clone(),
            updates: Arc::clone(&self.updates),
            gate: Arc::clone(&self.gate),
            kind: self.kind,
            stderr: self.stderr.clone(),
            counted: Usage::default(),
        }))
    }

    async fn stop(mut self: Box<Self>) {
        if let Some(hang_up) = self.hang_up.take() {
            // A driver that has ended already is no reason to stop.
            let _ended = hang_up.send(());
        }
        // The driver owns the agent's stdin: with its end the agent reads EOF.
        if timeout(Duration::from_secs(1), &mut self.driver).await.is_err() {
            self.driver.abort();
        }
        let report = self.child.stop(Ladder::GENTLE).await;
        tracing::debug!(?report, "the agent is stopped");
    }
}

fn command(launch: &Launch<'_>) -> Command {
    let mut command = Command::new(&launch.command.program);
    command
        .args(&launch.command.args)
        .args(&launch.extra)
        .current_dir(launch.cwd)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    for (name, value) in &launch.environment {
        match value {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
    command
}

/// Runs the connection until it is hung up or the agent's output ends.
async fn drive(
    lines: impl agent_client_protocol::ConnectTo<Client> + 'static,
    ready: oneshot::Sender<ConnectionTo<AgentRole>>,
    hung_up: oneshot::Receiver<()>,
    gate: Arc<Gate>,
    updates: Arc<Updates>,
) {
    let result = Client
        .v1()
        .name("ralph-copilot")
        .on_receive_request(
            async move |request: RequestPermissionRequest, responder, connection| {
                let (gate, updates) = (Arc::clone(&gate), Arc::clone(&updates));
                connection.spawn(async move {
                    responder.respond(permission(request, gate, updates).await)
                })
            },
            agent_client_protocol::on_receive_request!(),
        )
        .connect_with(lines, async move |connection: ConnectionTo<AgentRole>| {
            if ready.send(connection.clone()).is_err() {
                return Ok(());
            }
            tokio::select! {
                _ = hung_up => {}
                () = connection.incoming_closed() => {}
            }
            Ok(())
        })
        .await;
    if let Err(error) = result {
        tracing::debug!(%error, "the connection ended");
    }
}

async fn permission(
    asked: RequestPermissionRequest,
    gate: Arc<Gate>,
    updates: Arc<Updates>,
) -> RequestPermissionResponse {
    let request = convert::request(&asked);
    let session = request.session.as_str().to_owned();
    // Deciding reads the file system and writes the journal: not on this thread.
    let decided = tokio::task::spawn_blocking(move || gate.decide(&request)).await;
    let answer = match decided {
        Ok(decision) => {
            if !decision.allowed() {
                updates.denied(&session, &decision.reason);
            }
            decision.answer
        }
        Err(error) => {
            tracing::error!(%error, "the guard failed");
            crate::model::Answer::Deny
        }
    };
    convert::response(answer, &asked.options)
}
