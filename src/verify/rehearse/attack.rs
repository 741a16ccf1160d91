//! The target of cheats: checks, and the paths that they name, show, or look through.
//!
//! Invariant: pure. Paths are relative to the root.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use globset::Glob;
use regex::Regex;

use super::comparison::{Grep, grep};
use super::inline_code::InlineCode;
use super::languages::Language;
use crate::verify::harness::shell::ShellCommand;
use crate::verify::harness::{Role, SourceTree, Table};

/// More product files than this are not touched.
pub(super) const MOST_FILES: usize = 200;

/// How many new files a glob gets.
const NEW_FILES: usize = 9;

/// The checks of a criterion, and the tree that they are to judge.
pub(super) struct Attack<'a> {
    pub(super) start: &'a dyn SourceTree,
    pub(super) table: &'a Table,
    /// Lines of shell.
    pub(super) lines: &'a [&'a str],
    /// Scripts that decide, in any language.
    pub(super) scripts: &'a [String],
    pub(super) scanned: &'a [ShellCommand],
    /// Scripts that decide.
    pub(super) judges: &'a BTreeSet<PathBuf>,
}

impl Attack<'_> {
    /// The texts that are looked for, in files or in the output of a command that reads files.
    pub(super) fn greps(&self) -> Vec<Grep> {
        let found = self.scanned.iter().filter_map(|command| {
            let mut grep = grep(command)?;
            if grep.files.is_empty() {
                let before = self.scanned.iter().filter(|it| it.pipeline == command.pipeline);
                let readers = before.filter(|it| {
                    let program = it.words.first().map_or("", String::as_str);
                    ["cat", "head", "tail", "sed", "tr", "sort", "cut"].contains(&program)
                });
                let files = readers.flat_map(|it| it.words.iter().skip(1).chain(&it.stdin));
                grep.files = files.filter(|name| !name.starts_with('-')).cloned().collect();
            }
            Some(grep)
        });
        found.collect()
    }

    /// The files of a grep.
    pub(super) fn looked_through(&self, grep: &Grep) -> Vec<PathBuf> {
        let globs = self.scanned.iter().flat_map(|it| &it.words);
        let mut globs = globs.filter_map(|word| word.strip_prefix("--include="));
        let names =
            globs.next().and_then(|glob| Glob::new(glob).ok()).map(|it| it.compile_matcher());
        let is_meant = |path: &&PathBuf| {
            let name = path.file_name().unwrap_or_default();
            names.as_ref().is_none_or(|glob| glob.is_match(name))
                && self.table.role(path).is_none()
                && !self.judges.contains(*path)
                && Language::of(path, None).is_some()
        };
        let mut found = Vec::new();
        for name in &grep.files {
            if name == "." && grep.is_recursive {
                found.extend(self.start.paths().keys().find(is_meant).cloned());
            } else if name.contains(['*', '?']) {
                found.extend(self.expanded(name));
            } else {
                found.extend(plain(name).map(|path| self.below(path)).unwrap_or_default());
            }
        }
        found
    }

    /// The files that a glob names, or new ones that it would name.
    fn expanded(&self, glob: &str) -> Vec<PathBuf> {
        let name = glob.strip_prefix("./").unwrap_or(glob);
        let Ok(matcher) = Glob::new(name).map(|glob| glob.compile_matcher()) else {
            return Vec::new();
        };
        let there = self.start.paths().keys().filter(|path| matcher.is_match(path));
        let there: Vec<PathBuf> = there.take(MOST_FILES).cloned().collect();
        if !there.is_empty() {
            return there;
        }
        new_names(name)
    }

    pub(super) fn tests(&self) -> impl Iterator<Item = PathBuf> {
        let is_test = |path: &&PathBuf| self.table.role(path) == Some(Role::Tests);
        self.start.paths().keys().filter(is_test).cloned()
    }

    pub(super) fn text(&self, path: &Path) -> Option<String> {
        String::from_utf8(self.start.read(path)?).ok()
    }

    /// Words of the checks that may be paths.
    fn words(&self) -> Vec<PathBuf> {
        let words = self.scanned.iter().flat_map(|command| {
            let own = command.words.iter().enumerate();
            let own = own.filter(|(at, word)| *at > 0 || word.contains('/'));
            own.map(|(_, word)| word).chain(&command.stdin)
        });
        let mut found: Vec<PathBuf> = words.filter_map(|word| plain(word)).collect();
        found.sort_unstable();
        found.dedup();
        found
    }

    /// Paths that the checks name and that are not there.
    pub(super) fn missing(&self) -> Vec<PathBuf> {
        let is_file = |path: &Path| self.start.paths().contains_key(path);
        let is_there = |path: &Path| {
            is_file(path) || self.start.paths().keys().any(|known| known.starts_with(path))
        };
        let looks_like_one = |path: &Path| {
            path.components().count() > 1 || path.extension().is_some() || self.is_tested(path)
        };
        let codes: Vec<InlineCode> = self.scanned.iter().filter_map(InlineCode::of).collect();
        let modules = codes.iter().flat_map(|code| code.missing_modules(self.start));
        let texts = codes.iter().map(|code| &code.code).chain(self.scripts);
        let quoted = texts.flat_map(|text| QUOTED.captures_iter(text));
        let quoted = quoted.filter_map(|it| plain(&it["path"]));
        let words = self.words().into_iter().chain(modules).chain(self.globbed());
        let words =
            words.filter(|path| looks_like_one(path)).chain(quoted).chain(self.run_modules());
        let mut found: Vec<PathBuf> = words.filter(|path| !is_there(path)).collect();
        found.sort_unstable();
        found.dedup();
        found
    }

    /// Files that `ls docs/*.md` and `find docs -name '*.md'` would list.
    fn globbed(&self) -> Vec<PathBuf> {
        let lists = self.scanned.iter().filter_map(|command| {
            let (program, rest) = command.words.split_first()?;
            let found: Vec<String> = match program.as_str() {
                "ls" | "cat" => rest.iter().filter_map(|it| self.listed(it)).collect(),
                "find" => {
                    let at = rest.iter().position(|it| it == "-name" || it == "-iname")?;
                    let folder = rest.first().filter(|it| !it.starts_with('-'))?;
                    vec![format!("{}/{}", folder.trim_end_matches('/'), rest.get(at + 1)?)]
                }
                _ => return None,
            };
            Some(found)
        });
        lists.flatten().flat_map(|glob| new_names(&glob)).collect()
    }

    /// A glob, or all of a folder.
    fn listed(&self, word: &str) -> Option<String> {
        let is_folder = |path: &PathBuf| {
            self.start.paths().keys().any(|known| known != path && known.starts_with(path))
        };
        match plain(word) {
            _ if word.contains('*') => Some(word.to_owned()),
            Some(path) if is_folder(&path) => Some(format!("{}/*", path.display())),
            _ => None,
        }
    }

    /// The module of `python3 -m NAME`.
    fn run_modules(&self) -> Vec<PathBuf> {
        let python = |it: &&ShellCommand| {
            it.words
                .first()
                .is_some_and(|it| it.rsplit('/').next().unwrap_or("").starts_with("python"))
        };
        let pairs = self.scanned.iter().filter(python).flat_map(|it| it.words.windows(2));
        let names = pairs.filter(|pair| pair[0] == "-m").map(|pair| pair[1].replace('.', "/"));
        names.filter_map(|name| plain(&format!("{name}.py"))).collect()
    }

    /// Python modules that `unittest` is to run and that are not there.
    pub(super) fn missing_modules(&self) -> Vec<PathBuf> {
        let runs = |command: &&ShellCommand| command.words.iter().any(|word| word == "unittest");
        let words = self.scanned.iter().filter(runs).flat_map(|command| &command.words);
        let is_module = |word: &&String| {
            word.contains('.')
                && !word.ends_with(".py")
                && word.chars().all(|c| c.is_alphanumeric() || "_.".contains(c))
        };
        let paths = words.filter(is_module).map(|word| format!("{}.py", word.replace('.', "/")));
        let paths = paths.map(PathBuf::from);
        paths.filter(|path| !self.start.paths().contains_key(path)).collect()
    }

    /// Files that the checks name and that are there.
    pub(super) fn named(&self) -> Vec<PathBuf> {
        self.words().into_iter().filter(|path| self.start.paths().contains_key(path)).collect()
    }

    /// `test -f NAME` and the like, and readers.
    fn is_tested(&self, path: &Path) -> bool {
        self.scanned.iter().any(|command| {
            let program = command.words.first().map_or("", String::as_str);
            ["test", "[", "[[", "ls", "cat", "stat"].contains(&program)
                && command.words.iter().skip(1).any(|word| plain(word).as_deref() == Some(path))
        })
    }

    pub(super) fn is_folder(&self, path: &Path) -> bool {
        self.scanned.iter().any(|command| {
            let mut pairs = command.words.windows(2);
            pairs.any(|pair| pair[0] == "-d" && plain(&pair[1]).as_deref() == Some(path))
        })
    }

    /// The file itself, or the files in a folder that grep looks through.
    fn below(&self, path: PathBuf) -> Vec<PathBuf> {
        let inside: Vec<PathBuf> = self
            .start
            .paths()
            .keys()
            .filter(|known| known.starts_with(&path) && **known != path)
            .take(1)
            .cloned()
            .collect();
        if inside.is_empty() { vec![path] } else { inside }
    }

    /// The program that a compared command runs, or the sources of a compiled one.
    pub(super) fn subjects(&self, command: &ShellCommand) -> Vec<PathBuf> {
        let words = command.words.iter().filter_map(|word| plain(word));
        let mut paths = words.filter(|path| {
            self.start.paths().contains_key(path) || Language::of(path, None).is_some()
        });
        if let Some(path) = paths.next() {
            return vec![path];
        }
        let starts = |path: &&PathBuf| {
            Language::of(path, None).is_some_and(Language::is_compiled)
                && self.table.role(path).is_none()
                && self.text(path).is_some_and(|text| {
                    Language::of(path, None).is_some_and(|language| language.is_program(&text))
                })
        };
        let sources: Vec<PathBuf> = self.start.paths().keys().filter(starts).cloned().collect();
        let program = command.words.first().filter(|word| word.contains('/') && sources.is_empty());
        sources.into_iter().chain(program.and_then(|word| plain(word))).collect()
    }
}

