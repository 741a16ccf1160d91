//! Comparisons in shell, and their opposites.
//!
//! Invariant: a comparison is changed only if the script fails where it does not hold.

use std::sync::LazyLock;

use regex::Regex;

use super::flips::Flip;
use super::patterns::regex;

/// `[ "$a" = b ] || exit 1`, `if [ "$a" != b ]; then exit 1`, and a comparison on a line of its
/// own.
pub(super) fn find(code: &str) -> Vec<Flip> {
    static COMPARED: LazyLock<Regex> = LazyLock::new(|| {
        regex(
            r"(?m)(?:\[\[?|\btest)[ \t][^\n]*?[ \t](=|==|!=|-eq|-ne)[ \t][^\n]*?(?:\|\|[ \t]*\\?\n?[ \t]*|$)",
        )
    });
    static IF: LazyLock<Regex> = LazyLock::new(|| {
        regex(
            r"(?m)\bif[ \t]+(?:\[\[?|test)[ \t][^\n]*?[ \t](!=|-ne)[ \t][^\n;]*;?\s*\bthen\b((?:[^\n]*\n){0,4}?[^\n]*?)(?:^|[;\n])[ \t]*fi\b",
        )
    });
    // A function may be asked: `is_ci() { [ "$CI" = 1 ]; }`.
    let has_functions = FUNCTION.is_match(code);
    let mut found = Vec::new();
    for it in COMPARED.captures_iter(code) {
        let (Some(whole), Some(sign)) = (it.get(0), it.get(1)) else { continue };
        let before = code[..whole.start()].rsplit('\n').next().unwrap_or_default().trim();
        let is_asked = ["if", "while", "until", "&&"].iter().any(|word| before.contains(word));
        if is_asked || whole.as_str().contains("&&") {
            continue;
        }
        let fails = match whole.as_str().contains("||") {
            true => fails(&code[whole.end()..]),
            false => before.is_empty() && !has_functions,
        };
        if fails {
            let is_equal = !matches!(sign.as_str(), "!=" | "-ne");
            let other = if is_equal { other_value(code, &sign) } else { None };
            found.push(other.unwrap_or_else(|| opposite(&sign)));
        }
    }
    let failing = IF.captures_iter(code).filter(|it| only_fails(&it[2], true));
    let signs = failing.filter_map(|it| it.get(1));
    found.extend(signs.map(|sign| other_value(code, &sign).unwrap_or_else(|| opposite(&sign))));
    found
}

/// Another word or number to be equal to: `= yes7` for `= yes`.
fn other_value(code: &str, sign: &regex::Match<'_>) -> Option<Flip> {
    static WORD: LazyLock<Regex> = LazyLock::new(|| {
        regex(r#"^[ \t]+(?:"[^"$`\\\n]*()"|'[^'\n]*()'|[\w.,:/+-]*\w())[ \t]*(?:\]|\|\||;|$|\n)"#)
    });
    let rest = &code[sign.end()..];
    let end = WORD.captures(rest)?.iter().skip(1).flatten().next()?.start();
    let at = sign.end() + end;
    Some(Flip { at: at..at, text: "7".to_owned() })
}

/// Whether a script fails for other reasons, too, or its arguments say what it does: then it may
/// pass without any of the comparisons.
pub(super) fn has_others(code: &str) -> bool {
    static CASE: LazyLock<Regex> = LazyLock::new(|| regex(r"(?m)^[ \t]*case\b[^\n]*\bin\b"));
    static OR_ELSE: LazyLock<Regex> = LazyLock::new(|| {
        regex(
            r"(?m)^[^\n]*\|\|[ \t]*\\?\n?[ \t]*(?:\{[^\n}]*\b(?:exit|return)\b|exit|return|false|die|\w*fail\w*)\b",
        )
    });
    let compares =
        |line: &str| line.contains("[ ") || line.contains("[[ ") || line.contains("test ");
    let goes_somewhere = |line: &str| line.trim_start().starts_with("cd ");
    CASE.is_match(code)
        || OR_ELSE.find_iter(code).any(|it| !compares(it.as_str()) && !goes_somewhere(it.as_str()))
}

fn opposite(sign: &regex::Match<'_>) -> Flip {
    let text = match sign.as_str() {
        "=" | "==" => "!=",
        "!=" => "=",
        "-eq" => "-ne",
        _ => "-eq",
    };
    Flip { at: sign.range(), text: text.to_owned() }
}

/// Whether the next command does no more than fail, with a message.
fn fails(code: &str) -> bool {
    let group = code.strip_prefix(['{', '(']);
    let end = if group.is_some() { ['}', ')'] } else { ['\n', ';'] };
    let body = group.unwrap_or(code);
    only_fails(&body[..body.find(end).unwrap_or(body.len())], group.is_some())
}

/// Whether commands do no more than fail. In a group, a message alone is no failure.
fn only_fails(body: &str, is_group: bool) -> bool {
    static ENDS: LazyLock<Regex> = LazyLock::new(|| {
        regex(
            r"^(?:exit|return)\b[ \t]*(?:[1-9$]|$)|^(?:false|die|\w*fail\w*)\b|^(?:echo|printf)\b",
        )
    });
    static SETS: LazyLock<Regex> = LazyLock::new(|| regex(r"^\w+=\S*$"));
    let mut commands = body.split([';', '\n']).map(str::trim).filter(|it| !it.is_empty());
    let is_message = |it: &str| it.starts_with("echo") || it.starts_with("printf");
    let only = commands.clone().all(|it| ENDS.is_match(it) || SETS.is_match(it));
    only && commands.any(|it| ENDS.is_match(it) && !(is_group && is_message(it)))
}

static FUNCTION: LazyLock<Regex> = LazyLock::new(|| regex(r"\w[ \t]*\(\)"));
