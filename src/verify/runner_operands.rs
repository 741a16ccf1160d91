//! The tests that a command's runners name, and whether they are there.
//!
//! Invariant: pure. A name that cannot be read, such as one with a variable, may be there.

use std::path::{Path, PathBuf};

use globset::Glob;

use super::classify::scan;
use super::classify::{Role, SourceTree, Table};
use super::runner::{TestRunner, runner};
use crate::shell::unwrapped;

/// Options that change the folder in which a tool looks.
const ELSEWHERE: [&str; 9] = [
    "-C",
    "--cwd",
    "--dir",
    "--directory",
    "--filter",
    "--prefix",
    "--root",
    "--rootDir",
    "--workspace",
];

/// Runners whose operands are not paths of tests.
const NO_PATHS: [TestRunner; 5] = [
    TestRunner::Cargo,
    TestRunner::Nextest,
    TestRunner::Maven,
    TestRunner::Gradle,
    TestRunner::Ctest,
];

/// Do all runners of a command take only tests that are to be written? The command may have failed
/// before the first of them.
pub(super) fn names_new_tests(command: &str, start: &dyn SourceTree, table: &Table) -> bool {
    let (mut folder, mut found) = (PathBuf::new(), false);
    for command in scan(command) {
        if runs_absent_makefile(&command.words, &folder, start) {
            found = true;
            continue;
        }
        if let [cd, to, ..] = command.words.as_slice()
            && cd == "cd"
        {
            if to.starts_with('/') || to.contains(['$', '~']) || to.contains("..") {
                return false;
            }
            folder.push(without_end(to));
            continue;
        }
        let words = unwrapped(&command.words);
        let (runner, arguments) = match runner(words) {
            Some((runner, _)) if NO_PATHS.contains(&runner) => return false,
            Some((runner, arguments)) => (Some(runner), arguments),
            None => (None, operands_of_program(words)),
        };
        let named = arguments.iter().filter(|word| !word.starts_with('-'));
        let named = named.map(|word| Named::of(word, &folder));
        let tests: Vec<Named> = match runner {
            Some(_) => named.filter(|name| name.is_test(table)).collect(),
            // A program that is no known runner runs tests if it names them; its other operands may
            // be tests, too.
            None => {
                let all: Vec<Named> = named.filter(|name| !name.word.is_empty()).collect();
                if !all.iter().any(|name| table.role(&name.path) == Some(Role::Tests)) {
                    continue;
                }
                all
            }
        };
        if command.words.iter().any(|word| ELSEWHERE.contains(&word.as_str())) {
            return false;
        }
        if tests.is_empty() || tests.iter().any(|name| name.is_there(start, runner)) {
            return false;
        }
        found = true;
    }
    found
}

/// The words after a program, and after the word by which it runs tests: `bun test FILE`.
fn operands_of_program(words: &[String]) -> Vec<&str> {
    let skipped = match words {
        [_, verb, ..] if verb == "test" => 2,
        _ => 1,
    };
    words.iter().skip(skipped).map(String::as_str).collect()
}

/// Does make run in a folder, or with a makefile, that is not there: `make -C tool check`?
fn runs_absent_makefile(words: &[String], folder: &Path, start: &dyn SourceTree) -> bool {
    let Some((program, arguments)) = unwrapped(words).split_first() else { return false };
    let is_make = matches!(program.as_str(), "make" | "gmake");
    let place = |pair: &[String]| match pair {
        [option, name] if matches!(option.as_str(), "-C" | "-f" | "--directory" | "--file") => {
            Some(folder.join(without_end(name)))
        }
        _ => None,
    };
    let is_there = |place: PathBuf| start.paths().keys().any(|path| path.starts_with(&place));
    is_make && arguments.windows(2).filter_map(place).any(|place| !is_there(place))
}

/// A name without what only says that it is a folder: `tests/`, `./tests/...`.
pub(super) fn without_end(word: &str) -> &str {
    let word = word.trim_end_matches(['/', '.']);
    word.strip_prefix("./").unwrap_or(word)
}

/// An operand of a runner.
struct Named {
    word: String,
    path: PathBuf,
    /// The file, if the word is the name of a module of Python.
    module: PathBuf,
}

impl Named {
    fn of(word: &str, folder: &Path) -> Self {
        let word = without_end(word.split("::").next().unwrap_or(word));
        let module = folder.join(format!("{}.py", word.replace('.', "/")));
        Self { word: word.to_owned(), path: folder.join(word), module }
    }

    /// Is it a test by convention?
    fn is_test(&self, table: &Table) -> bool {
        let paths = [&self.path, &self.module];
        let is_test =
            |path: &&PathBuf| matches!(table.role(path), Some(Role::Tests | Role::Expected));
        !self.word.is_empty() && paths.iter().any(is_test)
    }

