//! Checks whose test was not there before the work.
//!
//! Invariant: pure. The run at the task's start decides, which no agent could prepare. Such a check
//! has no old test to be put back: it is left out of the third run.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use regex::Regex;

use super::classify::{EntryKind, FileEntry, LookedAt, Role, SourceTree, Table, judges};
use crate::model::{CheckResult, CheckStatus, CheckWrote, FirstSeen, FirstStatus};

/// What runners say that find no test, no target, or no script of the name, at the beginning of a line
/// of their own after its mark (`npm error`, `make: ***`), in lower case.
static NO_TESTS: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(concat!(
        r"^\W*(?:(?:error|fatal|npm|err|err_\w+|g?make|ninja|go|\d+)\W+)*(?:",
        r"no tests? (?:ran|executed|specified|(?:files? |suites? )?found|were (?:found|executed))|",
        r"ran 0 tests|start directory is not importable|\d+ deselected(?:, \d+ warnings?)? in|",
        r"no (?:test|bin|example) target named|no package test|missing script|",
        "command \"[^\"]*\" (?:not found|is not defined)|script .*(?:not found|is not defined)|",
        r"no rule to make target [^,]*\.\s+stop|unknown (?:make )?target|",
        r"justfile does not contain recipe|don't know how to build task|unknown lifecycle phase|",
        r"no test modules found|.*test name does not match any test|no suitable tests defined|",
        r".*does not match any tests)",
    ))
    .expect("a valid pattern")
});

/// What programs say of a missing file or module, in lower case.
static NO_FILE: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(
        "no such file|not found|can(?:not|'t) open|cannot find|could not find|does not exist|no module named",
    )
    .expect("a valid pattern")
});

/// How checks ended before any work, and what they changed. `start` is the tree they ran on.
pub fn first_seen(
    (results, wrote): (&[CheckResult], &[CheckWrote]),
    start: &dyn SourceTree,
    table: &Table,
) -> Vec<FirstSeen> {
    let ran = results.iter().filter(|it| !matches!(it.status, CheckStatus::NotRun(_)));
    let seen = ran.map(|check| {
        let status = if check.passed() {
            FirstStatus::Green
        } else if is_test_missing(check, start, table) {
            FirstStatus::Missing
        } else {
            FirstStatus::Red
        };
        let (command, tests) = (check.command.clone(), check.tests.clone());
        let wrote = wrote.iter().filter(|it| it.command == command).flat_map(|it| &it.paths);
        let wrote = wrote.map(|change| change.path.clone()).collect();
        FirstSeen { command, status, tests, wrote, harness: None }
    });
    seen.collect()
}

/// Whether a check that is red before any work found no test. `start` is the tree it ran on.
fn is_test_missing(check: &CheckResult, start: &dyn SourceTree, table: &Table) -> bool {
    match check.status {
        CheckStatus::NothingRan(_) => return true,
        CheckStatus::Failed(_) => {}
        CheckStatus::Passed
        | CheckStatus::Signalled(_)
        | CheckStatus::TimedOut(_)
        | CheckStatus::NotRun(_)
        | CheckStatus::Incomplete(_) => return false,
    }
    // It runs no test.
    if LookedAt::of(&check.command).is_some() {
        return false;
    }
    let output = check.output.to_lowercase();
    let found = judges(start, table, &[&check.command]);
    // A script that was there has run: the missing part is what it tests, or part of it.
    let ran = !found.scripts.is_empty() || check.tests.iter().any(|count| count.ran > 0);
    if !ran && output.lines().any(|line| NO_TESTS.is_match(line)) {
        return true;
    }
    if unittest_misses(check, &output) {
        return true;
    }
    if !found.files.is_empty() {
        return false;
    }
    let says = |word: &str| output.lines().any(|it| NO_FILE.is_match(it) && it.contains(word));
    let absent = operands(&check.command).filter(|(_, word)| says(word));
    let absent: Vec<PathBuf> = absent.map(|(path, _)| path).collect();
    let is_there = |path: &Path| start.paths().keys().any(|known| known.starts_with(path));
    let is_wanted = |path: &PathBuf| {
        matches!(table.role(path), Some(Role::Tests | Role::Expected))
            && !is_there(path)
            // `tests.py` beside the folder `tests`.
            && !is_there(&path.with_extension(""))
    };
    if absent.iter().any(is_wanted) {
        return true;
    }
    let with_them = WithFiles::new(start, absent.into_iter());
    !judges(&with_them, table, &[&check.command]).files.is_empty()
}

