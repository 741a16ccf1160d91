//! Interpreters: which script or module they run.

use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use globset::Glob;
use regex::Regex;

use super::calls;
use super::deciding;
use super::entries::json_text::{get, unquoted};
use super::files::text;
use super::languages::{self, InterpreterArguments, Started};
use super::named;
use super::paths::{extension, file_name, inside, normal, sounds_like_a_check};
use super::programs::{self, Program, name_of};
use super::reader::{ReadAt, Reader};
use super::shell::ShellCommand;
use super::sources;
use super::started;
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
        // Scripts of `package.json`.
        if arguments.first().is_some_and(|word| word == "--run") {
            return named::run(self, "npm", arguments, command, place, depth);
        }
        // `java @opts`: the file holds options.
        if let Some(name) = arguments.first().and_then(|word| word.strip_prefix('@'))
            && name_of(program) == "java"
        {
            self.option_file(name, place, depth);
            return self.interpreter(program, &arguments[1..], command, before, place, depth);
        }
        let found = languages::arguments(program, arguments);
        let program = name_of(program);
        for name in &found.values {
            self.option_file(name, place, depth);
            // What a test finds in an archive is the test's, or installed.
            for archive in name.split(':').filter(|part| part.ends_with(".jar")) {
                self.option_file(archive, place, depth);
            }
        }
        let loads = self.loaded_first(program, &found, place, depth);
        match found.started {
            Started::Parsed(rest) => self.subjects(rest, place),
            Started::Tests(rest) => self.runner(rest, place, depth),
            Started::Module(name, rest) => self.module(name, rest, command, place, depth),
            Started::Code(codes, rest) if programs::program(program) == Program::Shell => {
                let name = rest.first().map_or("sh", String::as_str);
                let code = codes.concat().replace("$0", name);
                let arguments = rest.get(1..).unwrap_or_default().to_vec();
                let place = ReadAt { arguments, ..place.clone() };
                self.lines(&format!("{}{code}", found.set), &place, depth + 1);
            }
            Started::Code(codes, rest) => {
                let code = format!("{loads}{}", codes.join("\n"));
                self.inline(program, &code, command.decides, place, depth);
                self.subjects(rest, place);
            }
            Started::Script(word, rest) if is_input(word) => {
                self.subjects(rest, place);
                self.standard_input(program, command, before, place, depth);
            }
            Started::Script(word, rest)
                if programs::program(word) == Program::Runner && word.contains('/') =>
            {
                self.runner(rest, place, depth);
            }
            Started::Script(word, rest) => {
                sources::of_code(self, program, &loads, place, depth);
                let place = &ReadAt { stops: found.set.contains("-e"), ..place.clone() };
                self.script(Some(program), word, rest, command, place, depth);
                self.subjects(rest, place);
            }
            Started::Input => self.standard_input(program, command, before, place, depth),
        }
    }

    /// Modules that an option loads before anything runs, as code: `-MGate`, `-r ./gate`.
    fn loaded_first(
        &mut self,
        program: &str,
        found: &InterpreterArguments<'_>,
        place: &ReadAt,
        depth: usize,
    ) -> String {
        let mut code = String::new();
        if program == "perl" {
            code.extend(found.folders.iter().map(|folder| format!("use lib '{folder}';\n")));
        }
        for name in &found.loads {
            for path in self.scripts(program, name, place) {
                self.judge(&path, place, depth);
            }
            if program == "perl" {
                // `-MCk=all`
                code.push_str(&format!("use {};\n", name.split('=').next().unwrap_or(name)));
                continue;
            }
            let folders = found.folders.iter().map(|folder| format!("{folder}/{name}"));
            for name in std::iter::once((*name).to_owned()).chain(folders) {
                code.push_str(&format!("require '{name}'\n"));
            }
        }
        code
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
                self.inline(program, code, command.decides, place, depth);
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

    /// The files that a word may stand for: a script, also without its ending, a folder with a main
    /// file, or the source of a class.
    pub(super) fn scripts(&self, program: &str, word: &str, place: &ReadAt) -> Vec<PathBuf> {
        const ENDINGS: [&str; 9] = [
            "/__main__.py",
            ".js",
            ".mjs",
            ".cjs",
            ".ts",
            "/index.js",
            "/index.mjs",
            "/index.cjs",
            "/index.ts",
        ];
        if program == "java" && !word.contains('/') && !word.ends_with(".java") {
            let source = PathBuf::from(word.replace('.', "/")).with_extension("java");
            let paths = self.start.paths().keys().filter(|path| path.ends_with(&source));
            return paths.cloned().collect();
        }
        let word = word.trim_end_matches('/');
        let main = inside(&place.folder, &format!("{word}/package.json"))
            .and_then(|path| text(self.start, &path))
            .and_then(|code| get(&code, &["main"]).map(unquoted))
            .map(|main| format!("{word}/{main}"));
        let found = self.file(word, place);
        let found = found.or_else(|| main.and_then(|main| self.file(&main, place)));
        let ended = || ENDINGS.iter().find_map(|end| self.file(&format!("{word}{end}"), place));
        found.or_else(ended).into_iter().collect()
    }

    /// The file in an option: `--env-file=x`, `-d auto_prepend_file=x`.
    fn option_file(&mut self, word: &str, place: &ReadAt, depth: usize) {
        let value = word.split_once('=').map_or(word, |(_, value)| value);
        if let Some(path) = self.file(value, place) {
            self.judge(&path, place, depth);
        }
    }

    /// Code in a command. If it only calls others, what it loads decides.
    fn inline(&mut self, program: &str, code: &str, decides: bool, place: &ReadAt, depth: usize) {
        sources::of_code(self, program, code, place, depth);
        if decides {
            started::of_code(self, program, code, place, depth);
        }
        if !decides || !place.direct {
            return;
        }
        let calls = only_calls(code);
        // The program is what the code loads.
        for path in sources::loaded(self, program, code, place) {
            let text = text(self.start, &path).unwrap_or_default();
            if starts_and_fails(program, &text) {
                self.judge(&path, place, depth);
            }
        }
        let named = |path: &&PathBuf| {
            programs::runs(program, extension(path))
                && deciding::mentions(code, deciding::loaded_name(path))
        };
        let paths: Vec<_> = self.start.paths().keys().filter(named).cloned().collect();
        for path in paths {
            let text = text(self.start, &path).unwrap_or_default();
            if calls || deciding::is_test_code(&path, &text) || deciding::fails(&path, &text) {
                self.judge(&path, place, depth);
            }
        }
    }

    /// `python -m MODULE`.
    fn module(
        &mut self,
        module: &str,
        rest: &[String],
        command: &ShellCommand,
        place: &ReadAt,
        depth: usize,
    ) {
        match module {
            "runpy" => {
                if let Some((name, rest)) = rest.split_first() {
                    self.module(name, rest, command, place, depth);
                }
            }
            "pytest" | "nose2" | "nose" | "tox" | "nox" | "behave" | "robot" => {
                self.runner(rest, place, depth);
                tools::configured(self, module, place, depth);
            }
            "unittest" => {
                // A pattern's place is the start folder: `discovered` reads it.
                let names = rest.iter().filter(|word| !word.contains('*'));
                self.runner(&names.cloned().collect::<Vec<_>>(), place, depth);
                self.discovered(rest, place, depth);
                for name in rest.iter().filter(|word| !word.starts_with('-')) {
                    if let Some(path) = self.python_module(name, place) {
                        self.judge(&path, place, depth);
                    }
                }
            }
            // The examples of a text are a test; those of a module are compared.
            "doctest" => {
                let is_code = |word: &&String| word.ends_with(".py") || word.starts_with('-');
                let (code, texts): (Vec<_>, Vec<_>) = rest.iter().partition(is_code);
                let owned = |words: Vec<&String>| words.into_iter().cloned().collect::<Vec<_>>();
                self.runner(&owned(texts), place, depth);
                self.subjects(&owned(code), place);
            }
            "py_compile" | "compileall" | "pyflakes" | "flake8" | "mypy" | "ruff" | "pylint"
            | "black" | "isort" | "json.tool" | "tabnanny" | "venv" | "pip" => {
                self.subjects(rest, place);
            }
            _ => {
                let found = self
                    .python_module(module, place)
                    .map_or_else(|| self.module_elsewhere(module), |path| vec![path]);
                if found.is_empty() {
                    self.elsewhere(rest, command, place, depth);
                }
                for path in found {
                    self.executed(&path, command, place, depth);
                    self.parent_packages(&path);
                }
                self.subjects(rest, place);
            }
        }
    }

    /// What a module of another project runs: `-m pdb gate.py`, `-m coverage run -m gate`.
    fn elsewhere(
        &mut self,
        arguments: &[String],
        command: &ShellCommand,
        place: &ReadAt,
        depth: usize,
    ) {
        if let Some(at) = arguments.iter().position(|word| word == "-m" || word == "--module") {
            if let Some((name, rest)) = arguments[at + 1..].split_first() {
                self.module(name, rest, command, place, depth);
            }
            return;
        }
        for (at, word) in arguments.iter().enumerate() {
            if let Some(path) = self.file(word, place) {
                let arguments = arguments[at + 1..].to_vec();
                let place = ReadAt { arguments, ..place.clone() };
                return self.executed(&path, command, &place, depth);
            }
        }
        // `-m timeit -s 'import gate'`
        for code in arguments.iter().filter(|word| word.contains(char::is_whitespace)) {
            self.inline("python", code, command.decides, place, depth);
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

    /// The files of a module in folders that only a variable names: `PYTHONPATH=ci`.
    fn module_elsewhere(&self, name: &str) -> Vec<PathBuf> {
        let path = name.replace('.', "/");
        let ends = [format!("{path}.py"), format!("{path}/__main__.py")];
        let paths = self.start.paths().keys();
        paths.filter(|path| ends.iter().any(|end| path.ends_with(end))).cloned().collect()
    }

    /// Whether all modules of a package are judges, or have the names of some.
    fn holds_only_checks(&self, package: &Path) -> bool {
        let inside = self.start.paths().range(package.to_owned()..).map(|(path, _)| path);
        let inside = inside.take_while(|path| path.starts_with(package));
        let mut modules = inside
            .filter(|path| extension(path) == "py" && file_name(path) != "__init__.py")
            .peekable();
        !package.as_os_str().is_empty()
            && modules.peek().is_some()
            && modules
                .all(|path| self.found.files.contains(path) || sounds_like_a_check(file_name(path)))
    }

    /// The `__init__.py` of packages that hold nothing but checks.
    fn parent_packages(&mut self, module: &Path) {
        for package in module.ancestors().skip(1) {
            if sounds_like_a_check(file_name(package)) || self.holds_only_checks(package) {
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

/// Is it the standard input by another name?
fn is_input(word: &str) -> bool {
    matches!(word, "/dev/stdin" | "/dev/fd/0" | "/proc/self/fd/0")
}

/// Does code call something without a comparison of its own?
fn only_calls(code: &str) -> bool {
    static LOADS: LazyLock<Regex> = LazyLock::new(|| {
        Regex::new(r#"(?:require|import)\s*\(?\s*["']\.[^"']*["']\s*\)?"#).expect("valid")
    });
    const COMPARES: [&str; 14] = [
        "assert", "==", "!=", "<", ">", " eq ", " ne ", " is ", " in ", "exit", "raise", "throw",
        "die", "expect",
    ];
    // `Ck.all` of Ruby, `Ck->all` of Perl
    static CALLS: LazyLock<Regex> =
        LazyLock::new(|| Regex::new(r"\(|\b[A-Z]\w*(?:\.|->)[a-z]\w*").expect("valid"));
    let code = LOADS.replace_all(code, "");
    CALLS.is_match(&code) && !COMPARES.iter().any(|it| code.contains(it))
}

/// Does a file start programs and fail, as a script of checks does?
fn starts_and_fails(program: &str, code: &str) -> bool {
    static FAILS: LazyLock<Regex> =
        LazyLock::new(|| Regex::new(r"\b(?:die|abort|exit|raise|throw)\b").expect("valid"));
    FAILS.is_match(code) && !calls::starts(program, code).is_empty()
}
