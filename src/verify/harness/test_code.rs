//! A file of test code, and the changes with which its tests expect something else.

use std::ops::Range;
use std::path::Path;
use std::sync::LazyLock;

use regex::Regex;

use super::flips::Flip;
use super::paths::extension;
use super::patterns::regex;

/// The code, its changes in order, and those of each test that its framework calls by itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::verify) struct TestCode {
    pub(super) code: String,
    pub(super) flips: Vec<Flip>,
    pub(super) tests: Vec<Range<usize>>,
}

impl TestCode {
    /// The number of changes.
    pub(in crate::verify) fn len(&self) -> usize {
        self.flips.len()
    }

    /// The most changes in one test.
    pub(in crate::verify) fn most(&self) -> usize {
        self.tests.iter().map(Range::len).max().unwrap_or_default()
    }

    /// One change in each test, the `at`th or the last, and those outside of tests if a test has
    /// none of its own.
    pub(in crate::verify) fn of_each_test(&self, at: usize) -> Vec<usize> {
        let inside = self.tests.iter().filter(|test| !test.is_empty());
        let mut found: Vec<usize> =
            inside.map(|test| (test.start + at).min(test.end - 1)).collect();
        if self.tests.iter().any(Range::is_empty) {
            let outside = |at: &usize| !self.tests.iter().any(|test| test.contains(at));
            found.extend((0..self.len()).filter(outside));
        }
        found
    }

    /// The round in which a change is the only one of its test.
    pub(in crate::verify) fn round_of(&self, at: usize) -> Option<usize> {
        let test = self.tests.iter().find(|test| test.contains(&at))?;
        Some(at - test.start)
    }

    /// The code with some of the changes.
    pub(in crate::verify) fn with(&self, some: &[usize]) -> String {
        let mut new = self.code.clone();
        let mut some: Vec<&Flip> = some.iter().filter_map(|at| self.flips.get(*at)).collect();
        some.sort_by_key(|flip| flip.at.start);
        for Flip { at, text } in some.into_iter().rev() {
            new.replace_range(at.clone(), text);
        }
        new
    }

    /// The line of a change, from 1.
    pub(in crate::verify) fn line(&self, at: usize) -> u64 {
        let start = self.flips.get(at).map_or(0, |flip| flip.at.start);
        self.code[..start].matches('\n').count() as u64 + 1
    }

    /// The code with a failure before the statement of a change; none if it is not clear where that
    /// begins, or if it depends on something in its line.
    pub(in crate::verify) fn failing_before(&self, path: &Path, at: usize) -> Option<String> {
        let flip = self.flips.get(at)?;
        let start = self.code[..flip.at.start].rfind('\n').map_or(0, |end| end + 1);
        let before = &self.code[start..flip.at.start];
        let rest = self.code[flip.at.end..].lines().next().unwrap_or_default();
        let above = self.code[..start].trim_end().lines().next_back().unwrap_or_default();
        let is_clear = (CONDITION.is_match(before) || !DEPENDS.is_match(before))
            && !DEPENDS_ON_REST.is_match(rest)
            && !GOES_ON.is_match(above.trim_end())
            && !before.trim_start().starts_with(['.', ')', ']', '|', '&', '+', ',']);
        let fails = fails(path).filter(|_| is_clear)?;
        let indent = &before[..before.len() - before.trim_start().len()];
        let mut new = self.code.clone();
        new.insert_str(start, &format!("{indent}{fails}\n"));
        Some(new)
    }
}

/// What stands before an assertion that is not reached each time, or not at once.
static DEPENDS: LazyLock<Regex> = LazyLock::new(|| {
    regex(concat!(
        r"=>|\s->|&&|\|\||\s\?\s|\b(?:if|elif|else|elsif|unless|when|case|catch|except|rescue|and",
        r"|or|function|func|fn|fun|sub|def|lambda|yield)\b",
    ))
});

/// What stands before the condition of a failure.
static CONDITION: LazyLock<Regex> = LazyLock::new(|| {
    regex(r"^[ \t]*if[ \t]*(?:\(?[ \t]*(?:[^;{]*;[ \t]*)?|(?:\[\[?|test)[ \t][^;&|]*)$")
});

/// `assert x if y`
static DEPENDS_ON_REST: LazyLock<Regex> = LazyLock::new(|| regex(r"\s(?:if|unless)\s"));

/// The end of a line whose statement goes on in the next one.
static GOES_ON: LazyLock<Regex> =
    LazyLock::new(|| regex(r"(?:[,(\[=+.?&\\]|[ |]\||->|=>|\b(?:and|or|not))$"));

/// A statement that fails, after which another one may stand.
fn fails(path: &Path) -> Option<&'static str> {
    Some(match extension(path) {
        "py" => "raise SystemError('planted')",
        "js" | "cjs" | "mjs" | "jsx" | "ts" | "cts" | "mts" | "tsx" => {
            "if (true) throw new Error('planted');"
        }
        "rs" => "if std::hint::black_box(true) { panic!(\"planted\") }",
        "go" => "if true { panic(\"planted\") }",
        "rb" => "raise 'planted'",
        "php" => "if (true) throw new \\Error('planted');",
        "java" => "if (true) throw new RuntimeException(\"planted\");",
        "kt" | "scala" => "if (true) throw RuntimeException(\"planted\")",
        "cs" => "if (true) throw new System.Exception(\"planted\");",
        "pl" | "t" => "die 'planted';",
        "c" | "cc" | "cpp" | "cxx" => "{ volatile char *planted = 0; *planted = 0; }",
        "sh" | "bash" | "zsh" | "ksh" => "exit 97",
        "bats" => "false",
        _ => return None,
    })
}
