//! Files that say how much is allowed, or what is passed over: budgets, baselines, lists of
//! exceptions. A check that reads one beside the work compares the work with it.

use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use regex::Regex;

use super::conventions::SOURCES;
use super::deciding::mentions;
use super::files::{SourceTree, text};
use super::paths::{extension, file_name, folder, sounds_in};
use super::patterns::regex;
use super::programs::lists;
use super::sources;

/// Whether a file of the start is a measure by its name, and what reads it: a captured part of a
/// line (`-le "$(cat size-budget)"`) or code of the harness.
pub(super) fn is_measure<'p>(
    start: &dyn SourceTree,
    path: &Path,
    lines: &[String],
    mut harness: impl Iterator<Item = &'p PathBuf>,
) -> bool {
    if is_source(path) {
        const TABLES: &str =
            "cases expectations expected fixtures golden scenarios testcases testdata vectors";
        let stem = path.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default();
        return lists(TABLES, stem) && harness.any(|from| names_module(start, from, stem));
    }
    let is_list =
        || matches!(extension(path), "md" | "rst" | "adoc") && LISTED.is_match(file_name(path));
    if !sounds(path, &MEASURES) && !is_list() {
        return false;
    }
    let harness: Vec<&PathBuf> = harness.collect();
    let runs_judge = |line: &str| harness.iter().any(|from| mentions(line, file_name(from)));
    let is_argument = |line: &String| {
        names(line, path)
            && runs_judge(line)
            && (has_another(start, line, path)
                || harness.iter().any(|from| sources::loads_something(start, from)))
    };
    lines.iter().any(|line| measures(start, line, path))
        || lines.iter().any(is_argument)
        || harness.iter().any(|from| reads(start, from, path))
}

/// Whether a new file is one of exceptions, for which code of the harness looks, or one for which a
/// judge looks before it does something else.
pub(super) fn is_exception<'p>(
    start: &dyn SourceTree,
    path: &Path,
    mut harness: impl Iterator<Item = &'p PathBuf>,
    judges: impl Iterator<Item = &'p PathBuf>,
) -> bool {
    let read = if is_source(path) { may_load } else { reads };
    (sounds(path, &EXCEPTIONS) && harness.any(|from| read(start, from, path)))
        || judges
            .filter_map(|judge| text(start, judge))
            .any(|code| leads_elsewhere(&code, file_name(path)))
}

/// Whether code does something else if a file exists: `if os.path.exists(".ci-off"):`.
fn leads_elsewhere(code: &str, name: &str) -> bool {
    if !code.contains("exit") || !mentions(code, name) {
        return false;
    }
    let name = regex::escape(name);
    let asks = Regex::new(&format!(
        r#"(?m)^\s*(?:if|elif|unless|when)\b\s*\(?\s*(?:(?:\w+\.)*(?:exists\??|exist\?|existsSync|isfile|is_file|file_exists|isFile)\s*\(\s*["'](?:\./)?{name}["']|(?:\w+\.)*Path\(["']{name}["']\)\.(?:exists|is_file)\()"#
    ));
    asks.is_ok_and(|asks| asks.is_match(code))
}

/// Whether the name of a file, or of its folder, has one of the words.
fn sounds(path: &Path, words: &Regex) -> bool {
    !matches!(extension(path), "md" | "rst" | "adoc" | "css" | "sql")
        && (words.is_match(file_name(path)) || words.is_match(file_name(folder(path))))
}

/// Whether a text names a file, or its folder.
fn names(text: &str, path: &Path) -> bool {
    mentions(text, file_name(path)) || mentions(text, file_name(folder(path)))
}

/// Whether code of the harness names the file, or its folder.
fn reads(start: &dyn SourceTree, from: &Path, path: &Path) -> bool {
    let in_folder = |code: &str| {
        let folder = file_name(folder(path));
        MEASURES.is_match(folder) && mentions(code, folder)
    };
    from != path
        && text(start, from)
            .is_some_and(|code| mentions(&code, file_name(path)) || in_folder(&code))
}

/// Whether code of the harness names a module.
fn names_module(start: &dyn SourceTree, from: &Path, stem: &str) -> bool {
    text(start, from).is_some_and(|code| mentions(&code, stem))
}

