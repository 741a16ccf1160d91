//! Folders that an agent's own process needs in addition to the workspace.
//!
//! Invariant: a short table lists the paths that an agent writes; all others are read-only.

use std::path::{Path, PathBuf};

use super::launch;
use crate::agent::AgentCommand;
use crate::agent::scripted::AgentScript;
use crate::sandbox::AgentFolders;

/// Configuration of the Copilot CLI, below its home.
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

/// Other agents by a word that a file name of their command has, with the folders in HOME that hold
/// their logins and conversations.
const OTHERS: [(&str, &[&str]); 8] = [
    ("claude", &[".claude", ".claude.json"]),
    ("codex", &[".codex"]),
    ("gemini", &[".gemini"]),
    ("opencode", &[".opencode", ".config/opencode", ".local/share/opencode"]),
    ("goose", &[".config/goose", ".local/share/goose", ".local/state/goose"]),
    ("qwen", &[".qwen"]),
    ("cursor", &[".cursor", ".config/cursor"]),
    ("kiro", &[".kiro"]),
];
/// The same for a command that has the Copilot CLI, but not as the runner starts it. Only this very
/// file name: the runner's own has the word, too.
const COPILOT: (&str, &[&str]) = ("copilot", &[".copilot"]);
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
    let fixed = copilot_settings();
    let writable: Vec<PathBuf> = own.into_iter().chain([cache, scratch.join("logs")]).collect();
    for folder in &writable {
        // One that cannot be made cannot be written to, and needs no mount.
        drop(std::fs::create_dir_all(folder));
    }
    AgentFolders { writable, fixed, readable: programs(command) }
}

/// What the Copilot CLI starts: itself, what lies beside it, and for each hook the runner's own
/// program, wherever that lies.
fn programs(command: &AgentCommand) -> Vec<PathBuf> {
    let folder = command.program.parent().map(Path::to_owned);
    let ours = std::env::current_exe().ok();
    [Some(command.program.clone()), folder, ours].into_iter().flatten().collect()
}

/// Configuration of the Copilot CLI.
pub(super) fn copilot_settings() -> Vec<PathBuf> {
    let own = launch::copilot_home();
    own.iter().flat_map(|own| COPILOT_SETTINGS.map(|name| own.join(name))).collect()
}

/// The folders of another agent, and the files outside the tree that its command line names. Its
/// relative paths begin in the tree.
pub(super) fn other(home: &Path, tree: &Path, command: &AgentCommand) -> AgentFolders {
    let words: Vec<&str> = command
        .program
        .to_str()
        .into_iter()
        .chain(command.args.iter().map(String::as_str))
        .collect();
    // The folders of a path say nothing of the program in it.
    let names: Vec<&str> =
        words.iter().filter_map(|word| Path::new(word).file_name()?.to_str()).collect();
    let others = OTHERS.iter().filter(|(part, _)| names.iter().any(|name| name.contains(part)));
    let copilot = [&COPILOT].into_iter().filter(|(whole, _)| names.contains(whole));
    let mut writable: Vec<PathBuf> = others
        .chain(copilot)
        .flat_map(|(_, folders)| folders.iter().map(|folder| home.join(folder)))
        .filter(|folder| folder.exists())
        .collect();
    let fixed = writable.iter().flat_map(|folder| SETTINGS.map(|name| folder.join(name))).collect();
    let files = words.iter().filter_map(|word| named_file(tree, Path::new(word)));
    let readable = files.filter(|path| path.is_file()).collect();
    writable.extend(memory(tree, command));
    AgentFolders { writable, fixed, readable }
}

/// An absolute path, or where a relative one leads out of the tree.
fn named_file(tree: &Path, word: &Path) -> Option<PathBuf> {
    if word.is_absolute() {
        return Some(word.to_owned());
    }
    let folder = tree.join(word.parent()?).canonicalize().ok()?;
    (!folder.starts_with(tree)).then(|| folder.join(word.file_name().unwrap_or_default()))
}

/// The file in which the built-in scripted agent counts across processes.
fn memory(tree: &Path, command: &AgentCommand) -> Option<PathBuf> {
    let ours = std::env::current_exe().ok()?;
    let [word, script] = command.args.as_slice() else { return None };
    if command.program != ours || word != "agent" {
        return None;
    }
    let memory = tree.join(AgentScript::load(&tree.join(script)).ok()?.memory?);
    // A missing file cannot be mounted; an empty one counts nothing.
    drop(std::fs::OpenOptions::new().create(true).append(true).open(&memory));
    Some(memory)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agent::AgentKind;

    #[test]
    fn the_copilot_cli_reads_the_runner_s_own_program() {
        let home = tempfile::tempdir().expect("a folder");
        let program = home.path().join("copilot");
        let command =
            AgentCommand { program: program.clone(), args: Vec::new(), kind: AgentKind::Copilot };
        let ours = std::env::current_exe().expect("a program");
        assert_eq!(programs(&command), [program, home.path().to_owned(), ours]);
    }

    #[test]
    fn only_the_agent_s_own_name_opens_its_folders() {
        let home = tempfile::tempdir().expect("a folder");
        for folder in [".copilot", ".claude", ".codex"] {
            std::fs::create_dir(home.path().join(folder)).expect("made");
        }
        for (command, expected) in [
            ("/bin/ralph-copilot agent s.yaml", None),
            ("/opt/copilot/bin/agent /home/copilot/s.yaml", None),
            ("/home/claude/agent codex/run", None),
            ("node /x/copilot --stdio", Some(".copilot")),
            ("npx @github/copilot", Some(".copilot")),
            ("npx @zed-industries/claude-code-acp", Some(".claude")),
            ("/bin/codex-acp", Some(".codex")),
        ] {
            let mut words = command.split(' ').map(str::to_owned);
            let program = words.next().expect("a word").into();
            let command = AgentCommand { program, args: words.collect(), kind: AgentKind::Other };
            let expected: Vec<_> =
                expected.map(|name| home.path().join(name)).into_iter().collect();
            assert_eq!(other(home.path(), home.path(), &command).writable, expected, "{command:?}");
        }
    }
}