/// Does unittest know no test of the name that the line ends with? It counts that as one that failed.
fn unittest_misses(check: &CheckResult, output: &str) -> bool {
    static NO_NAME: LazyLock<Regex> = LazyLock::new(|| {
        Regex::new(
            r"(?m)^attributeerror: (?:module|type object) '[\w.]+' has no attribute '(\w+)'$",
        )
        .expect("a valid pattern")
    });
    let line = check.command.to_lowercase();
    check.tests.iter().all(|count| count.ran < 2)
        && NO_NAME.captures_iter(output).any(|it| line.ends_with(&format!(".{}", &it[1])))
}

/// A tree with more files, which are empty.
struct WithFiles<'a> {
    start: &'a dyn SourceTree,
    paths: BTreeMap<PathBuf, FileEntry>,
}

impl<'a> WithFiles<'a> {
    fn new(start: &'a dyn SourceTree, more: impl Iterator<Item = PathBuf>) -> Self {
        let entry = FileEntry { kind: EntryKind::Regular { executable: true }, id: [0; 20] };
        let mut paths = start.paths().clone();
        paths.extend(more.map(|path| (path, entry)));
        Self { start, paths }
    }
}

impl SourceTree for WithFiles<'_> {
    fn paths(&self) -> &BTreeMap<PathBuf, FileEntry> {
        &self.paths
    }

    fn read(&self, path: &Path) -> Option<Vec<u8>> {
        self.start.read(path).or_else(|| self.paths.contains_key(path).then(Vec::new))
    }
}

