//! The target of cheats: checks, and the paths that they name, show, or look through.
//!
//! Invariant: pure. Paths are relative to the root.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use globset::Glob;
use regex::Regex;

use super::comparison::{Grep, grep};
use super::inline_code::InlineCode;
use super::languages::Language;
use crate::verify::classify::shell::ShellCommand;
use crate::verify::classify::wrappers::unwrapped;
use crate::verify::classify::{Role, SourceTree, Table};
use crate::verify::runner::runner;

/// More product files than this are not touched.
pub(super) const MOST_FILES: usize = 200;

/// How many new files a glob gets.
pub(super) const NEW_FILES: usize = 9;

/// More lines, texts, or elements than this are not written.
pub(super) const MOST_LINES: usize = 5_000;

/// Programs that may run any test.
const FINDERS: [&str; 12] = [
    "make", "npm", "npx", "yarn", "pnpm", "rake", "mvn", "gradle", "ctest", "just", "javac", "gcc",
];

/// As many, if the check does not say how many.
const USUAL: usize = 100;

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
    /// The output of the checks before any work.
    pub(super) said: &'a [String],
}

impl Attack<'_> {
    /// The texts that are looked for, in files or in the output of a command that reads files.
    pub(super) fn greps(&self) -> Vec<Grep> {
        let found = self.scanned.iter().flat_map(|command| {
            let of = |one: &ShellCommand| {
                let mut grep = grep(one)?;
                if grep.files.is_empty() {
                    grep.files = self.piped_to(command);
                }
                Some(grep)
            };
            self.in_loops(command).iter().filter_map(of).collect::<Vec<_>>()
        });
        found.collect()
    }

    /// The files whose text a pipe carries to a command.
    pub(super) fn piped_to(&self, command: &ShellCommand) -> Vec<String> {
        let before = self.scanned.iter().filter(|it| it.pipeline == command.pipeline);
        let readers = before.filter(|it| {
            let program = it.words.first().map_or("", String::as_str);
            ["cat", "head", "tail", "sed", "tr", "sort", "cut", "grep", "uniq"].contains(&program)
        });
        let files = readers.flat_map(|it| it.words.iter().skip(1).chain(&it.stdin));
        files.filter(|name| !name.starts_with('-')).cloned().collect()
    }

    /// The files whose lines or bytes are counted.
    pub(super) fn counted(&self) -> BTreeSet<PathBuf> {
        let counts = self.scanned.iter().filter_map(|it| {
            let words = unwrapped(&it.words);
            let operands = match words.first()?.as_str() {
                "wc" | "stat" | "du" => words.iter().skip(1),
                "awk" if words.iter().any(|word| word.contains("NR")) => words.iter().skip(2),
                _ => return None,
            };
            Some(operands.chain(&it.stdin).cloned().chain(self.piped_to(it)).collect::<Vec<_>>())
        });
        counts.flatten().filter_map(|name| plain(&name)).collect()
    }

    /// How many lines, texts, or elements are enough.
    pub(super) fn enough(&self) -> usize {
        static NUMBER: LazyLock<Regex> =
            LazyLock::new(|| Regex::new(r"\b\d{1,5}\b").expect("a pattern"));
        let words = self.scanned.iter().flat_map(|it| &it.words);
        let numbers = words.flat_map(|word| NUMBER.find_iter(word));
        let numbers = numbers.filter_map(|number| number.as_str().parse::<usize>().ok());
        let most = numbers.filter(|number| *number < MOST_LINES).max().unwrap_or_default();
        self.exact().unwrap_or(USUAL.max(most + 1))
    }

    /// The number that must come out.
    pub(super) fn exact(&self) -> Option<usize> {
        let words = || self.scanned.iter().flat_map(|it| &it.words);
        let exactly = ["=", "==", "-eq", "grep"];
        words().find(|word| exactly.contains(&word.as_str()))?;
        words().find_map(|word| word.parse().ok()).filter(|number| *number <= MOST_LINES)
    }

    /// The code of the lines, and of the tests and scripts that they run.
    pub(super) fn codes(&self) -> Vec<InlineCode> {
        let files: BTreeSet<PathBuf> =
            self.judges.iter().cloned().chain(self.tests_run()).collect();
        let files = files.iter().take(MOST_FILES);
        let files = files.filter_map(|path| InlineCode::of_file(path, &self.text(path)?));
        self.scanned.iter().filter_map(InlineCode::of).chain(files).collect()
    }

    /// The code of compiled tests: of the tests, and of the modules of sources.
    pub(super) fn compiled_codes(&self) -> BTreeMap<PathBuf, InlineCode> {
        let is_inside = |path: &&PathBuf| {
            path.extension().is_some_and(|it| it == "rs")
                && self.text(path).is_some_and(|text| text.contains("#[cfg(test)]"))
        };
        let inside = self.start.paths().keys().filter(is_inside).cloned();
        let named = self.named();
        let files: BTreeSet<PathBuf> = self
            .judges
            .iter()
            .cloned()
            .chain(self.tests_run())
            .chain(inside)
            .chain(named)
            .collect();
        let files = files.iter().take(MOST_FILES);
        let codes = files.filter_map(|path| {
            Some((path.clone(), InlineCode::of_compiled(path, &self.text(path)?)?))
        });
        codes.collect()
    }

    /// The tests that the checks name, or all of them if a runner finds them itself.
    fn tests_run(&self) -> Vec<PathBuf> {
        let words = self.scanned.iter().flat_map(|it| &it.words);
        let words: BTreeSet<&str> = words.map(|word| word.trim_start_matches("./")).collect();
        let is_named = |path: &PathBuf| {
            let module = path.with_extension("").to_string_lossy().replace('/', ".");
            path.to_str().is_some_and(|path| words.contains(path))
                || words.iter().any(|word| {
                    word.strip_prefix(module.as_str())
                        .is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
                })
        };
        let all: Vec<PathBuf> = self.tests().collect();
        let named: Vec<PathBuf> = all.iter().filter(|path| is_named(path)).cloned().collect();
        let runs = |it: &ShellCommand| {
            runner(unwrapped(&it.words)).is_some()
                || it.words.first().is_some_and(|word| FINDERS.contains(&word.as_str()))
        };
        match named.is_empty() {
            true if self.scanned.iter().any(runs) => all,
            _ => named,
        }
    }

    /// May a cheat write it: is it neither a judge nor a test?
    pub(super) fn is_product(&self, path: &Path) -> bool {
        self.table.role(path).is_none() && !self.judges.contains(path)
    }

    /// May a cheat write it: is it the product, or a manifest, whose other entries stay?
    pub(super) fn is_data(&self, path: &Path) -> bool {
        let role = self.table.role(path);
        matches!(role, None | Some(Role::Manifest)) && !self.judges.contains(path)
    }

    /// The files of a grep, as many as are needed.
    pub(super) fn looked_through(&self, grep: &Grep, most: usize) -> Vec<PathBuf> {
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
                found.extend(self.start.paths().keys().filter(is_meant).take(most).cloned());
            } else if name.contains(['*', '?']) {
                found.extend(self.expanded(name));
            } else {
                found.extend(plain(name).map(|path| self.below(path, most)).unwrap_or_default());
            }
        }
        found
    }

    /// The files that a glob names, or new ones that it would name.
    pub(super) fn expanded(&self, glob: &str) -> Vec<PathBuf> {
        let name = glob.strip_prefix("./").unwrap_or(glob);
        let Ok(matcher) = Glob::new(name).map(|glob| glob.compile_matcher()) else {
            return Vec::new();
        };
        let there = self.start.paths().keys().filter(|path| matcher.is_match(path));
        let there: Vec<PathBuf> = there.take(MOST_FILES).cloned().collect();
        if !there.is_empty() {
            return there;
        }
        new_names(name, NEW_FILES)
    }

    pub(super) fn tests(&self) -> impl Iterator<Item = PathBuf> {
        let is_test = |path: &&PathBuf| self.table.role(path) == Some(Role::Tests);
        self.start.paths().keys().filter(is_test).cloned()
    }

    pub(super) fn text(&self, path: &Path) -> Option<String> {
        String::from_utf8(self.start.read(path)?).ok()
    }

    /// Words of the checks that may be paths.
    pub(super) fn words(&self) -> Vec<PathBuf> {
        let mut found: Vec<PathBuf> = Vec::new();
        let mut folder = None;
        for command in self.scanned {
            if let [cd, to, ..] = command.words.as_slice()
                && cd == "cd"
            {
                folder = plain(to);
                continue;
            }
            let own = command.words.iter().enumerate();
            let own = own.filter(|(at, word)| *at > 0 || word.contains('/'));
            let words = own.map(|(_, word)| word).chain(&command.stdin);
            let paths: Vec<PathBuf> = words.filter_map(|word| plain(word)).collect();
            if let Some(folder) = &folder {
                found.extend(paths.iter().map(|path| folder.join(path)));
            }
            found.extend(paths);
        }
        found.sort_unstable();
        found.dedup();
        found
    }

    /// Files that the checks name and that are there.
    pub(super) fn named(&self) -> Vec<PathBuf> {
        self.words().into_iter().filter(|path| self.start.paths().contains_key(path)).collect()
    }

    /// `test -f NAME` and the like, and readers.
    pub(super) fn is_tested(&self, path: &Path) -> bool {
        self.scanned.iter().any(|command| {
            let program = command.words.first().map_or("", String::as_str);
            (["test", "[", "[[", "ls", "cat", "stat", "jq"].contains(&program)
                || program.ends_with("sum"))
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
    fn below(&self, path: PathBuf, most: usize) -> Vec<PathBuf> {
        let inside: Vec<PathBuf> = self
            .start
            .paths()
            .keys()
            .filter(|known| known.starts_with(&path) && **known != path)
            .take(most)
            .cloned()
            .collect();
        if inside.is_empty() { vec![path] } else { inside }
    }

    /// The program that these words run, or the sources of a compiled one.
    pub(super) fn subjects(&self, words: &[String]) -> Vec<PathBuf> {
        let all = words;
        let words = words.iter().filter_map(|word| plain(word));
        let mut paths =
            words.filter(|path| Language::of(path, self.text(path).as_deref()).is_some());
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
        let program = all.first().filter(|word| word.contains('/') && sources.is_empty());
        sources.into_iter().chain(program.and_then(|word| plain(word))).collect()
    }
}

/// New files that a glob would name.
pub(super) fn new_names(glob: &str, most: usize) -> Vec<PathBuf> {
    let name = glob.strip_prefix("./").unwrap_or(glob).replace("**", "x").replace('?', "x");
    let new = (1..=most).map(|at| name.replace('*', &format!("x{at}")));
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
