//! The purpose of a tool, by its name alone.

/// The purpose of a tool, by its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Family {
    Shell,
    Read,
    Search,
    Write,
    Move,
    Delete,
    /// Only the session itself: notes, sub-agents (whose own calls are decided one
    /// by one), output of commands that were decided when they began.
    Session,
    Network,
    Unknown,
}

/// The family of a tool.
pub(super) fn family(tool: &str) -> Family {
    match tool.to_lowercase().as_str() {
        "bash" | "shell" | "execute" | "sh" | "terminal" | "run_in_terminal" | "run_command"
        | "run_terminal_cmd" | "local_shell" | "exec" => Family::Shell,
        "read" | "view" | "read_file" | "readfile" | "notebookread" | "view_file" => Family::Read,
        "grep" | "glob" | "search" | "ls" | "list_dir" | "list_directory" | "rg" | "find_files" => {
            Family::Search
        }
        "edit"
        | "create"
        | "write"
        | "multiedit"
        | "notebookedit"
        | "str_replace"
        | "str_replace_editor"
        | "str_replace_based_edit_tool"
        | "insert"
        | "write_file"
        | "create_file"
        | "edit_file"
        | "replace"
        | "apply_patch"
        | "replace_string_in_file" => Family::Write,
        "move" | "rename" => Family::Move,
        "delete" | "remove" | "delete_file" => Family::Delete,
        "think" | "todowrite" | "todoread" | "update_todo" | "report_intent" | "sql" | "task"
        | "agent" | "read_agent" | "list_agents" | "write_agent" | "read_bash" | "stop_bash"
        | "list_bash" | "bashoutput" | "killshell" | "killbash" | "task_complete" => {
            Family::Session
        }
        "fetch" | "web_fetch" | "webfetch" | "websearch" | "web_search" => Family::Network,
        _ => Family::Unknown,
    }
}

/// Whether one of two names is a kind of tools, as ACP has them, and the other one is a
/// tool of that kind: permission requests carry no more than the kind.
pub(super) fn same_kind(one: &str, other: &str) -> bool {
    let kind = |name: &str| {
        let name = name.to_lowercase();
        matches!(
            name.as_str(),
            "execute" | "read" | "edit" | "search" | "move" | "delete" | "fetch"
        )
    };
    let known = family(one);
    known != Family::Unknown && known == family(other) && (kind(one) || kind(other))
}
