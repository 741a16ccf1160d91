//! Data that decides: tables of cases, and expected output that no convention names.
//!
//! The harness includes files that a check compares a program's output with, those that a loop of it
//! goes through, and those that the code of a judge or a test reads itself, unless the product reads
//! them, too.

use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use globset::GlobBuilder;
use regex::Regex;

use super::calls;
use super::conventions::SOURCES;
use super::files::{SourceTree, text};
use super::paths::{extension, file_name, folder, inside};
use super::programs::{self, Program};
use super::reader::{ReadAt, Reader};
use super::shell::ShellCommand;
use super::sources;

/// Files with the cases of a line of shell: `while read n; do …; done < cases`, `for n in $(cat x)`,
/// `test "$(prog)" = "$(cat want)"`; and those that a line looks at before it ends well:
/// `[ -e skip ] && exit 0`.
pub(super) fn of_text(reader: &mut Reader<'_>, code: &str, place: &ReadAt) {
    let mut names: Vec<&str> = Vec::new();
    for pattern in [&LOOPS, &WHILE] {
        let found = pattern.captures_iter(code);
        names.extend(found.filter_map(|it| Some(it.get(1)?.as_str())));
    }
    if RUNS.captures_iter(code).any(|it| programs::program(&it[1]) != Program::Looks) {
        names.extend(COMPARED.captures_iter(code).filter_map(|it| Some(it.get(1)?.as_str())));
    }
    for name in names {
        add(reader, name, place);
    }
    for line in code.lines().filter(|line| COMPARES.is_match(line)) {
        let shown: Vec<&str> =
            SHOWN.captures_iter(line).filter_map(|it| Some(it.get(1)?.as_str())).collect();
        // The other side is made by a program.
        if shown.len() == 1 {
            add(reader, shown[0], place);
        }
    }
    // Files that are sourced only if they exist.
    let optional = GUARDED.captures_iter(code).filter_map(|it| inside(&place.folder, &it[1]));
    let optional = optional.filter(|path| !reader.start.paths().contains_key(path));
    reader.found.shadows.extend(optional.collect::<Vec<_>>());
    let mut rest = code;
    while let Some((line, after)) = rest.split_once('\n') {
        rest = after;
        if !LEAVES.is_match(line) || !goes_on(after) {
            continue;
        }
        let end = |c: char| !(c.is_alphanumeric() || "_-./".contains(c));
        let words = line.split(end).filter(|word| word.contains(['.', '/']));
        for path in words.filter_map(|word| inside(&place.folder, word)).filter(|it| is_data(it)) {
            if reader.start.paths().contains_key(&path) {
                note(reader, path);
            } else {
                reader.found.shadows.insert(path);
            }
        }
    }
}

/// Whether more than a last word follows.
fn goes_on(code: &str) -> bool {
    const LAST: [&str; 9] =
        ["exit", "echo", "printf", "false", "return", "fi", "done", "esac", "}"];
    let first = |line: &str| line.split_whitespace().next().map(str::to_owned);
    let mut words = code.lines().filter_map(first);
    words.any(|word| !word.starts_with('#') && !LAST.contains(&word.as_str()))
}

/// The input of a loop or of a group.
pub(super) fn of_input(reader: &mut Reader<'_>, command: &ShellCommand, place: &ReadAt) {
    for name in command.stdin.iter().filter(|_| command.words.is_empty()) {
        add(reader, name, place);
    }
}

/// The files that `diff`, `cmp`, and `comm` compare a program's output with, and the sums of
/// `sha256sum -c`.
pub(super) fn of_comparison(
    reader: &mut Reader<'_>,
    program: &str,
    arguments: &[String],
    place: &ReadAt,
) {
    let files: Vec<&String> = arguments.iter().filter(|word| !word.starts_with("--")).collect();
    let sums = program.ends_with("sum");
    let checks = || arguments.iter().any(|word| word == "-c" || word == "--check");
    let is_made = |word: &&&String| {
        let path = inside(&place.folder, word);
        // A process substitution leaves no text.
        word.is_empty()
            || word.as_str() == "-"
            || word.contains(['$', '('])
            || path.is_some_and(|path| {
                !word.starts_with('-') && !reader.start.paths().contains_key(&path)
            })
    };
    let comparing = matches!(program, "diff" | "cmp" | "comm");
    if !(sums && checks() || comparing && files.iter().any(|word| is_made(&word))) {
        return;
    }
    for word in files.into_iter().cloned().collect::<Vec<_>>() {
        add(reader, &word, place);
    }
}

fn add(reader: &mut Reader<'_>, word: &str, place: &ReadAt) {
    if let Some(path) = reader.file(word, place)
        && is_data(&path)
    {
        note(reader, path);
    }
}

fn note(reader: &mut Reader<'_>, path: PathBuf) {
    reader.found.files.insert(path.clone());
    reader.found.data.insert(path);
}

/// Whether a file may be the data of a check by its name: no source, no document, nothing that is
/// generated for others.
fn is_data(path: &Path) -> bool {
    const OTHERS: [&str; 9] = ["md", "rst", "adoc", "html", "css", "lock", "svg", "1", "proto"];
    const FOLDERS: [&str; 9] =
        ["doc", "docs", "man", "dist", "build", "gen", "generated", "completions", "schema"];
    let part = |part: &std::ffi::OsStr| part.to_str().is_some_and(|part| FOLDERS.contains(&part));
    !SOURCES.contains(&extension(path))
        && !OTHERS.contains(&extension(path))
        // README, LICENSE, VERSION
        && file_name(path).contains(char::is_lowercase)
        && !file_name(path).starts_with("README")
        && !path.iter().any(part)
}

