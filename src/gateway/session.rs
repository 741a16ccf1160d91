//! A session: the data that providers get about it, and their registered tools.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use super::ids::ConnectionId;
use super::limits::{ANNOUNCE_AFTER, ANNOUNCE_WITHIN};
use super::problem::{ErrorCode, Problem};
use super::tool::ProviderTool;
use crate::mcp::TOOL_NAMES;

/// A session as its providers see it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionInfo {
    /// Its id, unique among those that are open.
    pub id: String,
    /// The name for people.
    pub label: String,
    /// Its working directory.
    pub cwd: String,
}

/// A tool that can be called in a session.
#[derive(Clone, Debug, PartialEq)]
pub struct SessionTool {
    /// The name of the provider that has it.
    pub provider: Arc<str>,
    /// The connection of that provider.
    pub connection: ConnectionId,
    /// Its definition.
    pub tool: Arc<ProviderTool>,
}

/// A session with its tools.
#[derive(Debug)]
pub(super) struct GatewaySession {
    pub(super) info: SessionInfo,
    tools: BTreeMap<String, SessionTool>,
    announced: Vec<Arc<ProviderTool>>,
    /// When the first change came that is not announced yet, and when the announcement is due.
    change: Option<(Duration, Duration)>,
    /// When its providers must be gone, once it is off the list.
    pub(super) ends: Option<Duration>,
    /// Events of this iteration that were injected.
    pub(super) injected: u32,
}

impl GatewaySession {
    pub(super) fn new(info: SessionInfo) -> Self {
        let tools = BTreeMap::new();
        Self { info, tools, announced: Vec::new(), change: None, ends: None, injected: 0 }
    }

    /// Its tools, by name.
    pub(super) fn tools(&self) -> impl Iterator<Item = &SessionTool> {
        self.tools.values()
    }

    pub(super) fn tool(&self, name: &str) -> Option<&SessionTool> {
        self.tools.get(name)
    }

    /// Replaces the tools of a connection, or changes nothing if a name is taken.
    pub(super) fn replace(
        &mut self,
        connection: ConnectionId,
        provider: &Arc<str>,
        tools: Vec<ProviderTool>,
    ) -> Result<(), Problem> {
        let mut new = BTreeMap::new();
        for tool in tools {
            let name = tool.name.clone();
            let others = self.tools.get(&name).is_some_and(|other| other.connection != connection);
            if others || is_reserved(&name) {
                let message = format!("the tool name `{name}` is taken");
                return Err(Problem::new(ErrorCode::ToolConflict, message));
            }
            let tool =
                SessionTool { provider: Arc::clone(provider), connection, tool: tool.into() };
            if new.insert(name.clone(), tool).is_some() {
                let message = format!("the list names the tool `{name}` twice");
                return Err(Problem::new(ErrorCode::ToolConflict, message));
            }
        }
        self.remove(connection);
        self.tools.append(&mut new);
        Ok(())
    }

    /// Removes the tools of a connection.
    pub(super) fn remove(&mut self, connection: ConnectionId) {
        self.tools.retain(|_, tool| tool.connection != connection);
    }

    /// Notes a change of the tools. Returns when the announcement was due before, and when it
    /// is due now.
    pub(super) fn changed(&mut self, now: Duration) -> (Option<Duration>, Duration) {
        let before = self.change;
        let first = before.map_or(now, |(first, _)| first);
        let due = (now + ANNOUNCE_AFTER).min(first + ANNOUNCE_WITHIN);
        self.change = Some((first, due));
        (before.map(|(_, due)| due), due)
    }

    /// The names to announce; none if the tools are those of the last announcement.
    pub(super) fn announce(&mut self) -> Option<Vec<String>> {
        self.change = None;
        let now: Vec<_> = self.tools.values().map(|tool| Arc::clone(&tool.tool)).collect();
        if now == self.announced {
            return None;
        }
        self.announced = now;
        Some(self.tools.keys().cloned().collect())
    }
}

/// The tools that the Copilot CLI offers its model.
const CLI_TOOLS: [&str; 15] = [
    "bash",
    "create",
    "edit",
    "glob",
    "grep",
    "list_agents",
    "list_bash",
    "read_agent",
    "read_bash",
    "sql",
    "stop_bash",
    "task",
    "task_complete",
    "view",
    "write_agent",
];

/// Is this the name of a tool that others offer? One that differs only in its letters' case is
/// taken for it, too.
pub(super) fn is_reserved(name: &str) -> bool {
    TOOL_NAMES.iter().chain(&CLI_TOOLS).any(|taken| taken.eq_ignore_ascii_case(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reserved_name_is_reserved_in_any_case() {
        for name in ["bash", "Bash", "BASH", "memory_read", "memory_Read"] {
            assert!(is_reserved(name), "{name}");
        }
        assert!(!is_reserved("bash2") && !is_reserved("greet"));
    }
}
