//! The run's own MCP server, as sessions get it: in `session/new`, or in a file that the Copilot
//! CLI reads.
//!
//! Invariant: each session, or each process that reads the file, has its own address and token,
//! which end with it. Not in this file: the server itself.

use std::fs::{self, OpenOptions};
use std::io::Write as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::json;

use super::AgentError;
use crate::guard::OfferedTool;
use crate::model::SessionId;

/// The run's own MCP server.
pub trait ToolServer: Send + Sync {
    /// The server's name in sessions.
    fn name(&self) -> &str;

    /// Opens an endpoint. It serves calls only once it is bound to a session.
    ///
    /// # Errors
    /// If the system has no random numbers for its token.
    fn open(&self) -> std::io::Result<OpenedEndpoint>;

    /// Binds the endpoint to a session, in place of the one before.
    fn bind(&self, endpoint: &str, session: &SessionId);

    /// Ends the endpoint, with its clients and their calls.
    fn close(&self, endpoint: &str);
}

/// The tools that the run's own MCP server offers.
pub trait OfferedTools: Send + Sync {
    /// The server's name in the agent's sessions.
    fn server(&self) -> &str;

    /// The tool of this name. The agent's list may be older than the server's.
    fn find(&self, name: &str) -> OfferedTool;
}

/// The data that a client of an endpoint needs.
#[derive(Clone, PartialEq, Eq)]
pub struct OpenedEndpoint {
    /// Its name in the server.
    pub id: String,
    /// Where it is.
    pub url: String,
    /// The bearer token.
    pub token: String,
}

/// The server, and how an agent that is not told of it in `session/new` gets it.
#[derive(Clone)]
pub struct OfferedServer {
    /// The server.
    pub server: Arc<dyn ToolServer>,
    /// The file that the Copilot CLI reads.
    pub config: PathBuf,
}

/// An endpoint that ends when this is dropped.
pub(super) struct SessionTools {
    server: Arc<dyn ToolServer>,
    endpoint: OpenedEndpoint,
}

impl SessionTools {
    /// Opens an endpoint.
    ///
    /// # Errors
    /// If there can be no token for it.
    pub(super) fn open(server: &Arc<dyn ToolServer>) -> Result<Self, AgentError> {
        let failed =
            |source| AgentError::Prepare { path: "a token of the run's own".into(), source };
        Ok(Self { server: Arc::clone(server), endpoint: server.open().map_err(failed)? })
    }

    /// Lets it serve this session.
    pub(super) fn bind(&self, session: &SessionId) {
        self.server.bind(&self.endpoint.id, session);
    }

    /// The server's name.
    pub(super) fn name(&self) -> &str {
        self.server.name()
    }

    /// Where it is.
    pub(super) fn url(&self) -> &str {
        &self.endpoint.url
    }

    /// The value of the header `Authorization`.
    pub(super) fn authorization(&self) -> String {
        format!("Bearer {}", self.endpoint.token)
    }

    /// Writes the file for `--additional-mcp-config`, which only this user can read.
    pub(super) fn write_config(&self, path: &Path) -> Result<(), AgentError> {
        let server = json!({
            "type": "http",
            "url": self.url(),
            "headers": { "Authorization": self.authorization() },
            "tools": ["*"],
        });
        let config = json!({ "mcpServers": { self.name(): server } });
        let written = match fs::remove_file(path) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(error),
            _ => OpenOptions::new().write(true).create_new(true).mode(0o600).open(path),
        };
        written
            .and_then(|mut file| file.write_all(config.to_string().as_bytes()))
            .map_err(|source| AgentError::Prepare { path: path.to_owned(), source })
    }
}

impl Drop for SessionTools {
    fn drop(&mut self) {
        self.server.close(&self.endpoint.id);
    }
}
