//! Judges and subjects: which files of the start decide a check, by its command.
//!
//! A program whose exit status is the check's status is a judge. A program whose output the check
//! captures, pipes, or compares is a subject, and so is a file that a reader or a compiler only
//! looks at.

use std::path::{Path, PathBuf};

use super::expand::Variables;
use super::files::SourceTree;
use super::named;
use super::paths::{file_name, normal, sounds_like_a_check};
use super::programs::{self, Program};
use super::reader::{Judges, ReadAt, Reader, Unread};
use super::shell::{ShellCommand, Use, scan};
use super::sources;
use super::table::Table;
use super::tools;

/// Finds the judges of shell lines in the start's tree.
pub fn judges(start: &dyn SourceTree, table: &Table, commands: &[&str]) -> Judges {
    let mut reader = Reader::new(start, table);
    for command in commands {
        reader.lines(command, &ReadAt { folder: PathBuf::new(), script: None, direct: true }, 0);
    }
    while let Some((what, place, depth)) = reader.unread.pop() {
        match what {
            Unread::Lines(text) => reader.read(&text, &place, depth),
            Unread::Judge(path) => sources::of_judge(&mut reader, &path, &place, depth),
        }
    }
    reader.found
}

impl Reader<'_> {
    fn read(&mut self, text: &str, place: &ReadAt, depth: usize) {
        let commands = scan(text);
        let mut place = place.clone();
        let mut variables = Variables::default();
        for (at, command) in commands.iter().enumerate() {
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
                self.command(&command, &commands[..at], &commands, &place, depth);
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
        for (_, value) in &command.assignments {
            if let Some(path) = self.file(value, place)
                && sounds_like_a_check(file_name(&path))
            {
                self.judge(&path, place, depth);
            }
        }
        let words = programs::unwrapped(&command.words);
        let Some((program, arguments)) = words.split_first() else { return };
        let decides = command.usage == Use::Status;
        // `uv run gate.py`, `coverage run -m gate`.
        if program == "-m" || (program.ends_with(".py") && !program.contains('/')) {
            return self.interpreter("python", words, command, before, place, depth);
        }
        if let Some(inner) = programs::executed_words(words) {
            let inner = ShellCommand { words: inner.to_vec(), ..command.clone() };
            return self.command(&inner, before, all, place, depth);
        }
        match programs::program(program) {
            Program::Shell => self.interpreter(program, arguments, command, before, place, depth),
            Program::Interpreter => {
                self.interpreter(program, arguments, command, before, place, depth);
            }
            Program::Source => {
                if let Some(name) = arguments.first() {
                    sources::sourced(self, name, all, place, depth);
                }
            }
            Program::Eval => {
                let inner = arguments.join(" ");
                self.lines(&inner, place, depth + 1);
            }
            Program::Text => {
                if let Some(code) = programs::text_argument(arguments) {
                    self.lines(code, place, depth + 1);
                }
            }
            Program::Runner => {
                if let Some(path) = self.file(program, place) {
                    self.judge(&path, place, depth);
                }
                self.runner(arguments, place, depth);
                tools::configured(self, file_name(Path::new(program)), place, depth);
            }
            Program::Entry => named::run(self, program, arguments, place, depth),
            Program::Looks => self.looks(program, arguments, place, depth),
            Program::Other => {
                self.subjects(arguments, place);
                if program.contains('/')
                    && let Some(path) = self.file(program, place)
                {
                    self.executed(&path, decides, place, depth);
                }
            }
        }
    }

    fn looks(&mut self, program: &str, arguments: &[String], place: &ReadAt, depth: usize) {
        let programmable = ["grep", "egrep", "fgrep", "rg", "awk", "gawk", "mawk", "sed", "jq"];
        let comparing = ["diff", "cmp", "comm"];
        let mut rest = arguments.iter();
        while let Some(word) = rest.next() {
            if programmable.contains(&program)
                && let Some(glued) = programs::program_file(word)
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
