//! Makefiles: recipes, variables, and special targets are the start's. Source lists may grow, and a
//! new target is kept if a check names it or a source list needs it.

use std::collections::BTreeSet;
use std::path::Path;

use super::super::paths::{folder, inside, sounds_like_a_check};
use super::compiler_flags::only_serve;
use super::makefile::{Chunk, LineKind, first_target, parse, words};
use super::manifests::{Manifests, Merged};

/// Puts back how things run.
pub(super) fn put_back(around: &Manifests<'_>, start: Option<&str>, now: &str) -> Merged {
    let new = parse(now);
    let Some(start) = start else {
        let others = ["GNUmakefile", "makefile", "Makefile"];
        let beside =
            |name: &&str| around.start.paths().contains_key(&folder(around.path).join(name));
        if around.path.extension().is_none_or(|end| end != "mk") && others.iter().any(beside) {
            return Merged::Gone;
        }
        let kept: Vec<Chunk> =
            new.iter().filter(|chunk| !changes_how_others_run(chunk)).cloned().collect();
        return if kept.len() == new.len() { Merged::Same } else { Merged::Text(join(&kept)) };
    };
    let old = parse(start);
    let merge = Merge { around, old: &old, new: &new };
    let merged = merge.chunks();
    if significant(&merged) == significant(&new) && first_target(&merged) == first_target(&new) {
        return Merged::Same;
    }
    Merged::Text(join(&merged))
}

/// `SHELL`, `MAKEFLAGS`, `.IGNORE`, and the like.
fn changes_how_others_run(chunk: &Chunk) -> bool {
    match &chunk.kind {
        LineKind::Variable { name, .. } => matches!(
            name.as_str(),
            "SHELL"
                | ".SHELLFLAGS"
                | "MAKEFLAGS"
                | "GNUMAKEFLAGS"
                | "MFLAGS"
                | "MAKE"
                | "MAKEFILES"
        ),
        LineKind::Rule { targets, .. } => {
            targets.iter().any(|name| matches!(name.as_str(), ".IGNORE" | ".ONESHELL" | ".POSIX"))
        }
        LineKind::Blank | LineKind::Other => false,
    }
}

fn join(chunks: &[Chunk]) -> String {
    let mut text: Vec<&str> = chunks.iter().map(|chunk| chunk.text.as_str()).collect();
    text.push("");
    text.join("\n")
}

/// The parts that count, in an order of their own.
fn significant(chunks: &[Chunk]) -> Vec<String> {
    let parts = chunks.iter().filter(|chunk| !matches!(chunk.kind, LineKind::Blank));
    let mut parts: Vec<String> = parts
        .map(|chunk| chunk.text.lines().map(str::trim_end).collect::<Vec<_>>().join("\n"))
        .collect();
    parts.sort();
    parts
}

struct Merge<'a> {
    around: &'a Manifests<'a>,
    old: &'a [Chunk],
    new: &'a [Chunk],
}

