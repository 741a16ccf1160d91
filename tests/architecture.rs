//! The rooms of docs/architecture.md are those of the code, and use what they may use.
//!
//! The sources are read as text: comments and strings are taken out first, so that a word
//! in them is no use of anything.

#[path = "architecture/imports.rs"]
mod imports;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use imports::Imports;

/// A source file: its path below `src/`, and its text without comments and strings.
struct Source {
    path: String,
    text: String,
}

impl Source {
    /// The room it lies in; none for the crate's own two files.
    fn room(&self) -> Option<&str> {
        self.path.split_once('/').map(|(room, _)| room)
    }

    /// Is it compiled for tests only?
    fn is_test(&self) -> bool {
        self.path.contains("/tests/") || self.path.ends_with("tests.rs")
    }

    /// The text without the modules at its end that are compiled for tests only.
    fn text_without_tests(&self) -> String {
        let mut text = self.text.clone();
        while let Some(start) = text.find("#[cfg(test)]\nmod ") {
            let Some(open) = text[start..].find(['{', ';']).map(|at| start + at) else { break };
            let end = if text[open..].starts_with('{') { closing(&text, open) } else { open };
            text.replace_range(start..=end, "");
        }
        text
    }
}

/// Where the block ends that opens at `open`.
fn closing(text: &str, open: usize) -> usize {
    let mut depth = 0_usize;
    for (at, letter) in text[open..].char_indices() {
        match letter {
            '{' => depth += 1,
            '}' => depth -= 1,
            _ => continue,
        }
        if depth == 0 {
            return open + at;
        }
    }
    text.len() - 1
}

fn sources() -> Vec<Source> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut found = Vec::new();
    let mut folders = vec![root.clone()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).expect("a folder") {
            let path: PathBuf = entry.expect("an entry").path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                let text = bare(&fs::read_to_string(&path).expect("a source"));
                let below = path.strip_prefix(&root).expect("below src");
                found.push(Source { path: below.to_string_lossy().into_owned(), text });
            }
        }
    }
    found.sort_by(|a, b| a.path.cmp(&b.path));
    assert!(found.len() > 100, "the sources are not where they were");
    found
}

/// The text without comments, strings and character literals, line by line.
fn bare(text: &str) -> String {
    let chars: Vec<char> = text.chars().collect();
    let mut out = String::new();
    let mut at = 0;
    while at < chars.len() {
        let rest = &chars[at..];
        let length = match rest {
            ['/', '/', ..] => rest.iter().take_while(|c| **c != '\n').count(),
            ['/', '*', ..] => comment(rest),
            ['"', ..] => string(rest),
            ['r', '"' | '#', ..] if !ends_in_word(&out) && raw(rest).is_some() => {
                raw(rest).unwrap_or(1)
            }
            ['\'', '\\', _, tail @ ..] => {
                3 + tail.iter().position(|c| *c == '\'').map_or(0, |end| end + 1)
            }
            ['\'', _, '\'', ..] => 3,
            [first, ..] => {
                out.push(*first);
                at += 1;
                continue;
            }
            [] => 1,
        };
        // Lines stay where they are.
        let skipped = rest.iter().take(length);
        out.extend(skipped.filter(|letter| **letter == '\n'));
        at += length;
    }
    out
}

fn ends_in_word(text: &str) -> bool {
    text.chars().last().is_some_and(|last| last.is_alphanumeric() || last == '_')
}

fn comment(rest: &[char]) -> usize {
    let (mut depth, mut at) = (0, 0);
    while at < rest.len() {
        match rest[at..] {
            ['/', '*', ..] => (depth, at) = (depth + 1, at + 2),
            ['*', '/', ..] => (depth, at) = (depth - 1, at + 2),
            _ => at += 1,
        }
        if depth == 0 {
            break;
        }
    }
    at
}

fn string(rest: &[char]) -> usize {
    let mut at = 1;
    while at < rest.len() && rest[at] != '"' {
        at += if rest[at] == '\\' { 2 } else { 1 };
    }
    at + 1
}

/// The length of a raw string, if this is one.
fn raw(rest: &[char]) -> Option<usize> {
    let hashes = rest[1..].iter().take_while(|c| **c == '#').count();
    if rest.get(1 + hashes) != Some(&'"') {
        return None;
    }
    let end: Vec<char> = std::iter::once('"').chain(std::iter::repeat_n('#', hashes)).collect();
    let body = 2 + hashes;
    let found = rest[body..].windows(end.len()).position(|window| window == end.as_slice())?;
    Some(body + found + end.len())
}

