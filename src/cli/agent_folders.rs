//! Folders that an agent's own process needs in addition to the workspace.
//!
//! Invariant: an agent writes the folders of its row in the table of known agents, or those of its
//! own name; all others are read-only.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::io::{BufRead as _, Read as _};
use std::path::{Path, PathBuf};

use super::launch;
use crate::agent::AgentCommand;
use crate::agent::scripted::AgentScript;
use crate::sandbox::{AgentFolders, is_free, tools};

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

/// The folders of a command that has the Copilot CLI, but not as the runner starts it. Only this
/// very file name: the runner's own has the word, too.
const COPILOT: (&str, &str) = ("copilot", ".copilot");
/// Files in these folders that configure the agent.
const SETTINGS: [&str; 9] = [
    "settings.json",
    "settings.local.json",
    "config.toml",
    "config.yaml",
    "opencode.json",
    "opencode.jsonc",
    "mcp.json",
    "hooks",
    "plugins",
];
/// Folders of HOME in which an agent that is not known may have one of its own name, with the
/// variable that names another place for them.
const BASES: [(&str, &str); 4] = [
    (".config", "XDG_CONFIG_HOME"),
    (".local/share", "XDG_DATA_HOME"),
    (".local/state", "XDG_STATE_HOME"),
    (".cache", "XDG_CACHE_HOME"),
];
/// The longest chain of links and interpreters that is followed.
const LONGEST: usize = 16;

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

/// The folders of another agent, and the files outside the tree that its command needs. Its
/// relative paths begin in the tree.
pub(super) fn other(home: &Path, tree: &Path, command: &AgentCommand) -> AgentFolders {
    let mut writable: Vec<PathBuf> =
        own_folders(home, command, &os).into_iter().filter(|folder| folder.exists()).collect();
    let fixed = writable.iter().flat_map(|folder| SETTINGS.map(|name| folder.join(name))).collect();
    let words = command.args.iter().map(Path::new).chain([command.program.as_path()]);
    let files = words.filter_map(|word| named_file(tree, word)).filter(|path| path.is_file());
    let files: Vec<PathBuf> = files.collect();
    let readable = files.iter().flat_map(|file| needed(home, file)).collect();
    writable.extend(memory(tree, command));
    AgentFolders { writable, fixed, readable }
}

/// Creates the folders of a known agent, as its first start would: rights to a missing path cannot
/// be granted.
pub(super) fn make(home: &Path, command: &AgentCommand) {
    let folders = own_folders(home, command, &os).into_iter();
    for folder in folders.filter(|path| command.known().is_some() && path.extension().is_none()) {
        // One that cannot be made stays missing, as without a sandbox.
        drop(std::fs::create_dir_all(folder));
    }
}

/// The folders of an agent, existing or not: those of its row, else those of its own name.
pub(super) fn own_folders(
    home: &Path,
    command: &AgentCommand,
    variable: &dyn Fn(&str) -> Option<OsString>,
) -> Vec<PathBuf> {
    let place = |folder: &str| {
        let named = BASES.iter().find_map(|(base, name)| {
            let rest = Path::new(folder).strip_prefix(base).ok()?;
            Some(PathBuf::from(variable(name)?).join(rest))
        });
        named.filter(|path| path.is_absolute()).unwrap_or_else(|| home.join(folder))
    };
    if let Some(known) = command.known() {
        let mut folders: Vec<_> = known.folders.iter().map(|folder| place(folder)).collect();
        let named = known.variable.and_then(variable).map(PathBuf::from);
        if let Some(named) = named.filter(|path| path.is_absolute()) {
            folders[0] = named;
        }
        return folders;
    }
    if command.names().any(|name| name == COPILOT.0) {
        return vec![home.join(COPILOT.1)];
    }
    let Some(name) = command.own_name().filter(|name| is_free(name)) else { return Vec::new() };
    let bases = BASES.iter().map(|(base, _)| place(&format!("{base}/{name}")));
    let all = bases.chain([home.join(format!(".{name}"))]);
    all.filter(|folder| folder.is_dir()).collect()
}

pub(super) fn os(name: &str) -> Option<OsString> {
    std::env::var_os(name).filter(|value| !value.is_empty())
}

