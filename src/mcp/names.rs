//! The names of all tools of our servers, offered or not: no other tool may have one.

/// Every name, those of the bridge and of OpenClaw included.
pub const TOOL_NAMES: [&str; 18] = [
    "check_task",
    "run_task",
    "task_status",
    "task_log",
    "policy_check",
    "copilot_code",
    "copilot_code_verbose",
    "copilot_orchestrate",
    "copilot_code_task",
    "copilot_read_file",
    "copilot_create_file",
    "copilot_list_files",
    "memory_search",
    "memory_read",
    "user_prefs",
    "openclaw_memory_search",
    "openclaw_memory_read",
    "openclaw_user_prefs",
];