/// Names that follow `crate::`, also those in braces.
fn uses(text: &str) -> BTreeSet<String> {
    let name = |text: &str| -> String {
        text.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect()
    };
    let mut found = BTreeSet::new();
    for (at, mark) in text.match_indices("crate::") {
        if ends_in_word(&text[..at]) || text[..at].ends_with('$') {
            continue;
        }
        let rest = &text[at + mark.len()..];
        match rest.strip_prefix('{') {
            Some(list) => {
                let list = list.split('}').next().unwrap_or_default();
                found.extend(list.split(',').map(|item| name(item.trim())));
            }
            None => {
                found.insert(name(rest));
            }
        }
    }
    found.remove("");
    found
}

/// The table of docs/architecture.md: each room with those it may use.
fn rooms() -> BTreeMap<String, BTreeSet<String>> {
    let rows = include_str!("../docs/architecture.md")
        .lines()
        .filter(|line| line.starts_with("| `"))
        .map(|line| line.trim_matches('|').split(" | ").map(str::trim).collect::<Vec<_>>());
    let mut rooms = BTreeMap::new();
    for row in rows {
        let [room, _, may] = row[..] else { panic!("a row of three columns: {row:?}") };
        let may = may.split(", ").filter(|name| *name != "–").map(str::to_owned).collect();
        rooms.insert(room.trim_matches('`').to_owned(), may);
    }
    rooms
}

#[test]
fn the_table_names_the_rooms_that_there_are() {
    let named: BTreeSet<String> = rooms().into_keys().collect();
    let there: BTreeSet<String> =
        sources().iter().filter_map(|source| source.room().map(str::to_owned)).collect();
    assert_eq!(named, there);
}

#[test]
fn a_room_uses_only_those_that_it_may_use() {
    let rooms = rooms();
    let mut breaches = Vec::new();
    let mut used: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for source in sources() {
        let Some(room) = source.room() else { continue };
        for other in uses(&source.text) {
            if other == room {
                continue;
            }
            used.entry(room.to_owned()).or_default().insert(other.clone());
            if !rooms[room].contains(&other) {
                breaches.push(format!("src/{} uses {other}", source.path));
            }
        }
    }
    assert_eq!(breaches, Vec::<String>::new());
    for (room, may) in rooms {
        let really = used.remove(&room).unwrap_or_default();
        let idle: Vec<_> = may.difference(&really).collect();
        assert!(idle.is_empty(), "the table lets {room} use {idle:?}, and it does not");
    }
}

#[test]
fn imports_run_one_way() {
    let mut left = rooms();
    while !left.is_empty() {
        let free: Vec<String> = left
            .iter()
            .filter(|(_, may)| may.iter().all(|other| !left.contains_key(other)))
            .map(|(room, _)| room.clone())
            .collect();
        assert!(!free.is_empty(), "these use each other in a circle: {:?}", left.keys());
        for room in free {
            left.remove(&room);
        }
    }
}

#[test]
fn the_files_of_a_room_do_not_use_each_other_in_a_circle() {
    let imports = Imports::read(&sources());
    let rooms = rooms();
    let cycles = rooms.keys().filter_map(|room| imports::cycle(&imports.of_room(room)));
    let found: Vec<String> = cycles.map(|cycle| cycle.join(" uses ")).collect();
    assert_eq!(found, Vec::<String>::new());
}

#[test]
fn no_two_public_types_share_a_name() {
    let mut types: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for source in sources() {
        for line in source.text.lines() {
            let Some(name) = public_type(line) else { continue };
            types.entry(name.to_owned()).or_default().push(source.path.clone());
        }
    }
    assert!(types.len() > 200, "the types are not found any more");
    // One type for each system is one type.
    types.retain(|_, paths| {
        let systems = ["linux.rs", "ps.rs", "macos.rs"];
        paths.retain(|path| !systems.iter().any(|system| path.ends_with(system)));
        paths.len() > 1
    });
    assert_eq!(types, BTreeMap::new());
}

/// The name of the type that a line declares with any kind of `pub`.
fn public_type(line: &str) -> Option<&str> {
    let rest = line.trim_start().strip_prefix("pub")?;
    let rest = match rest.strip_prefix('(') {
        Some(scope) => scope.split_once(')')?.1,
        None => rest,
    };
    let (kind, rest) = rest.strip_prefix(' ')?.split_once(' ')?;
    if !matches!(kind, "struct" | "enum" | "trait" | "type" | "union") {
        return None;
    }
    let end = rest.find(|next: char| !next.is_alphanumeric() && next != '_').unwrap_or(rest.len());
    Some(&rest[..end])
}

/// Most lines of a function, from its `fn` to its closing brace.
const LONGEST_FUNCTION: usize = 100;

