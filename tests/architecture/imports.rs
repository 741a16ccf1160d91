//! Which file of the crate uses which, told from the paths in the sources.
//!
//! A name that a module re-exports counts as a use of the file that defines it, so that a
//! room's `mod.rs` may be its public face without being part of a cycle.

use std::collections::{BTreeMap, BTreeSet};

use super::Source;

/// A module's path below the crate's root, as in `["cli", "hook"]`.
type Module = Vec<String>;

/// The modules of the crate with the names that each brings into scope.
pub(crate) struct Imports {
    files: BTreeMap<Module, String>,
    aliases: BTreeMap<Module, BTreeMap<String, Vec<String>>>,
    paths: BTreeMap<Module, BTreeSet<Vec<String>>>,
}

/// Re-exports of re-exports that are followed at most.
const DEEPEST: usize = 16;

impl Imports {
    /// Reads all sources but those of tests.
    pub(crate) fn read(sources: &[Source]) -> Self {
        let mut read =
            Self { files: BTreeMap::new(), aliases: BTreeMap::new(), paths: BTreeMap::new() };
        for source in sources.iter().filter(|source| !source.is_test()) {
            let module = module_of(&source.path);
            let text = source.text_without_tests();
            let tokens = tokens(&text);
            let (aliases, paths) = read_paths(&tokens);
            read.files.insert(module.clone(), source.path.clone());
            read.aliases.insert(module.clone(), aliases);
            read.paths.insert(module, paths);
        }
        read
    }

    /// The files of one room that each of its files uses.
    pub(crate) fn of_room(&self, room: &str) -> BTreeMap<&str, BTreeSet<&str>> {
        let of_room = |module: &Module| module.first().is_some_and(|first| first == room);
        let files = self.files.iter().filter(|(module, _)| of_room(module));
        let used = files.map(|(module, path)| {
            let uses = self.paths[module].iter().filter_map(|path| self.resolve(module, path, 0));
            let uses = uses.filter(|used| used != module && of_room(used));
            (path.as_str(), uses.map(|used| self.files[&used].as_str()).collect())
        });
        used.collect()
    }

    /// The module that defines what a path names; none for other crates' names.
    fn resolve(&self, from: &Module, path: &[String], depth: usize) -> Option<Module> {
        let mut at = from.clone();
        let mut rest = path;
        match path.first()?.as_str() {
            "crate" => (at, rest) = (Vec::new(), &path[1..]),
            "self" => rest = &path[1..],
            "super" => {
                while let Some("super") = rest.first().map(String::as_str) {
                    at.pop()?;
                    rest = &rest[1..];
                }
            }
            first => {
                let known = self.files.contains_key(&child(&at, first))
                    || self.aliases.get(&at).is_some_and(|names| names.contains_key(first));
                if !known {
                    return None;
                }
            }
        }
        for (index, name) in rest.iter().enumerate() {
            let inner = child(&at, name);
            if self.files.contains_key(&inner) {
                at = inner;
                continue;
            }
            let alias = self.aliases.get(&at).and_then(|names| names.get(name));
            return match alias.filter(|_| depth < DEEPEST) {
                Some(alias) if *alias != path[..] => {
                    let whole: Vec<_> = alias.iter().chain(&rest[index + 1..]).cloned().collect();
                    self.resolve(&at, &whole, depth + 1).or(Some(at))
                }
                Some(_) | None => Some(at),
            };
        }
        Some(at)
    }
}

/// A cycle in a graph, as the names along it, if there is one.
pub(crate) fn cycle<'g>(graph: &BTreeMap<&'g str, BTreeSet<&'g str>>) -> Option<Vec<&'g str>> {
    let mut left = graph.clone();
    loop {
        let ends: Vec<&str> = left
            .iter()
            .filter(|(_, uses)| uses.iter().all(|used| !left.contains_key(used)))
            .map(|(name, _)| *name)
            .collect();
        if ends.is_empty() {
            break;
        }
        for end in ends {
            left.remove(end);
        }
    }
    let mut way = vec![*left.keys().next()?];
    loop {
        let next = *left[way.last()?].iter().find(|used| left.contains_key(*used))?;
        if let Some(start) = way.iter().position(|name| *name == next) {
            way.push(next);
            return Some(way.split_off(start));
        }
        way.push(next);
    }
}

fn child(module: &Module, name: &str) -> Module {
    module.iter().cloned().chain([name.to_owned()]).collect()
}

fn module_of(path: &str) -> Module {
    let path = path.trim_end_matches(".rs");
    let path = path.strip_suffix("/mod").unwrap_or(path);
    let path = if matches!(path, "lib" | "main") { "" } else { path };
    path.split('/').filter(|name| !name.is_empty()).map(str::to_owned).collect()
}

