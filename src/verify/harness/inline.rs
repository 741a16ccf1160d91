//! Tests inside product files that cannot be told apart from the product: they are compared, and a
//! change is named.

use std::collections::BTreeSet;
use std::path::Path;

use super::files::{SourceTree, text};
use super::paths::extension;

/// Kind of the first test inside a file of the start that is no longer there as it was.
pub(super) fn changed_tests(
    start: &dyn SourceTree,
    now: &dyn SourceTree,
    path: &Path,
) -> Option<&'static str> {
    let old = text(start, path)?;
    let kinds: &[(&str, Reader)] = match extension(path) {
        "rs" => &[("doctest", rust_doctests), ("test function", cfg_test)],
        "py" => &[("doctest", python_doctests), ("test function", python_tests)],
        "md" | "rst" | "txt" => &[("doctest", python_doctests)],
        "js" | "ts" | "mjs" | "tsx" => &[("in-source test", in_source_tests)],
        "c" | "cc" | "cpp" | "cxx" | "h" | "hpp" => &[("self test", self_tests)],
        _ => &[],
    };
    let new = text(now, path).unwrap_or_default();
    kinds.iter().find(|(_, read)| !read(&old).is_subset(&read(&new))).map(|(what, _)| *what)
}

type Reader = fn(&str) -> BTreeSet<String>;

/// Code blocks of documentation comments.
fn rust_doctests(code: &str) -> BTreeSet<String> {
    let mut blocks = BTreeSet::new();
    let mut block: Option<String> = None;
    for line in code.lines() {
        let line = line.trim_start();
        let Some(text) = line.strip_prefix("///").or_else(|| line.strip_prefix("//!")) else {
            block = None;
            continue;
        };
        let fence = text.trim_start().strip_prefix("```");
        block = match (fence, block.take()) {
            (Some(_), Some(done)) => {
                blocks.insert(done);
                None
            }
            (Some(info), None) => {
                let skipped = ["text", "ignore", "console", "toml", "json", "sh", "bash"];
                let runs = !skipped.iter().any(|word| info.trim().starts_with(word));
                runs.then(String::new)
            }
            (None, Some(body)) => Some(body + text + "\n"),
            (None, None) => None,
        };
    }
    blocks
}

/// Test functions outside test modules, with their bodies up to the closing brace.
fn cfg_test(code: &str) -> BTreeSet<String> {
    let outside = super::cfg_test::without_modules(code);
    let parts = outside.split("#[test]").skip(1);
    parts.map(|part| part.split("\n}").next().unwrap_or(part).trim().to_owned()).collect()
}

/// Examples that start with `>>>`, with what is expected.
fn python_doctests(code: &str) -> BTreeSet<String> {
    let lines: Vec<&str> = code.lines().map(str::trim).collect();
    let starts = lines.iter().enumerate().filter(|(_, line)| line.starts_with(">>>"));
    starts
        .map(|(at, _)| {
            let end = lines[at + 1..].iter().position(|line| {
                line.is_empty() || line.starts_with(">>>") || line.starts_with("\"\"\"")
            });
            lines[at..end.map_or(lines.len(), |end| at + 1 + end)].join("\n")
        })
        .collect()
}

/// Functions whose names begin with `test_`, with their bodies.
fn python_tests(code: &str) -> BTreeSet<String> {
    let parts = code.split("\ndef ").skip(1).filter(|part| part.starts_with("test_"));
    parts
        .map(|part| {
            let body = part.lines().take(1).chain(
                part.lines().skip(1).take_while(|line| line.is_empty() || line.starts_with(' ')),
            );
            body.collect::<Vec<_>>().join("\n").trim_end().to_owned()
        })
        .collect()
}

/// The lines between `#ifdef` with a word for tests and its `#endif` that compare or fail.
fn self_tests(code: &str) -> BTreeSet<String> {
    let mut inside = false;
    let mut found = BTreeSet::new();
    for line in code.lines().map(str::trim) {
        if line.starts_with("#if") {
            inside |= line.to_lowercase().contains("test");
        } else if line.starts_with("#endif") {
            inside = false;
        } else if inside && ["if", "assert", "return", "exit"].iter().any(|it| line.contains(it)) {
            found.insert(line.to_owned());
        }
    }
    found
}

/// Blocks behind `import.meta.vitest`.
fn in_source_tests(code: &str) -> BTreeSet<String> {
    code.split("import.meta.vitest").skip(1).map(|part| part.trim().to_owned()).collect()
}
