//! Files that say how much is allowed, or what is passed over: budgets, baselines, lists of
//! exceptions. A check that reads one beside the work compares the work with it.

use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use regex::Regex;

use super::conventions::SOURCES;
use super::deciding::mentions;
use super::files::{SourceTree, text};
use super::paths::{extension, file_name};

/// Whether a file of the start is a measure by its name, and what reads it: a captured part of a
/// line (`-le "$(cat size-budget)"`) or code of the harness.
pub(super) fn is_measure<'p>(
    start: &dyn SourceTree,
    path: &Path,
    lines: &[String],
    mut harness: impl Iterator<Item = &'p PathBuf>,
) -> bool {
    sounds(path, &MEASURES)
        && (lines.iter().any(|line| measures(start, line, path))
            || harness.any(|from| reads(start, from, path)))
}

/// Whether a new file is one of exceptions, for which code of the harness looks.
pub(super) fn is_exception<'p>(
    start: &dyn SourceTree,
    path: &Path,
    mut harness: impl Iterator<Item = &'p PathBuf>,
) -> bool {
    sounds(path, &EXCEPTIONS) && harness.any(|from| reads(start, from, path))
}

/// Whether the name of a file has one of the words.
fn sounds(path: &Path, words: &Regex) -> bool {
    !matches!(extension(path), "md" | "rst" | "adoc" | "html" | "css" | "sql")
        && words.is_match(file_name(path))
}

/// Whether code of the harness names the file, or a module of its name.
fn reads(start: &dyn SourceTree, from: &Path, path: &Path) -> bool {
    let name = match extension(path) {
        source if SOURCES.contains(&source) && source != "sh" => {
            path.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default()
        }
        _ => file_name(path),
    };
    from != path && text(start, from).is_some_and(|code| mentions(&code, name))
}

/// Whether a line reads the file to compare another one with it.
fn measures(start: &dyn SourceTree, line: &str, path: &Path) -> bool {
    static CAPTURES: LazyLock<Regex> = LazyLock::new(|| {
        regex(r"\$\([^()]*\)|`[^`]*`|--(?:slurp|arg|raw)file\s+\S+\s+\S+|\bcomm\b[^|;&]*|-f\s+\S+")
    });
    let name = file_name(path);
    let is_captured = CAPTURES.find_iter(line).any(|part| mentions(part.as_str(), name));
    let has_another = || {
        let others = start.paths().keys().filter(|other| *other != path);
        line.matches("$(").count() > 1
            || others
                .map(|other| file_name(other))
                .any(|other| (other.contains('.') || other.len() > 4) && mentions(line, other))
    };
    is_captured && has_another()
}

static MEASURES: LazyLock<Regex> = LazyLock::new(|| {
    regex(concat!(
        r"(?i)(?:^|[._-])(?:allow(?:ed|list)?|baselines?|budgets?|cases|conformance|deny(?:list)?|dict(?:ionary)?",
        r"|exceptions?|excludes?|expect(?:ed|ations?)?|fixtures?|golden|ignore[ds]?|known|limits?|maximum|minimum|oracle|quarantined?",
        r"|quota|ratchet|references?|scenarios?|skip(?:list|ped|s)?|snapshots?|suppressions?|thresholds?|vocab(?:ulary)?",
        r"|want(?:ed)?|waivers?|whitelist|wordlist|words|xfails?)(?:$|[._-])|\.(?:schema|xsd)$|(?:^|[._-])(?:header|license)[._-](?:tmpl|template|txt)$|schema\.json$",
        r"|(?:ignore|skip|allow)(?:\.\w+)?$",
    ))
});

static EXCEPTIONS: LazyLock<Regex> = LazyLock::new(|| {
    regex(concat!(
        r"(?i)(?:^|[._-])(?:allow(?:ed|list)?|baselines?|deny(?:list)?|disabled|exceptions?|excludes?|ignore[ds]?|known|local|overrides?",
        r"|quarantined?|skip(?:list|ped|s)?|suppressions?|waivers?|whitelist|xfails?)(?:$|[._-])|(?:ignore|skip|allow)(?:\.\w+)?$",
    ))
});

fn regex(pattern: &str) -> Regex {
    Regex::new(pattern).expect("a valid pattern")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::verify::harness::tests::tree::Planted;

    #[test]
    fn a_measure_is_told_from_the_work() {
        let start = Planted::of(&[
            ("size-budget", "60\n"),
            ("page.html", "<p>\n"),
            ("limits.json", "{}\n"),
            ("ci/lint", "grep -qxF \"$f\" .lintskip\n"),
            ("ci/words", "fox\n"),
            ("ci/spell", "comm -23 - ci/words\n"),
        ]);
        let harness = [PathBuf::from("ci/lint"), PathBuf::from("ci/spell")];
        for (line, path, expected) in [
            ("test \"$(wc -c < page.html)\" -le \"$(cat size-budget)\"", "size-budget", true),
            ("test \"$(cat size-budget)\" = 50", "size-budget", false),
            ("jq -e '.max == 50' limits.json && grep -q x page.html", "limits.json", false),
            ("sh ci/spell page.html", "ci/words", true),
            ("sh ci/spell page.html", "page.html", false),
        ] {
            let lines = [line.to_owned()];
            let is = is_measure(&start, Path::new(path), &lines, harness.iter());
            assert_eq!(is, expected, "{line}: {path}");
        }
        assert!(is_exception(&start, Path::new(".lintskip"), harness.iter()));
        assert!(!is_exception(&start, Path::new("skip.txt"), harness.iter()));
    }
}
