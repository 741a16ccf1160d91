//! Comparisons in shell, and their opposites.
//!
//! Invariant: a comparison is changed only if the script fails where it does not hold.

use std::sync::LazyLock;

use regex::Regex;

use super::flips::Flip;
use super::patterns::regex;

/// `[ "$a" = b ] || exit 1`, and a comparison on a line of its own.
pub(super) fn find(code: &str) -> Vec<Flip> {
    static OR_ELSE: LazyLock<Regex> = LazyLock::new(|| {
        regex(concat!(
            r"(?m)(?:\[\[?|\btest)[ \t][^\n]*?[ \t](=|==|!=|-eq|-ne)[ \t][^\n]*?",
            r"(?:\|\|[ \t]*\\?\n?[ \t]*(?:\{|\(|exit\b|return\b|false\b|die\b|\w*fail\w*\b|echo\b|printf\b)|\n|\z)",
        ))
    });
    static IF: LazyLock<Regex> = LazyLock::new(|| {
        regex(
            r"(?m)\bif[ \t]+(?:\[\[?|test)[ \t][^\n]*?[ \t](!=|-ne)[ \t][^\n]*(?:\n[^\n]*){0,3}?\b(?:exit|return)[ \t]+[1-9]",
        )
    });
    let opposite = |sign: &str| match sign {
        "=" | "==" => "!=",
        "!=" => "=",
        "-eq" => "-ne",
        _ => "-eq",
    };
    let stands_alone = |at: usize, whole: &str| {
        let line = code[..at].rsplit('\n').next().unwrap_or_default().trim_start();
        let begins = line.is_empty() || line.ends_with(['{', ';', ')']) || line.ends_with("do");
        whole.contains("||") || begins
    };
    let mut found = Vec::new();
    for it in OR_ELSE.captures_iter(code) {
        let (Some(whole), Some(sign)) = (it.get(0), it.get(1)) else { continue };
        let before = code[..whole.start()].rsplit('\n').next().unwrap_or_default();
        let is_if = before.contains("if ") || before.contains("while ");
        if !is_if && !whole.as_str().contains("&&") && stands_alone(whole.start(), whole.as_str()) {
            found.push(Flip { at: sign.range(), text: opposite(sign.as_str()).to_owned() });
        }
    }
    for it in IF.captures_iter(code) {
        if let Some(sign) = it.get(1) {
            found.push(Flip { at: sign.range(), text: opposite(sign.as_str()).to_owned() });
        }
    }
    found
}
