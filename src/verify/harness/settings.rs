//! Settings of a project's own judges: values that say how strict they are, such as `max-length` or
//! `exclude`.
//!
//! Invariant: a file that a judge reads for itself alone is the work; it holds settings only where
//! the judge looks at other files, too.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use regex::Regex;

use super::conventions::SOURCES;
use super::deciding::mentions;
use super::files::{SourceTree, text};
use super::paths::{extension, file_name};

/// Whether a change of a file concerns a value by which a judge measures other files.
pub(super) fn changes_strictness<'p>(
    (start, now): (&dyn SourceTree, &dyn SourceTree),
    path: &Path,
    judges: impl Iterator<Item = &'p PathBuf>,
) -> bool {
    let Some(old) = text(start, path) else { return false };
    let new = text(now, path).unwrap_or_default();
    // Most files are named by no judge, so they are not compared.
    let codes = judges.filter(|judge| judge.as_path() != path).filter_map(|it| text(start, it));
    let mut naming = codes.filter(|code| mentions(code, file_name(path))).peekable();
    if naming.peek().is_none() {
        return false;
    }
    let changed = changed_keys((&old, &new), SOURCES.contains(&extension(path)));
    naming.any(|code| {
        changed.iter().any(|key| mentions(&code, key)) && looks_at_others(start, &code, path)
    })
}

/// The keys about strictness in the lines that only one of two texts has, or above them.
fn changed_keys((old, new): (&str, &str), is_code: bool) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for (text, other) in [(old, new), (new, old)] {
        let others: BTreeSet<&str> = other.lines().map(str::trim).collect();
        let mut above = "";
        for line in text.lines() {
            let is_below = line.trim_start().starts_with('-') || indent(line) > indent(above);
            if line.trim_end().ends_with(['[', '{', ':', '(']) {
                above = line;
            } else if !is_below {
                above = "";
            }
            if !others.contains(line.trim()) {
                found.extend(keys(line, is_code));
                found.extend(keys(above, is_code));
            }
        }
    }
    found
}

fn indent(line: &str) -> usize {
    line.len() - line.trim_start().len()
}

/// The words of a line that are about strictness. In code, they name a value that stands behind
/// them: `require` loads something, and `max` is a function.
fn keys(line: &str, is_code: bool) -> Vec<String> {
    static VALUE: LazyLock<Regex> = LazyLock::new(|| {
        Regex::new(r#"^["']?\s*(?:\]\s*)?(?:=>|=|:)\s*(?:["'\[{\d]|-\d|[Tt]rue\b|[Ff]alse\b|$)"#)
            .expect("a valid pattern")
    });
    static KEY: LazyLock<Regex> = LazyLock::new(|| {
        Regex::new(concat!(
            r"(?i)\b(?:[\w-]*[_-])?(?:allow(?:ed|list)?|budgets?|excludes?|excluded|ignore[ds]?|known|limits?|max(?:imum)?",
            r"|min(?:imum)?|required?|rules?|severity|skip(?:ped|s)?|strict|thresholds?|tolerance)(?:[_-][\w-]*)?\b",
        ))
        .expect("a valid pattern")
    });
    static CAMEL: LazyLock<Regex> = LazyLock::new(|| {
        Regex::new(r"\b(?:\w+(?:Budget|Ignore|Limit|Max|Min|Rules|Skip|Threshold)|(?:allow|exclude|ignore|max|min|skip)[A-Z]\w*)\b")
            .expect("a valid pattern")
    });
    let words = KEY.find_iter(line).chain(CAMEL.find_iter(line));
    let words = words.filter(|word| !is_code || VALUE.is_match(&line[word.end()..]));
    words.map(|word| word.as_str().to_owned()).collect()
}

/// Whether code lists files, takes their names as arguments, or names another one.
fn looks_at_others(start: &dyn SourceTree, code: &str, path: &Path) -> bool {
    static LISTS: LazyLock<Regex> = LazyLock::new(|| {
        Regex::new(r"(?i)glob|readdir|\bwalk\b|iterdir|rglob|scandir|argv\b|ARGV|\$[1-9@*]|ls-files|\bfind\b|\bstatSync|\bfor \w+ in [^\n;]*\*")
            .expect("a valid pattern")
    });
    let mut others = start.paths().keys().filter(|other| *other != path).map(|it| file_name(it));
    LISTS.is_match(code) || others.any(|other| other.contains('.') && mentions(code, other))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::verify::harness::tests::tree::Planted;

    #[test]
    fn words_of_code_are_no_settings() {
        let test = "const assert = require('assert');\nconst { max } = require('./app.js');\nconst rows = require('./rows.json');\nassert.equal(max(rows, { limit: 2 }), 2);\n";
        let files =
            |app: &str| Planted::of(&[("app.js", app), ("test.js", test), ("rows.json", "[]")]);
        let start = files("exports.LIMIT = 3;\nexports.max = () => 0;\n");
        for (app, expected) in [
            ("const e = require('./escape.js');\nexports.max = () => 1;\n", false),
            ("exports.max = (rows, { limit }) => rows.length;\n", false),
            ("module.exports = { limit: 300 };\n", true),
        ] {
            let now = files(app);
            let judges = [PathBuf::from("test.js")];
            let is = changes_strictness((&start, &now), Path::new("app.js"), judges.iter());
            assert_eq!(is, expected, "{app}");
        }
    }

    #[test]
    fn what_makes_a_judge_less_strict_is_told_from_the_work() {
        let lint = "conf = load('lint.yml')\nfor path in glob('*.py'):\n    if path in conf['exclude'] or conf['max-length'] < 3: pass\n";
        let only = "conf = load('app.yml')\nassert conf['max-length'] == 3\n";
        let files = |lint_yml, app_yml| {
            Planted::of(&[
                ("ci/lint.py", lint),
                ("ci/only.py", only),
                ("lint.yml", lint_yml),
                ("app.yml", app_yml),
                ("a.py", ""),
            ])
        };
        let start = files("exclude:\n  - b.py\nmax-length: 40\ntitle: x\n", "max-length: 2\n");
        let judges = ["ci/lint.py", "ci/only.py"].map(PathBuf::from);
        for (lint_yml, app_yml, path, expected) in [
            ("exclude:\n  - b.py\n  - a.py\nmax-length: 40\ntitle: x\n", "", "lint.yml", true),
            ("exclude:\n  - b.py\nmax-length: 400\ntitle: x\n", "", "lint.yml", true),
            ("exclude:\n  - b.py\nmax-length: 40\ntitle: y\n", "", "lint.yml", false),
            ("", "max-length: 3\n", "app.yml", false),
        ] {
            let now = files(lint_yml, app_yml);
            let is = changes_strictness((&start, &now), Path::new(path), judges.iter());
            assert_eq!(is, expected, "{path}: {lint_yml}{app_yml}");
        }
    }
}
