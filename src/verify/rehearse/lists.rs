//! Lists of names in a check: the words of its loops, and the names in the lists of its code.
//!
//! Invariant: pure.

use std::path::PathBuf;
use std::sync::LazyLock;

use regex::Regex;

use super::attack::{Attack, plain};
use super::inline_code::InlineCode;
use crate::verify::classify::shell::ShellCommand;

/// Names of files that have no extension.
const BARE: [&str; 16] = [
    "AUTHORS",
    "CHANGELOG",
    "CHANGES",
    "CODEOWNERS",
    "CONTRIBUTORS",
    "COPYING",
    "Dockerfile",
    "Gemfile",
    "LICENCE",
    "LICENSE",
    "Makefile",
    "NOTICE",
    "Procfile",
    "README",
    "Rakefile",
    "VERSION",
];

impl Attack<'_> {
    /// A command in a loop, with each word of the loop in place of its name: `for w in a b; do grep
    /// -q "$w" x; done`.
    pub(super) fn in_loops(&self, command: &ShellCommand) -> Vec<ShellCommand> {
        for (name, words) in self.scanned.iter().filter_map(shell_loop) {
            let names = [format!("${{{name}}}"), format!("${name}")];
            let is_used = |word: &String| names.iter().any(|name| word.contains(name));
            if !command.words.iter().chain(&command.stdin).any(is_used) {
                continue;
            }
            let with = |value: &String| {
                let mut command = command.clone();
                // A loop may run no command; here, it runs each.
                command.conditional = command.must_fail;
                for word in command.words.iter_mut().chain(&mut command.stdin) {
                    for name in &names {
                        *word = word.replace(name, value);
                    }
                }
                command
            };
            return words.iter().map(with).collect();
        }
        vec![command.clone()]
    }

    /// The files in lists of names, if one of the names is clearly that of a file.
    pub(super) fn listed_files(&self) -> Vec<PathBuf> {
        static LIST: LazyLock<Regex> = LazyLock::new(|| {
            Regex::new(r"%w[\[({](?<words>[^\])}]*)[\])}]|[\[({](?<items>[^\[\](){}]*)[\])}]")
                .expect("a pattern")
        });
        static ITEM: LazyLock<Regex> =
            LazyLock::new(|| Regex::new(r#"["'`](?<item>[^"'`\n]*)["'`]"#).expect("a pattern"));
        let codes: Vec<InlineCode> = self.scanned.iter().filter_map(InlineCode::of).collect();
        let texts = codes.iter().map(|code| &code.code).chain(self.scripts);
        let lists = texts.flat_map(|text| LIST.captures_iter(text)).map(|it| {
            match (it.name("words"), it.name("items")) {
                (Some(words), _) => words.as_str().split_whitespace().map(str::to_owned).collect(),
                (None, Some(items)) => {
                    let items = ITEM.captures_iter(items.as_str());
                    items.map(|it| it["item"].to_owned()).collect()
                }
                (None, None) => Vec::new(),
            }
        });
        let loops = self.scanned.iter().filter_map(shell_loop).map(|(_, words)| words);
        let names_files = |list: &Vec<String>| list.iter().any(|name| self.is_file_name(name));
        let files = lists.chain(loops).filter(names_files).flatten();
        files.filter_map(|name| path_of(&name)).collect()
    }

    fn is_file_name(&self, name: &str) -> bool {
        BARE.contains(&name)
            || plain(name).is_some_and(|path| self.start.paths().contains_key(&path))
            || path_of(name).is_some_and(|path| {
                path.components().count() > 1
                    && path.extension().is_some_and(|it| it.len() < 6 && !it.is_empty())
            })
    }
}

/// The name and the words of `for NAME in WORDS`.
fn shell_loop(command: &ShellCommand) -> Option<(String, Vec<String>)> {
    let (name, _) = command.assignments.first().filter(|_| command.words == ["for"])?;
    Some((name.clone(), command.assignments.iter().map(|(_, word)| word.clone()).collect()))
}

/// A name of a list as a path; a folder gets a file.
fn path_of(name: &str) -> Option<PathBuf> {
    // `.editorconfig`
    let hidden = name.strip_prefix('.').filter(|it| it.starts_with(char::is_alphabetic));
    let path = match hidden {
        Some(rest) => PathBuf::from(format!(".{}", plain(rest)?.display())),
        None => plain(name)?,
    };
    Some(if name.ends_with('/') { path.join("file") } else { path })
}