    fn is_there(&self, start: &dyn SourceTree, runner: Option<TestRunner>) -> bool {
        if self.word.contains(['$', '{', '`'])
            || self.word.contains("..")
            || self.path.is_absolute()
        {
            return true;
        }
        let glob = Glob::new(&self.path.to_string_lossy()).map(|glob| glob.compile_matcher());
        // `tests/app` for `tests/app.test.js`
        let stem = format!("{}.", self.path.display());
        // `tests.test_app.AppTest.test_one`
        let classes = self.module.with_extension("");
        let package = start.paths().contains_key(&classes.join("__init__.py"));
        let module = |above: &Path| start.paths().contains_key(&above.with_extension("py"));
        start.paths().keys().any(|known| {
            let text = known.to_string_lossy();
            known.starts_with(&self.path)
                || text.starts_with(&stem)
                || glob.as_ref().is_ok_and(|glob| glob.is_match(known))
                // Their operands are patterns.
                || matches!(runner, Some(TestRunner::Jest | TestRunner::Vitest))
                    && text.contains(&self.word)
        }) || package
            || classes.ancestors().any(|above| !above.as_os_str().is_empty() && module(above))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::verify::classify::{EntryKind, FileEntry};

    /// Files without content.
    struct Names(BTreeMap<PathBuf, FileEntry>);

    impl SourceTree for Names {
        fn paths(&self) -> &BTreeMap<PathBuf, FileEntry> {
            &self.0
        }

        fn read(&self, _: &Path) -> Option<Vec<u8>> {
            None
        }
    }

    fn is_new(command: &str) -> bool {
        const FILES: [&str; 9] = [
            "tests/test_a.py",
            "tests/unit/test_u.py",
            "tests/ATest.php",
            "test/app.test.js",
            "test/a_test.go",
            "spec/a_spec.rb",
            "web/tests/test_b.py",
            "web/test/c.test.js",
            "pkg/p/tests/unit/q.test.js",
        ];
        let entry = FileEntry { kind: EntryKind::Regular { executable: false }, id: [0; 20] };
        let files = Names(FILES.map(|name| (name.into(), entry)).into_iter().collect());
        names_new_tests(command, &files, &Table::new(&[]).expect("the table"))
    }

    #[test]
    fn a_folder_with_old_tests_is_not_new_however_it_is_written() {
        for command in [
            "node --test test/",
            "node --test ./test/",
            "node --test test",
            "node --test 'test/**/*.test.js'",
            "node --test test/*.js",
            "pytest tests/",
            "pytest ./tests/ -k one",
            "pytest tests/unit/",
            "pytest tests/.",
            "pytest tests/test_*.py",
            "pytest $PWD/tests/",
            "pytest --junitxml=tests/out.xml tests/",
            "pytest --junitxml tests/out.xml tests",
            "pytest tests/test_a.py::TestA::test_x tests/test_new.py",
            "python3 -m unittest tests.test_a.TestA.test_x",
            "python3 -m unittest discover -s tests/",
            "go test ./test/",
            "go test ./test/...",
            "go test ./...",
            "rspec spec/",
            "phpunit tests/",
            "phpunit --bootstrap tests/bootstrap.php tests/",
            "npx mocha test/",
            "npx mocha test/app",
            "npx mocha -r test/setup.js test/",
            "npx jest test/",
            "npx jest test/app",
            "npx jest tests/unit/q",
            "npx vitest run test/",
            "npx jest src/",
            "cd web && pytest tests/",
            "cd ./web/ && node --test test/",
            "pnpm -C web exec vitest run test/c",
            "cargo test tests::one",
            "ctest --test-dir build/tests",
            "pytest",
            "sh tests/new.sh tests/test_a.py",
            "npx ava test/new.test.js test/app.test.js",
            "bun test test test/new.test.js",
            "bun test tests/new.test.js web/test",
            "make check",
            "make -C web check",
        ] {
            assert!(!is_new(command), "{command}");
        }
    }

    #[test]
    fn tests_that_are_to_be_written() {
        for command in [
            "pytest tests/test_new.py",
            "pytest tests/new/",
            "node --test test/new.test.js",
            "cd web && pytest tests/test_new.py",
            "npx jest test/new",
            "python3 -m unittest tests.test_new",
            "grep -q Mul calc.py && python3 -m unittest test_mul",
            "go test ./tests/new/...",
            "sh tests/new.sh",
            "bun test ./test/new.test.js",
            "npx ava test/new.test.js",
            "npx jasmine spec/newSpec.js",
            "prove -l t/new.t",
            "behave features/new.feature",
            "make -C tool check",
        ] {
            assert!(is_new(command), "{command}");
        }
    }
}
