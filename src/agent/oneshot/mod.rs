//! The Copilot CLI without ACP: one `copilot -p` for each prompt.
//!
//! Invariant: no tool is allowed in advance. Every call goes through the guard's hooks, and a
//! call that the CLI would ask a human about runs only if the guard's `permissionRequest` hook
//! allows it; if that hook is missing, silent or slow, the call is denied. The CLI's records
//! on its standard output show what ran; a call without a decision ends the turn.
//! `cli_records` reads the records, `turn` watches a prompt.

mod cli_records;
mod turn;

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use sha2::{Digest as _, Sha256};

use self::turn::OneShotSession;
use super::records::SessionRecords;
use super::{Agent, AgentError, AgentLaunch, Session, SessionTools};
use crate::model::{AgentIdentity, SessionId};

/// An agent that runs one process per prompt, and none between prompts.
pub struct OneShot {
    launch: Arc<AgentLaunch>,
    sessions: u32,
}

impl OneShot {
    /// Creates the agent without starting a process.
    pub fn new(launch: AgentLaunch) -> Self {
        Self { launch: Arc::new(launch), sessions: 0 }
    }
}

#[async_trait]
impl Agent for OneShot {
    fn identity(&self) -> Option<AgentIdentity> {
        None
    }

    fn pid(&self) -> Option<u32> {
        None
    }

    async fn open(&mut self) -> Result<Box<dyn Session>, AgentError> {
        if let Some(plugin) = &self.launch.plugin {
            plugin.check()?;
        }
        self.sessions += 1;
        let started = std::time::SystemTime::now();
        let id = session_name(self.launch.run.as_str(), self.sessions, started);
        let records = self.launch.home.as_deref().map(|home| SessionRecords::of(home, &id));
        let id = SessionId::new(id);
        let tools = self.launch.tools.as_ref();
        let tools = tools.map(|tools| SessionTools::open(&tools.server)).transpose()?;
        if let Some(tools) = &tools {
            tools.bind(&id);
        }
        self.launch.gate.opened(&id);
        Ok(Box::new(OneShotSession::new(id, Arc::clone(&self.launch), records, tools)))
    }

    async fn stop(self: Box<Self>) {}
}

/// A session id that the CLI accepts: a UUID.
fn session_name(run: &str, number: u32, now: std::time::SystemTime) -> String {
    let since = now.duration_since(std::time::UNIX_EPOCH).unwrap_or(Duration::ZERO);
    let digest = Sha256::digest(format!("{run}/{number}/{}", since.as_nanos()));
    let mut hex: String = digest.iter().take(16).map(|byte| format!("{byte:02x}")).collect();
    // Version 4, variant 1, as in a random UUID.
    hex.replace_range(12..13, "4");
    hex.replace_range(16..17, "8");
    let part = |from: usize, to: usize| &hex[from..to];
    [part(0, 8), part(8, 12), part(12, 16), part(16, 20), part(20, 32)].join("-")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_session_has_a_name_of_its_own_that_is_a_uuid() {
        let at = |seconds| std::time::UNIX_EPOCH + Duration::from_secs(seconds);
        let name = session_name("r", 1, at(1));
        let lengths: Vec<_> = name.split('-').map(str::len).collect();
        assert_eq!(lengths, [8, 4, 4, 4, 12]);
        assert_eq!((&name[14..15], &name[19..20]), ("4", "8"));
        for other in [session_name("r", 2, at(1)), session_name("r", 1, at(2))] {
            assert_ne!(name, other);
        }
    }
}
