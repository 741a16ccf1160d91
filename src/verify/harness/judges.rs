//! Judges and subjects: which files of the start decide a check, by its command.
//!
//! A program that a check runs is a judge, in any form. Only a program whose output the check
//! clearly compares is a subject, and so is a file that a reader or a compiler only looks at. In
//! case of doubt, a program is a judge.

use std::path::{Path, PathBuf};

use globset::Glob;

use super::awk;
use super::builds;
use super::data;
use super::expand::{Copies, Variables, globbed};
use super::expected;
use super::files::{SourceTree, text};
use super::loaded;
use super::loaders;
use super::named;
use super::paths::{file_name, inside, normal, sounds_like_a_check};
use super::programs::{self, Program, name_of};
use super::reader::{Judges, ReadAt, Reader, Unread};
use super::shell::{ShellCommand, looked_at_files, scan_within};
use super::sources;
use super::table::Table;
use super::tasks;
use super::tools;
use super::wrappers::{split_string, unwrapped};

/// Finds the judges of shell lines in the start's tree.
pub fn judges(start: &dyn SourceTree, table: &Table, commands: &[&str]) -> Judges {
    let mut reader = Reader::new(start, table);
    for command in commands {
        reader.lines(command, &ReadAt { direct: true, ..ReadAt::default() }, 0);
    }
    reader.read_all();
    reader.finish()
}

/// Is it a program of awk, jq, or sed whose output is compared, and whose input is from `printf` and
/// the like?
fn is_compared_filter(before: &[ShellCommand], command: &ShellCommand) -> bool {
    let piped = before.iter().rev().take_while(|it| it.pipeline == command.pipeline);
    command.compared
        && command.words.first().is_some_and(|word| {
            word.ends_with("awk") || ["jq", "gojq", "sed"].contains(&word.as_str())
        })
        && piped
            .filter_map(|it| it.words.first())
            .all(|word| loaders::PRINTS.contains(&word.as_str()))
}

/// Is a script named for what it makes: `build.sh`, `gen_colors.py`?
fn makes(script: &Path) -> bool {
    const VERBS: [&str; 14] = [
        "build", "bundle", "compile", "convert", "export", "gen", "generate", "install", "make",
        "minify", "pack", "package", "release", "render",
    ];
    let stem = script.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default();
    stem.split(['-', '_', '.']).next().is_some_and(|verb| VERBS.contains(&verb))
}

