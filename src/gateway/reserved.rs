//! Tool names that no provider can have.

/// The tools of our own MCP servers, with their aliases, whether offered or not.
const OUR_TOOLS: [&str; 18] = [
    "check_task",
    "copilot_code",
    "copilot_code_task",
    "copilot_code_verbose",
    "copilot_create_file",
    "copilot_list_files",
    "copilot_orchestrate",
    "copilot_read_file",
    "memory_read",
    "memory_search",
    "openclaw_memory_read",
    "openclaw_memory_search",
    "openclaw_user_prefs",
    "policy_check",
    "run_task",
    "task_log",
    "task_status",
    "user_prefs",
];

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
pub fn is_reserved(name: &str) -> bool {
    OUR_TOOLS.contains(&name) || CLI_TOOLS.contains(&name)
}