/// Files and modules that a command may name, each with a word for it in lower case.
fn operands(command: &str) -> impl Iterator<Item = (PathBuf, String)> {
    let words = command
        .split(|c: char| c.is_whitespace() || "'\"();|&<>=".contains(c))
        .filter(|word| !word.starts_with('-'))
        .map(|word| word.split("::").next().unwrap_or(word).trim_end_matches(['/', '.']))
        .map(|word| word.strip_prefix("./").unwrap_or(word));
    words
        .flat_map(|word| {
            let last = |word: &str| word.rsplit('/').next().unwrap_or(word).to_lowercase();
            // Python names a file that it cannot import by its module.
            let stem = word.strip_suffix(".py").unwrap_or(word);
            let module = PathBuf::from(format!("{}.py", word.replace('.', "/")));
            let path = PathBuf::from(word);
            [(path.clone(), last(word)), (path, last(stem)), (module, word.to_lowercase())]
        })
        .filter(|(_, name)| name.len() > 2 && name.contains(['.', '/', '_', '-']))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// No files.
    struct Nothing(BTreeMap<PathBuf, FileEntry>);

    impl SourceTree for Nothing {
        fn paths(&self) -> &BTreeMap<PathBuf, FileEntry> {
            &self.0
        }

        fn read(&self, _: &Path) -> Option<Vec<u8>> {
            None
        }
    }

    fn asked(command: &str, exit: i32, output: &str, start: &[&str]) -> bool {
        let check = CheckResult {
            output: output.to_owned(),
            ..CheckResult::new(command, CheckStatus::Failed(exit))
        };
        let nothing = Nothing(BTreeMap::new());
        let start = WithFiles::new(&nothing, start.iter().map(PathBuf::from));
        let table = Table::new(&[]).expect("the table");
        is_test_missing(&check, &start, &table)
    }

    #[test]
    fn a_test_that_is_to_be_written() {
        for (command, exit, output) in [
            ("sh tests/new.sh", 2, "sh: 0: cannot open tests/new.sh: No such file"),
            ("bash tests/new.sh", 127, "bash: tests/new.sh: No such file or directory"),
            ("./check.sh", 127, "sh: 1: ./check.sh: not found"),
            ("python3 tests/t.py", 2, "python3: can't open file '/r/tests/t.py': [Errno 2]"),
            ("node tests/t.mjs", 1, "Error: Cannot find module '/r/tests/t.mjs'"),
            ("python3 -m unittest tests.test_new", 1, "No module named 'tests.test_new'"),
            ("python3 -m unittest tests/test_new.py", 1, "No module named 'tests.test_new'"),
            (
                "python3 -m unittest tests.test_a.TestNew",
                1,
                "AttributeError: module 'tests.test_a' has no attribute 'TestNew'",
            ),
            ("pytest tests/test_a.py", 4, "ERROR: file or directory not found: tests/test_a.py"),
            ("pytest", 5, "==== no tests ran in 0.01s ===="),
            ("cargo test --test api", 101, "error: no test target named `api`."),
            ("npm run check", 1, "npm error Missing script: \"check\""),
            ("make check", 2, "make: *** No rule to make target 'check'.  Stop."),
            ("npx jest", 1, "No tests found, exiting with code 1"),
            // What `npm init` writes.
            ("npm test", 1, "Error: no test specified"),
            ("meson test -C build pow", 1, "ERROR: *:pow test name does not match any test"),
            ("pytest -q -k median", 5, "1 deselected in 0.01s"),
            ("python3 -m unittest discover -s specs", 1, "Start directory is not importable"),
            ("sh back.sh | diff - tests/want.txt", 2, "diff: tests/want.txt: No such file"),
        ] {
            assert!(asked(command, exit, output, &["src/a.c"]), "{command}");
        }
    }

    #[test]
    fn a_green_exit_status_without_a_test() {
        let none = |status| {
            let check = CheckResult::new("cargo test retry", status);
            let table = Table::new(&[]).expect("the table");
            is_test_missing(&check, &Nothing(BTreeMap::new()), &table)
        };
        assert!(none(CheckStatus::NothingRan("it ran no test".into())));
        assert!(!none(CheckStatus::Incomplete("it printed no summary".into())));
    }

    #[test]
    fn a_test_that_is_there_and_fails() {
        for (command, exit, output) in [
            ("sh tests/run.sh", 127, "tests/run.sh: 3: ./app: not found"),
            (
                "python3 -m unittest tests.test_a.TestOld",
                1,
                "AttributeError: module 'app' has no attribute 'sq'",
            ),
            ("sh tests/run.sh", 2, "cat: tests/run.sh.out: No such file or directory"),
            ("python3 -m unittest discover -s tests", 1, "No module named 'app'\nRan 1 test"),
            ("cargo test", 101, "error: couldn't read `src/x.rs`: No such file or directory"),
            ("./app | grep -q ok", 1, "sh: 1: ./app: not found"),
            ("grep -qx hello out.txt", 2, "grep: out.txt: No such file or directory"),
            ("test \"$(sh sq.sh 7)\" = 49", 1, "sh: 0: cannot open sq.sh: No such file"),
            ("sh tests/run.sh", 1, "error: no such command 'mul'"),
            ("test \"$(sh cli.sh mul 2 3)\" = 6", 1, "error: no such command 'mul'"),
            ("node --test tests/", 1, "Error: Cannot find module '../x'\n- /r/tests/t.test.js"),
            ("sh tests/run.sh", 1, "no tests found"),
            ("cargo test", 101, "assertion failed: 'no such command'"),
            ("make check", 2, "make: *** No rule to make target 'src/x.c', needed by 'x'.  Stop."),
            ("pytest", 1, "AssertionError: no tests ran"),
        ] {
            let start = ["tests/run.sh", "tests/test_a.py", "Cargo.toml", "tests/api.rs"];
            assert!(!asked(command, exit, output, &start), "{command}");
        }
    }
}
