//! Places whose names alone have a meaning: agents' settings, files of a task, and readable files
//! of the machine.

use std::path::Path;

/// Folders outside the workspace that hold no secrets and that people look into:
/// sources of dependencies, headers, documentation.
pub(super) const SYSTEM_READS: &[&str] = &[
    "/usr/include",
    "/usr/local/include",
    "/usr/share",
    "/usr/lib",
    "/usr/local/lib",
    "/usr/src",
    "/usr/local/go",
    "/opt/homebrew/lib",
    "/opt/homebrew/include",
];

/// The same below the home folder.
pub(super) const HOME_READS: &[&str] = &[
    ".cargo/registry/src",
    ".cargo/git/checkouts",
    ".rustup/toolchains",
    "go/pkg/mod",
    ".m2/repository",
];

/// Folders of the machine itself: no rule lets anything be written there.
const SYSTEM_FOLDERS: &[&str] = &[
    "etc",
    "usr",
    "bin",
    "sbin",
    "lib",
    "lib64",
    "boot",
    "dev",
    "proc",
    "sys",
    "root",
    "system",
    "library",
    "applications",
];

/// Whether a canonical path is one of the machine's own folders, below one, or the root.
pub fn is_system(path: &Path) -> bool {
    let top = path.components().nth(1).map(|top| top.as_os_str().to_string_lossy().to_lowercase());
    top.is_none_or(|top| SYSTEM_FOLDERS.contains(&top.as_str()))
}

/// Files that anybody may read.
pub(super) const FILE_READS: &[&str] = &[
    "/dev/null",
    "/dev/zero",
    "/dev/stdin",
    "/dev/fd/0",
    "/dev/fd/63",
    "/etc/os-release",
    "/proc/cpuinfo",
    "/proc/meminfo",
];

/// Where agents keep what they may do and what they are told: the human's.
const SETTINGS: &[&[&str]] = &[
    &[".github", "hooks"],
    &[".github", "copilot"],
    &[".github", "copilot-instructions.md"],
    &[".github", "instructions"],
    &[".github", "agents"],
    &[".github", "prompts"],
    &[".github", "skills"],
    &[".agents", "skills"],
    &[".github", "mcp.json"],
    &[".vscode", "mcp.json"],
    &[".vscode", "settings.json"],
    &[".vscode", "tasks.json"],
    &[".vscode", "launch.json"],
    &[".devcontainer"],
    &[".github", "chatmodes"],
    &[".github", "lsp.json"],
];

/// Names that are agent settings wherever they stand.
const SETTING_NAMES: &[&str] = &[
    ".claude",
    ".copilot",
    ".cursor",
    ".codex",
    ".gemini",
    ".windsurf",
    ".aider.conf.yml",
    ".mcp.json",
    "mcp-config.json",
    "agents.md",
    "claude.md",
    "gemini.md",
    ".cursorrules",
    ".clinerules",
    ".github-copilot",
    "opencode.json",
    ".opencode",
    ".qwen",
    "qwen.md",
    ".kiro",
    ".roo",
    ".roomodes",
    ".amazonq",
    ".crush.json",
    "crush.json",
    ".junie",
    ".factory",
    ".amp",
    ".continue",
    ".augment",
    ".augment-guidelines",
    ".trae",
    ".openhands",
    ".windsurfrules",
    ".goosehints",
    ".goose",
    ".kilocode",
    ".aiassistant",
    ".jules",
    ".zed",
    ".devcontainer.json",
    ".yarnrc.yml",
    "claude.local.md",
    "agents.override.md",
    ".vibe",
    ".kimi",
    ".kimi-code",
    "opencode.jsonc",
    ".opencode.json",
    "fastagent.config.yaml",
    ".hermes.md",
    "hermes.md",
    ".roorules",
];

/// Names that are agent settings in the root; elsewhere they may mean anything.
const ROOT_SETTINGS: &[&str] = &["agent.md", "crush.md", "warp.md", ".rules", "mcp.json"];

/// Files of a task folder.
pub(super) const TASK_FILES: &[&str] = &[
    "task.md",
    "guardrails.md",
    "progress.md",
    "activity.log",
    "activity.log.1",
    "cost.log",
    "cost.log.1",
    "state.json",
];

/// Does a path decide what agents do, by its name?
pub fn agent_setting(path: &Path) -> bool {
    let path = path.to_string_lossy().to_lowercase();
    is_setting(&path.split('/').collect::<Vec<_>>())
}

/// Is this a file of a task, where tasks are looked for by their names?
pub fn task_file(path: &Path) -> bool {
    let path = path.to_string_lossy().to_lowercase();
    match path.split('/').collect::<Vec<_>>().as_slice() {
        ["tasks", _, name] | [".ralph", "active", _, name] => TASK_FILES.contains(name),
        _ => false,
    }
}

/// Whether a path, in lower case, decides what agents do.
pub(super) fn is_setting(names: &[&str]) -> bool {
    matches!(names, [name] if ROOT_SETTINGS.contains(name))
        || names.iter().any(|name| SETTING_NAMES.contains(name))
        || SETTINGS
            .iter()
            .any(|setting| names.windows(setting.len()).any(|window| window == *setting))
}
