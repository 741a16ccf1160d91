//! `#[cfg(test)]` modules of Rust sources, and other test-only items that assert, found by a scanner
//! that knows comments and literals.
//!
//! The scanner reads text that an agent wrote, so its recursion does not grow with the input's
//! brackets.

use std::collections::BTreeSet;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use regex::Regex;

use super::paths::folder;

/// A test module of a file, or another test-only item that asserts.
#[derive(Clone, Debug)]
struct Module {
    /// Its name with the modules around it.
    name: String,
    /// From its attributes to its end.
    span: Range<usize>,
    /// Declared only; its content is in another file.
    declared: bool,
    /// Another item than a module.
    item: bool,
    /// It is compiled for tests only.
    tests: bool,
}

/// What the trees say about the modules that a file declares.
pub(super) struct Declared<'a> {
    /// Does a new declaration stay?
    pub(super) keeps: &'a dyn Fn(&str) -> bool,
    /// Did the module's own file hold tests at the start, and has it not moved?
    pub(super) tested: &'a dyn Fn(&str) -> bool,
}

/// The current text with the start's test modules in place of its own, or nothing if they are the
/// same. New modules are taken out unless their declaration stays. Modules whose files hold tests
/// are declared as at the start.
pub(super) fn put_back(start: &str, now: &str, declared: &Declared<'_>) -> Option<String> {
    let (old, new) = (modules(start), modules(now));
    let mut edits: Vec<(Range<usize>, String)> = Vec::new();
    let mut taken: Vec<bool> = vec![false; new.len()];
    let mut appended = String::new();
    for module in &old {
        let body = &start[module.span.clone()];
        let same = |at: &usize| new[*at].name == module.name && !taken[*at];
        match (0..new.len()).find(same) {
            Some(at) => {
                taken[at] = true;
                if now[new[at].span.clone()] != *body {
                    edits.push((new[at].span.clone(), body.to_owned()));
                }
            }
            None if !module.name.contains("::") => {
                appended.push_str("\n\n");
                appended.push_str(body);
                appended.push('\n');
            }
            None => {}
        }
    }
    for (at, module) in new.iter().enumerate().filter(|(at, _)| !taken[*at]) {
        let body = &now[module.span.clone()];
        let last = module.name.rsplit("::").next().unwrap_or(&module.name);
        let tests = if module.declared {
            !(declared.keeps)(last) && last.contains("test")
        } else {
            has_tests(body)
        };
        if tests {
            debug_assert!(!taken[at]);
            edits.push((module.span.clone(), String::new()));
        }
    }
    let (before, after) = (declarations(start), declarations(now));
    for module in before.iter().filter(|module| (declared.tested)(&module.name)) {
        let body = &start[module.span.clone()];
        let is_new = |attribute: &str| attribute.contains("cfg") && !body.contains("cfg");
        match after.iter().find(|other| other.name == module.name) {
            Some(other) if is_new(&now[other.span.clone()]) => {
                edits.push((other.span.clone(), body.to_owned()));
            }
            Some(_) => {}
            None if is_written_out(now, &module.name) => {}
            None => appended.push_str(&format!("\n{body}\n")),
        }
    }
    if edits.is_empty() && appended.is_empty() {
        return None;
    }
    edits.sort_by_key(|(span, _)| span.start);
    let mut text = now.to_owned();
    for (span, body) in edits.into_iter().rev() {
        text.replace_range(span, &body);
    }
    text.push_str(&appended);
    Some(text)
}

/// The files that may hold a module which a source declares.
pub(super) fn files_of(source: &Path, module: &str) -> [PathBuf; 2] {
    let stem = source.file_stem().and_then(|stem| stem.to_str()).unwrap_or("");
    let own = match stem {
        "mod" | "lib" | "main" => folder(source).to_owned(),
        _ => folder(source).join(stem),
    };
    [own.join(format!("{module}.rs")), own.join(module).join("mod.rs")]
}

/// Whether a source holds test modules with tests inside.
pub(super) fn holds_tests(code: &str) -> bool {
    modules(code).iter().any(|module| has_tests(&code[module.span.clone()]))
}

/// Names of the functions inside test modules that are tests.
pub(super) fn test_names(code: &str) -> BTreeSet<String> {
    static TEST: LazyLock<Regex> = LazyLock::new(|| {
        Regex::new(r"#\[(?:\w+::)?(?:test|rstest)[^\]]*\]\s*(?:#\[[^\]]*\]\s*)*(?:pub\s+)?(?:async\s+)?fn\s+(\w+)")
            .expect("valid")
    });
    modules(code)
        .iter()
        .flat_map(|module| TEST.captures_iter(&code[module.span.clone()]))
        .filter_map(|found| Some(found.get(1)?.as_str().to_owned()))
        .collect()
}