/// Whether a file is a table that code of the harness reads, and that nothing else names.
pub(super) fn is_table<'p>(
    start: &dyn SourceTree,
    path: &Path,
    harness: impl Iterator<Item = &'p PathBuf> + Clone,
) -> bool {
    const TABLES: [&str; 12] = [
        "csv", "dat", "data", "in", "input", "json", "jsonl", "ndjson", "out", "output", "tsv",
        "txt",
    ];
    if !TABLES.contains(&extension(path)) || !is_data(path) {
        return false;
    }
    // Code that looks at nothing else checks the file itself.
    let tries = |from: &Path, code: &str| {
        sources::loads_something(start, from)
            || !calls::starts(extension(from), code).is_empty()
            || code.contains("subprocess")
            || extension(from) == "go"
    };
    let read = |from: &PathBuf| {
        text(start, from).is_some_and(|code| reads(from, &code, path) && tries(from, &code))
    };
    let name = file_name(path);
    let is_code = |path: &Path| SOURCES.contains(&extension(path)) && extension(path) != "sh";
    harness.clone().filter(|from| is_code(from)).any(read)
        && !start.paths().keys().filter(|other| is_code(other)).any(|other| {
            !harness.clone().any(|from| from == other)
                && text(start, other).is_some_and(|code| code.contains(name))
        })
}

/// Whether a line of code reads a file that it names, or one of a folder.
fn reads(from: &Path, code: &str, path: &Path) -> bool {
    let folders = [Path::new(""), folder(from)];
    let names = |literal: &str| {
        folders.iter().filter_map(|at| inside(at, literal)).any(|named| {
            let glob = || {
                let folders = folder(&named) == folder(path) && literal.contains('*');
                let glob =
                    GlobBuilder::new(named.to_str()?).literal_separator(true).build().ok()?;
                Some(folders || glob.compile_matcher().is_match(path))
            };
            named == path || glob().unwrap_or(false)
        })
    };
    let lines = code.lines().filter(|line| READS.is_match(line) && !WRITES.is_match(line));
    lines.flat_map(|line| TEXTS.captures_iter(line)).any(|it| {
        [1, 2, 3]
            .iter()
            .filter_map(|at| it.get(*at))
            .any(|text| names(text.as_str().trim_start_matches('/')))
    })
}

static LOOPS: LazyLock<Regex> =
    LazyLock::new(|| regex(r#"\bin[ \t]+"?(?:\$\(|`)[ \t]*(?:cat[ \t]+|<[ \t]*)([\w./-]+)"#));

static WHILE: LazyLock<Regex> =
    LazyLock::new(|| regex(r"\bcat[ \t]+([\w./-]+)[ \t]*\|[ \t]*while\b"));

/// A file of which all is compared.
static COMPARED: LazyLock<Regex> = LazyLock::new(|| {
    regex(r#"(?:test|\[)[^\n;&|]*"?\$\((?:[ \t]*cat[ \t]+|<[ \t]*)([\w./-]+)[ \t]*\)"#)
});

static COMPARES: LazyLock<Regex> = LazyLock::new(|| regex(r"\b(?:diff|cmp|comm)\b[^\n;&|]*<\("));

/// A file that a process substitution shows.
static SHOWN: LazyLock<Regex> = LazyLock::new(|| {
    regex(r"<\([ \t]*(?:cat|head|sort|tail|uniq)\b(?:[ \t]+-\S+)*[ \t]+([\w./-]+)[ \t]*\)")
});

static RUNS: LazyLock<Regex> = LazyLock::new(|| regex(r"\$\([ \t]*([\w./-]+)"));

static GUARDED: LazyLock<Regex> = LazyLock::new(|| {
    regex(
        r#"-[a-z][ \t]+"?[\w./-]+"?[ \t]*\]{0,2}[ \t]*(?:&&|;[ \t]*then)\s*(?:\.|source)[ \t]+"?([\w./-]+)"#,
    )
});

/// A line of a script that ends it well.
static LEAVES: LazyLock<Regex> =
    LazyLock::new(|| regex(r"(?:&&|\|\||\bthen\b)[^\n]*\b(?:exit|return)[ \t]+0\b"));

static READS: LazyLock<Regex> = LazyLock::new(|| {
    regex(
        r"\b(?:open|fopen|read\w*|load\w*|glob|globSync|parse\w*|Path|file|file_get_contents|foreach|scandir|include_str|include_bytes|slurp)\b|File\.|\bgo:embed\b|\breadFile|\bReadFile|\brequire\(",
    )
});

static WRITES: LazyLock<Regex> =
    LazyLock::new(|| regex(r#"["'][wa]b?["']|\bwrite|\bWrite|file_put_contents|\bsubprocess\b"#));

static TEXTS: LazyLock<Regex> =
    LazyLock::new(|| regex(r#""([^"\n]+)"|'([^'\n]+)'|\bgo:embed[ \t]+(\S+)"#));

fn regex(pattern: &str) -> Regex {
    Regex::new(pattern).expect("a valid pattern")
}