/// What a program needs to start: its links, its interpreters, what is installed with each, and the
/// packages around it.
fn needed(home: &Path, file: &Path) -> BTreeSet<PathBuf> {
    let (mut chain, mut next) = (Vec::new(), Some(file.to_owned()));
    while let Some(path) = next.filter(|_| chain.len() < LONGEST) {
        let folder = path.parent().unwrap_or(Path::new("/"));
        next = match std::fs::read_link(&path) {
            Ok(target) => Some(folder.join(target)),
            Err(_) => interpreter(&path),
        };
        chain.push(path);
    }
    let real = chain.iter().filter_map(|path| path.canonicalize().ok()).collect::<Vec<_>>();
    chain.extend(real);
    let folders = chain.iter().filter_map(|path| path.parent());
    let path = std::env::join_paths(folders).unwrap_or_default();
    let mut found = tools(home, &|name| match name {
        "PATH" => Some(path.clone()),
        "TMPDIR" | "XDG_RUNTIME_DIR" => os(name),
        _ => None,
    });
    let packages = |path: &PathBuf| {
        let at = path.components().position(|part| part.as_os_str() == "node_modules")?;
        Some(path.components().take(at + 1).collect::<PathBuf>())
    };
    found.extend(chain.iter().filter_map(packages));
    found.insert(file.to_owned());
    found
}

/// The program that runs a script.
fn interpreter(script: &Path) -> Option<PathBuf> {
    let mut line = String::new();
    let file = std::fs::File::open(script).ok()?.take(256);
    std::io::BufReader::new(file).read_line(&mut line).ok()?;
    let mut words = line.strip_prefix("#!")?.split_whitespace();
    let first = Path::new(words.next()?);
    if first.file_name()? == "env" {
        return which::which(words.find(|word| !word.starts_with('-') && !word.contains('='))?)
            .ok();
    }
    Some(first.to_owned())
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

    fn command(line: &str) -> AgentCommand {
        let mut words = line.split(' ').map(str::to_owned);
        let program = words.next().expect("a word").into();
        AgentCommand { program, args: words.collect(), kind: AgentKind::Other }
    }

    #[test]
    fn an_agent_that_is_not_known_gets_the_folders_of_its_name() {
        let home = tempfile::tempdir().expect("a folder");
        let at = |name: &str| home.path().join(name);
        let data = at("data");
        for name in
            [".pi", ".config/pi", ".cache/pi", ".ssh", ".config/git", ".config/ralph-copilot"]
        {
            std::fs::create_dir_all(at(name)).expect("made");
        }
        std::fs::create_dir_all(data.join("pi")).expect("made");
        let variable =
            |name: &str| (name == "XDG_DATA_HOME").then(|| data.clone().into_os_string());
        let of = |line: &str| own_folders(home.path(), &command(line), &variable);
        let expected = [at(".config/pi"), data.join("pi"), at(".cache/pi"), at(".pi")];
        assert_eq!(of("/opt/pi --acp"), expected);
        assert_eq!(of("npx -y @scope/pi@1.2 acp"), expected);
        assert_eq!(of("python3 -m pi.acp"), expected);
        // Folders of keys, of tools, and of this program.
        for line in
            ["/bin/ssh", "/bin/git x", "/bin/ralph-copilot agent x", "sh -c x", "/bin/cache"]
        {
            assert_eq!(of(line), [] as [PathBuf; 0], "{line}");
        }
    }

    #[test]
    fn a_known_agent_s_folder_is_where_its_variable_says() {
        let home = tempfile::tempdir().expect("a folder");
        let variable = |name: &str| (name == "CODEX_HOME").then(|| "/data/codex".into());
        let of = |variable: &dyn Fn(&str) -> Option<OsString>| {
            own_folders(home.path(), &command("/bin/codex-acp"), variable)
        };
        assert_eq!(of(&variable), [Path::new("/data/codex")]);
        assert_eq!(of(&|_| None), [home.path().join(".codex")]);
    }

    #[test]
    fn a_script_s_interpreter_and_its_packages_are_shown() {
        let home = tempfile::tempdir().expect("a folder");
        let at = |name: &str| home.path().join(name);
        for folder in
            ["venv/bin", "venv/lib", "python/bin", "python/lib", ".local/bin", ".local/share"]
        {
            std::fs::create_dir_all(at(folder)).expect("made");
        }
        std::fs::create_dir_all(at("x/node_modules/a/node_modules/b")).expect("made");
        std::fs::write(at("python/bin/python3"), "").expect("written");
        std::os::unix::fs::symlink(at("python/bin/python3"), at("venv/bin/python"))
            .expect("linked");
        let line = format!("#!{}\n", at("venv/bin/python").display());
        std::fs::write(at("venv/bin/agent"), line).expect("written");
        std::os::unix::fs::symlink(at("venv/bin/agent"), at(".local/bin/agent")).expect("linked");
        let shown = needed(home.path(), &at(".local/bin/agent"));
        for folder in ["venv", "python", ".local/bin"] {
            assert!(shown.contains(&at(folder)), "{folder}: {shown:?}");
        }
        assert!(!shown.contains(&at(".local")), "{shown:?}");
        let script = at("x/node_modules/a/node_modules/b/cli.js");
        std::fs::write(&script, "#!/usr/bin/env -S NODE_ENV=x sh\n").expect("written");
        let shown = needed(home.path(), &script);
        assert!(shown.contains(&at("x/node_modules")), "{shown:?}");
    }
}
