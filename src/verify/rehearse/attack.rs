//! The target of cheats: checks, and the paths that their lines name.
//!
//! Invariant: pure. Paths are relative to the root.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use globset::{Glob, GlobSet};
use regex::Regex;

use super::languages::Language;
use crate::shell::ShellCommand;
use crate::shell::unwrapped;
use crate::verify::classify::{EntryKind, Role, SourceTree, Table, TreeEdit};

/// More files of a kind are not touched.
pub(super) const MOST_FILES: usize = 200;

/// Programs that only look at the files of their operands.
const LOOKS: [&str; 8] = ["test", "[", "[[", "ls", "cat", "head", "tail", "stat"];

/// A quoted path in code: `open('config.json')`.
static QUOTED: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r#"['"]((?:[\w-]+/)*[\w-]+\.\w{1,5})['"]"#).expect("a pattern"));

/// The checks of a criterion, and the tree that they are to judge.
pub(super) struct Attack<'a> {
    pub(super) start: &'a dyn SourceTree,
    pub(super) table: &'a Table,
    /// The commands of the checks' lines.
    pub(super) scanned: &'a [ShellCommand],
    /// Files that decide, and that the task does not allow to change.
    pub(super) judges: &'a BTreeSet<PathBuf>,
    pub(super) may_change: &'a GlobSet,
}

impl Attack<'_> {
    pub(super) fn text(&self, path: &Path) -> Option<String> {
        String::from_utf8(self.start.read(path)?).ok()
    }

    /// May a cheat write it: is it neither a judge nor a test?
    pub(super) fn is_product(&self, path: &Path) -> bool {
        self.table.role(path).is_none() && !self.judges.contains(path)
    }

    /// May a cheat add text to it: is it the product, or a manifest?
    pub(super) fn is_data(&self, path: &Path) -> bool {
        matches!(self.table.role(path), None | Some(Role::Manifest)) && !self.judges.contains(path)
    }

    /// The product's files in a known language.
    pub(super) fn sources(&self) -> impl Iterator<Item = (&PathBuf, &'static Language)> {
        let product = self.start.paths().keys().filter(|path| self.is_product(path));
        let sources = product.filter_map(|path| {
            let text = if path.extension().is_none() { self.text(path) } else { None };
            Some((path, Language::of(path, text.as_deref())?))
        });
        sources.take(MOST_FILES)
    }

    /// A file with another content, and with the first line that says how it is run.
    pub(super) fn replaced(&self, path: &Path, text: &str) -> TreeEdit {
        let old = self.text(path).unwrap_or_default();
        let shebang = old.lines().next().filter(|line| line.starts_with("#!"));
        let shebang = shebang.map(|line| format!("{line}\n")).unwrap_or_default();
        write(path.to_owned(), &format!("{shebang}{text}"))
    }

    /// The paths that the lines name. A glob stands for the files that it finds, or for a new one.
    pub(super) fn named(&self) -> BTreeSet<PathBuf> {
        let (mut found, mut folder) = (BTreeSet::new(), PathBuf::new());
        for command in self.scanned {
            let words = unwrapped(&command.words);
            if let [cd, to, ..] = words
                && cd == "cd"
            {
                folder = plain(to).unwrap_or_default();
                continue;
            }
            let program = words.first().map_or("", String::as_str);
            let looks = LOOKS.contains(&program);
            let values = command.assignments.iter().filter(|_| command.is_loop());
            let values = values.flat_map(|(_, value)| value.split_whitespace());
            let operands = words.iter().skip(usize::from(!program.contains('/')));
            let operands = operands.chain(&command.stdin).map(String::as_str);
            for word in operands.chain(values) {
                let paths = self.expanded(&folder, word).into_iter();
                found.extend(paths.filter(|path| {
                    looks || path.components().count() > 1 || path.extension().is_some()
                }));
                let quoted = QUOTED.captures_iter(word).filter(|_| word.contains(['(', ' ']));
                found.extend(quoted.map(|it| PathBuf::from(&it[1])));
            }
        }
        found
    }

    /// The files that a word stands for.
    pub(super) fn expanded(&self, folder: &Path, word: &str) -> Vec<PathBuf> {
        let new = plain(&word.replace("**", "x").replace(['*', '?'], "x"));
        let glob = folder.join(word.trim_start_matches("./"));
        let glob = Glob::new(&glob.to_string_lossy()).ok().map(|it| it.compile_matcher());
        let glob = glob.filter(|_| word.contains(['*', '?']));
        let is_meant = |path: &&PathBuf| glob.as_ref().is_some_and(|glob| glob.is_match(path));
        let there: Vec<PathBuf> = self.start.paths().keys().filter(is_meant).cloned().collect();
        match there.is_empty() {
            true => new.map(|path| folder.join(path)).into_iter().collect(),
            false => there,
        }
    }

    /// Named paths that are not there.
    pub(super) fn missing(&self) -> Vec<PathBuf> {
        let is_written = |path: &Path| {
            let mut outputs = self.scanned.iter().flat_map(|it| &it.outputs);
            outputs.any(|name| plain(name).as_deref() == Some(path))
        };
        let is_there = |path: &Path| self.start.paths().keys().any(|known| known.starts_with(path));
        let named = self.named().into_iter();
        named.filter(|it| !is_there(it) && !is_written(it)).collect()
    }

    /// The product's files that the lines name, and those in named folders.
    pub(super) fn looked_at(&self) -> Vec<PathBuf> {
        let named = self.named();
        let is_named = |path: &&PathBuf| named.iter().any(|it| path.starts_with(it));
        let files = self.start.paths().keys().filter(is_named);
        files.filter(|path| self.is_product(path)).take(MOST_FILES).cloned().collect()
    }

    /// Is a path asked for as a folder: `test -d docs`?
    pub(super) fn is_folder(&self, path: &Path) -> bool {
        let mut pairs = self.scanned.iter().flat_map(|command| command.words.windows(2));
        pairs.any(|pair| pair[0] == "-d" && plain(&pair[1]).is_some_and(|it| path.ends_with(it)))
    }
}

/// A command's own name.
pub(super) fn program(command: &ShellCommand) -> &str {
    let first = unwrapped(&command.words).first().map_or("", String::as_str);
    first.rsplit('/').next().unwrap_or(first)
}

/// A word as a path relative to the root.
pub(super) fn plain(word: &str) -> Option<PathBuf> {
    let word = word.split("::").next().unwrap_or(word);
    let word = word.strip_prefix("./").unwrap_or(word).trim_end_matches('/');
    let is_odd = |c: char| c.is_whitespace() || "$*?[]{}()<>|&;='\"`\\:,!^".contains(c);
    let is_number = word.chars().all(|c| c.is_ascii_digit() || c == '.');
    let is_hidden = word.starts_with('.') && word.len() > 1 && !word.contains("..");
    let is_outside = word.starts_with(['-', '/', '~', '.']) && !is_hidden;
    let is_none = is_number || is_outside || word.contains(is_odd) || word.contains("..");
    (!is_none).then(|| PathBuf::from(word))
}

pub(super) fn write(path: PathBuf, text: &str) -> TreeEdit {
    let executable = Language::of(&path, Some(text)).is_some() || path.extension().is_none();
    TreeEdit::Write {
        path,
        kind: EntryKind::Regular { executable },
        bytes: text.as_bytes().to_vec(),
    }
}
