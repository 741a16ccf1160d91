//! `go.mod` and `go.work`: a module that is known is not replaced. New modules may be.

use std::collections::BTreeSet;
use std::path::Path;

use super::super::files::{SourceTree, text};
use super::super::paths::{extension, file_name, folder, inside};
use super::manifests::{Manifests, Merged};
use super::parts::Fate;

/// Puts back how modules are found.
pub(super) fn put_back(around: &Manifests<'_>, start: Option<&str>, now: &str) -> Merged {
    if start.is_none() && file_name(around.path) == "go.mod" {
        // A module of its own takes the folder's packages out of `./...`.
        let here = folder(around.path);
        let mut sources = around.start.paths().keys().filter(|path| extension(path) == "go");
        if sources.any(|path| path.starts_with(here)) {
            return Merged::Gone;
        }
    }
    let known = known_modules(around.start);
    let fate = |line: &Line<'_>| fate(around, &line.words, &known);
    let was = directives(start.unwrap_or_default());
    let was: Vec<&Line<'_>> = was.iter().filter(|line| fate(line) != Fate::Free).collect();
    let now = directives(now);
    let stays = |line: &Line<'_>| match fate(line) {
        Fate::Free => true,
        Fate::Kept if was.iter().all(|old| old.key() != line.key()) => true,
        Fate::Kept | Fate::Fixed => was.iter().any(|old| old.words == line.words),
    };
    let lost: Vec<String> = was
        .iter()
        .filter(|old| now.iter().all(|line| line.words != old.words))
        .map(|old| old.words.join(" ") + "\n")
        .collect();
    if lost.is_empty() && now.iter().all(stays) {
        return Merged::Same;
    }
    let kept = now.iter().filter(|line| stays(line)).map(|line| line.text);
    let mut text = kept.collect::<String>().trim_end().to_owned();
    if text.is_empty() && lost.is_empty() {
        return Merged::Gone;
    }
    text.push('\n');
    if !lost.is_empty() {
        text.push('\n');
        text.extend(lost);
    }
    Merged::Text(text)
}

/// Modules that the start requires or replaces.
fn known_modules(start: &dyn SourceTree) -> BTreeSet<String> {
    let manifests = start.paths().keys();
    let manifests = manifests.filter(|path| matches!(file_name(path), "go.mod" | "go.work"));
    let mut known = BTreeSet::new();
    for path in manifests {
        for line in directives(&text(start, path).unwrap_or_default()) {
            if let [verb, name, ..] = line.words.as_slice()
                && matches!(verb.as_str(), "require" | "replace")
            {
                known.insert(name.clone());
            }
        }
    }
    known
}

/// A line with the words of its directive, the verb of its block included.
struct Line<'l> {
    text: &'l str,
    words: Vec<String>,
}

impl Line<'_> {
    /// Verb and module. A replacement may name a version as well.
    fn key(&self) -> &[String] {
        &self.words[..self.words.len().min(2)]
    }
}

fn directives(code: &str) -> Vec<Line<'_>> {
    let mut block: Option<String> = None;
    let mut lines = Vec::new();
    for text in code.split_inclusive('\n') {
        let plain = text.split("//").next().unwrap_or("").replace('(', " ( ");
        let mut words: Vec<String> =
            plain.split_whitespace().map(|word| word.trim_matches(['"', '`']).to_owned()).collect();
        match words.as_slice() {
            [verb, open] if open == "(" => {
                block = Some(verb.clone());
                words.clear();
            }
            [close] if close == ")" => {
                block = None;
                words.clear();
            }
            [] => {}
            _ => words.splice(0..0, block.clone()).for_each(drop),
        }
        lines.push(Line { text, words });
    }
    lines
}

/// Who decides about a directive.
fn fate(around: &Manifests<'_>, words: &[String], known: &BTreeSet<String>) -> Fate {
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match words.as_slice() {
        ["replace", name, ..] if known.contains(*name) => Fate::Fixed,
        ["replace" | "tool", ..] => Fate::Kept,
        ["exclude" | "ignore" | "godebug", ..] => Fate::Fixed,
        ["use", name, ..] => use_of(around, name, known),
        _ => Fate::Free,
    }
}

/// A folder of the workspace: the start's stay while they are there, and a new one must not hold
/// a module that is known.
fn use_of(around: &Manifests<'_>, name: &str, known: &BTreeSet<String>) -> Fate {
    let at = inside(folder(around.path), name).unwrap_or_default();
    let manifest = Path::new(&at).join("go.mod");
    if !around.now.paths().contains_key(&manifest) && !around.start.paths().contains_key(&manifest)
    {
        return Fate::Free;
    }
    let code = text(around.now, &manifest).unwrap_or_default();
    let module = directives(&code).into_iter().find_map(|line| match line.words.as_slice() {
        [verb, name, ..] if verb == "module" => Some(name.clone()),
        _ => None,
    });
    let hijacks = module.is_some_and(|name| known.contains(&name));
    if hijacks && !around.start.paths().contains_key(&manifest) { Fate::Fixed } else { Fate::Kept }
}
