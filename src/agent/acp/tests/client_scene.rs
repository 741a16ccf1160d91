//! A client with everything but a process around it.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use tokio_util::sync::CancellationToken;

use super::peer::Peer;
use crate::agent::acp::connection::{Connection, Setup};
use crate::agent::acp::session::AcpSession;
use crate::agent::recorded_events::RecordedEvents;
use crate::agent::stderr::StderrTail;
use crate::agent::wire_log::{WireLog, WireWriter};
use crate::agent::{AgentError, AgentKind, Focus, Gate, Session as _, TurnLimits};
use crate::guard::{OsFiles, Policy, Redactor};
use crate::model::{
    Answer, Asked, Decision, EventKind, Prompt, Record, SessionId, ToolRequest, Turn,
};

pub(super) struct ClientScene {
    pub(super) folder: tempfile::TempDir,
    pub(super) events: Arc<RecordedEvents>,
    pub(super) gate: Arc<Gate>,
    pub(super) kind: AgentKind,
    pub(super) home: Option<PathBuf>,
    stderr: &'static [u8],
    pipe: Option<tokio::io::DuplexStream>,
    wire: Option<WireWriter>,
}

/// A limit, so that what never comes fails a test instead of holding it.
pub(super) async fn within<T>(future: impl Future<Output = T>) -> T {
    tokio::time::timeout(Duration::from_secs(20_000), future).await.expect("an end in time")
}

pub(super) fn limits() -> TurnLimits {
    TurnLimits { repeats: 3, calls: 50, ..TurnLimits::default() }
}

impl ClientScene {
    /// The client's side with a focus, and the agent's end of the pipe.
    pub(super) fn new(kind: AgentKind) -> (Self, Peer) {
        let (ours, theirs) = tokio::io::duplex(64 << 10);
        let events = Arc::<RecordedEvents>::default();
        let record: Arc<dyn Record> = Arc::clone(&events) as _;
        let redactor = Arc::new(Redactor::new(Vec::<String>::new()));
        let gate = Arc::new(Gate::new(record, redactor, Box::new(OsFiles)));
        let policy = Arc::new(Policy::new("/w/repo", "/w/repo/tasks/demo"));
        gate.focus(Focus { iteration: 7, policy }).expect("focus");
        let folder = tempfile::tempdir().expect("folder");
        let scene = Self {
            folder,
            events,
            gate,
            kind,
            home: None,
            stderr: b"",
            pipe: Some(ours),
            wire: None,
        };
        (scene, Peer::new(theirs))
    }

    /// Lets calls run unasked.
    pub(super) fn allow_unasked(&mut self) {
        let gate = Arc::get_mut(&mut self.gate).expect("nothing uses it yet");
        let record: Arc<dyn Record> = Arc::clone(&self.events) as _;
        let other = Gate::new(record, Arc::clone(gate.redactor()), Box::new(OsFiles));
        *gate = std::mem::replace(gate, other).with_unasked(true);
    }

    /// The agent's last words.
    pub(super) fn with_stderr(mut self, stderr: &'static [u8]) -> Self {
        self.stderr = stderr;
        self
    }

    pub(super) async fn connect(&mut self) -> Connection {
        let redactor = Arc::clone(self.gate.redactor());
        let path = self.folder.path().join("wire.log");
        let (log, wire) = WireLog::open(&path, Arc::clone(&redactor)).expect("wire log");
        self.wire = Some(wire);
        let path = self.folder.path().join("stderr.log");
        let stderr = StderrTail::drain(self.stderr, &path, redactor);
        // Otherwise a short test may remove the folder before the log in it is created.
        stderr.last_words().await;
        let setup = Setup {
            gate: Arc::clone(&self.gate),
            kind: self.kind,
            plugin: None,
            tools: None,
            of_process: None,
            home: self.home.clone(),
            logs: None,
            cwd: PathBuf::from("/w/repo"),
            stderr,
            known: None,
            pid: None,
        };
        let (stdout, stdin) = tokio::io::split(self.pipe.take().expect("not connected yet"));
        Connection::begin(stdout, stdin, log, setup).await.expect("connected")
    }

    pub(super) async fn introduced(&mut self) -> Connection {
        let connection = self.connect().await;
        connection.introduce().await.expect("introduced");
        connection
    }

    /// A session in which the guard is in force.
    pub(super) async fn session(&mut self) -> (Connection, AcpSession) {
        let connection = self.introduced().await;
        let session = connection.open().await.expect("a session");
        self.gate.greet(session.id().as_str(), None);
        (connection, session)
    }

    /// One prompt in a fresh session.
    pub(super) async fn turn(&mut self) -> Turn {
        self.turn_within(limits()).await.expect("recorded")
    }

    pub(super) async fn turn_within(&mut self, limits: TurnLimits) -> Result<Turn, AgentError> {
        let (_connection, mut session) = self.session().await;
        within(session.prompt(&prompt(), &limits, &CancellationToken::new())).await
    }

    /// What a hook of the CLI would ask.
    pub(super) fn hook(&self, input: &Value) -> Decision {
        self.gate.decide(&request("s", None, input))
    }

    /// Rules and answers that were recorded, in order.
    pub(super) fn decided(&self) -> Vec<(Answer, String)> {
        let events = self.events.events.lock().expect("events");
        let decided = events.iter().filter_map(|event| match event {
            EventKind::ToolDecided { answer, rule, iteration: 7, .. } => {
                Some((*answer, rule.clone()))
            }
            _ => None,
        });
        decided.collect()
    }

    /// The wire log, once the connection has let go of it.
    pub(super) fn wire(&mut self) -> String {
        drop(self.wire.take());
        read(&self.folder.path().join("wire.log"))
    }
}

impl Drop for ClientScene {
    fn drop(&mut self) {
        // The connection's tasks still hold its other end: there is nothing to wait for.
        std::mem::forget(self.wire.take());
    }
}

pub(super) fn read(path: &Path) -> String {
    std::fs::read_to_string(path).expect("the file")
}

pub(super) fn prompt() -> Prompt {
    Prompt { text: "do it".to_owned(), cuts: Vec::new() }
}

pub(super) fn request(session: &str, call: Option<&str>, input: &Value) -> ToolRequest {
    ToolRequest {
        session: SessionId::new(session),
        call: call.map(str::to_owned),
        tool: "bash".to_owned(),
        input: input.clone(),
        asked: if call.is_some() { Asked::Permission } else { Asked::Hook },
    }
}
