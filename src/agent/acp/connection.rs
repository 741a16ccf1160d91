//! The connection to an agent over any pair of streams: the SDK's driver, `initialize`, and
//! opening sessions.
//!
//! Invariant: a session is opened only while the guard's plugin is unchanged, and only in a
//! mode in which the agent asks for permission. `acp` starts and stops the process.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use agent_client_protocol::schema::ProtocolVersion;
use agent_client_protocol::v1::ConnectionTo;
use agent_client_protocol::v1::schema::{
    AuthMethod, ClientCapabilities, HttpHeader, Implementation, InitializeRequest,
    LoadSessionRequest, McpServer, McpServerHttp, NewSessionRequest, NewSessionResponse,
    RequestPermissionRequest, RequestPermissionResponse, SetSessionModeRequest,
};
use agent_client_protocol::{Agent as AgentRole, Client};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use tokio::time::timeout;

use super::channel::AgentChannel;
use super::session::AcpSession;
use super::updates::Updates;
use super::{convert, transport};
use crate::agent::records::SessionRecords;
use crate::agent::stderr::StderrTail;
use crate::agent::wire_log::WireLog;
use crate::agent::{AgentError, AgentKind, Gate, SessionTools, ToolServer};
use crate::hooks::Plugin;
use crate::model::{AgentIdentity, Answer, Fault, FaultClass, SessionId, Usage};

/// How long the SDK's driver may take to end.
pub(super) const HANG_UP: Duration = Duration::from_millis(250);
/// How long the reader of the agent's output may take to end after the process.
pub(super) const RELEASE: Duration = Duration::from_millis(500);

/// The parts a connection needs.
pub(super) struct Setup {
    pub(super) gate: Arc<Gate>,
    pub(super) kind: AgentKind,
    pub(super) plugin: Option<Plugin>,
    /// The run's own MCP server.
    pub(super) tools: Option<Arc<dyn ToolServer>>,
    /// Its tools for all sessions, where a file told the agent of them.
    pub(super) of_process: Option<SessionTools>,
    pub(super) home: Option<PathBuf>,
    pub(super) logs: Option<PathBuf>,
    pub(super) cwd: PathBuf,
    pub(super) stderr: StderrTail,
}

/// An open connection.
pub(super) struct Connection {
    channel: AgentChannel,
    setup: Setup,
    /// The agent takes MCP servers over http.
    takes_servers: AtomicBool,
    /// The ways to log in that it offers, in its own words.
    logins: OnceLock<String>,
    hang_up: Option<oneshot::Sender<()>>,
    driver: JoinHandle<()>,
    reader: JoinHandle<()>,
}

impl Connection {
    /// Sets up the connection without sending anything. `None` if the SDK's driver ends at once.
    pub(super) async fn begin<R, W>(stdout: R, stdin: W, log: WireLog, setup: Setup) -> Option<Self>
    where
        R: AsyncRead + Unpin + Send + 'static,
        W: AsyncWrite + Unpin + Send + 'static,
    {
        let updates = Arc::new(Updates::default());
        let (lines, reader) = transport::connect(stdout, stdin, Arc::clone(&updates), log);
        let (ready, connected) = oneshot::channel();
        let (hang_up, hung_up) = oneshot::channel::<()>();
        let gate = Arc::clone(&setup.gate);
        let driver = tokio::spawn(drive(lines, ready, hung_up, gate, Arc::clone(&updates)));
        let peer = connected.await.ok()?;
        let gate = Arc::clone(&setup.gate);
        let channel = AgentChannel { peer, updates, gate, stderr: setup.stderr.clone() };
        let takes_servers = AtomicBool::new(false);
        let (logins, hang_up) = (OnceLock::new(), Some(hang_up));
        Some(Self { channel, setup, takes_servers, logins, hang_up, driver, reader })
    }

