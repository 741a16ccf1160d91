//! Product files that reach into the tests' own tools: a macro of an assertion's name, or a method
//! of the test framework that gets another value, or other tests in place of a package's own.

use std::path::Path;
use std::sync::LazyLock;

use regex::Regex;

use super::files::{SourceTree, text};
use super::paths::extension;

/// The changes of a file to the test framework since the start.
pub(super) fn tampers(
    start: &dyn SourceTree,
    now: &dyn SourceTree,
    path: &Path,
    runs_doctests: &dyn Fn() -> bool,
) -> Option<&'static str> {
    let pattern: &Regex = match extension(path) {
        "rs" => &RUST,
        "py" => &PYTHON,
        "js" | "cjs" | "mjs" | "jsx" | "ts" | "cts" | "mts" | "tsx" => &NODE,
        "rb" => &RUBY,
        "c" | "cc" | "cpp" | "cxx" | "h" | "hpp" => &C,
        _ => return None,
    };
    let product = |code: String| match extension(path) {
        "rs" => super::cfg_test::without_modules(&code),
        _ => code,
    };
    let old = text(start, path).map(product).unwrap_or_default();
    let new = text(now, path).map(product)?;
    let old: Vec<&str> = old.lines().map(str::trim).collect();
    let mut added = new.lines().map(str::trim).filter(|line| !old.contains(line));
    let python = extension(path) == "py";
    added.find_map(|line| {
        if pattern.is_match(line) {
            Some("redefined assertion")
        } else if python && LOADED.is_match(line) {
            Some("replaced tests")
        } else if python && DOCTESTS.is_match(line) && runs_doctests() {
            Some("replaced doctests")
        } else {
            None
        }
    })
}

/// A macro in the crate's root stands before the standard library's.
static RUST: LazyLock<Regex> = LazyLock::new(|| {
    regex(concat!(
        r"\bmacro_rules!\s*(?:assert|assert_eq|assert_ne|panic|unreachable|matches)\b",
        r"|\buse\s+(?:crate|self|super)::[^;]*\b(?:assert|assert_eq|assert_ne|panic)\s*[,;}]",
        r"|\bextern\s+crate\s+\w+\s+as\s+(?:std|core)\b|no_implicit_prelude",
    ))
});

static PYTHON: LazyLock<Regex> = LazyLock::new(|| {
    regex(concat!(
        r"\bTestCase\.\w+\s*=[^=]|\b(?:unittest|_?pytest)(?:\.\w+)+\s*=[^=]",
        r#"|setattr\(\s*(?:unittest|_?pytest|\w*TestCase)|modules\[\s*["'](?:unittest|pytest)"#,
    ))
});

/// `unittest` asks a package which tests it has.
static LOADED: LazyLock<Regex> = LazyLock::new(|| regex(r"\bload_tests\b"));

/// The texts of a module that `doctest` reads.
static DOCTESTS: LazyLock<Regex> = LazyLock::new(|| regex(r"\b__test__\b|\b__doc__\b|\bdoctest\."));

static NODE: LazyLock<Regex> = LazyLock::new(|| {
    regex(concat!(
        r"\b(?:global|globalThis)\.(?:expect|assert|it|test|describe)\s*=[^=]",
        r"|\bassert\.\w+\s*=[^=]|\bchai\.\w+(?:\.\w+)*\s*=[^=]",
        r"|(?:defineProperty|assign)\(\s*(?:assert|expect|chai)\b",
    ))
});

static RUBY: LazyLock<Regex> = LazyLock::new(|| {
    regex(
        r"^(?:module|class)\s+(?:Minitest|RSpec|Test::Unit)\b|\b(?:Minitest|RSpec)[\w:]*\.(?:class_eval|module_eval|prepend|define_method|send)\b",
    )
});

static C: LazyLock<Regex> = LazyLock::new(|| {
    regex(
        r"^#\s*define\s+(?:assert|NDEBUG|(?:ASSERT|EXPECT)_(?:EQ|FALSE|GE|GT|LE|LT|NE|NEAR|STREQ|THROW|TRUE)|TEST_ASSERT\w*)\b",
    )
});

fn regex(pattern: &str) -> Regex {
    Regex::new(pattern).expect("a valid pattern")
}
