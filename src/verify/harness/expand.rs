//! Variables, loops, and globs in shell lines, as far as the text gives their values.

use std::collections::BTreeMap;
use std::path::Path;

use globset::GlobBuilder;

use super::files::SourceTree;
use super::paths::normal;
use super::shell::{ShellCommand, uses};

/// How many values of a variable, or matches of a glob, are followed.
const MOST: usize = 200;

/// Values of the variables that a text sets.
#[derive(Debug, Default)]
pub(super) struct Variables(BTreeMap<String, Vec<String>>);

impl Variables {
    /// The arguments of a script.
    pub(super) fn of(arguments: &[String]) -> Self {
        let numbered = arguments.iter().enumerate();
        Self(numbered.map(|(at, word)| ((at + 1).to_string(), vec![word.clone()])).collect())
    }

    /// Takes over what a command assigns, or the values of a loop.
    pub(super) fn assign(&mut self, start: &dyn SourceTree, folder: &Path, command: &ShellCommand) {
        let is_loop = command.is_loop();
        if !is_loop && !command.words.is_empty() {
            return;
        }
        let mut values: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for (name, value) in &command.assignments {
            let expanded = if is_loop { globbed(start, folder, value) } else { None };
            let expanded = expanded.unwrap_or_else(|| vec![value.clone()]);
            values.entry(name.clone()).or_default().extend(expanded);
        }
        self.0.extend(values);
    }

    /// The command with its variables and globs replaced, once for every value.
    pub(super) fn expand(
        &self,
        start: &dyn SourceTree,
        folder: &Path,
        command: &ShellCommand,
    ) -> Vec<ShellCommand> {
        let names =
            || self.0.iter().filter(|(name, _)| command.words.iter().any(|w| uses(w, name)));
        let count = names().map(|(_, values)| values.len()).max().unwrap_or(1).min(MOST);
        let one = |at: usize| {
            let words = command.words.iter().map(|word| {
                names().fold(word.clone(), |word, (name, values)| {
                    let value = values.get(at).or(values.last()).map_or("", String::as_str);
                    word.replace(&format!("${{{name}}}"), value).replace(&format!("${name}"), value)
                })
            });
            let words = words.flat_map(|word| {
                let quoted = command.quoted_globs.contains(&word);
                let names = if quoted { None } else { globbed(start, folder, &word) };
                names.unwrap_or(vec![word])
            });
            ShellCommand { words: words.collect(), ..command.clone() }
        };
        (0..count).map(one).collect()
    }
}

/// Files that a text copies, by the names of the copies: `install ck/q build/q && build/q`.
#[derive(Debug, Default)]
pub(super) struct Copies(BTreeMap<String, String>);

impl Copies {
    /// Takes over what a command copies.
    pub(super) fn add(&mut self, words: &[String]) {
        const COPY: [&str; 4] = ["cp", "install", "ln", "mv"];
        if !words.first().is_some_and(|word| COPY.contains(&word.as_str())) {
            return;
        }
        let operands = words[1..].iter().filter(|word| !word.starts_with('-'));
        let operands: Vec<&str> = operands.map(|word| plain(word)).collect();
        let Some((to, from)) = operands.split_last() else { return };
        for from in from {
            let name = from.rsplit('/').next().unwrap_or(from);
            let inside = format!("{}/{name}", to.trim_end_matches('/'));
            self.0.extend([(inside, (*from).to_owned()), ((*to).to_owned(), (*from).to_owned())]);
        }
    }

    /// The words of a command, with the files that were copied in place of their copies.
    pub(super) fn replaced(&self, words: &[String]) -> Vec<String> {
        let of = |word: &String| self.0.get(plain(word)).cloned();
        words.iter().map(|word| of(word).unwrap_or_else(|| word.clone())).collect()
    }
}

fn plain(word: &str) -> &str {
    word.strip_prefix("./").unwrap_or(word)
}

/// The files that a glob names.
pub(super) fn globbed(start: &dyn SourceTree, folder: &Path, word: &str) -> Option<Vec<String>> {
    if !word.contains(['*', '?']) || word.starts_with('-') {
        return None;
    }
    let path = normal(&folder.join(word))?;
    let glob = GlobBuilder::new(path.to_str()?).literal_separator(true).build().ok()?;
    let glob = glob.compile_matcher();
    let up = "../".repeat(folder.components().count());
    let files = start.paths().keys().filter(|path| glob.is_match(path)).take(MOST);
    let names: Vec<String> = files.map(|path| format!("{up}{}", path.display())).collect();
    (!names.is_empty()).then_some(names)
}
