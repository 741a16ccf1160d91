//! The files that a check names: what its line runs, what it compares with, and what those load.
//!
//! A script that a line runs is a judge, unless what it prints is compared, or the line looks at
//! something else afterwards: then the script is the product. Recipes of makefiles and scripts of
//! manifests are lines, too. Not in this file: conventions by name (`table`).

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use globset::{Glob, GlobBuilder};
use regex::Regex;

use super::compared::scan;
use super::files::{EntryKind, SourceTree, text};
use super::paths::{folder, inside, normal, sounds_in};
use super::programs::{Program, program};
use super::recipes;
use super::table::{Table, has_code, language};
use crate::shell::ShellCommand;
use crate::shell::name_of;
use crate::shell::unwrapped;

/// The files that the checks run and look at.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Judges {
    /// Files of the start that decide.
    pub files: BTreeSet<PathBuf>,
    /// Those among them that a check only reads.
    pub data: BTreeSet<PathBuf>,
    /// Data that a check compares as a whole with what a program makes.
    pub compared: BTreeSet<PathBuf>,
    /// Those among them that are run.
    pub scripts: BTreeSet<PathBuf>,
    /// Files that a check only looks at, or runs for what they print.
    pub subjects: BTreeSet<PathBuf>,
    /// Lines of shell that run: the checks, recipes, and scripts.
    pub lines: Vec<String>,
}

/// Finds the judges of shell lines in a tree.
pub fn judges(start: &dyn SourceTree, table: &Table, commands: &[&str]) -> Judges {
    let mut reader = Reader {
        start,
        table,
        found: Judges::default(),
        seen: BTreeSet::new(),
        entered: BTreeSet::new(),
    };
    for command in commands {
        reader.text(command, &Place::default());
    }
    let Judges { files, subjects, .. } = &mut reader.found;
    subjects.retain(|path| !files.contains(path) && !reader.entered.contains(path));
    reader.found
}

/// How deep lines may run recipes and scripts.
const MOST_DEPTH: usize = 4;

/// Where a text of shell stands.
#[derive(Clone, Debug, Default)]
struct Place {
    folder: PathBuf,
    depth: usize,
    /// In a script, only what has the name of a check is a judge: the rest may be the product.
    in_script: bool,
    /// The text's output is compared by the one that runs it.
    compared: bool,
    /// The one that runs the text looks at something afterwards.
    looked_at: bool,
}

struct Reader<'a> {
    start: &'a dyn SourceTree,
    table: &'a Table,
    found: Judges,
    seen: BTreeSet<(String, PathBuf)>,
    /// Manifests of which an entry's exit status decides.
    entered: BTreeSet<PathBuf>,
}

