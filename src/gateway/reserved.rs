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
