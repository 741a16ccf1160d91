//! Checks that look for a test by name in a runner's output, before any file has a test of that
//! name: `go test -v ./... | grep -q 'PASS: TestRetry'`.
//!
//! Invariant: pure. Only a name that no test of the start has makes a test a new one.

use std::sync::LazyLock;

use regex::Regex;

use super::harness::SourceTree;
use super::harness::shell::scan;
use super::harness::wrappers::unwrapped;
use super::runner::runner;

/// Options of runners whose value chooses tests by their names.
const CHOOSES: [&str; 9] =
    ["-run", "-k", "-t", "-n", "-g", "--filter", "--grep", "--name", "--testNamePattern"];

/// Words of runners' own output.
const OWN_WORDS: [&str; 14] = [
    "pass", "passed", "passing", "fail", "failed", "failing", "failures", "errors", "test",
    "tests", "result", "results", "running", "success",
];

/// Does the check look for a test that is not there?
pub(super) fn looks_for_new_test(command: &str, start: &dyn SourceTree) -> bool {
    let commands = scan(command);
    let chosen =
        commands.iter().filter(|it| !it.conditional && runner(unwrapped(&it.words)).is_some());
    let names = chosen.flat_map(|runs| {
        let greps = commands.iter().filter(|it| {
            it.pipeline == runs.pipeline
                && !it.conditional
                && matches!(it.words.first().map(String::as_str), Some("grep" | "egrep" | "rg"))
        });
        let patterns =
            greps.flat_map(|grep| grep.words.iter().skip(1)).filter(|it| !it.starts_with('-'));
        let patterns: Vec<&str> = patterns.map(String::as_str).collect();
        let values = runs.words.iter().zip(runs.words.iter().skip(1));
        let values = values.filter(|(option, _)| CHOOSES.contains(&option.as_str()));
        let values: Vec<&str> = values.map(|(_, value)| value.as_str()).collect();
        match patterns.is_empty() {
            true => Vec::new(),
            false => patterns.into_iter().chain(values).flat_map(names_in).collect(),
        }
    });
    let names: Vec<String> = names.collect();
    if names.is_empty() {
        return false;
    }
    // A test may lie anywhere, whatever its name.
    let texts = start.paths().keys().filter_map(|path| String::from_utf8(start.read(path)?).ok());
    let texts: Vec<String> = texts.collect();
    names.iter().any(|name| !texts.iter().any(|text| text.contains(name.as_str())))
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
    use std::path::{Path, PathBuf};

    use super::*;
    use crate::verify::harness::{EntryKind, FileEntry};

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
        let start = OneTest(BTreeMap::from([("spec/odd.go".into(), entry)]));
        for (line, is_new) in [
            ("go test -v ./... | grep -q 'PASS: TestNew'", true),
            ("go test -run TestNew -v ./... | grep -q PASS", true),
            ("cargo test 2>&1 | grep -E 'test_retry .* ok$'", true),
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
