//! Calls of a test's own helpers that compare their two arguments: `same(2, queue.size())`.

use std::ops::Range;

use super::arguments::arguments;
use super::flips::{Flip, other_value};

/// The calls with another value. `helpers` are slices of the code, where each is defined.
pub(super) fn find(ending: &str, code: &str, flips: &[Flip], helpers: &[&str]) -> Vec<Flip> {
    // A text equals nothing else there, and needs no type.
    let is_dynamic = matches!(ending, "py" | "js" | "cjs" | "mjs" | "rb" | "php");
    let mut found = Vec::new();
    for name in helpers {
        let defined = name.as_ptr() as usize - code.as_ptr() as usize;
        if !compares_two(code, defined + name.len(), flips) {
            continue;
        }
        let is_word = |c: char| c.is_alphanumeric() || c == '_';
        for (at, _) in code.match_indices(name).filter(|(at, _)| *at != defined) {
            let open = at + name.len();
            if code[..at].ends_with(is_word) || !code[open..].starts_with('(') {
                continue;
            }
            let all = arguments(code, open).map(|(all, _)| all).unwrap_or_default();
            if let [one, two] = without_test(code, &all) {
                let text = || Flip { at: two.clone(), text: " 'planted~'".to_owned() };
                let other = other_value(code, two).or_else(|| other_value(code, one));
                found.extend(other.or_else(|| is_dynamic.then(text)));
            }
        }
    }
    found.sort_by_key(|flip| flip.at.start);
    found
}

/// Whether a function has two parameters that its first assertion compares.
fn compares_two(code: &str, after: usize, flips: &[Flip]) -> bool {
    let Some(open) = code[after..].find('(').map(|at| after + at) else { return false };
    let Some((all, close)) = arguments(code, open) else { return false };
    let Some(flip) = flips.iter().find(|flip| flip.at.start > close) else { return false };
    // The condition that changes, or what an assertion with another name is given.
    let changed = &code[flip.at.clone()];
    let name = changed.trim_end_matches('!');
    let is_name = name.chars().all(|c| c.is_alphanumeric() || "_.".contains(c));
    let end = code[flip.at.start..].find('\n').map_or(code.len(), |end| flip.at.start + end);
    let compared = if is_name { &code[flip.at.start..end] } else { changed };
    let words = |text: &str| -> Vec<String> {
        let words = text.split(|c: char| !c.is_alphanumeric() && c != '_');
        words.filter(|word| !word.is_empty()).map(str::to_owned).collect()
    };
    let named = words(compared);
    let all: Vec<_> =
        all.into_iter().filter(|it| !matches!(code[it.clone()].trim(), "self" | "&self")).collect();
    let params = without_test(code, &all);
    params.len() == 2
        && params.iter().all(|it| words(&code[it.clone()]).iter().any(|word| named.contains(word)))
}

/// Parameters or arguments without the test that Go's helpers take first.
fn without_test<'r>(code: &str, all: &'r [Range<usize>]) -> &'r [Range<usize>] {
    match all {
        [first, rest @ ..] if code[first.clone()].split_whitespace().next() == Some("t") => rest,
        all => all,
    }
}