/// A quoted word that may be a path.
static QUOTED: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(
        r#"['"](?<path>[\w-]+(?:/[\w-]+)*\.(?:json|md|txt|ya?ml|toml|html|csv|cfg|ini))['"]"#,
    )
    .expect("a pattern")
});

/// New files that a glob would name.
fn new_names(glob: &str) -> Vec<PathBuf> {
    let name = glob.strip_prefix("./").unwrap_or(glob).replace("**", "x").replace('?', "x");
    let new = (1..=NEW_FILES).map(|at| name.replace('*', &format!("x{at}")));
    new.filter_map(|name| plain(&name)).collect()
}

/// A word as a path relative to the root.
pub(super) fn plain(word: &str) -> Option<PathBuf> {
    let word = word.split("::").next().unwrap_or(word);
    let word = word.strip_prefix("./").unwrap_or(word).trim_end_matches('/');
    let odd = |c: char| c.is_whitespace() || "$*?[]{}()<>|&;='\"`\\:,!^".contains(c);
    let is_number = word.chars().all(|c| c.is_ascii_digit() || c == '.');
    if word.is_empty()
        || word.starts_with(['-', '/', '~', '.'])
            && !word.starts_with(".git")
            && !word.starts_with(".env")
        || word.contains(odd)
        || word.contains("..")
        || is_number
    {
        return None;
    }
    Some(PathBuf::from(word))
}
