//! Files with data, and whether the product reads them itself.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use regex::Regex;

use super::conventions::{Role, SOURCES};
use super::deciding::{self, loaded_name};
use super::files::{EntryKind, FileEntry, SourceTree, text};
use super::paths::{extension, file_name, sounds_in};
use super::table::Table;

/// Whether a file may be the data of a check by its name: no source, no document, nothing that is
/// generated for others.
pub(super) fn is_data(path: &Path) -> bool {
    const OTHERS: [&str; 9] = ["md", "rst", "adoc", "html", "css", "lock", "svg", "1", "proto"];
    const FOLDERS: [&str; 9] =
        ["doc", "docs", "man", "dist", "build", "gen", "generated", "completions", "schema"];
    let part = |part: &std::ffi::OsStr| part.to_str().is_some_and(|part| FOLDERS.contains(&part));
    !SOURCES.contains(&extension(path))
        && !OTHERS.contains(&extension(path))
        // README, LICENSE, VERSION
        && file_name(path).contains(char::is_lowercase)
        && !file_name(path).starts_with("README")
        && !file_name(path).to_lowercase().contains("version")
        && !path.iter().any(part)
}

/// The files among these that belong to the harness: no manifests, and nothing that a source of the
/// product names: a program whose output is compared, or what it loads.
pub(super) fn of_the_harness(
    start: &dyn SourceTree,
    table: &Table,
    harness: &BTreeSet<PathBuf>,
    subjects: &BTreeSet<PathBuf>,
    files: Vec<PathBuf>,
) -> Vec<PathBuf> {
    /// Sources that are searched for names.
    const MOST: usize = 2_000;
    let mut files = files;
    files.retain(|path| table.role(path) != Some(Role::Manifest) && !harness.contains(path));
    if files.is_empty() {
        return files;
    }
    let is_source = |path: &Path| {
        (SOURCES.contains(&extension(path)) || extension(path).is_empty())
            && !harness.contains(path)
            && table.role(path).is_none()
            && !sounds_in(path)
            && !files.iter().any(|file| file == path)
    };
    let is_file = |entry: &FileEntry| matches!(entry.kind, EntryKind::Regular { .. });
    let all = start.paths().iter().filter(|(path, entry)| is_file(entry) && is_source(path));
    let all: Vec<&PathBuf> = all.map(|(path, _)| path).take(MOST).collect();
    let (mut sources, mut others): (Vec<&PathBuf>, Vec<&PathBuf>) =
        all.into_iter().partition(|path| subjects.contains(*path));
    if sources.is_empty() {
        // What is compiled or loaded is not named.
        sources = others.into_iter().filter(|path| extension(path) != "sh").collect();
        others = Vec::new();
    }
    // What the subjects name, and what that names.
    let mut codes = Vec::new();
    while let Some(path) = sources.pop() {
        let Some(code) = text(start, path) else { continue };
        let (named, rest) =
            others.into_iter().partition(|other| deciding::mentions(&code, loaded_name(other)));
        others = rest;
        sources.extend::<Vec<&PathBuf>>(named);
        codes.push(code);
    }
    for code in codes {
        files.retain(|path| !names(&code, path));
    }
    files
}

/// Does code name a file, as what it reads or writes?
pub(super) fn names(code: &str, path: &Path) -> bool {
    let name = file_name(path);
    let begins = |before: &str| before.ends_with(['"', '\'', '`', '/', '<', '>', '=', ' ']);
    let ends = |after: &str| {
        after.is_empty() || after.starts_with(['"', '\'', '`', ')', ';', '|', ',', ' ', '\n'])
    };
    code.match_indices(name).any(|(at, _)| {
        let line = code[..at].rfind('\n').map_or(0, |end| end + 1);
        let (before, after) = (&code[line..at], &code[at + name.len()..]);
        let known = name.contains('.') || USES.is_match(before);
        known && begins(before) && ends(after)
    })
}

/// Words before the name of a file that is read or written.
static USES: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"(?i)open|read|load|path|file|include|require|\b(?:cat|head|tail|sort|source|tee|write)\b|[<>]")
        .expect("a valid pattern")
});
