//! The agents that are known: what starts them, where they keep their login, and how they are told
//! to ask. One row each; `docs/agents.md` shows the same rows.
//!
//! Invariant: a row only opens an agent's own folders and words hints. What an agent may do is
//! decided by its calls.

use super::{AgentCommand, AgentKind};

/// What is known of one agent.
#[derive(Debug)]
pub struct KnownAgent {
    /// Its name for people.
    pub name: &'static str,
    /// Words in the file names of its programs and packages.
    pub words: &'static [&'static str],
    /// Its folders and files in HOME: settings, login, conversations, caches.
    pub folders: &'static [&'static str],
    /// The variable that names another place for the first folder.
    pub variable: Option<&'static str>,
    /// The ids of its modes in which it asks before it acts, the best one first.
    pub asks: &'static [&'static str],
    /// How to log in.
    pub login: &'static str,
    /// What to set so that it asks or runs, and where.
    pub set: Option<(&'static str, &'static str)>,
    /// The registry, the package, and the version that was tried.
    pub tried: Option<(&'static str, &'static str, &'static str)>,
    /// How `--agent` names it.
    pub start: &'static str,
    /// What it does not tell a client.
    pub untold: &'static str,
}

/// Where a flag of ours stands.
const UNASKED: &str = "the run's command line";

/// Every known agent but the Copilot CLI, which has an adapter of its own.
pub const AGENTS: [KnownAgent; 14] = [
    KnownAgent {
        name: "Claude Code",
        words: &["claude"],
        folders: &[".claude", ".claude.json"],
        variable: Some("CLAUDE_CONFIG_DIR"),
        asks: &["default"],
        login: "run `claude` and type `/login`, or set ANTHROPIC_API_KEY",
        set: None,
        tried: Some(("npm", "@agentclientprotocol/claude-agent-acp", "0.101.0")),
        start: "claude-agent-acp",
        untold: "why a request failed before it was tried again",
    },
    KnownAgent {
        name: "Codex",
        words: &["codex"],
        folders: &[".codex"],
        variable: Some("CODEX_HOME"),
        asks: &["read-only"],
        login: "run `codex login`, or set OPENAI_API_KEY",
        set: None,
        tried: Some(("npm", "@agentclientprotocol/codex-acp", "2.6.0")),
        start: "codex-acp",
        untold: "the exit code of a command",
    },
    KnownAgent {
        name: "Gemini CLI",
        words: &["gemini"],
        folders: &[".gemini"],
        variable: None,
        asks: &["default"],
        login: "run `gemini` once and log in, or set GEMINI_API_KEY",
        set: None,
        tried: Some(("npm", "@google/gemini-cli", "0.61.0")),
        start: "gemini --acp",
        untold: "arguments of a call: a command is only in its title",
    },
    KnownAgent {
        name: "Qwen Code",
        words: &["qwen"],
        folders: &[".qwen"],
        variable: None,
        asks: &["default"],
        login: "run `qwen` once and log in, or set OPENAI_API_KEY",
        set: None,
        tried: Some(("npm", "@qwen-code/qwen-code", "0.24.4")),
        start: "qwen --acp",
        untold: "that it waits for a rate limit",
    },
    KnownAgent {
        name: "OpenCode",
        words: &["opencode"],
        folders: &[
            ".config/opencode",
            ".local/share/opencode",
            ".local/state/opencode",
            ".cache/opencode",
            ".opencode",
        ],
        variable: None,
        asks: &[],
        login: "run `opencode auth login`",
        set: Some((
            r#""permission": {"edit": "ask", "bash": "ask"}"#,
            "~/.config/opencode/opencode.json",
        )),
        tried: Some(("npm", "opencode-ai", "1.18.33")),
        start: "opencode acp",
        untold: "that it waits for a rate limit",
    },
    KnownAgent {
        name: "Goose",
        words: &["goose"],
        folders: &[".config/goose", ".local/share/goose", ".local/state/goose"],
        variable: None,
        asks: &["approve"],
        login: "run `goose configure`",
        set: Some(("GOOSE_MODE: approve", "~/.config/goose/config.yaml")),
        tried: Some(("npm", "@aaif/goose", "0.20.1")),
        start: "goose acp",
        untold: "that it waits for a rate limit; its name and version",
    },
    KnownAgent {
        name: "Kimi Code",
        words: &["kimi"],
        folders: &[".kimi-code", ".kimi"],
        variable: Some("KIMI_CODE_HOME"),
        asks: &["default"],
        login: "run `kimi login`",
        set: Some(("--unasked allow", UNASKED)),
        tried: Some(("npm", "@moonshot-ai/kimi-code", "2.1.0")),
        start: "kimi acp",
        untold: "arguments in a permission request; it asks for none to write in the workspace",
    },
    KnownAgent {
        name: "Mistral Vibe",
        words: &["vibe"],
        folders: &[".vibe"],
        variable: Some("VIBE_HOME"),
        asks: &["ask"],
        login: "run `vibe` once and log in, or set MISTRAL_API_KEY",
        set: None,
        tried: Some(("pypi", "mistral-vibe", "3.0.2")),
        start: "vibe-acp",
        untold: "arguments in a permission request, which has the call's id alone",
    },
    KnownAgent {
        name: "Hermes",
        words: &["hermes"],
        folders: &[".hermes"],
        variable: Some("HERMES_HOME"),
        asks: &["default"],
        login: "run `hermes model`",
        set: Some(("--unasked allow", UNASKED)),
        tried: Some(("pypi", "hermes-agent[acp]", "0.19.0")),
        start: "hermes-acp",
        untold: "that it runs what it takes for harmless: it asks for the rest alone",
    },
    KnownAgent {
        name: "fast-agent",
        words: &["fast-agent"],
        folders: &[".fast-agent"],
        variable: None,
        asks: &[],
        login: "set the key of the model's provider, such as OPENAI_API_KEY",
        set: Some(("--unasked allow", UNASKED)),
        tried: Some(("pypi", "fast-agent-acp", "0.10.48")),
        start: "fast-agent-acp --shell --model MODEL",
        untold: "that it runs tools: it asks for none",
    },
    KnownAgent {
        name: "OpenHands",
        words: &["openhands"],
        folders: &[".openhands"],
        variable: None,
        asks: &[],
        login: "run `openhands` once and choose a model",
        set: None,
        tried: None,
        start: "openhands acp",
        untold: "",
    },
    KnownAgent {
        name: "Cline",
        words: &["cline"],
        folders: &[".cline"],
        variable: None,
        asks: &[],
        login: "run `cline auth`",
        set: None,
        tried: None,
        start: "cline --acp",
        untold: "",
    },
    KnownAgent {
        name: "Cursor",
        words: &["cursor", "cursor-agent"],
        folders: &[".cursor", ".config/cursor"],
        variable: None,
        asks: &[],
        login: "run `cursor-agent login`",
        set: None,
        tried: None,
        start: "cursor-agent acp",
        untold: "",
    },
    KnownAgent {
        name: "Kiro",
        words: &["kiro", "kiro-cli"],
        folders: &[".kiro"],
        variable: None,
        asks: &[],
        login: "run `kiro-cli login`",
        set: None,
        tried: None,
        start: "kiro-cli acp",
        untold: "",
    },
];

