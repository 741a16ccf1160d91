//! The connection to an agent over any pair of streams: the SDK's driver, `initialize`, and
//! opening sessions.
//!
//! Invariant: a session is opened only while the guard's plugin is unchanged, and only in a
//! mode in which the agent asks for permission. `acp` starts and stops the process.

use std::path::PathBuf;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use agent_client_protocol::schema::ProtocolVersion;
use agent_client_protocol::v1::ConnectionTo;
use agent_client_protocol::v1::schema::{
    AuthMethod, ClientCapabilities, HttpHeader, Implementation, InitializeRequest,
    InitializeResponse, LoadSessionRequest, McpServer, McpServerHttp, NewSessionRequest,
    NewSessionResponse, RequestPermissionRequest, RequestPermissionResponse, SetSessionModeRequest,
};
use agent_client_protocol::{Agent as AgentRole, Client};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use tokio::time::timeout;

use super::channel::AgentChannel;
use super::modes::{Known, ModePromise};
use super::session::AcpSession;
use super::updates::Updates;
use super::{answers, convert, modes, transport};
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
    pub(super) known: Known,
    /// The agent's process, if it has one.
    pub(super) pid: Option<u32>,
}

/// An open connection.
pub(super) struct Connection {
    channel: AgentChannel,
    setup: Setup,
    /// The agent's answer to `initialize`.
    introduced: OnceLock<InitializeResponse>,
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
        let updates = Arc::new(Updates::of(setup.kind));
        let (lines, reader) = transport::connect(stdout, stdin, Arc::clone(&updates), log);
        let (ready, connected) = oneshot::channel();
        let (hang_up, hung_up) = oneshot::channel::<()>();
        let gate = Arc::clone(&setup.gate);
        let driver = tokio::spawn(drive(lines, ready, hung_up, gate, Arc::clone(&updates)));
        let peer = connected.await.ok()?;
        let gate = Arc::clone(&setup.gate);
        let (stderr, pid) = (setup.stderr.clone(), setup.pid);
        let channel = AgentChannel { peer, updates, gate, stderr, pid };
        let (introduced, hang_up) = (OnceLock::new(), Some(hang_up));
        Some(Self { channel, setup, introduced, hang_up, driver, reader })
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
        let identity =
            |info: Implementation| AgentIdentity { name: info.name, version: info.version };
        let identity = response.agent_info.clone().map(identity);
        // Introduced once.
        drop(self.introduced.set(response));
        Ok(identity)
    }

    /// Does the agent take MCP servers over http in its sessions? Known once it is introduced.
    pub(super) fn takes_servers(&self) -> bool {
        let introduced = self.introduced.get();
        introduced.is_some_and(|it| it.agent_capabilities.mcp_capabilities.http)
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
        let method = |it: &AuthMethod| format!("{} (`{}`)", it.name(), it.id());
        let ways = self.introduced.get().into_iter().flat_map(|it| &it.auth_methods);
        let ways: Vec<_> = ways.map(method).collect();
        if let AgentError::Refused { fault, .. } = &mut error
            && let (FaultClass::Auth, AgentKind::Other) = (fault.class, self.setup.kind)
            && !ways.is_empty()
        {
            fault.message.push_str(&format!("; its ways to log in: {}", ways.join(", ")));
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
            known: self.setup.known,
            _tools: tools,
        }
    }

    /// The CLI's own records of a session.
    fn records(&self, id: &SessionId) -> Option<SessionRecords> {
        let home = self.setup.home.as_deref().filter(|_| self.setup.kind == AgentKind::Copilot);
        home.map(|home| SessionRecords::of(home, id.as_str()))
    }

    /// Switches the session to a mode in which the agent asks, or fails, unless calls may run
    /// unasked.
    async fn assert_mode(&self, session: &NewSessionResponse) -> Result<(), AgentError> {
        let mode = session.modes.as_ref();
        if let Some(asking) = mode.and_then(|modes| modes::better(modes, self.setup.known)) {
            let request = SetSessionModeRequest::new(session.session_id.clone(), asking.id.clone());
            let answer = self.channel.peer.send_request(request).block_task();
            self.channel.ask("session/set_mode", answer).await?;
            return Ok(());
        }
        let mode = mode.map(|modes| modes.current_mode_id.0.as_ref());
        let widens = mode.filter(|mode| modes::promise(mode) == ModePromise::Acts);
        let options = session.config_options.as_deref().unwrap_or_default();
        let setting = widens
            .map(|mode| format!("its mode is `{mode}`, and it offers no other that asks"))
            .or_else(|| modes::widening_option(options).map(|it| format!("its {it}")));
        match setting.filter(|_| !self.setup.gate.allows_unasked()) {
            Some(setting) => Err(AgentError::Refused {
                operation: "session/set_mode",
                fault: modes::unasked(&setting, self.setup.known),
            }),
            None => Ok(()),
        }
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
    let session = asked.session_id.0.to_string();
    let title = asked.tool_call.fields.title.clone();
    let call = updates.asked(&session, asked.tool_call).await;
    let mut request = gate.named_by_title(convert::request(&session, &call), title.as_deref());
    if let Some(tool) = convert::by_fields(&request.tool, &request.input) {
        tool.clone_into(&mut request.tool);
    }
    let can_allow = answers::can_allow(&asked.options);
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
    answers::response(answer, &asked.options)
}
