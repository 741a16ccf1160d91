//! Files with code that other programs than interpreters load: `sqlite3 '.read x'`, `jq -L x`, `bc x`,
//! `cc -x c x`.

use std::path::Path;
use std::sync::LazyLock;

use regex::Regex;

use super::conventions::SOURCES;
use super::files::text;
use super::paths::extension;
use super::programs;
use super::reader::{ReadAt, Reader};
use super::shell::ShellCommand;

/// Programs that print what they are given.
pub(super) const PRINTS: [&str; 5] = ["printf", "echo", "cat", "seq", "yes"];

/// Judges the files that a command loads.
pub(super) fn run(
    reader: &mut Reader<'_>,
    (program, arguments): (&str, &[String]),
    (command, before): (&ShellCommand, &[ShellCommand]),
    place: &ReadAt,
    depth: usize,
) {
    match program {
        "sqlite3" => sqlite(reader, arguments, command, place, depth),
        "jq" | "gojq" if command.decides => jq(reader, arguments, place, depth),
        "bc" | "dc" if is_fed_by_the_work(command, before) => {
            reader.runner(arguments, place, depth)
        }
        _ if programs::compiles(program) => compiler(reader, arguments, place, depth),
        _ => {}
    }
}

/// Whether a program of the work is before a command in its pipeline.
fn is_fed_by_the_work(command: &ShellCommand, before: &[ShellCommand]) -> bool {
    let piped = before.iter().filter(|other| other.pipeline == command.pipeline);
    piped.filter_map(|other| other.words.first()).any(|word| !PRINTS.contains(&word.as_str()))
}

/// Commands of the shell of SQLite. A text without them is a schema or a query: the product.
fn sqlite(
    reader: &mut Reader<'_>,
    arguments: &[String],
    command: &ShellCommand,
    place: &ReadAt,
    depth: usize,
) {
    static COMMANDS: LazyLock<Regex> = LazyLock::new(|| {
        Regex::new(r"(?m)^\s*\.(?:bail|import|once|output|read|shell|system)\b").expect("valid")
    });
    let mut scripts = arguments.to_vec();
    scripts.extend(command.document.clone());
    let mut files: Vec<&String> = command.stdin.iter().collect();
    let owned = scripts.join("\n");
    for line in owned.lines().map(str::trim) {
        if let Some(line) = line.strip_prefix(".shell ").or(line.strip_prefix(".system ")) {
            reader.lines(line, place, depth + 1);
        }
    }
    let named: Vec<String> = owned
        .lines()
        .filter_map(|line| line.trim().strip_prefix(".read "))
        .map(|name| name.trim().to_owned())
        .collect();
    files.extend(&named);
    for path in files.into_iter().filter_map(|name| reader.file(name, place)).collect::<Vec<_>>() {
        if text(reader.start, &path).is_some_and(|code| COMMANDS.is_match(&code)) {
            reader.judge(&path, place, depth);
        }
    }
}

/// Modules of jq: `-L FOLDER 'import "m" as m; m::ok'`.
fn jq(reader: &mut Reader<'_>, arguments: &[String], place: &ReadAt, depth: usize) {
    static IMPORT: LazyLock<Regex> =
        LazyLock::new(|| Regex::new(r#"\b(?:import|include)\s+"([^"]+)""#).expect("valid"));
    let code = arguments.join("\n");
    let modules = IMPORT.captures_iter(&code).filter_map(|found| Some(found.get(1)?.as_str()));
    let folders = arguments.iter().map(|word| word.strip_prefix("-L").unwrap_or(word));
    let folders: Vec<&str> = folders.chain(["."]).collect();
    for module in modules {
        let names = folders.iter().map(|folder| format!("{folder}/{module}.jq"));
        let files: Vec<_> = names.filter_map(|name| reader.file(&name, place)).collect();
        files.iter().for_each(|path| reader.judge(path, place, depth));
    }
}

/// A source under another name, and a header that is all that a generated source has of the
/// repository.
fn compiler(reader: &mut Reader<'_>, arguments: &[String], place: &ReadAt, depth: usize) {
    let is_source = |path: &Path| SOURCES.contains(&extension(path));
    let after = |option: &str| {
        let at = arguments.iter().position(|word| word == option);
        at.map_or(&[][..], |at| &arguments[at + 1..])
    };
    let given = after("-x").iter().skip(1).filter_map(|word| reader.file(word, place));
    let mut found: Vec<_> = given.filter(|path| !is_source(path)).collect();
    let included = after("-include").first().and_then(|word| reader.file(word, place));
    let others = arguments.iter().filter_map(|word| reader.file(word, place));
    if !others.filter(|path| Some(path) != included.as_ref()).any(|path| is_source(&path)) {
        found.extend(included);
    }
    for path in found {
        reader.judge(&path, place, depth);
    }
}
