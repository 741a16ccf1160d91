//! The agents that are known: what starts them, where they keep their login, and how they are told
//! to ask. Each is a row of `known.txt`; `docs/agents.md` shows the same rows.
//!
//! Invariant: a row only opens an agent's own folders and words hints. What an agent may do is
//! decided by its calls.

use std::sync::LazyLock;

use super::{AgentCommand, AgentKind};

/// What is known of one agent.
#[derive(Debug)]
pub struct KnownAgent {
    /// Its name for people.
    pub name: &'static str,
    /// Words in the file names of its programs and packages.
    pub words: Vec<&'static str>,
    /// Its folders and files in HOME: settings, login, conversations, caches.
    pub folders: Vec<&'static str>,
    /// The variable that names another place for the first folder.
    pub variable: Option<&'static str>,
    /// The ids of its modes in which it asks before it acts, the best one first.
    pub asks: Vec<&'static str>,
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

/// The rows, as data.
const ROWS: &str = include_str!("known.txt");

/// Every known agent but the Copilot CLI, which has an adapter of its own.
pub static AGENTS: LazyLock<Vec<KnownAgent>> = LazyLock::new(|| {
    ROWS.lines().filter(|row| !row.starts_with('#')).map(KnownAgent::read).collect()
});

impl KnownAgent {
    fn read(row: &'static str) -> Self {
        let mut cells = row.split('|').map(str::trim);
        let mut cell = || cells.next().unwrap_or_default();
        let words = |cell: &'static str| cell.split_whitespace().collect();
        Self {
            name: cell(),
            words: words(cell()),
            folders: words(cell()),
            variable: Some(cell()).filter(|name| !name.is_empty()),
            asks: words(cell()),
            start: cell(),
            tried: match words(cell()).as_slice() {
                [registry, package, version] => Some((*registry, *package, *version)),
                _ => None,
            },
            set: cell().split_once(" @ "),
            login: cell(),
            untold: cell(),
        }
    }
}

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_is_whole() {
        for (row, known) in ROWS.lines().filter(|row| !row.starts_with('#')).zip(AGENTS.iter()) {
            assert_eq!(row.split('|').count(), 10, "{row}");
            assert!(!known.words.is_empty() && !known.folders.is_empty(), "{row}");
            assert_eq!(known.tried.is_some(), row.contains("| npm ") || row.contains("| pypi "));
        }
    }
}