impl Reader<'_> {
    fn text(&mut self, text: &str, place: &Place) {
        let is_new = self.seen.insert((text.to_owned(), place.folder.clone()));
        if place.depth > MOST_DEPTH || !is_new {
            return;
        }
        self.found.lines.push(text.to_owned());
        let mut place = place.clone();
        let commands = scan(text);
        for (at, command) in commands.iter().enumerate() {
            if let [cd, to, ..] = command.words.as_slice()
                && (cd == "cd" || cd == "pushd")
            {
                place.folder = normal(&place.folder.join(to)).unwrap_or(place.folder);
                continue;
            }
            let mut command = command.clone();
            command.compared |= place.compared;
            self.command(&command, &commands[at + 1..], &commands, &place);
        }
    }

    fn command(
        &mut self,
        command: &ShellCommand,
        later: &[ShellCommand],
        all: &[ShellCommand],
        place: &Place,
    ) {
        let words = unwrapped(&command.words);
        let stdin = command.stdin.iter().flat_map(|word| self.files(word, &place.folder));
        for file in stdin.collect::<Vec<_>>() {
            let is_script = words.len() == 1
                && matches!(program(&words[0]), Program::Shell | Program::Interpreter);
            if is_script { self.script(&file, place) } else { self.data(&file, words, all) }
        }
        let Some((first, rest)) = words.split_first() else { return };
        if is_runner(words) {
            return self.runner(rest, place);
        }
        if only_parses(first, rest) {
            return self.look(rest, all, place);
        }
        match program(first) {
            Program::Source => self.started(rest, command, later, all, place),
            Program::Shell | Program::Interpreter => match inline_code(first, rest) {
                Some(code) if program(first) == Program::Shell => {
                    let (depth, compared) = (place.depth + 1, command.compared);
                    self.text(&code, &Place { depth, compared, ..place.clone() });
                }
                Some(_) => self.look(rest, all, place),
                None => self.started(rest, command, later, all, place),
            },
            Program::Eval | Program::Text => {
                for word in rest.iter().filter(|word| word.contains(' ')) {
                    self.text(word, &Place { depth: place.depth + 1, ..place.clone() });
                }
            }
            Program::Entry => self.entry(words, command, later, place),
            Program::Runner | Program::Looks => self.look(words, all, place),
            Program::Other if first.contains('/') => {
                self.started(words, command, later, all, place);
            }
            Program::Other => {
                self.entry(words, command, later, place);
                self.look(rest, all, place);
            }
        }
    }

    /// Recipes and scripts of manifests.
    fn entry(
        &mut self,
        words: &[String],
        command: &ShellCommand,
        later: &[ShellCommand],
        place: &Place,
    ) {
        if !command.compared {
            let paths = recipes::targets(self.start, words, &place.folder);
            let there = self.start.paths();
            self.found.files.extend(paths.into_iter().filter(|path| !there.contains_key(path)));
        }
        for (lines, folder) in recipes::of(self.start, words, &place.folder) {
            let depth = place.depth + 1;
            let compared = command.compared;
            let names = ["Makefile", "makefile", "GNUmakefile", "package.json", "composer.json"];
            let manifests = names.iter().map(|name| folder.join(name));
            match compared {
                true => self.found.subjects.extend(manifests),
                false => self.entered.extend(manifests),
            }
            let looked_at = place.looked_at || looks_later(later);
            self.text(&lines, &Place { folder, depth, compared, looked_at, ..place.clone() });
        }
    }

    /// Tests that a runner gets by name.
    fn runner(&mut self, words: &[String], place: &Place) {
        for word in words.iter().filter(|word| !word.starts_with('-')) {
            let name = word.split("::").next().unwrap_or(word);
            let mut files = self.files(name, &place.folder);
            files.extend(self.module(name, &place.folder));
            for file in files {
                // Examples in prose are tests, too: `python3 -m doctest README.md`.
                let is_test = self.table.role(&file).is_some() || !has_code(&file);
                if is_test || sounds_in(&file) {
                    self.judge(&file, place);
                } else {
                    self.found.subjects.insert(file);
                }
            }
        }
    }

    /// A script, and the words after it.
    fn started(
        &mut self,
        words: &[String],
        command: &ShellCommand,
        later: &[ShellCommand],
        all: &[ShellCommand],
        place: &Place,
    ) {
        let mut module = false;
        for (at, word) in words.iter().enumerate() {
            let mut files = self.files(word, &place.folder);
            if module && files.is_empty() {
                files.extend(self.module(word, &place.folder));
            }
            module = word == "-m";
            if files.is_empty() {
                continue;
            }
            for file in &files {
                if self.is_judge(file, command, later, place) {
                    self.script(file, place);
                } else {
                    self.found.subjects.insert(file.clone());
                }
            }
            if !word.contains('*') {
                // What the product reads beside it is the check's; what a judge looks at is not.
                let is_product = files.iter().all(|it| self.found.subjects.contains(it));
                let rest = words[at + 1..].iter().flat_map(|it| self.files(it, &place.folder));
                for file in rest.collect::<Vec<_>>() {
                    if is_product && command.compared {
                        self.data(&file, words, all);
                    } else {
                        self.found.subjects.insert(file);
                    }
                }
                return;
            }
        }
    }

    fn is_judge(
        &self,
        file: &Path,
        command: &ShellCommand,
        later: &[ShellCommand],
        place: &Place,
    ) -> bool {
        let named = sounds_in(file) || self.table.role(file).is_some();
        let looked_at = place.looked_at || looks_later(later);
        match (command.compared || command.both_ways || command.must_fail, named) {
            (true, _) => false,
            (false, true) => true,
            (false, false) => !looked_at && !place.in_script && !command.background,
        }
    }

    /// Files that a command looks at. Those that it compares with what a program makes decide.
    fn look(&mut self, words: &[String], all: &[ShellCommand], place: &Place) {
        for word in words.iter().filter(|word| !word.starts_with('-')) {
            let mut files = self.files(word, &place.folder);
            if files.is_empty() && compares_whole(words) {
                files = self.in_loop(word);
            }
            for file in files {
                self.data(&file, words, all);
            }
        }
    }

    /// The files that a word with a variable may stand for: `${f%.in}.out`, `want/$name`.
    fn in_loop(&self, word: &str) -> Vec<PathBuf> {
        static VARIABLE: LazyLock<Regex> = LazyLock::new(|| {
            Regex::new(r"\$\{[^}]*\}|\$\([^)]*\)|\$\w+").expect("a valid pattern")
        });
        let glob = VARIABLE.replace_all(word, "*");
        let fixed = glob.chars().filter(|c| c.is_alphanumeric()).count();
        let glob = Glob::new(&glob).ok().filter(|_| glob != word && fixed > 1);
        let Some(glob) = glob.map(|it| it.compile_matcher()) else { return Vec::new() };
        self.start.paths().keys().filter(|path| glob.is_match(path)).cloned().collect()
    }

    fn data(&mut self, file: &Path, words: &[String], all: &[ShellCommand]) {
        let first = words.first().map_or("", |word| name_of(word));
        let whole = compares_whole(words);
        let makes = |it: &ShellCommand| {
            let words = unwrapped(&it.words);
            words.first().is_some_and(|word| match program(word) {
                Program::Shell | Program::Interpreter | Program::Entry | Program::Runner => true,
                Program::Other => word.contains('/'),
                // `awk -f totals.awk`
                Program::Looks => !word.contains("grep") && words.iter().any(|it| it == "-f"),
                Program::Source | Program::Eval | Program::Text => false,
            })
        };
        let is_made = all.iter().any(makes);
        let patterns = matches!(first, "grep" | "egrep" | "fgrep") && {
            words.iter().any(|word| word.starts_with('-') && word.ends_with('f'))
        };
        let reads = !matches!(program(first), Program::Looks) || whole || patterns;
        let is_source = language(file, "").is_some() && self.table.role(file).is_none();
        if is_made && reads && !is_source {
            self.found.files.insert(file.to_owned());
            self.found.data.insert(file.to_owned());
            if whole {
                self.found.compared.insert(file.to_owned());
            }
        } else {
            self.found.subjects.insert(file.to_owned());
        }
    }

    fn script(&mut self, file: &Path, place: &Place) {
        let is_new = self.found.scripts.insert(file.to_owned());
        self.judge(file, place);
        let Some(code) = text(self.start, file).filter(|_| is_new) else { return };
        if language(file, &code).is_some_and(|it| it.fails.starts_with("exit 97") && it.script) {
            let place =
                Place { depth: place.depth + 1, in_script: true, compared: false, ..place.clone() };
            self.text(&code, &place);
            // A script may go to its own folder first.
            self.text(&code, &Place { folder: folder(file).to_owned(), ..place });
        }
    }

    /// A file that decides, and helpers of tests that it loads.
    fn judge(&mut self, file: &Path, place: &Place) {
        if !self.found.files.insert(file.to_owned()) || place.depth > MOST_DEPTH {
            return;
        }
        let Some(code) = text(self.start, file) else { return };
        for loaded in loaded(self.start, file, &code) {
            let beside = folder(&loaded) == folder(file) && sounds_in(folder(file));
            if beside || helps_tests(&loaded) || self.table.role(&loaded).is_some() {
                self.judge(&loaded, &Place { depth: place.depth + 1, ..place.clone() });
            }
        }
    }

    /// The files that a word stands for: one, or those that a glob matches.
    fn files(&self, word: &str, at: &Path) -> Vec<PathBuf> {
        const MOST: usize = 200;
        let value = word.split_once('=').map_or(word, |(_, value)| value);
        let is_file = |path: &PathBuf| {
            self.start.paths().get(path).is_some_and(|it| it.kind != EntryKind::Gitlink)
        };
        let plain = [word, value].into_iter().filter_map(|word| inside(at, word));
        if let Some(path) = plain.into_iter().find(is_file) {
            return vec![path];
        }
        let glob =
            inside(at, word).filter(|_| word.contains(['*', '?', '[']) && !word.contains(' '));
        let glob = glob.and_then(|it| {
            GlobBuilder::new(&it.to_string_lossy()).literal_separator(true).build().ok()
        });
        let Some(glob) = glob.map(|it| it.compile_matcher()) else { return Vec::new() };
        let paths = self.start.paths().keys().filter(|path| glob.is_match(path));
        paths.take(MOST).cloned().collect()
    }

    /// The file of a module of Python: `tests.test_a.TestA.test_b`.
    fn module(&self, name: &str, at: &Path) -> Option<PathBuf> {
        let mut name = name;
        loop {
            let path = at.join(name.replace('.', "/"));
            let files =
                [path.with_extension("py"), path.join("__main__.py"), path.join("__init__.py")];
            let found = files.into_iter().find(|path| self.start.paths().contains_key(path));
            if found.is_some() {
                return found;
            }
            name = name.rsplit_once('.')?.0;
        }
    }
}

