//! Folders that an agent's own process needs besides the workspace.
//!
//! Invariant: what an agent writes and what configures it are told apart by a short table; what
//! is not in it is read-only.

use std::path::{Path, PathBuf};

use super::launch;
use crate::agent::AgentCommand;
use crate::agent::scripted::AgentScript;
use crate::sandbox::AgentFolders;

/// What configures the Copilot CLI, below its home.
const COPILOT_SETTINGS: [&str; 8] = [
    "hooks",
    "mcp-config.json",
    "settings.json",
    "installed-plugins",
    "agents",
    "skills",
    "instructions",
    "copilot-instructions.md",
];

/// Other agents by a word of their command, with the folders in HOME that hold their logins and
/// conversations.
const OTHERS: [(&str, &[&str]); 9] = [
    ("claude", &[".claude", ".claude.json"]),
    ("codex", &[".codex"]),
    ("gemini", &[".gemini"]),
    ("opencode", &[".opencode", ".config/opencode", ".local/share/opencode"]),
    ("goose", &[".config/goose", ".local/share/goose", ".local/state/goose"]),
    ("qwen", &[".qwen"]),
    ("cursor", &[".cursor", ".config/cursor"]),
    ("kiro", &[".kiro"]),
    ("copilot", &[".copilot"]),
];
/// Files in these folders that configure the agent.
const SETTINGS: [&str; 6] =
    ["settings.json", "settings.local.json", "config.toml", "mcp.json", "hooks", "plugins"];

/// The Copilot CLI's state and settings. Its folders are made if they are missing.
pub(super) fn copilot(home: &Path, scratch: &Path, command: &AgentCommand) -> AgentFolders {
    let variable =
        |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let own = launch::copilot_home();
    let cache = variable("XDG_CACHE_HOME").unwrap_or_else(|| home.join(".cache")).join("copilot");
    let cache = variable("COPILOT_CACHE_HOME").unwrap_or(cache);
    let fixed = own.iter().flat_map(|own| COPILOT_SETTINGS.map(|name| own.join(name))).collect();
    let writable: Vec<PathBuf> = own.into_iter().chain([cache, scratch.join("logs")]).collect();
    for folder in &writable {
        // One that cannot be made cannot be written to, and needs no mount.
        drop(std::fs::create_dir_all(folder));
    }
    let readable = command.program.parent().map(Path::to_owned).into_iter().collect();
    AgentFolders { writable, fixed, readable }
}

/// The folders of another agent, and the files that its command line names.
pub(super) fn other(home: &Path, command: &AgentCommand) -> AgentFolders {
    let words: Vec<&str> = command
        .program
        .to_str()
        .into_iter()
        .chain(command.args.iter().map(String::as_str))
        .collect();
    let named = |name: &str| words.iter().any(|word| word.contains(name));
    let mut writable: Vec<PathBuf> = OTHERS
        .iter()
        .filter(|(name, _)| named(name))
        .flat_map(|(_, folders)| folders.iter().map(|folder| home.join(folder)))
        .filter(|folder| folder.exists())
        .collect();
    let fixed = writable.iter().flat_map(|folder| SETTINGS.map(|name| folder.join(name))).collect();
    let files = words.iter().map(Path::new).filter(|path| path.is_absolute());
    let readable = files.filter(|path| path.is_file()).map(Path::to_owned).collect();
    writable.extend(memory(command));
    AgentFolders { writable, fixed, readable }
}

/// The file in which the built-in scripted agent counts across processes.
fn memory(command: &AgentCommand) -> Option<PathBuf> {
    let ours = std::env::current_exe().ok()?;
    let [word, script] = command.args.as_slice() else { return None };
    if command.program != ours || word != "agent" {
        return None;
    }
    let memory = AgentScript::load(Path::new(script)).ok()?.memory?;
    // A missing file cannot be mounted; an empty one counts nothing.
    drop(std::fs::OpenOptions::new().create(true).append(true).open(&memory));
    Some(memory)
}