/// Words, `::`, and every other mark by itself.
fn tokens(text: &str) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    let mut chars = text.chars().peekable();
    while let Some(next) = chars.next() {
        if next.is_alphanumeric() || next == '_' {
            let mut word = String::from(next);
            while let Some(more) = chars.next_if(|next| next.is_alphanumeric() || *next == '_') {
                word.push(more);
            }
            found.push(word);
        } else if next == ':' && chars.next_if_eq(&':').is_some() {
            found.push("::".to_owned());
        } else if !next.is_whitespace() {
            found.push(next.to_string());
        }
    }
    found
}

/// The names that `use` brings into scope, and every path that is written.
fn read_paths(tokens: &[String]) -> (BTreeMap<String, Vec<String>>, BTreeSet<Vec<String>>) {
    let mut aliases = BTreeMap::new();
    let mut paths = BTreeSet::new();
    let mut at = 0;
    while at < tokens.len() {
        let captures = tokens.get(at + 1).is_some_and(|next| next == "<");
        if tokens[at] == "use" && !captures {
            let mut leaves = Vec::new();
            at = read_tree(tokens, at + 1, &[], &mut leaves);
            for (path, name) in leaves {
                aliases.insert(name, path.clone());
                paths.insert(path);
            }
            continue;
        }
        let is_word = |token: &String| token.chars().all(|c| c.is_alphanumeric() || c == '_');
        let mut path = Vec::new();
        // The scope of a visibility, as in `pub(in crate::cli)`, is no use.
        let scope = at > 1 && tokens[at - 1] == "in" && tokens[at - 2] == "(";
        let inner = scope || (at > 0 && tokens[at - 1] == "::");
        while let Some(word) = tokens.get(at).filter(|token| is_word(token)) {
            path.push(word.clone());
            at += 1;
            if tokens.get(at).is_none_or(|token| token != "::") {
                break;
            }
            at += 1;
        }
        if path.is_empty() {
            at += 1;
        } else if path.len() > 1 && !inner {
            paths.insert(path);
        }
    }
    (aliases, paths)
}

/// Reads one tree of a `use`; gives the position behind it.
fn read_tree(
    tokens: &[String],
    mut at: usize,
    before: &[String],
    leaves: &mut Vec<(Vec<String>, String)>,
) -> usize {
    let mut path = before.to_vec();
    while let Some(token) = tokens.get(at) {
        match token.as_str() {
            "::" => at += 1,
            "{" => {
                at += 1;
                while tokens.get(at).is_some_and(|token| token != "}" && token != ";") {
                    at = read_tree(tokens, at, &path, leaves);
                    at += usize::from(tokens.get(at).is_some_and(|token| token == ","));
                }
                return at + 1;
            }
            "*" => {
                leaves.push((path, "*".to_owned()));
                return at + 1;
            }
            "as" => {
                let name = tokens.get(at + 1).cloned().unwrap_or_default();
                leaves.push((path, name));
                return at + 2;
            }
            ";" | "," | "}" => break,
            "self" if !path.is_empty() => at += 1,
            word => {
                path.push(word.to_owned());
                at += 1;
            }
        }
    }
    let name = path.last().cloned().unwrap_or_default();
    leaves.push((path, name));
    at
}

#[test]
fn a_use_is_one_of_the_file_that_defines_the_name() {
    let source = |path: &str, text: &str| Source { path: path.to_owned(), text: text.to_owned() };
    let sources = [
        source(
            "room/mod.rs",
            "mod one; mod two; pub(in crate::room) use one::{One as First, inner}; fn here() {}",
        ),
        source("room/one.rs", "use super::two; fn inner() { two::go() }"),
        source("room/two.rs", "use crate::room::{self, First}; fn go() { super::here(); }"),
        source("room/two/deep.rs", "use super::super::one::inner; use std::fmt;"),
    ];
    let imports = Imports::read(&sources);
    let graph = imports.of_room("room");
    let uses = |path: &str| graph[path].iter().copied().collect::<Vec<_>>();
    assert_eq!(uses("room/mod.rs"), ["room/one.rs"]);
    assert_eq!(uses("room/one.rs"), ["room/two.rs"]);
    assert_eq!(uses("room/two.rs"), ["room/mod.rs", "room/one.rs"]);
    assert_eq!(uses("room/two/deep.rs"), ["room/one.rs"]);
    let found = cycle(&graph).expect("one and two use each other");
    assert_eq!(found.first(), found.last());
}