/// The text without its test modules.
pub(super) fn without_modules(code: &str) -> String {
    let mut text = code.to_owned();
    for module in modules(code).into_iter().rev().filter(|module| !module.item) {
        text.replace_range(module.span, "");
    }
    text
}

/// Is a module's content in this file now?
fn is_written_out(code: &str, name: &str) -> bool {
    Regex::new(&format!(r"\bmod\s+{name}\s*\{{")).is_ok_and(|module| module.is_match(code))
}

fn has_tests(body: &str) -> bool {
    ["#[test]", "::test]", "::test(", "#[rstest", "#[test_case", "proptest!", "#[quickcheck"]
        .iter()
        .any(|mark| body.contains(mark))
}

/// A test-only item that is no module, if it asserts: a helper of tests.
fn asserting_item(code: &str, head: Range<usize>, end: usize, prefix: &str) -> Option<Module> {
    static NAME: LazyLock<Regex> = LazyLock::new(|| {
        Regex::new(r"\b(?:fn|macro_rules!|impl|trait|const|static)\b[^({<]*").expect("valid")
    });
    let body = &code[head.start..end];
    let asserts = ["assert", "panic!", "unwrap()", "expect(", "exit("];
    let name = NAME.find(&code[head.clone()])?.as_str().trim().replace("::", ".");
    asserts.iter().any(|word| body.contains(word)).then(|| Module {
        name: format!("{prefix}{name}"),
        span: head.start..end,
        declared: false,
        item: true,
        tests: true,
    })
}

fn is_test_attribute(attribute: &str) -> bool {
    static TEST: LazyLock<Regex> =
        LazyLock::new(|| Regex::new(r"^#\[\s*cfg\s*\(.*\btest\b").expect("valid"));
    static NOT: LazyLock<Regex> =
        LazyLock::new(|| Regex::new(r"not\s*\(\s*test\s*\)").expect("valid"));
    TEST.is_match(attribute) && !NOT.is_match(attribute)
}

/// The test modules of a source in order, also those inside other modules.
fn modules(code: &str) -> Vec<Module> {
    items(code).into_iter().filter(|module| module.tests).collect()
}

/// The other modules whose content is in a file of their own.
fn declarations(code: &str) -> Vec<Module> {
    items(code).into_iter().filter(|module| !module.tests).collect()
}

fn items(code: &str) -> Vec<Module> {
    let scanner = Scanner { bytes: code.as_bytes() };
    let mut found = Vec::new();
    let mut open = vec![(0..code.len(), String::new())];
    while let Some((range, prefix)) = open.pop() {
        scanner.level(code, range, &prefix, &mut found, &mut open);
    }
    found.sort_by_key(|module: &Module| module.span.start);
    found
}

struct Scanner<'a> {
    bytes: &'a [u8],
}