impl Merge<'_> {
    fn chunks(&self) -> Vec<Chunk> {
        let mut merged = Vec::new();
        // A new source list stands before everything that may use it.
        for chunk in self.new {
            if let LineKind::Variable { name, value } = &chunk.kind
                && self.nth_old(name, 0).is_none()
                && (is_source_list(name, value) || self.is_new_flags(chunk))
            {
                merged.push(chunk.clone());
            }
        }
        let mut seen: Vec<&str> = Vec::new();
        for chunk in self.old {
            merged.push(match &chunk.kind {
                LineKind::Variable { name, value } => {
                    let nth = seen.iter().filter(|other| *other == name).count();
                    seen.push(name);
                    self.variable(chunk, name, value, nth)
                }
                LineKind::Rule { targets, needs, recipe } => {
                    self.rule(chunk, targets, needs, recipe)
                }
                LineKind::Blank | LineKind::Other => chunk.clone(),
            });
        }
        self.add_rules(&mut merged);
        merged
    }

    /// Whether a new variable only adds what the work needs from a compiler.
    fn is_new_flags(&self, chunk: &Chunk) -> bool {
        let LineKind::Variable { name, value } = &chunk.kind else { return false };
        let named = name.ends_with("FLAGS") || name.ends_with("LIBS");
        let words = words(value);
        let words: Vec<&String> = words.iter().collect();
        named
            && !changes_how_others_run(chunk)
            && !words.is_empty()
            && only_serve(self.around, &words)
    }

    fn nth_old(&self, wanted: &str, nth: usize) -> Option<&Chunk> {
        nth_variable(self.old, wanted, nth)
    }

    fn variable(&self, chunk: &Chunk, name: &str, value: &str, nth: usize) -> Chunk {
        let Some(now) = nth_variable(self.new, name, nth) else { return chunk.clone() };
        let LineKind::Variable { value: current, .. } = &now.kind else { return chunk.clone() };
        let (old, new) = (words(value), words(current));
        let added: Vec<&String> = new.iter().filter(|word| !old.contains(word)).collect();
        let serves = old.iter().all(|word| new.contains(word)) && only_serve(self.around, &added);
        if serves || (self.is_shown_alone(name) && is_plain(current)) {
            return now.clone();
        }
        if !is_source_list(name, value) || !is_source_list(name, current) {
            return chunk.clone();
        }
        let missing = self.missing(&old, &new);
        let mut merged = now.clone();
        for word in missing {
            merged.text.push(' ');
            merged.text.push_str(&word);
        }
        merged
    }

    /// Whether only recipes use a variable whose output the checks compare: `@echo $(VERSION)`.
    fn is_shown_alone(&self, name: &str) -> bool {
        let uses = [format!("$({name}"), format!("${{{name}"), format!("${name}")];
        let mut users = self.old.iter().filter(|it| uses.iter().any(|used| it.text.contains(used)));
        let mut found = false;
        users.all(|chunk| {
            found = true;
            let targets = rule_targets(chunk);
            !targets.is_empty() && targets.iter().all(|name| self.around.products.contains(*name))
        }) && found
    }

    /// Words of the start that must not vanish: all but sources that are gone.
    fn missing(&self, old: &[String], new: &[String]) -> Vec<String> {
        let gone = |word: &&String| {
            !new.contains(word) && (!is_source(word) || self.is_harness_source(word))
        };
        old.iter().filter(gone).cloned().collect()
    }

    /// Whether an object or a source belongs to a test.
    fn is_harness_source(&self, word: &str) -> bool {
        let Some(path) = inside(folder(self.around.path), word) else { return false };
        let endings = ["c", "cc", "cpp", "cxx"];
        let mut candidates = endings.iter().map(|ending| path.with_extension(ending));
        let known = |path: &Path| self.around.table.role(path).is_some();
        known(&path) || candidates.any(|path| known(&path))
    }

    fn rule(&self, chunk: &Chunk, targets: &[String], needs: &[String], recipe: &str) -> Chunk {
        let now = self.new.iter().find_map(|chunk| match &chunk.kind {
            LineKind::Rule { targets: names, needs, recipe } if names == targets => {
                Some((chunk, needs, recipe))
            }
            LineKind::Rule { .. }
            | LineKind::Variable { .. }
            | LineKind::Blank
            | LineKind::Other => None,
        });
        let Some((now, new_needs, new_recipe)) = now else { return chunk.clone() };
        if targets.iter().all(|name| self.around.products.contains(name)) {
            return now.clone();
        }
        let checks = targets.iter().any(|name| sounds_like_a_check(name));
        let phony = targets.iter().any(|name| name == ".PHONY");
        let added_allowed = new_needs.iter().filter(|word| !needs.contains(word)).all(|word| {
            phony || is_source(word) || (!checks && self.around.names.contains(word.as_str()))
        });
        let missing = self.missing(needs, new_needs);
        let same_recipe = recipe == new_recipe
            || only_libraries(recipe, new_recipe)
            || (!checks && self.only_sources(recipe, new_recipe));
        if same_recipe && added_allowed && missing.is_empty() {
            return now.clone();
        }
        let extra: Vec<&String> = new_needs
            .iter()
            .filter(|word| !needs.contains(word))
            .filter(|word| {
                phony || is_source(word) || (!checks && self.around.names.contains(word.as_str()))
            })
            .collect();
        let gone = |word: &&String| new_needs.contains(word) || missing.contains(word);
        let all: Vec<&str> = needs.iter().filter(gone).chain(extra).map(String::as_str).collect();
        let recipe = if same_recipe { new_recipe } else { recipe };
        let mut text = format!("{}: {}", targets.join(" "), all.join(" "));
        for line in recipe.lines() {
            text.push_str("\n\t");
            text.push_str(line);
        }
        Chunk { text, kind: chunk.kind.clone() }
    }

    /// Whether two recipes differ by source files and libraries alone.
    fn only_sources(&self, old: &str, new: &str) -> bool {
        let (old, new) = (words(old), words(new));
        let added = new.iter().filter(|word| !old.contains(word));
        let mut gone = old.iter().filter(|word| !new.contains(word));
        added.clone().all(|word| is_source(word) || is_library(word))
            && gone.all(|word| is_source(word) && !self.is_harness_source(word))
    }

    /// New rules that a check names, or that the kept ones need.
    fn add_rules(&self, merged: &mut Vec<Chunk>) {
        let known: BTreeSet<&String> = self.old.iter().flat_map(rule_targets).collect();
        let mut wanted: BTreeSet<String> = self.around.names.clone();
        for chunk in merged.iter() {
            let text = chunk.text.split([' ', '\t', '\n', ':', '=']);
            wanted.extend(text.filter(|word| is_source(word)).map(str::to_owned));
        }
        let mut added: BTreeSet<usize> = BTreeSet::new();
        loop {
            let before = added.len();
            for (at, chunk) in self.new.iter().enumerate() {
                let LineKind::Rule { targets, needs, .. } = &chunk.kind else { continue };
                let fresh = targets.iter().all(|name| !known.contains(name));
                let asked = targets
                    .iter()
                    .any(|name| wanted.contains(name) || (name.contains('%') && is_source(name)));
                // `tests/run.py: a.py` would write a script of the start anew.
                let exists = |name: &String| {
                    inside(folder(self.around.path), name)
                        .is_some_and(|path| self.around.start.paths().contains_key(&path))
                };
                let special = targets.iter().any(|name| name.starts_with('.') || exists(name));
                if fresh && asked && !special && added.insert(at) {
                    wanted.extend(needs.iter().cloned());
                }
            }
            if added.len() == before {
                break;
            }
        }
        merged.extend(added.into_iter().map(|at| self.new[at].clone()));
    }
}

