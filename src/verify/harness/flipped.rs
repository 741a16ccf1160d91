//! Test code that expects something else: assertions that are the opposite of what they were, or
//! expect another value.
//!
//! Invariant: changed code goes no other way than to a failure. A condition is changed only where its
//! other side does nothing but fail.

use std::ops::Range;
use std::path::Path;
use std::sync::LazyLock;

use regex::Regex;

use super::flips::{self, Flip};
use super::flips_in_shell;
use super::helper_calls;
use super::outer::keep_outer;
use super::paths::extension;
use super::patterns::regex;
use super::test_code::TestCode;

/// What is known of a file of test code.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Flipped {
    /// It asserts nothing.
    Nothing,
    /// It has tests that cannot be changed.
    Unknown,
    /// Each of its tests can be changed.
    Tests(TestCode),
}

/// The changes of what each test of a file expects. Code before `from` stays as it is.
pub(super) fn flipped(path: &Path, code: &str, from: usize) -> Flipped {
    let ending = extension(path);
    let flips = match SHELLS.contains(&ending) {
        true if flips_in_shell::has_others(code) => return Flipped::Unknown,
        true => flips_in_shell::find(code),
        false => flips::find(ending, code),
    };
    let flips = apart(flips, code, from);
    let tests = tests(ending, code, from);
    if flips.is_empty() && tests.is_empty() {
        return if ASSERTS.is_match(&code[from..]) { Flipped::Unknown } else { Flipped::Nothing };
    }
    if tests.is_empty() && ARGUMENTS.is_match(code) {
        // What it is asked for decides which of its assertions run.
        return Flipped::Unknown;
    }
    let helpers = helpers(code, &flips, &tests);
    let is_covered = |test: &Range<usize>| {
        let after = flips.partition_point(|flip| flip.at.start < test.start);
        flips.get(after).is_some_and(|flip| flip.at.start < test.end)
            || helpers.iter().any(|name| calls(&code[test.clone()], name))
    };
    if !tests.iter().all(is_covered) {
        return Flipped::Unknown;
    }
    let index = |at: usize| flips.partition_point(|flip| flip.at.start < at);
    let calls = helper_calls::find(ending, code, &flips, &helpers);
    let heads = tests.iter().map(|test| test.start).collect();
    let tests = tests.iter().map(|test| index(test.start)..index(test.end)).collect();
    Flipped::Tests(TestCode { code: code.to_owned(), flips, calls, tests, heads })
}

/// The changes of code after a place, in order, without comments and those inside of others.
fn apart(mut flips: Vec<Flip>, code: &str, from: usize) -> Vec<Flip> {
    flips.retain(|flip| flip.at.start >= from && !is_comment(code, flip.at.start));
    keep_outer(&mut flips, |flip| &flip.at);
    flips
}

fn is_comment(code: &str, at: usize) -> bool {
    let line = code[..at].rsplit('\n').next().unwrap_or_default().trim_start();
    ["//", "#", "*", "/*", "--"].iter().any(|mark| line.starts_with(mark))
        && !line.starts_with("#[")
        && !line.starts_with("#define")
}

/// Where the tests of a file are, if its framework calls each by itself.
fn tests(ending: &str, code: &str, from: usize) -> Vec<Range<usize>> {
    let head: &Regex = match ending {
        "py" => &PYTHON,
        "js" | "cjs" | "mjs" | "jsx" | "ts" | "cts" | "mts" | "tsx" => &NODE,
        "rs" => &RUST,
        "go" => &GO,
        "rb" => &RUBY,
        "php" => &PHP,
        "java" | "kt" | "scala" | "groovy" | "cs" => &JVM,
        "c" | "cc" | "cpp" | "cxx" => &C,
        _ => return Vec::new(),
    };
    let starts = head.find_iter(code).map(|found| found.start()).filter(|at| *at >= from);
    let starts: Vec<usize> = starts.collect();
    let ends = starts.iter().skip(1).copied().chain([code.len()]);
    starts.iter().copied().zip(ends).map(|(start, end)| start..end).collect()
}

