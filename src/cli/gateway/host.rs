//! The sessions of `gateway serve`: on the list, ending, and their MCP endpoints.

use std::sync::Arc;
use std::time::Duration;

use tokio_util::task::TaskTracker;

use crate::gateway::{Gateway, GatewayEndpoints, SHUTDOWN_TIME, SessionInfo};

/// Longest id of a session.
const ID: usize = 128;

/// The reason why this is not a valid session id; an id is part of a URL.
pub(super) fn wrong_id(id: &str) -> Option<String> {
    let letter = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    let right = (1..=ID).contains(&id.len())
        && id.chars().all(letter)
        && !id.starts_with('.')
        && id != "all";
    (!right).then(|| {
        format!(
            "`{id}` is not a valid session id: use letters, digits, `-`, `_` and `.`; `all` is \
             reserved"
        )
    })
}

/// The host of a gateway's sessions.
pub(super) struct Host {
    pub(super) gateway: Gateway,
    endpoints: Arc<GatewayEndpoints>,
    cwd: String,
    /// Sessions that are ending.
    ending: TaskTracker,
}

impl Host {
    /// A host without a session. Sessions are in `cwd` unless they say otherwise.
    pub(super) fn new(gateway: Gateway, endpoints: Arc<GatewayEndpoints>, cwd: String) -> Self {
        Self { gateway, endpoints, cwd, ending: TaskTracker::new() }
    }

    /// Puts a session on the list.
    pub(super) async fn open(
        &self,
        id: &str,
        label: Option<String>,
        cwd: Option<String>,
    ) -> Result<(), String> {
        if let Some(wrong) = wrong_id(id) {
            return Err(wrong);
        }
        let label = label.unwrap_or_else(|| id.to_owned());
        let cwd = cwd.unwrap_or_else(|| self.cwd.clone());
        let info = SessionInfo { id: id.to_owned(), label, cwd };
        let handle = self.gateway.open(info).await;
        let handle = handle.ok_or_else(|| format!("Session {id} exists already"))?;
        self.endpoints.open(id, handle);
        Ok(())
    }

    /// Takes a session off the list; `false` if it is not on it.
    pub(super) async fn end(&self, id: &str, deadline: Duration) -> bool {
        let Some(over) = self.gateway.end(id, deadline).await else { return false };
        let endpoint = self.endpoints.close(id);
        self.ending.spawn(async move {
            // Its calls in flight may finish until the providers are gone.
            drop(over.await);
            drop(endpoint);
        });
        true
    }

    /// Ends every session, and waits until their providers are gone.
    pub(super) async fn end_all(&self) {
        let all = async {
            for id in self.gateway.sessions().await {
                self.end(&id, SHUTDOWN_TIME).await;
            }
            self.ending.close();
            self.ending.wait().await;
        };
        // Longer only if whoever reads the events does not.
        drop(tokio::time::timeout(SHUTDOWN_TIME + Duration::from_secs(1), all).await);
    }
}
