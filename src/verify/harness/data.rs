//! Data that decides: tables of cases, and expected output that no convention names.
//!
//! The harness includes files that a check compares a program's output with, those that a loop of it
//! goes through, and those that the code of a judge or a test reads itself, unless the product reads
//! them, too.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use globset::GlobBuilder;
use regex::Regex;

use super::calls;
use super::conventions::{Role, SOURCES};
use super::files::{SourceTree, text};
use super::fixtures::{is_data, names};
use super::paths::{extension, folder, inside, sounds_in};
use super::patterns::regex;
use super::reader::{ReadAt, Reader};
use super::shell::{ShellCommand, scan};
use super::sources;
use super::wrappers::unwrapped;

/// Files that a line looks at before it ends well: `[ -e skip ] && exit 0`, and those that it sources
/// if they exist.
pub(super) fn of_text(reader: &mut Reader<'_>, code: &str, place: &ReadAt) {
    // Files that are sourced only if they exist.
    let optional = GUARDED.captures_iter(code).filter_map(|it| inside(&place.folder, &it[1]));
    let optional = optional.filter(|path| !reader.start.paths().contains_key(path));
    reader.found.shadows.extend(optional.collect::<Vec<_>>());
    // Files that a loop sources: a new one may define anew what others define.
    for found in SOURCED_ALL.captures_iter(code).filter(|found| found[1] == found[3]) {
        let globs = found[2].split_whitespace().filter(|word| word.contains('*'));
        let globs =
            globs.filter_map(|glob| inside(&place.folder, glob)?.to_str().map(str::to_owned));
        reader.found.includes.extend(globs);
    }
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

/// The files with the sums that `sha256sum -c` compares.
fn sums(
    reader: &Reader<'_>,
    command: &ShellCommand,
    before: &[ShellCommand],
    place: &ReadAt,
) -> Vec<PathBuf> {
    let checks = |word: &String| {
        let short = word.starts_with('-') && !word.starts_with("--") && word.contains('c');
        short || word == "--check"
    };
    let Some((program, arguments)) = unwrapped(&command.words).split_first() else {
        return Vec::new();
    };
    if !program.ends_with("sum") || !arguments.iter().any(checks) {
        return Vec::new();
    }
    let piped = before.iter().filter(|other| other.pipeline == command.pipeline);
    let piped = piped.flat_map(|other| other.words.iter().skip(1).chain(&other.stdin));
    let names = arguments.iter().chain(&command.stdin).chain(piped);
    let files = names.filter_map(|name| reader.file(name, place));
    files.filter(|path| reader.table.role(path) != Some(Role::Manifest)).collect()
}

/// The sums that a command compares belong to the harness.
pub(super) fn of_sums(
    reader: &mut Reader<'_>,
    command: &ShellCommand,
    before: &[ShellCommand],
    place: &ReadAt,
) {
    for path in sums(reader, command, before, place) {
        note(reader, path);
    }
}

/// The files whose sums a text compares.
pub(super) fn summed(reader: &Reader<'_>, code: &str, place: &ReadAt) -> BTreeSet<String> {
    if !code.contains("sum") {
        return BTreeSet::new();
    }
    let commands = scan(code);
    let all = commands.iter().enumerate();
    let files = all.flat_map(|(at, command)| sums(reader, command, &commands[..at], place));
    let listed = files.filter_map(|path| text(reader.start, &path)).flat_map(|list| {
        let names = list.lines().filter_map(|line| line.split_whitespace().next_back());
        let plain =
            |name: &str| name.trim_start_matches(['*', '(']).trim_start_matches("./").to_owned();
        names.map(plain).collect::<Vec<_>>()
    });
    listed.collect()
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

/// Whether a file is a table that code of the harness reads, and that nothing else names.
pub(super) fn is_table<'p>(
    start: &dyn SourceTree,
    path: &Path,
    harness: impl Iterator<Item = &'p PathBuf> + Clone,
) -> bool {
    const TABLES: [&str; 29] = [
        "", "bin", "case", "cfg", "csv", "dat", "data", "def", "in", "inc", "ini", "input", "json",
        "jsonl", "list", "lst", "ndjson", "out", "output", "ref", "scn", "spec", "tab", "toml",
        "tsv", "txt", "xml", "yaml", "yml",
    ];
    let is_seed = || extension(path) == "sql" && SEEDS.is_match(&path.to_string_lossy());
    if !(TABLES.contains(&extension(path)) || is_seed()) || !is_data(path) {
        return false;
    }
    // Code that looks at nothing else checks the file itself.
    let tries = |from: &Path, code: &str| {
        sources::loads_something(start, from)
            || !calls::starts(extension(from), code).is_empty()
            || code.contains("subprocess")
            || matches!(extension(from), "go" | "rs")
    };
    let read = |from: &PathBuf| {
        text(start, from).is_some_and(|code| {
            (reads(from, &code, path) || is_beside(from, &code, path)) && tries(from, &code)
        })
    };
    let is_code = |path: &Path| SOURCES.contains(&extension(path)) && extension(path) != "sh";
    let is_product = |path: &&PathBuf| is_code(path) && !sounds_in(path);
    harness.clone().filter(|from| is_code(from)).any(read)
        && !start.paths().keys().filter(is_product).any(|other| {
            !harness.clone().any(|from| from == other)
                && text(start, other).is_some_and(|code| names(&code, path))
        })
}

/// Whether a module holds cases and nothing else, and only the harness loads it, beside the product.
pub(super) fn is_module(start: &dyn SourceTree, path: &Path, harness: &BTreeSet<PathBuf>) -> bool {
    static RUNS: LazyLock<Regex> = LazyLock::new(|| {
        regex(
            r"\b(?:def|class|lambda|function|func|fn|sub|import|require|include|proc|do|use)\b|=>\s*[({]",
        )
    });
    const LANGUAGES: [&str; 8] = ["py", "js", "mjs", "cjs", "ts", "rb", "php", "lua"];
    let own = |other: &&PathBuf| extension(other) == extension(path);
    let is_list = || {
        let code = text(start, path).unwrap_or_default();
        code.contains(['[', '{']) && !RUNS.is_match(&code)
    };
    let loads = |from: &PathBuf| sources::loads(start, from, path);
    let loads_more = |from: &PathBuf| {
        let own = start.paths().keys().filter(own);
        own.filter(|other| *other != path).any(|other| sources::loads(start, from, other))
    };
    LANGUAGES.contains(&extension(path))
        && harness.iter().filter(own).any(|from| loads(from) && loads_more(from))
        && is_list()
        && !start.paths().keys().filter(own).any(|other| !harness.contains(other) && loads(other))
}

/// Whether code reads the file of its own name with another ending, or those of a folder that a
/// variable or an argument names.
fn is_beside(from: &Path, code: &str, path: &Path) -> bool {
    static OWN_NAME: LazyLock<Regex> =
        LazyLock::new(|| regex(r"with_suffix\(|__file__|__FILE__|__filename|\$0\b"));
    static LISTS: LazyLock<Regex> = LazyLock::new(|| {
        regex(r"\breaddir|\biterdir\(|\blistdir\(|\bscandir\(|\bglob|\bDir\b|\bopendir\b|ReadDir\(")
    });
    let same = from.with_extension("") == path.with_extension("") && OWN_NAME.is_match(code);
    let named = || {
        let folder = folder(path);
        !folder.as_os_str().is_empty()
            && TEXTS
                .captures_iter(code)
                .filter_map(|it| it.get(1).or_else(|| it.get(2)))
                .any(|text| Path::new(text.as_str().trim_end_matches('/')) == folder)
    };
    same || (LISTS.is_match(code) && named())
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
    let is_path = |text: &str| text.contains('/') && Path::new(text) == path;
    code.lines().filter(|line| !WRITES.is_match(line)).any(|line| {
        let reads = READS.is_match(line);
        TEXTS.captures_iter(line).flat_map(|it| [it.get(1), it.get(2), it.get(3)]).flatten().any(
            |text| {
                let text = text.as_str().trim_start_matches('/');
                is_path(text) || reads && names(text)
            },
        )
    })
}

/// `for f in lib/*.sh; do . "./$f"; done`
static SOURCED_ALL: LazyLock<Regex> = LazyLock::new(|| {
    regex(
        r#"\bfor\s+(\w+)\s+in\s+([^;\n]+)\s*[;\n]\s*do\b[^\n]*?(?:^|[\s;&])(?:\.|source)\s+"?(?:\./)?\$\{?(\w+)"#,
    )
});

/// Words in the paths of rows for a database, in contrast to its tables.
static SEEDS: LazyLock<Regex> =
    LazyLock::new(|| regex(r"(?i)\b(?:data|dump|fixtures?|rows|samples?|seeds?)\b"));

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
        r"\b(?:open|fopen|read\w*|load\w*|glob|globSync|parse\w*|Path|file|file_get_contents|foreach|scandir|include_str|include_bytes|slurp)\b|#\s*include\b|File\.|\bgo:embed\b|\breadFile|\bReadFile|\brequire\(",
    )
});

static WRITES: LazyLock<Regex> =
    LazyLock::new(|| regex(r#"["'][wa]b?["']|\bwrite|\bWrite|file_put_contents|\bsubprocess\b"#));

static TEXTS: LazyLock<Regex> =
    LazyLock::new(|| regex(r#""([^"\n]+)"|'([^'\n]+)'|\bgo:embed[ \t]+(\S+)"#));