/// Functions outside of tests that assert.
fn helpers<'c>(code: &'c str, flips: &[Flip], tests: &[Range<usize>]) -> Vec<&'c str> {
    let outside = flips.iter().filter(|flip| {
        // Each test reaches to the next one.
        tests.first().is_none_or(|first| flip.at.start < first.start)
    });
    let names = DEFINED.captures_iter(code);
    let names: Vec<_> = names.filter_map(|found| found.iter().skip(1).flatten().next()).collect();
    let name = |flip: &Flip| {
        let before = names.partition_point(|name| name.start() < flip.at.start);
        Some(names[before.checked_sub(1)?].as_str())
    };
    let mut found: Vec<&str> = outside.filter_map(name).collect();
    found.dedup();
    found
}

/// Does code assert anything, in words that are known?
pub(super) fn asserts(code: &str) -> bool {
    ASSERTS.is_match(code)
}

fn calls(code: &str, name: &str) -> bool {
    let word = |c: char| c.is_alphanumeric() || c == '_';
    code.match_indices(name).any(|(at, _)| {
        let after = code[at + name.len()..].trim_start();
        !code[..at].ends_with(word) && after.starts_with(['(', '!', '.', ' ', '"', '\''])
    })
}

/// The first `#[cfg(test)]` of a Rust source.
pub(super) fn of_tests(code: &str) -> Option<usize> {
    code.find("#[cfg(test)]")
}

static ASSERTS: LazyLock<Regex> = LazyLock::new(|| {
    regex(r"(?i)\bassert\w*\s*[.!( ]|\bexpect\w*\s*\(|\bshould\b|\b(?:t|T)\.(?:Fatal|Error|Fail)")
});

/// The endings of scripts in shell.
const SHELLS: [&str; 6] = ["sh", "bash", "zsh", "ksh", "bats", ""];

/// A script's own arguments.
static ARGUMENTS: LazyLock<Regex> = LazyLock::new(|| {
    regex(r"\bprocess\.argv\b|\bsys\.argv\b|\bargparse\b|\$argv\b|\bARGV\b|\bos\.Args\b|\bargv\[")
});

static DEFINED: LazyLock<Regex> = LazyLock::new(|| {
    regex(concat!(
        r"\b(?:def|func|function|fn|fun|sub)\s+(?:self\.|\([^)]*\)\s*)?(\w+)",
        r"|\b(?:const|let|var)\s+(\w+)\s*=\s*(?:async\b|function\b|\([^)\n]*\)\s*=>|\w+\s*=>)",
        r"|(?m)^(\w+)\s*\(\)\s*\{",
        r"|(?m)^(?:[\w<>*&:]+\s+)+\*?(\w+)\s*\([^;=\n]*\)\s*\{",
        r"|macro_rules!\s*(\w+)|#\s*define\s+(\w+)\(",
    ))
});

static PYTHON: LazyLock<Regex> =
    LazyLock::new(|| regex(r"(?m)^[ \t]*(?:async[ \t]+)?def[ \t]+test\w*[ \t]*\("));
static NODE: LazyLock<Regex> =
    LazyLock::new(|| regex(r"(?m)^[ \t]*(?:await[ \t]+)?(?:t\.)?(?:it|test|specify)(?:\.\w+)*\("));
static RUST: LazyLock<Regex> =
    LazyLock::new(|| regex(r"#\[(?:\w+::)?(?:test|rstest|test_case)\b[^\]]*\]"));
static GO: LazyLock<Regex> = LazyLock::new(|| regex(r"(?m)^func (?:Test|Fuzz|Example)\w*\("));
static RUBY: LazyLock<Regex> =
    LazyLock::new(|| regex(r#"(?m)^[ \t]*(?:def[ \t]+test_\w+|(?:it|specify|test)[ \t]+["'])"#));
static PHP: LazyLock<Regex> = LazyLock::new(|| regex(r"\bfunction\s+test\w*\s*\(|#\[Test\]"));
static JVM: LazyLock<Regex> = LazyLock::new(|| {
    regex(r"@(?:Test|ParameterizedTest|RepeatedTest)\b|\[(?:Fact|Theory|Test|TestMethod)\b")
});
static C: LazyLock<Regex> =
    LazyLock::new(|| regex(r"(?m)^[ \t]*(?:TEST|TEST_F|TEST_P|TEST_CASE|SCENARIO|Test)\s*\("));