impl Reader<'_> {
    /// Reads until nothing is left.
    pub(super) fn read_all(&mut self) {
        while let Some((what, place, depth)) = self.unread.pop() {
            match what {
                Unread::Lines(text) => self.read(&text, &place, depth),
                Unread::Judge(path) => sources::of_judge(self, &path, &place, depth),
            }
        }
    }

    fn read(&mut self, text: &str, place: &ReadAt, depth: usize) {
        let mut compared = place.compared_here();
        compared.files.extend(data::summed(self, text, place));
        let (commands, flow) = scan_within(text, &compared);
        data::of_text(self, text, place);
        let expected = expected::files(self, &commands, &flow, place);
        self.expected.extend(expected.all);
        self.with_values.extend(expected.compared);
        let mut place = place.clone();
        let mut variables = Variables::of(&place.arguments);
        let mut copies = Copies::default();
        self.blind = false;
        for (at, command) in commands.iter().enumerate() {
            // A label of a `case`.
            if let [label] = command.words.as_slice()
                && label.contains('*')
                && !label.contains('/')
            {
                continue;
            }
            variables.assign(self.start, &place.folder, command);
            if let [cd, to, ..] = command.words.as_slice()
                && (cd == "cd" || cd == "pushd")
            {
                if let Some(there) = normal(&place.folder.join(to)) {
                    place.folder = there;
                }
                continue;
            }
            for command in variables.expand(self.start, &place.folder, command) {
                let place = place.run_by(&command, &commands[at + 1..]);
                let words = copies.replaced(&command.words);
                copies.add(&command.words);
                let command = ShellCommand { words, ..command };
                self.command(&command, &commands[..at], &commands, &place, depth);
            }
        }
        if std::mem::take(&mut self.blind) {
            self.everything_named(&commands, &place, depth);
        }
    }

    /// Words that may hold lines of shell: `trap 'sh x' EXIT`, `echo 'sh x' | sh`.
    pub(super) fn texts(&mut self, words: &[String], place: &ReadAt, depth: usize) {
        for word in words.iter().filter(|word| word.trim().contains(char::is_whitespace)) {
            self.lines(&word.replace("\\n", "\n"), place, depth + 1);
        }
    }

    /// A script of unknown name runs: each file that the text names may be it.
    fn everything_named(&mut self, commands: &[ShellCommand], place: &ReadAt, depth: usize) {
        // A compiler's input is no script.
        let looks = |command: &&ShellCommand| {
            let program = command.words.first();
            program.is_some_and(|word| programs::program(word) == Program::Looks)
        };
        let compiles = |command: &&ShellCommand| {
            command.words.first().is_some_and(|word| programs::compiles(word))
        };
        let may_name = |it: &&ShellCommand| (!it.compared || looks(it)) && !compiles(it);
        for command in commands.iter().filter(may_name) {
            let values = command.assignments.iter().map(|(_, value)| value);
            let words: Vec<&String> =
                command.words.iter().chain(&command.stdin).chain(values).collect();
            let lists = words.first().is_some_and(|word| {
                matches!(word.as_str(), "find" | "ls" | "fd" | "fdfind" | "git")
            });
            let odd = |c: char| !(c.is_alphanumeric() || "_-./*?".contains(c));
            for word in words.iter().flat_map(|word| word.split(odd)) {
                let word = word.trim_start_matches('-');
                let names = globbed(self.start, &place.folder, word);
                for name in names.unwrap_or_else(|| vec![word.to_owned()]) {
                    let below = inside(&place.folder, &name).filter(|_| lists);
                    let glob = Glob::new(&name).ok().filter(|_| lists && name.contains('*'));
                    let glob = glob.map(|glob| glob.compile_matcher());
                    let files = self.start.paths().keys();
                    let below = files.filter(|path| {
                        below.as_deref().is_some_and(|folder| path.starts_with(folder))
                            || glob.as_ref().is_some_and(|glob| glob.is_match(file_name(path)))
                    });
                    let files: Vec<PathBuf> =
                        below.cloned().chain(self.file(&name, place)).collect();
                    for path in files {
                        self.judge(&path, place, depth);
                    }
                }
            }
        }
    }

    fn command(
        &mut self,
        command: &ShellCommand,
        before: &[ShellCommand],
        all: &[ShellCommand],
        place: &ReadAt,
        depth: usize,
    ) {
        if command.is_loop() {
            return;
        }
        self.assignments(command, place, depth);
        let positional = |word: &&String| matches!(word.as_str(), "$@" | "$*");
        if !place.arguments.is_empty() && command.words.iter().any(|word| positional(&word)) {
            let words = command.words.split(|word| positional(&word));
            let words: Vec<String> = words.collect::<Vec<_>>().join(&place.arguments[..]);
            let place = ReadAt { arguments: Vec::new(), ..place.clone() };
            let command = ShellCommand { words, ..command.clone() };
            return self.command(&command, before, all, &place, depth);
        }
        data::of_input(self, command, place);
        if let Some(words) = split_string(&command.words) {
            let command = ShellCommand { words, ..command.clone() };
            return self.command(&command, before, all, place, depth);
        }
        let words = unwrapped(&command.words);
        let skipped = &command.words[..command.words.len() - words.len()];
        self.texts(skipped, place, depth);
        let Some((word, arguments)) = words.split_first() else { return };
        // `g='sh gate'; $g`
        if word.contains(char::is_whitespace) && self.file(word, place).is_none() {
            let first = word.split_whitespace().map(str::to_owned);
            let words = first.chain(arguments.iter().cloned()).collect();
            let inner = ShellCommand { words, ..command.clone() };
            return self.command(&inner, before, all, place, depth + 1);
        }
        if command.decides && self.makes_what_is_checked(command, words, all, place) {
            let command = ShellCommand { decides: false, compared: true, ..command.clone() };
            return self.command(&command, before, all, place, depth);
        }
        let program = name_of(word);
        if command.code {
            self.runner(arguments, place, depth);
        }
        self.submodules(command, place);
        data::of_sums(self, command, before, place);
        tasks::run(self, &command.words, place, depth);
        builds::run(self, file_name(Path::new(program)), arguments, place, depth);
        loaded::by_files(self, program, place, depth);
        loaders::run(self, (program, arguments), (command, before), place, depth);
        // `uv run gate.py`, `coverage run -m gate`.
        if program == "-m" || (program.ends_with(".py") && !program.contains('/')) {
            return self.interpreter("python", words, command, before, place, depth);
        }
        if let Some(inner) = programs::executed_words(words) {
            let inner = ShellCommand { words: inner.to_vec(), ..command.clone() };
            return self.command(&inner, before, all, place, depth);
        }
        match programs::program(word) {
            Program::Shell => self.interpreter(program, arguments, command, before, place, depth),
            Program::Interpreter => {
                self.interpreter(program, arguments, command, before, place, depth);
            }
            Program::Source => {
                for name in arguments.iter().take(1).chain(&command.stdin) {
                    sources::sourced(self, name, all, place, depth);
                }
            }
            Program::Eval => {
                let inner = arguments.join(" ");
                self.lines(&inner, place, depth + 1);
            }
            Program::Text => match programs::text_argument(arguments) {
                Some(code) => self.lines(code, place, depth + 1),
                None => self.other(word, arguments, (command, before, all), place, depth),
            },
            Program::Runner => {
                if let Some(path) = self.file(word, place) {
                    self.judge(&path, place, depth);
                }
                self.runner(arguments, place, depth);
                tools::configured(self, file_name(Path::new(program)), place, depth);
            }
            Program::Entry => {
                named::run(self, program, arguments, command, place, depth);
            }
            // `printf 1 | awk -f app.awk`: the program is what is compared.
            Program::Looks if is_compared_filter(before, command) => {
                self.subjects(arguments, place)
            }
            Program::Looks => {
                self.looks(program, arguments, place, depth);
                if program.ends_with("awk") && command.decides {
                    self.started_by_awk(arguments, place, depth);
                }
            }
            Program::Other => self.other(word, arguments, (command, before, all), place, depth),
        }
    }

    /// Files that the variables of a command name.
    fn assignments(&mut self, command: &ShellCommand, place: &ReadAt, depth: usize) {
        for (_, value) in &command.assignments {
            if let Some(path) = self.file(value, place)
                && (sounds_like_a_check(file_name(&path))
                    || (command.decides && !command.words.is_empty()))
            {
                self.judge(&path, place, depth);
            }
        }
        let worded = command.words.iter().filter_map(|word| word.split_once('='));
        let assigned =
            command.assignments.iter().map(|(name, value)| (name.as_str(), value.as_str()));
        loaded::by_variables(self, assigned.chain(worded), place, depth);
    }

    /// A program that is none of the known ones.
    fn other(
        &mut self,
        program: &str,
        arguments: &[String],
        (command, before, all): (&ShellCommand, &[ShellCommand], &[ShellCommand]),
        place: &ReadAt,
        depth: usize,
    ) {
        self.subjects(arguments, place);
        self.texts(arguments, place, depth);
        let is_path = program.contains(['/', '$']) && !program.starts_with('/') || program == "{}";
        if is_path {
            self.script(None, program, arguments, command, place, depth);
            if program.contains('$') || self.file(program, place).is_some() {
                return;
            }
        }
        if let Some(at) = programs::inner_program(arguments) {
            // `step sh x`: a function or an unknown program runs the rest.
            let words = arguments[at..].to_vec();
            let inner = ShellCommand { words, ..command.clone() };
            self.command(&inner, before, all, place, depth);
        } else if command.decides && !is_path && program != "git" {
            self.runner(arguments, place, depth);
            if program == "run-parts" {
                self.folders(arguments, place, depth);
            }
        }
    }

    /// Whether a check's line runs a script that makes what the rest of the line looks at:
    /// `python3 gen.py && grep -q BLUE colors.h`. The script's text or its redirection has the name
    /// of the file, or the script is named for what it makes.
    fn makes_what_is_checked(
        &self,
        command: &ShellCommand,
        words: &[String],
        all: &[ShellCommand],
        place: &ReadAt,
    ) -> bool {
        if !place.direct || place.script.is_some() {
            return false;
        }
        let mut files = words.iter().take(4).filter_map(|word| self.file(word, place));
        let runs_scripts = words.first().is_some_and(|word| {
            matches!(programs::program(word), Program::Shell | Program::Interpreter)
                || self.file(word, place).is_some()
        });
        let script = files.next().filter(|_| runs_scripts);
        let Some(script) = script.filter(|path| !self.is_known(path)) else { return false };
        let Some(code) = text(self.start, &script) else { return false };
        let Some(at) = all.iter().position(|it| it.words == command.words) else { return false };
        let looked_at = looked_at_files(all.get(at + 1..).unwrap_or_default());
        let elsewhere = place.compared.files.iter().map(String::as_str);
        let looked_at = looked_at.chain(elsewhere);
        looked_at.filter(|name| *name != script.to_string_lossy()).any(|name| {
            let last = name.rsplit('/').next().unwrap_or(name);
            let is_name = last.len() > 2 && name.contains(['.', '/']);
            let says = || code.contains(last) || command.outputs.iter().any(|it| it == name);
            is_name && (makes(&script) || says())
        })
    }

    /// The files in folders that are run one after the other.
    fn folders(&mut self, words: &[String], place: &ReadAt, depth: usize) {
        let folders: Vec<PathBuf> =
            words.iter().filter_map(|word| inside(&place.folder, word)).collect();
        let is_in = |path: &&PathBuf| folders.iter().any(|it| path.parent() == Some(it));
        let files: Vec<PathBuf> = self.start.paths().keys().filter(is_in).cloned().collect();
        for path in files {
            self.judge(&path, place, depth);
        }
    }

    fn started_by_awk(&mut self, arguments: &[String], place: &ReadAt, depth: usize) {
        for line in arguments.iter().flat_map(|code| awk::commands(code)) {
            self.lines(&line, place, depth + 1);
        }
    }

    fn looks(&mut self, program: &str, arguments: &[String], place: &ReadAt, depth: usize) {
        let programmable = ["grep", "egrep", "fgrep", "rg", "awk", "gawk", "mawk", "sed", "jq"];
        let comparing = ["diff", "cmp", "comm"];
        let mut rest = arguments.iter();
        while let Some(word) = rest.next() {
            if programmable.contains(&program)
                && let Some(glued) = programs::program_file(program, word)
            {
                let name =
                    if glued.is_empty() { rest.next().map(String::as_str) } else { Some(glued) };
                if let Some(path) = name.and_then(|name| self.file(name, place)) {
                    self.judge(&path, place, depth);
                }
            } else if !comparing.contains(&program) {
                self.subjects(std::slice::from_ref(word), place);
            }
        }
    }
}