/// Programs that start the one that the next word names.
const LOADERS: [&str; 24] = [
    "npx", "npm", "node", "pnpm", "yarn", "bun", "bunx", "deno", "python", "python3", "uv", "uvx",
    "pipx", "cargo", "go", "env", "nice", "timeout", "sh", "bash", "zsh", "exec", "run", "dlx",
];

impl AgentCommand {
    /// The file names in the command: the folders of a path say nothing of the program in it.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        let words = self.args.iter().map(String::as_str).chain(self.program.to_str());
        words.filter_map(|word| std::path::Path::new(word).file_name()?.to_str())
    }

    /// The row of this agent.
    pub fn known(&self) -> Option<&'static KnownAgent> {
        let names = |known: &KnownAgent| {
            self.names().any(|name| known.words.iter().any(|word| has_word(name, word)))
        };
        AGENTS.iter().find(|known| self.kind == AgentKind::Other && names(known))
    }

    /// The name of the program or package that the command starts, without version and ending.
    /// `None` for this program's own.
    pub fn own_name(&self) -> Option<&str> {
        let words = self.program.to_str().into_iter().chain(self.args.iter().map(String::as_str));
        let plain = words.filter(|word| !word.starts_with('-'));
        let names = plain.filter_map(|word| std::path::Path::new(word).file_name()?.to_str());
        let names = names.map(|name| name.split(['@', '.']).next().unwrap_or(name));
        let name = names.into_iter().find(|name| !LOADERS.contains(name))?;
        (!name.is_empty() && name != "ralph-copilot").then_some(name)
    }

    /// How to log in to an agent other than the Copilot CLI.
    pub fn login(&self) -> Option<&'static str> {
        let other = self.kind == AgentKind::Other;
        other.then(|| self.known().map_or(UNKNOWN_LOGIN, |known| known.login))
    }
}

/// How to log in to an agent that is not known.
const UNKNOWN_LOGIN: &str = "log in to the agent in a terminal, as its own help says";

/// Does a name contain this word, with nothing of a longer word around it?
fn has_word(name: &str, word: &str) -> bool {
    let edge = |at: Option<char>| !at.is_some_and(char::is_alphanumeric);
    name.match_indices(word).any(|(at, _)| {
        edge(name[..at].chars().next_back()) && edge(name[at + word.len()..].chars().next())
    })
}
