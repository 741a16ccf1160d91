//! Where the text of a word of shell comes from: a program of the work, or files that are read.

use std::collections::BTreeSet;
use std::ops::Range;
use std::path::PathBuf;
use std::sync::LazyLock;

use regex::Regex;

use super::awk;
use super::expected_code;
use super::languages::{self, Started};
use super::origin::Origin;
use super::paths::inside;
use super::programs::{self, Program, lists, name_of};
use super::reader::{ReadAt, Reader};
use super::shell::{Flow, Into, ShellCommand, scan};
use super::showing;
use super::values::{Assigned, variable};
use super::wrappers::unwrapped;

/// Programs that make nothing of the work: they show the system, git's records, or nothing.
const NEUTRAL: &str = "
    : (( [ [[ basename break cd chmod chown command continue cp date declare dirname exit export false
    file find git hash hostname id kill let ln local locale ls mapfile mkdir mktemp mv nproc pwd
    read readarray readlink readonly realpath return rm rmdir seq set shift sleep stat test touch
    trap true type typeset ulimit umask uname unset wait which whoami yes for while until if
";

/// How far a text is followed.
pub(super) const MOST_DEPTH: usize = 8;

/// The commands of a text with what is known of them.
pub(super) struct Origins<'a> {
    reader: &'a Reader<'a>,
    place: &'a ReadAt,
    pub(super) commands: &'a [ShellCommand],
    flow: &'a Flow,
    assigned: Assigned<'a>,
    /// Files that the text writes.
    written: BTreeSet<&'a str>,
}

impl<'a> Origins<'a> {
    pub(super) fn new(
        reader: &'a Reader<'a>,
        commands: &'a [ShellCommand],
        flow: &'a Flow,
        place: &'a ReadAt,
    ) -> Self {
        let assigned = Assigned {
            start: reader.start,
            folder: &place.folder,
            commands,
            arguments: &place.arguments,
        };
        let written = commands.iter().flat_map(|it| &it.outputs).map(String::as_str).collect();
        Self { reader, place, commands, flow, assigned, written }
    }

    pub(super) fn reader(&self) -> &'a Reader<'a> {
        self.reader
    }

    pub(super) fn place(&self) -> &'a ReadAt {
        self.place
    }

    /// Does the code that a shell is given run a program?
    pub(super) fn runs_in_code(&self, shell: &str, arguments: &[String]) -> bool {
        let Started::Code(codes, _) = languages::arguments(shell, arguments).started else {
            return false;
        };
        let commands = scan(&codes.concat());
        let flow = Flow::default();
        let inner = Origins::new(self.reader, &commands, &flow, self.place);
        (0..commands.len()).any(|at| inner.of_command(at, 2).made)
    }

    /// A file of the start by a word.
    pub(super) fn known(&self, word: &str) -> Option<PathBuf> {
        self.reader.file(word, self.place)
    }

    /// What commands print.
    fn of_commands(&self, commands: &Range<usize>, depth: usize) -> Origin {
        let mut origin = Origin::default();
        commands.clone().for_each(|at| origin.join(self.of_command(at, depth)));
        origin
    }

    /// What a command prints.
    pub(super) fn of_command(&self, at: usize, depth: usize) -> Origin {
        let Some(depth) = depth.checked_sub(1) else { return Origin::default() };
        let command = &self.commands[at];
        let words = unwrapped(&command.words);
        let Some((word, arguments)) = words.split_first() else { return self.input(at, depth) };
        let name = name_of(word);
        let of = |it: &ShellCommand| it.function.as_deref() == Some(name);
        if self.commands.iter().any(of) {
            let mut origin = Origin::default();
            let body = (0..self.commands.len()).filter(|other| of(&self.commands[*other]));
            body.filter(|other| *other != at)
                .for_each(|other| origin.join(self.of_command(other, depth)));
            return origin;
        }
        if showing::shows(name) {
            let mut origin = self.of_words(at, depth);
            for operand in showing::files(name, arguments) {
                origin.join(self.of_file(operand, at, depth));
            }
            origin.join(self.input(at, depth));
            return origin;
        }
        if matches!(name, "echo" | "printf") {
            return self.of_words(at, depth);
        }
        if lists(NEUTRAL, name) {
            return Origin::default();
        }
        match programs::program(word) {
            Program::Interpreter => {
                let Some(code) = expected_code::code(name, arguments, command) else {
                    return Origin::made();
                };
                let mut origin = self.of_words(at, depth);
                origin.join(expected_code::reads(self.reader, self.place, name, &code));
                if code.reads_input() {
                    origin.join(self.input(at, depth));
                }
                origin
            }
            Program::Looks if !matches!(name, "curl" | "psql" | "sqlite3") => Origin::default(),
            _ => Origin::made(),
        }
    }

    /// What the words of a command hold.
    pub(super) fn of_words(&self, at: usize, depth: usize) -> Origin {
        let mut origin = Origin::default();
        let count = self.commands[at].words.len();
        (0..=count).for_each(|word| origin.join(self.of_word(at, word, depth)));
        origin
    }

    /// What each substitution in a word prints.
    pub(super) fn captured(&self, at: usize, word: usize, depth: usize) -> Vec<Origin> {
        let here =
            |into: &Into| matches!(into, Into::Word(by, place) if *by == at && *place == word);
        let captures = self.flow.captures.iter().filter(|capture| here(&capture.into));
        captures.map(|capture| self.of_commands(&capture.commands, depth)).collect()
    }

    /// What a word of a command holds: substitutions, and variables.
    pub(super) fn of_word(&self, at: usize, word: usize, depth: usize) -> Origin {
        let mut origin = Origin::default();
        let Some(depth) = depth.checked_sub(1) else { return origin };
        for capture in &self.flow.captures {
            if matches!(capture.into, Into::Word(by, place) if by == at && place == word) {
                origin.join(self.of_commands(&capture.commands, depth));
            }
        }
        // Inside of a substitution, `'{ print $1 }'` is code of awk.
        static QUOTED: LazyLock<Regex> = LazyLock::new(|| Regex::new("'[^']*'").expect("valid"));
        let text = self.commands[at].words.get(word).filter(|text| !awk::has_fields(text));
        match text {
            Some(text) if text.contains("$(") => {
                origin.join(self.of_text(&QUOTED.replace_all(text, ""), depth));
            }
            Some(text) => origin.join(self.of_text(text, depth)),
            None => {}
        }
        origin
    }

    /// The values that a `case` compares, and its labels.
    pub(super) fn of_cases(&self) -> Vec<Origin> {
        let captures = self.flow.captures.iter().filter(|it| matches!(it.into, Into::Case));
        let captures = captures.map(|it| self.of_commands(&it.commands, MOST_DEPTH));
        let words = self.flow.cases.iter().map(|word| self.of_text(word, MOST_DEPTH));
        captures.chain(words).collect()
    }

    /// What the variables in a text hold.
    pub(super) fn of_text(&self, text: &str, depth: usize) -> Origin {
        let mut origin = Origin::default();
        let mut rest = text;
        while let Some((_, name, _, after)) = variable(rest) {
            origin.join(self.of_variable(name, depth));
            rest = after;
        }
        origin
    }

    fn of_variable(&self, name: &str, depth: usize) -> Origin {
        let (mut origin, mut unnamed) = (Origin::default(), Origin::default());
        let Some(depth) = depth.checked_sub(1).filter(|_| !name.is_empty()) else { return origin };
        if let Ok(number) = name.parse::<usize>() {
            return self.of_argument(number, depth);
        }
        for capture in &self.flow.captures {
            if matches!(&capture.into, Into::Variable(to) if to == name) {
                origin.join(self.of_commands(&capture.commands, depth));
            }
        }
        for (at, command) in self.commands.iter().enumerate() {
            for (to, value) in &command.assignments {
                if to == name && value != &format!("${name}") {
                    origin.join(self.of_text(value, depth));
                }
            }
            let program = command.words.first().map_or("", String::as_str);
            let named = || command.words.iter().skip(1).any(|word| word == name);
            match program {
                "read" | "mapfile" | "readarray" if named() => {
                    origin.join(self.of_read(at, depth));
                }
                "printf" if named() => origin.join(self.of_words(at, depth)),
                // `export $(xargs < vars)` sets variables of unknown names.
                "export" | "declare"
                    if command.words.iter().skip(1).all(|it| !it.contains('=')) =>
                {
                    unnamed.join(self.of_words(at, depth));
                }
                // Bats keeps what it prints.
                "run" if matches!(name, "output" | "lines") => origin.made = true,
                _ => {}
            }
        }
        if origin == Origin::default() { unnamed } else { origin }
    }

    /// What a function, `set --`, or the caller of the script gives.
    fn of_argument(&self, number: usize, depth: usize) -> Origin {
        let mut origin = Origin::default();
        let mut known = !self.place.arguments.is_empty();
        for (at, command) in self.commands.iter().enumerate() {
            let first = command.words.first().map_or("", String::as_str);
            let is_call = self.commands.iter().any(|it| it.function.as_deref() == Some(first));
            known |= is_call;
            if is_call && command.function.as_deref() != Some(first) {
                origin.join(self.of_word(at, number, depth));
            }
            if first == "set" && command.words.get(1).is_some_and(|word| word == "--") {
                known = true;
                // The words of one substitution are several arguments.
                origin.join(self.of_words(at, depth));
            }
        }
        if known { origin } else { Origin::made() }
    }

    /// What `read` takes: its own input, or that of the loop around it.
    pub(super) fn of_read(&self, at: usize, depth: usize) -> Origin {
        let has_input = |at: usize| {
            let it = &self.commands[at];
            !it.stdin.is_empty() || it.document.is_some()
        };
        if has_input(at) || self.piped(at).is_some() {
            return self.input(at, depth);
        }
        let ends = |other: &usize| self.commands[*other].words.is_empty() && has_input(*other);
        if let Some(end) = (at + 1..self.commands.len()).find(ends) {
            return self.input(end, depth);
        }
        // `exec 3< x; read w <&3`, `{ read a; read b; }`
        let before = |other: &usize| {
            let first = self.commands[*other].words.first().map_or("", String::as_str);
            first == "exec" && has_input(*other)
                || first == "read" && (has_input(*other) || self.piped(*other).is_some())
        };
        (0..at).rev().find(before).map_or_else(Origin::default, |other| self.input(other, depth))
    }

    /// The command before a command in its pipeline.
    fn piped(&self, at: usize) -> Option<usize> {
        let pipeline = self.commands[at].pipeline;
        (0..at).rev().find(|other| self.commands[*other].pipeline == pipeline)
    }

    /// The standard input of a command.
    pub(super) fn input(&self, at: usize, depth: usize) -> Origin {
        let mut origin = Origin::default();
        let Some(depth) = depth.checked_sub(1) else { return origin };
        let command = &self.commands[at];
        for name in command.stdin.iter().filter(|name| !name.is_empty()) {
            origin.join(self.of_file(name, at, depth));
        }
        // `< <(cat x)`
        origin.join(self.of_word(at, command.words.len(), depth));
        if let Some(text) = &command.document {
            origin.join(self.of_document(text, depth));
        }
        if let Some(before) = self.piped(at) {
            origin.join(self.of_command(before, depth));
        }
        for capture in &self.flow.captures {
            if matches!(capture.into, Into::Pipeline(to) if to == command.pipeline) {
                origin.join(self.of_commands(&capture.commands, depth));
            }
        }
        origin
    }

    /// A here-document, or a here-string.
    fn of_document(&self, text: &str, depth: usize) -> Origin {
        let mut origin = self.of_text(text, depth);
        if text.contains("$(") || text.contains('`') {
            let quoted = format!("printf %s \"{}\"", text.replace('"', "\\\""));
            let commands = scan(&quoted);
            let flow = Flow::default();
            let inner = Origins::new(self.reader, &commands, &flow, self.place);
            (0..commands.len()).for_each(|at| origin.join(inner.of_command(at, depth)));
        }
        origin
    }

    /// The content of a file that a word names.
    pub(super) fn of_file(&self, word: &str, at: usize, depth: usize) -> Origin {
        let mut origin = Origin::default();
        let plain = |word: &str| word.trim_start_matches("./").to_owned();
        if word.is_empty() || word == "{}" {
            return origin;
        }
        if matches!(word, "-" | "/dev/stdin" | "/dev/fd/0") {
            return self.input(at, depth);
        }
        let mut unknown = self.written.contains(plain(word).as_str());
        for value in self.assigned.values(word) {
            if self.written.contains(plain(&value).as_str()) {
                origin.made = true;
            } else if let Some(path) = self.known(&value) {
                origin.files.insert(path);
            } else {
                let names = self.assigned.matching(&value);
                let inside = self.inside(&value);
                let is_known = !names.is_empty() || !inside.is_empty();
                unknown |= !is_known && !value.contains(char::is_whitespace);
                origin.files.extend(names.iter().filter_map(|name| self.known(name)));
                origin.files.extend(inside);
            }
        }
        origin.made |= unknown;
        origin
    }

    /// The files in a folder of the start.
    fn inside(&self, word: &str) -> Vec<PathBuf> {
        let Some(folder) = inside(&self.place.folder, word) else { return Vec::new() };
        if folder.as_os_str().is_empty() {
            return Vec::new();
        }
        let files = self.reader.start.paths().range(folder.clone()..).map(|(path, _)| path);
        files.take_while(|path| path.starts_with(&folder)).cloned().collect()
    }
}