impl Scanner<'_> {
    /// Reads the items of a file or a module's body.
    fn level(
        &self,
        code: &str,
        range: Range<usize>,
        prefix: &str,
        found: &mut Vec<Module>,
        open: &mut Vec<(Range<usize>, String)>,
    ) {
        let mut item: Option<usize> = None;
        let mut tests = false;
        let mut at = range.start;
        while at < range.end {
            let c = self.bytes[at];
            let after = self.literal(at);
            if after > at {
                let doc = self.bytes[at..].starts_with(b"///");
                if doc || c != b'/' {
                    item.get_or_insert(at);
                }
                at = after;
                continue;
            }
            if c.is_ascii_whitespace() {
                at += 1;
                continue;
            }
            let begins = *item.get_or_insert(at);
            match c {
                b'#' => {
                    let bracket = at + 1 + usize::from(self.bytes.get(at + 1) == Some(&b'!'));
                    if self.bytes.get(bracket) == Some(&b'[') {
                        let end = self.closing(bracket, range.end);
                        tests |= is_test_attribute(&code[at..end]);
                        if bracket > at + 1 {
                            (item, tests) = (None, false);
                        }
                        at = end;
                    } else {
                        at += 1;
                    }
                }
                b'(' | b'[' => at = self.closing(at, range.end),
                b'{' => {
                    let head = begins..at;
                    at = self.closing(at, range.end);
                    if tests {
                        found.extend(asserting_item(code, head, at, prefix));
                    }
                    (item, tests) = (None, false);
                }
                b';' => {
                    at += 1;
                    (item, tests) = (None, false);
                }
                _ if is_word(c) => {
                    let end = self.word(at);
                    if &code[at..end] == "mod" {
                        let (name, body) = self.module(code, end, range.end);
                        let ends = match self.bytes.get(body) {
                            Some(b'{') => self.closing(body, range.end),
                            Some(_) | None => (body + 1).min(range.end),
                        };
                        let declared = self.bytes.get(body) != Some(&b'{');
                        let name = format!("{prefix}{name}");
                        if tests || declared {
                            let span = begins..ends;
                            found.push(Module { name, span, declared, item: false, tests });
                        } else {
                            open.push((body + 1..ends.saturating_sub(1), format!("{name}::")));
                        }
                        (item, tests) = (None, false);
                        at = ends;
                    } else {
                        at = end;
                    }
                }
                _ => at += 1,
            }
        }
    }

    /// A module's name, and where its `{` or `;` is.
    fn module<'c>(&self, code: &'c str, from: usize, end: usize) -> (&'c str, usize) {
        let mut at = self.skip(from, end);
        let begins = at;
        while at < end && is_word(self.bytes[at]) {
            at += 1;
        }
        (&code[begins..at], self.skip(at, end))
    }

    /// After white space and comments.
    fn skip(&self, from: usize, end: usize) -> usize {
        let mut at = from;
        while at < end {
            let after = if self.bytes[at] == b'/' { self.literal(at) } else { at };
            if after > at {
                at = after;
            } else if self.bytes[at].is_ascii_whitespace() {
                at += 1;
            } else {
                break;
            }
        }
        at
    }

    /// After the word at a place; a raw identifier's mark belongs to it.
    fn word(&self, from: usize) -> usize {
        let length = self.bytes[from..].iter().take_while(|c| is_word(**c)).count();
        from + length.max(1)
    }

    /// After the bracket that closes the one at a place.
    fn closing(&self, from: usize, end: usize) -> usize {
        let mut depth = 0_usize;
        let mut at = from;
        while at < end {
            let after = self.literal(at);
            if after > at {
                at = after;
                continue;
            }
            match self.bytes[at] {
                b'(' | b'[' | b'{' => depth += 1,
                b')' | b']' | b'}' => {
                    depth = depth.saturating_sub(1);
                    if depth == 0 {
                        return at + 1;
                    }
                }
                c if is_word(c) => {
                    at = self.word(at);
                    continue;
                }
                _ => {}
            }
            at += 1;
        }
        end
    }

    /// After the comment or literal at a place, or the place itself.
    fn literal(&self, at: usize) -> usize {
        let rest = &self.bytes[at..];
        let all = self.bytes.len();
        match rest {
            [b'/', b'/', ..] => at + rest.iter().position(|c| *c == b'\n').unwrap_or(rest.len()),
            [b'/', b'*', ..] => {
                let (mut depth, mut end) = (0_usize, at);
                while end < all {
                    match &self.bytes[end..] {
                        [b'/', b'*', ..] => (depth, end) = (depth + 1, end + 2),
                        [b'*', b'/', ..] => {
                            (depth, end) = (depth - 1, end + 2);
                            if depth == 0 {
                                return end;
                            }
                        }
                        _ => end += 1,
                    }
                }
                all
            }
            [b'"', ..] => self.string(at + 1),
            [b'b' | b'c', b'"', ..] => self.string(at + 2),
            [b'r', b'"' | b'#', ..] => self.raw(at + 1).unwrap_or(at),
            [b'b' | b'c', b'r', b'"' | b'#', ..] => self.raw(at + 2).unwrap_or(at),
            [b'b', b'\'', ..] => self.character(at + 1).unwrap_or(at),
            [b'\'', ..] => self.character(at).unwrap_or(at + 1),
            _ => at,
        }
    }

    fn string(&self, from: usize) -> usize {
        let mut at = from;
        while at < self.bytes.len() {
            match self.bytes[at] {
                b'\\' => at += 2,
                b'"' => return at + 1,
                _ => at += 1,
            }
        }
        self.bytes.len()
    }

    /// A raw string, from its first `#` or quote.
    fn raw(&self, from: usize) -> Option<usize> {
        let hashes = self.bytes[from..].iter().take_while(|c| **c == b'#').count();
        if self.bytes.get(from + hashes) != Some(&b'"') {
            return None;
        }
        let end = [b"\"".as_slice(), &b"#".repeat(hashes)].concat();
        let body = from + hashes + 1;
        let found = self.bytes[body..].windows(end.len()).position(|part| part == end);
        Some(found.map_or(self.bytes.len(), |found| body + found + end.len()))
    }

    /// A character literal; a lifetime is none.
    fn character(&self, from: usize) -> Option<usize> {
        let rest = &self.bytes[from + 1..];
        if rest.first() == Some(&b'\\') {
            let end = rest.iter().skip(2).position(|c| *c == b'\'')?;
            return Some(from + 1 + 2 + end + 1);
        }
        let length = match rest.first()? {
            0..=0x7f => 1,
            0xc0..=0xdf => 2,
            0xe0..=0xef => 3,
            _ => 4,
        };
        (rest.get(length) == Some(&b'\'')).then_some(from + 1 + length + 1)
    }
}

fn is_word(c: u8) -> bool {
    c.is_ascii_alphanumeric() || c == b'_' || c >= 0x80
}
