//! Checks that look for a test by name in a runner's output, before any file has a test of that
//! name: `go test -v ./... | grep -q 'PASS: TestRetry'`.
//!
//! Invariant: pure. Only a name that no test of the start has makes a test a new one.

use std::path::PathBuf;
use std::sync::LazyLock;

use regex::Regex;

use super::classify::SourceTree;
use super::classify::scan;
use super::runner::runner;
use crate::shell::ShellCommand;
use crate::shell::unwrapped;

/// Options of runners whose value chooses tests by their names.
const CHOOSES: [&str; 9] =
    ["-run", "-k", "-t", "-n", "-g", "--filter", "--grep", "--name", "--testNamePattern"];

/// Words of runners' own output.
const OWN_WORDS: [&str; 14] = [
    "pass", "passed", "passing", "fail", "failed", "failing", "failures", "errors", "test",
    "tests", "result", "results", "running", "success",
];

/// Commands that may stand beside the runners: they judge no file of the start.
const BESIDE: [&str; 14] = [
    "cat", "cd", "echo", "egrep", "export", "go", "gofmt", "grep", "head", "rg", "tail", "tee",
    "test", "[",
];

/// Does the check look for a test that is not there, and run nothing else?
pub(super) fn looks_for_new_test(command: &str, start: &dyn SourceTree) -> bool {
    let commands = scan(command);
    let is_known = |it: &ShellCommand| {
        let words = unwrapped(&it.words);
        runner(words).is_some() || words.first().is_none_or(|name| BESIDE.contains(&name.as_str()))
    };
    if !commands.iter().all(is_known) {
        return false;
    }
    let runs = commands.iter().filter(|it| runner(unwrapped(&it.words)).is_some());
    let names = |run: &ShellCommand| -> Vec<String> {
        let greps = commands.iter().filter(|it| {
            it.pipeline == run.pipeline
                && !it.conditional
                && matches!(it.words.first().map(String::as_str), Some("grep" | "egrep" | "rg"))
        });
        let patterns = greps.flat_map(|grep| grep.words.iter().skip(1));
        let patterns = patterns.filter(|it| !it.starts_with('-')).map(String::as_str);
        let values = run.words.iter().zip(run.words.iter().skip(1));
        let values = values.filter(|(option, _)| CHOOSES.contains(&option.as_str()));
        let values = values.map(|(_, value)| value.as_str());
        let filter = cargo_filter(&run.words);
        let inside = run.words.iter().skip(1).filter_map(|word| test_in_file(word, start));
        patterns.chain(values).chain(filter).chain(inside).flat_map(names_in).collect()
    };
    let names: Vec<Vec<String>> =
        runs.map(|run| if run.conditional { Vec::new() } else { names(run) }).collect();
    if names.is_empty() || names.iter().any(Vec::is_empty) {
        return false;
    }
    // An old test beside the new one would be left out with it, wherever it lies. The task itself
    // has the name, too.
    let has_name = |text: String| names.iter().flatten().any(|name| text.contains(name));
    let mut files =
        start.paths().keys().filter(|path| path.extension().is_none_or(|it| it != "md"));
    !files.any(|path| {
        start.read(path).and_then(|bytes| String::from_utf8(bytes).ok()).is_some_and(has_name)
    })
}

/// The test that a word names in a file that is there: `tests/test_a.py::test_b`,
/// `tests.test_a.TestB`.
fn test_in_file<'w>(word: &'w str, start: &dyn SourceTree) -> Option<&'w str> {
    let is_there = |path: PathBuf| start.paths().contains_key(&path);
    if let Some((file, test)) = word.split_once("::") {
        return is_there(file.into()).then(|| test.rsplit("::").next().unwrap_or(test));
    }
    let (module, test) = word.rsplit_once('.')?;
    let file = |module: &str| PathBuf::from(format!("{}.py", module.replace('.', "/")));
    let class = || module.rsplit_once('.').is_some_and(|(module, _)| is_there(file(module)));
    (is_there(file(module)) || class()).then_some(test)
}

/// The name after `cargo test`.
fn cargo_filter(words: &[String]) -> Option<&str> {
    let words = unwrapped(words);
    let is_test = words.first()? == "cargo" && words.get(1)? == "test";
    words.get(2).filter(|word| is_test && !word.starts_with('-')).map(String::as_str)
}

/// The names in a pattern, without its syntax and the words of runners.
fn names_in(pattern: &str) -> Vec<String> {
    static NAME: LazyLock<Regex> =
        LazyLock::new(|| Regex::new(r"\\[A-Za-z]|(?<name>[A-Za-z_]\w{3,})").expect("a pattern"));
    let found = NAME.captures_iter(pattern).filter_map(|it| it.name("name"));
    let found = found.map(|name| name.as_str().to_owned());
    found.filter(|name| !OWN_WORDS.contains(&name.to_lowercase().as_str())).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::path::Path;

    use super::*;
    use crate::verify::classify::{EntryKind, FileEntry};

    /// A tree with one test.
    struct OneTest(BTreeMap<PathBuf, FileEntry>);

    impl SourceTree for OneTest {
        fn paths(&self) -> &BTreeMap<PathBuf, FileEntry> {
            &self.0
        }

        fn read(&self, path: &Path) -> Option<Vec<u8>> {
            self.0.contains_key(path).then(|| b"func TestOld(t *testing.T) {}\n".to_vec())
        }
    }

    #[test]
    fn a_name_that_no_test_has_is_that_of_a_new_one() {
        let entry = FileEntry { kind: EntryKind::Regular { executable: false }, id: [0; 20] };
        let files = ["spec/odd.go", "tests/test_a.py", "tasks/t/TASK.md"];
        let start = OneTest(files.map(|name| (name.into(), entry)).into_iter().collect());
        for (line, is_new) in [
            ("go test -v ./... | grep -q 'PASS: TestNew'", true),
            ("go test -run TestNew -v ./... | grep -q PASS", true),
            ("cargo test 2>&1 | grep -E 'test_retry .* ok$'", true),
            ("grep -q Adds lib.rs && cargo test test_retry", true),
            ("go test ./... && go test -v ./... | grep -q 'PASS: TestNew'", false),
            ("pytest tests/test_a.py::test_mul", true),
            ("pytest tests/test_a.py::TestOld", false),
            ("python3 -m unittest tests.test_a.TestMul", true),
            ("python3 -m unittest tests.test_a", false),
            ("pytest tests/test_b.py", false),
            ("go test -run 'TestOld|TestNew' -v ./... | grep -q 'PASS: TestNew'", false),
            ("sh ci/lint.sh && pytest tests/test_a.py::test_mul", false),
            ("go test -v ./... | grep -q 'PASS: TestOld'", false),
            ("go test -run TestOld -v ./... | grep -q PASS", false),
            ("go test -v ./... | grep -q PASS", false),
            ("go test -v ./... | grep -qw '12 passed'", false),
            ("! go test -v ./... | grep -q 'FAIL: TestNew'", false),
            ("go test ./... && grep -q TestNew notes.txt", false),
            ("./app | grep -q TestNew", false),
        ] {
            assert_eq!(looks_for_new_test(line, &start), is_new, "{line}");
        }
    }
}
