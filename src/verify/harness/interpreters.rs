//! Interpreters: which script or module they run.

use std::path::{Path, PathBuf};

use globset::Glob;

use super::named;
use super::paths::{file_name, inside, normal, sounds_like_a_check};
use super::programs::{self, Program};
use super::reader::{ReadAt, Reader};
use super::shell::ShellCommand;
use super::sources;
use super::tools;

impl Reader<'_> {
    /// A shell or another program that runs the script that it is given.
    pub(super) fn interpreter(
        &mut self,
        program: &str,
        arguments: &[String],
        command: &ShellCommand,
        before: &[ShellCommand],
        place: &ReadAt,
        depth: usize,
    ) {
        let shell = programs::program(program) == Program::Shell;
        let mut options_end = false;
        let mut rest = arguments.iter();
        while let Some(word) = rest.next() {
            let short = word.starts_with('-') && !word.starts_with("--");
            let next = rest.as_slice().first();
            match word.as_str() {
                _ if options_end => {
                    self.script(word, rest.as_slice(), command, place, depth);
                    return self.subjects(rest.as_slice(), place);
                }
                "-" | "-s" => break,
                "--" => options_end = true,
                "-n" if shell => return self.subjects(rest.as_slice(), place),
                "--test" | "--run" => {
                    if word == "--run" {
                        return named::run(self, "npm", arguments, true, place, depth);
                    }
                    return self.runner(rest.as_slice(), place, depth);
                }
                "-m" if program.starts_with("py") => {
                    return self.module(rest.as_slice(), command, place, depth);
                }
                "-r" | "--require" | "--import" | "--loader" | "--preload" => {
                    if let Some(path) = next.and_then(|name| self.file(name, place)) {
                        self.judge(&path, place, depth);
                    }
                    rest.next();
                }
                _ if shell && short && word.ends_with('o') && !word.contains('c') => {
                    rest.next();
                }
                "-o" | "-O" | "-W" | "-X" | "-I" | "-d" | "-M" | "+o" => {
                    rest.next();
                }
                _ if shell && short && word.contains('c') => {
                    let pipefail = arguments.iter().any(|word| word == "pipefail");
                    let before = if pipefail { "set -o pipefail\n" } else { "" };
                    if let Some(code) = next {
                        let arguments = rest.as_slice().get(2..).unwrap_or_default().to_vec();
                        let place = ReadAt { arguments, ..place.clone() };
                        self.lines(&format!("{before}{code}"), &place, depth + 1);
                    }
                    return;
                }
                "-c" | "-e" | "-p" | "-pe" | "-ne" | "--eval" | "--print" => {
                    if let Some(code) = next {
                        sources::of_code(self, program, code, place, depth);
                    }
                    self.subjects(rest.as_slice().get(1..).unwrap_or_default(), place);
                    return;
                }
                _ if word.starts_with('-') => {}
                _ if programs::program(word) == Program::Runner && word.contains('/') => {
                    return self.runner(rest.as_slice(), place, depth);
                }
                _ => {
                    let runs = program.starts_with("deno") || program.starts_with("bun");
                    if runs && self.file(word, place).is_none() {
                        continue;
                    }
                    self.script(word, rest.as_slice(), command, place, depth);
                    return self.subjects(rest.as_slice(), place);
                }
            }
        }
        self.standard_input(program, command, before, place, depth);
    }

    /// The program comes from the standard input.
    fn standard_input(
        &mut self,
        program: &str,
        command: &ShellCommand,
        before: &[ShellCommand],
        place: &ReadAt,
        depth: usize,
    ) {
        let shell = programs::program(program) == Program::Shell;
        if let Some(code) = &command.document {
            if shell {
                self.lines(code, place, depth + 1);
            } else {
                sources::of_code(self, program, code, place, depth);
            }
        }
        let piped = before.iter().filter(|other| other.pipeline == command.pipeline);
        if shell {
            for other in piped.clone() {
                self.texts(&other.words, place, depth);
                let documents = other.document.iter();
                documents.for_each(|text| self.lines(text, place, depth + 1));
            }
        }
        let piped = piped.flat_map(|other| other.words.iter().skip(1));
        let words: Vec<String> = command.stdin.iter().chain(piped).cloned().collect();
        self.blind |= command.decides && command.document.is_none();
        for word in words {
            if let Some(path) = self.file(&word, place) {
                self.blind = false;
                self.found.subjects.remove(&path);
                self.judge(&path, place, depth);
            }
        }
    }

    /// `python -m MODULE`.
    fn module(
        &mut self,
        arguments: &[String],
        command: &ShellCommand,
        place: &ReadAt,
        depth: usize,
    ) {
        let Some((module, rest)) = arguments.split_first() else { return };
        match module.as_str() {
            "coverage" | "cProfile" | "trace" => {
                let rest = rest.iter().skip_while(|word| word.as_str() != "-m").skip(1);
                let rest: Vec<String> = rest.cloned().collect();
                self.module(&rest, command, place, depth);
            }
            "pytest" | "nose2" | "nose" | "tox" | "nox" | "behave" | "robot" => {
                self.runner(rest, place, depth);
                tools::configured(self, module, place, depth);
            }
            "unittest" => {
                self.runner(rest, place, depth);
                self.discovered(rest, place, depth);
                for name in rest.iter().filter(|word| !word.starts_with('-')) {
                    if let Some(path) = self.python_module(name, place) {
                        self.judge(&path, place, depth);
                    }
                }
            }
            "py_compile" | "compileall" | "pyflakes" | "flake8" | "mypy" | "ruff" | "pylint"
            | "black" | "isort" | "json.tool" | "doctest" | "tabnanny" | "venv" | "pip" => {
                self.subjects(rest, place);
            }
            _ => {
                if let Some(path) = self.python_module(module, place) {
                    self.executed(&path, command, place, depth);
                    self.parent_packages(&path);
                }
                self.subjects(rest, place);
            }
        }
    }

    /// `discover -s FOLDER -p PATTERN`: the pattern says what is a test.
    fn discovered(&mut self, arguments: &[String], place: &ReadAt, depth: usize) {
        let after = |names: [&str; 2]| {
            let at = arguments.iter().position(|word| names.contains(&word.as_str()))?;
            arguments.get(at + 1)
        };
        let Some(pattern) = after(["-p", "--pattern"]) else { return };
        let root = after(["-s", "--start-directory"]).map_or(".", String::as_str);
        let Some(root) = normal(&place.folder.join(root)) else { return };
        let Ok(pattern) = Glob::new(pattern) else { return };
        let pattern = pattern.compile_matcher();
        let found = self.start.paths().keys().filter(|path| path.starts_with(&root));
        let found: Vec<_> =
            found.filter(|path| pattern.is_match(file_name(path))).cloned().collect();
        for path in found {
            self.judge(&path, place, depth);
        }
    }

    /// The file of a dotted name, also if it names a class or a function in it.
    fn python_module(&self, name: &str, place: &ReadAt) -> Option<PathBuf> {
        let mut name = name;
        loop {
            let path = name.replace('.', "/");
            for candidate in [format!("{path}.py"), format!("{path}/__main__.py")] {
                if let Some(path) = inside(&place.folder, &candidate)
                    && self.start.paths().contains_key(&path)
                {
                    return Some(path);
                }
            }
            name = name.rsplit_once('.')?.0;
        }
    }

    /// The `__init__.py` of packages that hold nothing but checks.
    fn parent_packages(&mut self, module: &Path) {
        for package in module.ancestors().skip(1) {
            if sounds_like_a_check(file_name(package)) {
                let path = package.join("__init__.py");
                if self.start.paths().contains_key(&path) {
                    self.found.files.insert(path);
                } else {
                    self.found.shadows.insert(path);
                }
            }
        }
    }
}
