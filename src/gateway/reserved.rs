//! Tool names that no provider can have: those of our own MCP servers, offered or not, and of the
//! agent.

use crate::mcp::TOOL_NAMES;

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

/// Is this the name of a tool that others offer?
pub(super) fn is_reserved(name: &str) -> bool {
    TOOL_NAMES.contains(&name) || CLI_TOOLS.contains(&name)
}