#[test]
fn a_function_fits_on_a_page() {
    let mut long = Vec::new();
    let mut functions = 0;
    for source in sources() {
        let text = source.text.as_str();
        for (start, _) in text.match_indices("fn ") {
            let name = text[start + 3..].split(|next: char| !next.is_alphanumeric() && next != '_');
            let name = name.into_iter().next().unwrap_or_default();
            let open = text[start..].find(['{', ';']).map(|at| start + at);
            let Some(open) = open.filter(|open| text[*open..].starts_with('{')) else { continue };
            if ends_in_word(&text[..start]) || name.is_empty() {
                continue;
            }
            functions += 1;
            let lines = text[start..closing(text, open)].lines().count();
            if lines > LONGEST_FUNCTION {
                long.push(format!("src/{}: {name} has {lines} lines", source.path));
            }
        }
    }
    assert!(functions > 1000, "the functions are not found any more");
    assert_eq!(long, Vec::<String>::new());
}

/// Files that name `word`, apart from those whose path begins with one of `doors`.
fn strangers(word: &str, doors: &[&str]) -> Vec<String> {
    let named = |source: &Source| {
        source.text.match_indices(word).any(|(at, _)| {
            let after = source.text[at + word.len()..].chars().next();
            let goes_on = after.is_some_and(|next| next.is_alphanumeric() || next == '_');
            !ends_in_word(&source.text[..at]) && !goes_on
        })
    };
    let sources = sources();
    let all: Vec<&Source> = sources.iter().filter(|source| named(source)).collect();
    assert!(!all.is_empty(), "nobody names {word}: the rule is out of date");
    let stranger = |source: &&&Source| !doors.iter().any(|door| source.path.starts_with(door));
    all.iter().filter(stranger).map(|source| source.path.clone()).collect()
}

#[test]
fn foreign_libraries_stand_behind_one_door_each() {
    for (library, doors) in [
        ("agent_client_protocol", ["agent/acp"].as_slice()),
        ("backoff", &["engine/recover.rs"]),
        ("git2", &["verify/git"]),
        ("axum", &["gateway/", "mcp/http.rs", "mcp/listen.rs"]),
        ("hyper", &["gateway/", "mcp/listen.rs"]),
        ("rmcp", &["mcp/server.rs", "mcp/stdio.rs", "mcp/lines.rs", "mcp/http.rs"]),
        ("brush_parser", &["guard/line/intent.rs", "shell/"]),
        ("handlebars", &["prompt/"]),
        ("clap", &["cli/"]),
        ("indicatif", &["cli/shown_checks.rs"]),
    ] {
        assert_eq!(strangers(library, doors), Vec::<String>::new(), "{library}");
        for door in doors {
            let used =
                |source: &Source| source.path.starts_with(door) && source.text.contains(library);
            assert!(sources().iter().any(used), "{door} does not use {library}: take it off");
        }
    }
}

#[test]
fn nobody_prints_but_reporters_and_commands() {
    let printers = ["println!", "print!", "eprintln!", "eprint!", "dbg!", "stdout()", "stderr()"];
    // These may print. One that does not is to be taken off.
    let mut idle = BTreeSet::from(["report/", "cli/"]);
    let exempt = idle.clone();
    for source in sources() {
        if let Some(place) = exempt.iter().find(|place| source.path.starts_with(**place)) {
            if printers.iter().any(|printer| source.text.contains(printer)) {
                idle.remove(place);
            }
            continue;
        }
        for printer in printers {
            let found = source.text.match_indices(printer).any(|(at, _)| {
                // A method of that name is another thing, as in `child.stdout()`.
                !ends_in_word(&source.text[..at]) && !source.text[..at].ends_with('.')
            });
            assert!(!found, "src/{} has {printer}", source.path);
        }
    }
    assert_eq!(idle, BTreeSet::new(), "these print nothing");
}

#[test]
fn the_nouns_are_plain_data() {
    let forbidden = ["async ", "tokio", "std::fs", "std::net", "std::process", "std::env"];
    for source in sources().iter().filter(|source| source.room() == Some("model")) {
        for word in forbidden {
            assert!(!source.text.contains(word), "src/{} has {word}", source.path);
        }
    }
}

#[test]
fn comments_and_strings_are_no_code() {
    let text = r####"
        // crate::a
        /* crate::b /* nested */ crate::c */
        let x = "crate::d \" crate::e"; let y = r#"crate::f " "#; let z = '"'; let w = '\'';
        use crate::{g, h::i}; let lifetime: &'a str; mycrate::j; $crate::k; crate::l::m();
    "####;
    let found: Vec<String> = uses(&bare(text)).into_iter().collect();
    assert_eq!(found, ["g", "h", "l"]);
}