/// Does a command compare files as a whole?
fn compares_whole(words: &[String]) -> bool {
    words.first().is_some_and(|word| matches!(name_of(word), "diff" | "cmp" | "comm"))
}

/// Does a line look at something after a command that it runs?
fn looks_later(later: &[ShellCommand]) -> bool {
    let exits = ["exit", "echo", "true", ":", "cd"];
    later.iter().any(|it| {
        let first = it.words.first();
        let looks = it.compared || first.is_some_and(|word| program(word) == Program::Looks);
        looks && !first.is_some_and(|word| exits.contains(&word.as_str()))
    })
}

/// Whether words run tests, whatever they name.
pub(super) fn is_runner(words: &[String]) -> bool {
    let Some((first, rest)) = words.split_first() else { return false };
    let runs = |word: &String| {
        let name = name_of(word).rsplit('/').next().unwrap_or(word);
        program(name) == Program::Runner
    };
    let module = rest.iter().position(|word| word == "-m").and_then(|at| rest.get(at + 1));
    let verb = rest.first().is_some_and(|word| word == "test");
    runs(first)
        || rest.iter().any(|word| word == "--test" || word == "vitest" || word == "jest")
        || module.is_some_and(|name| {
            matches!(name.as_str(), "pytest" | "unittest" | "nose2" | "doctest")
        })
        || verb
            && matches!(
                name_of(first),
                "cargo" | "go" | "bun" | "deno" | "dart" | "swift" | "dotnet"
            )
        || program(first) == Program::Interpreter && rest.iter().take(2).any(runs)
}