    /// Sends `initialize` and returns the agent's identity.
    pub(super) async fn introduce(&self) -> Result<Option<AgentIdentity>, AgentError> {
        let request = InitializeRequest::new(ProtocolVersion::V1)
            .client_capabilities(ClientCapabilities::default())
            .client_info(Implementation::new("ralph-copilot", env!("CARGO_PKG_VERSION")));
        let answer = self.channel.peer.send_request(request).block_task();
        let response = self.channel.ask("initialize", answer).await?;
        if response.protocol_version != ProtocolVersion::V1 {
            let message = format!("it speaks protocol {} and not 1", response.protocol_version);
            return Err(AgentError::Refused {
                operation: "initialize",
                fault: Fault::new(FaultClass::Protocol, message),
            });
        }
        let takes_servers = response.agent_capabilities.mcp_capabilities.http;
        self.takes_servers.store(takes_servers, Ordering::Relaxed);
        let method = |it: &AuthMethod| format!("{} (`{}`)", it.name(), it.id());
        let logins: Vec<_> = response.auth_methods.iter().map(method).collect();
        // Introduced once.
        drop(self.logins.set(logins.join(", ")));
        let identity =
            |info: Implementation| AgentIdentity { name: info.name, version: info.version };
        Ok(response.agent_info.map(identity))
    }

    /// Does the agent take MCP servers over http in its sessions? Known once it is introduced.
    pub(super) fn takes_servers(&self) -> bool {
        self.takes_servers.load(Ordering::Relaxed)
    }

    /// The tools that are announced to a session.
    fn tools(&self) -> Result<Option<SessionTools>, AgentError> {
        let told = self.takes_servers() && self.setup.of_process.is_none();
        self.setup.tools.as_ref().filter(|_| told).map(SessionTools::open).transpose()
    }

    /// Opens a session in a mode in which the agent asks before it acts.
    pub(super) async fn open(&self) -> Result<AcpSession, AgentError> {
        if let Some(plugin) = &self.setup.plugin {
            plugin.check()?;
        }
        let tools = self.tools()?;
        let request =
            NewSessionRequest::new(self.setup.cwd.clone()).mcp_servers(servers(tools.as_ref()));
        let answer = self.channel.peer.send_request(request).block_task();
        let opened = self.channel.ask("session/new", answer).await;
        let response = opened.map_err(|error| self.with_logins(error))?;
        self.assert_mode(&response).await?;
        let id = SessionId::new(response.session_id.0.to_string());
        Ok(self.opened(id, Usage::default(), tools))
    }

    /// Adds the ways to log in that the agent offers to an error of its login. The Copilot CLI has
    /// one, which the hint names.
    fn with_logins(&self, mut error: AgentError) -> AgentError {
        let logins = self.logins.get().filter(|logins| !logins.is_empty());
        if let AgentError::Refused { fault, .. } = &mut error
            && let (FaultClass::Auth, AgentKind::Other) = (fault.class, self.setup.kind)
            && let Some(logins) = logins
        {
            fault.message.push_str(&format!("; its ways to log in: {logins}"));
        }
        error
    }

    /// Opens a session of an earlier process. Its history arrives as updates, and is not work of
    /// this one.
    pub(super) async fn resume(&self, id: &SessionId) -> Result<AcpSession, AgentError> {
        if let Some(plugin) = &self.setup.plugin {
            plugin.check()?;
        }
        self.channel.updates.begin(id.as_str());
        let tools = self.tools()?;
        let request = LoadSessionRequest::new(id.as_str().to_owned(), self.setup.cwd.clone())
            .mcp_servers(servers(tools.as_ref()));
        let answer = self.channel.peer.send_request(request).block_task();
        let response = self.channel.ask("session/load", answer).await?;
        self.channel.updates.forget(id.as_str());
        let modes = NewSessionResponse::new(id.as_str().to_owned())
            .modes(response.modes)
            .config_options(response.config_options);
        self.assert_mode(&modes).await?;
        let counted = match self.records(id) {
            Some(mut records) => records.tokens().await,
            None => Usage::default(),
        };
        Ok(self.opened(id.clone(), counted, tools))
    }