/// Whether code of the harness loads a module of settings if there is one.
fn may_load(start: &dyn SourceTree, from: &Path, path: &Path) -> bool {
    static LOCAL: LazyLock<Regex> =
        LazyLock::new(|| regex(r"(?i)(?:^|[._-])(?:local|overrides?)(?:$|[._-])"));
    let stem = path.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default();
    LOCAL.is_match(stem)
        && text(start, from).is_some_and(|code| {
            let fails = ["ImportError", "ModuleNotFoundError", "catch", "LoadError"];
            mentions(&code, stem) && fails.iter().any(|word| code.contains(word))
        })
}

/// Whether a file holds code in a language of the product.
fn is_source(path: &Path) -> bool {
    SOURCES.contains(&extension(path)) && extension(path) != "sh"
}

/// Whether a line reads the file to compare another one with it.
fn measures(start: &dyn SourceTree, line: &str, path: &Path) -> bool {
    static CAPTURES: LazyLock<Regex> = LazyLock::new(|| {
        regex(r"\$\([^()]*\)|`[^`]*`|--(?:slurp|arg|raw)file\s+\S+\s+\S+|\bcomm\b[^|;&]*|-f\s+\S+")
    });
    let name = file_name(path);
    // `. ./limits.sh; test "$(wc -c < a.css)" -le "$MAX"`
    static SOURCES: LazyLock<Regex> =
        LazyLock::new(|| regex(r"(?:^|[;&|]\s*)(?:\.|source)\s+\S+(?:.*-(?:le|lt|ge|gt)\s)"));
    let is_captured = CAPTURES.find_iter(line).any(|part| mentions(part.as_str(), name));
    let is_sourced = extension(path) == "sh" && SOURCES.is_match(line) && mentions(line, name);
    (is_captured || is_sourced)
        && (line.matches("$(").count() > 1 || has_another(start, line, path))
}

/// Whether a line names another file that no judge is.
fn has_another(start: &dyn SourceTree, line: &str, path: &Path) -> bool {
    let others = start.paths().keys().filter(|other| *other != path && !sounds_in(other));
    let mut others = others.map(|other| file_name(other));
    others.any(|other| (other.contains('.') || other.len() > 4) && mentions(line, other))
}

static MEASURES: LazyLock<Regex> = LazyLock::new(|| {
    regex(concat!(
        r"(?i)(?:^|[._-])(?:allow(?:ed|list)?|baselines?|budgets?|cases|conformance|deny(?:list)?|dict(?:ionary)?",
        r"|exceptions?|excludes?|expect(?:ed|ations?)?|fixtures?|golden|ignore[ds]?|known|limits?|maximum|minimum|oracle|quarantined?",
        r"|quota|ratchet|references?|scenarios?|schemas?|skip(?:list|ped|s)?|snapshots?|suppressions?|thresholds?|vocab(?:ulary)?",
        r"|want(?:ed)?|waivers?|whitelist|wordlist|words|xfails?)(?:$|[._-])|\.(?:schema|xsd)$|(?:^|[._-])(?:header|license)[._-](?:tmpl|template|txt)$|schema\.json$",
        r"|(?:ignore|skip|allow)(?:\.\w+)?$",
    ))
});

/// Words in the names of documents with exceptions: `KNOWN_ISSUES.md`.
static LISTED: LazyLock<Regex> = LazyLock::new(|| {
    regex(r"(?i)(?:^|[._-])(?:baselines?|exceptions?|ignored?|known|waivers?|xfails?)(?:$|[._-])")
});

static EXCEPTIONS: LazyLock<Regex> = LazyLock::new(|| {
    regex(concat!(
        r"(?i)(?:^|[._-])(?:allow(?:ed|list)?|baselines?|deny(?:list)?|disabled|exceptions?|excludes?|ignore[ds]?|known|local|overrides?",
        r"|quarantined?|skip(?:list|ped|s)?|suppressions?|waivers?|whitelist|xfails?)(?:$|[._-])|(?:ignore|skip|allow)(?:\.\w+)?$",
    ))
});

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
            (
                "ci/judge.py",
                "if os.path.exists('.ci-off'):\n    sys.exit()\nif not os.path.exists('app.cfg'):\n",
            ),
            ("ci/spell", "comm -23 - ci/words\n"),
        ]);
        let harness = ["ci/lint", "ci/spell", "ci/judge.py"].map(PathBuf::from);
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
        for (path, expected) in
            [(".lintskip", true), ("skip.txt", false), (".ci-off", true), ("app.cfg", false)]
        {
            let is = is_exception(&start, Path::new(path), harness.iter(), harness.iter());
            assert_eq!(is, expected, "{path}");
        }
    }
}