fn rule_targets(chunk: &Chunk) -> Vec<&String> {
    match &chunk.kind {
        LineKind::Rule { targets, .. } => targets.iter().collect(),
        LineKind::Variable { .. } | LineKind::Blank | LineKind::Other => Vec::new(),
    }
}

fn nth_variable<'c>(chunks: &'c [Chunk], wanted: &str, nth: usize) -> Option<&'c Chunk> {
    let same =
        |chunk: &&Chunk| matches!(&chunk.kind, LineKind::Variable { name, .. } if name == wanted);
    chunks.iter().filter(same).nth(nth)
}

/// Whether a variable lists sources or objects.
fn is_source_list(name: &str, value: &str) -> bool {
    let lower = name.to_lowercase();
    let named = ["src", "obj", "source", "header", "hdr"].iter().any(|part| lower.contains(part));
    let words = words(value);
    let lists = |word: &String| is_source(word) || (word.starts_with("$(") && is_plain(word));
    !words.is_empty() && words.iter().all(lists) && (named || words.iter().any(|w| is_source(w)))
}

/// Whether a word is a source, an object, or a pattern of them.
fn is_source(word: &str) -> bool {
    let endings = [
        ".a", ".c", ".cc", ".class", ".cpp", ".cxx", ".d", ".f90", ".go", ".h", ".hpp", ".java",
        ".js", ".m", ".o", ".obj", ".py", ".rs", ".s", ".so", ".ts",
    ];
    let end = word.trim_end_matches([')', ':']);
    is_plain(word) && endings.iter().any(|ending| end.ends_with(ending))
}

/// Whether the lines of a recipe that compile gained libraries, and nothing else changed.
fn only_libraries(old: &str, new: &str) -> bool {
    let gained = |old: &str, new: &str| {
        let (old, new) = (words(old), words(new));
        let mut rest = old.iter().peekable();
        let added: Vec<&String> =
            new.iter().filter(|word| rest.next_if(|old| old == word).is_none()).collect();
        let compiles = old.first().is_some_and(|program| is_compiler(program));
        compiles && rest.peek().is_none() && added.iter().all(|word| is_library(word))
    };
    old.lines().count() == new.lines().count()
        && old.lines().zip(new.lines()).all(|(old, new)| old == new || gained(old, new))
}

/// Whether a recipe's line begins with a compiler.
fn is_compiler(word: &str) -> bool {
    let word = word.trim_start_matches(['@', '-']).trim_start_matches(['$', '(', '{']);
    let names = ["CC", "CXX", "LD", "cc", "c++", "gcc", "g++", "clang", "clang++"];
    names.contains(&word.trim_end_matches([')', '}']))
}

/// Whether a word is a library, or the usual variable for libraries.
fn is_library(word: &str) -> bool {
    word.starts_with("-l") || matches!(word, "$(LDLIBS)" | "${LDLIBS}" | "$(LIBS)" | "${LIBS}")
}

/// Whether a word runs nothing and sets nothing.
fn is_plain(word: &str) -> bool {
    let acts = ["eval", "shell", "call", "file", "guile", "load", "foreach", "error", "info"];
    !word.contains([';', '|', '&', '<', '>', '`'])
        && !acts
            .iter()
            .any(|act| word.contains(&format!("$({act} ")) || word.contains(&format!("${{{act} ")))
}