    /// A session that takes prompts; `counted` tokens were used before.
    fn opened(&self, id: SessionId, counted: Usage, tools: Option<SessionTools>) -> AcpSession {
        if let Some(tools) = tools.as_ref().or(self.setup.of_process.as_ref()) {
            tools.bind(&id);
        }
        self.channel.gate.opened(&id);
        AcpSession {
            records: self.records(&id),
            logs: self.setup.logs.clone(),
            id,
            channel: self.channel.clone(),
            kind: self.setup.kind,
            counted,
            deaf: false,
            _tools: tools,
        }
    }

    /// The CLI's own records of a session.
    fn records(&self, id: &SessionId) -> Option<SessionRecords> {
        let home = self.setup.home.as_deref().filter(|_| self.setup.kind == AgentKind::Copilot);
        home.map(|home| SessionRecords::of(home, id.as_str()))
    }

    /// Switches the session to a mode in which the agent asks, or fails.
    async fn assert_mode(&self, session: &NewSessionResponse) -> Result<(), AgentError> {
        let refused = |message| AgentError::Refused {
            operation: "session/set_mode",
            fault: Fault::new(FaultClass::Protocol, message),
        };
        let current = session.modes.as_ref().map(|modes| modes.current_mode_id.0.as_ref());
        if current.is_none_or(convert::asks) {
            let options = session.config_options.as_deref().unwrap_or_default();
            return match convert::widening_option(options) {
                Some(setting) => Err(refused(format!(
                    "its {setting}, in which it asks for no permission: turn that off"
                ))),
                None => Ok(()),
            };
        }
        let modes = session.modes.iter().flat_map(|modes| &modes.available_modes);
        let asking = modes.into_iter().find(|mode| convert::asks(mode.id.0.as_ref()));
        let Some(asking) = asking else {
            return match current.filter(|mode| convert::widens(mode)) {
                Some(mode) => Err(refused(format!(
                    "its mode is `{mode}`, which asks for no permission, and it offers no other \
                     mode"
                ))),
                None => Ok(()),
            };
        };
        let request = SetSessionModeRequest::new(session.session_id.clone(), asking.id.clone());
        let answer = self.channel.peer.send_request(request).block_task();
        self.channel.ask("session/set_mode", answer).await?;
        Ok(())
    }

    /// Closes the agent's stdin.
    pub(super) async fn hang_up(&mut self) {
        if let Some(hang_up) = self.hang_up.take() {
            // The driver may have ended already.
            let _ended = hang_up.send(());
        }
        if timeout(HANG_UP, &mut self.driver).await.is_err() {
            self.driver.abort();
        }
    }

    /// Stops reading the agent's output after its process is gone. A process that it left
    /// behind may hold the pipe open for ever.
    pub(super) async fn release_output(mut self) {
        if timeout(RELEASE, &mut self.reader).await.is_err() {
            self.reader.abort();
        }
    }
}

/// The servers that are announced to a session.
fn servers(tools: Option<&SessionTools>) -> Vec<McpServer> {
    let server = |tools: &SessionTools| {
        let authorization = HttpHeader::new("Authorization", tools.authorization());
        McpServer::Http(McpServerHttp::new(tools.name(), tools.url()).headers(vec![authorization]))
    };
    tools.map(server).into_iter().collect()
}

/// Drives the connection until it is closed or the agent's output ends.
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
    let request = gate.named_by_title(convert::request(&asked), convert::title(&asked));
    let session = request.session.as_str().to_owned();
    let can_allow = convert::can_allow(&asked.options);
    // Deciding reads the file system and writes the journal: not on this thread.
    let decided = tokio::task::spawn_blocking(move || {
        if can_allow {
            return gate.decide(&request);
        }
        let reason = "Nothing ran: the agent offers no way to allow a call only once.";
        gate.refuse(&request, "run.no-once", reason)
    })
    .await;
    let answer = match decided {
        Ok(decision) => {
            if !decision.allowed() {
                updates.denied(&session, &decision.reason);
            }
            decision.answer
        }
        Err(error) => {
            tracing::error!(%error, "the guard failed");
            Answer::Deny
        }
    };
    convert::response(answer, &asked.options)
}