/// Is it the name of a helper of tests, rather than of a product that checks something?
fn helps_tests(path: &Path) -> bool {
    const WORDS: [&str; 9] =
        ["assert", "asserts", "expect", "fixture", "harness", "mock", "spec", "test", "tests"];
    let name = path.file_stem().and_then(|it| it.to_str()).unwrap_or_default().to_lowercase();
    name.split(|c: char| !c.is_alphanumeric()).any(|word| WORDS.contains(&word))
        || name.starts_with("test") && name.contains("util")
}

/// Does an interpreter only parse what it gets: `node --check`, `sh -n`, `php -l`?
pub(in crate::verify) fn only_parses(first: &str, rest: &[String]) -> bool {
    let options: Vec<&str> = rest.iter().map(String::as_str).collect();
    match program(first) {
        Program::Shell => options.contains(&"-n"),
        Program::Interpreter => {
            let options_only = options.iter().take_while(|it| it.starts_with('-'));
            options_only
                .clone()
                .any(|it| matches!(*it, "--check" | "-l" | "-wc" | "-c" if !first.contains("py")))
                || matches!(options.as_slice(), ["-m", "py_compile" | "compileall", ..])
        }
        _ => false,
    }
}

/// Does a program only read, lint, or compile its files?
pub(in crate::verify) fn only_looks(name: &str) -> bool {
    program(name) == Program::Looks
}

/// The code that an interpreter gets as a word.
fn inline_code(first: &str, rest: &[String]) -> Option<String> {
    let is_shell = program(first) == Program::Shell;
    let takes = |word: &String| {
        let letters = word.strip_prefix('-').filter(|it| !it.starts_with('-'));
        let last = letters.and_then(|it| it.chars().last());
        last.is_some_and(|c| if is_shell { c == 'c' } else { matches!(c, 'c' | 'e' | 'r' | 'E') })
    };
    let at = rest.iter().position(takes)?;
    let before = &rest[..at];
    let code = rest.get(at + 1)?;
    (before.iter().all(|word| word.starts_with('-')) && code.contains([' ', '(', ';', '.']))
        .then(|| code.clone())
}

/// The files of the tree that code loads.
pub(super) fn loaded(tree: &dyn SourceTree, file: &Path, code: &str) -> BTreeSet<PathBuf> {
    const ENDINGS: [&str; 9] =
        ["", ".py", "/__init__.py", ".js", ".mjs", ".cjs", ".ts", "/index.js", ".rb"];
    let Some(pattern) = language(file, code).and_then(|it| it.loads.as_ref()) else {
        return BTreeSet::new();
    };
    let here = folder(file);
    let names = pattern.captures_iter(code).filter_map(|found| {
        let name = found.iter().skip(1).flatten().next()?;
        // `"$(dirname "$0")/lib.sh"` is looked for below each folder above.
        let mut parts = name.as_str().rsplit(['}', ')', '"', '\'']).map(str::trim);
        let name = parts.find(|it| !it.is_empty())?;
        Some(name.trim_start_matches('/').to_owned())
    });
    let mut files = BTreeSet::new();
    for name in names {
        let is_module = file.extension().is_some_and(|it| it == "py");
        let name = if is_module { name.replace('.', "/") } else { name };
        for above in here.ancestors() {
            let found = ENDINGS.iter().find_map(|ending| {
                let path = inside(above, &format!("{name}{ending}"))?;
                tree.paths().contains_key(&path).then_some(path)
            });
            if let Some(found) = found {
                files.insert(found);
                break;
            }
        }
    }
    files
}
