//! Secrets that are known by the name they stand behind: environment files,
//! JSON, YAML, query strings, options on a command line.

use std::borrow::Cow;
use std::sync::LazyLock;

use regex::{Captures, Regex};

use super::REDACTED;

/// Last words of a name that holds a secret.
const NAMES: &str = concat!(
    r"(?:pass(?:word|wd|phrase|code)|pwd|secret|token|authtoken|api[_-]?key|apikey|access[_-]?key|secret[_-]?key|private[_-]?key|",
    r"signing[_-]?key|encryption[_-]?key|master[_-]?key|account[_-]?key|auth[_-]?key|shared[_-]?key|service[_-]?key|deploy[_-]?key|app[_-]?key|",
    r"credentials?|client[_-]?secret|secret[_-]?access[_-]?key|key[_-]?secret|_auth|connection[_-]?string|webhook[_-]?secret|x-api-key|pat)",
);

static PAIR: LazyLock<Option<Regex>> = LazyLock::new(|| {
    // A name that ends in a secret's word, the sign, then a value in quotes or bare.
    Regex::new(&format!(
        concat!(
            r#"(?i)(?P<name>(?:--|(?-u:\b))[A-Z0-9_.-]{{0,40}}?{names})(?P<close>\\*["']?)"#,
            r#"(?P<sign>[ \t]*=>[ \t]*|[ \t]*:=[ \t]*|[ \t]+=[ \t]+|=|[ \t]*:[ \t]*|[ \t]+)"#,
            r#"(?:(?P<open>\\*["'`])(?P<quoted>(?:[^"'`\\\n]|\\[^"'`\n])*)|(?P<bare>[^\s"'`\\,;&<>(){{}}\[\]|]+)(?P<next>[(\[{{<]?))"#,
        ),
        names = NAMES
    ))
    .ok()
});

static NAME: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(&format!(r"(?i)^(?:.*[A-Z0-9_.-])?{NAMES}$|(?i)^{NAMES}$")).ok());

/// The text without values behind the names of secrets; `None` if it has none.
pub(super) fn redact(text: &str) -> Option<String> {
    let Some(pair) = PAIR.as_ref() else { return Some(REDACTED.to_owned()) };
    match pair.replace_all(text, |found: &Captures<'_>| replacement(found)) {
        Cow::Owned(changed) if changed != text => Some(changed),
        Cow::Owned(_) | Cow::Borrowed(_) => None,
    }
}

/// Whether a JSON field of this name and text holds a secret.
pub(super) fn is_secret(name: &str, text: &str) -> bool {
    NAME.as_ref().is_none_or(|names| names.is_match(name))
        && !text.is_empty()
        && !is_placeholder(text)
        && !text.contains(char::is_whitespace)
}

fn replacement(found: &Captures<'_>) -> String {
    let get = |name: &str| found.name(name).map_or("", |part| part.as_str());
    let whole = get_whole(found);
    let (name, sign) = (get("name"), get("sign"));
    if let Some(quoted) = found.name("quoted") {
        // A blank sign before quotes is an option: `--password "x"`.
        let option = name.starts_with("--");
        let signed = !sign.trim().is_empty() || option;
        if !signed || is_placeholder(quoted.as_str()) || !quoted_secret(quoted.as_str(), name) {
            return whole.to_owned();
        }
        return whole[..whole.len() - quoted.as_str().len()].to_owned() + REDACTED;
    }
    let bare = get("bare");
    let keep = is_placeholder(bare)
        || !get("next").is_empty()
        || !bare_secret(name, sign, get("close"), bare);
    if keep {
        return whole.to_owned();
    }
    let tail = bare.len() - bare.trim_end_matches(['.', ':', '!', '?']).len();
    let value_at = whole.len() - bare.len();
    format!("{}{REDACTED}{}", &whole[..value_at], &whole[whole.len() - tail..])
}

fn get_whole<'t>(found: &Captures<'t>) -> &'t str {
    found.get(0).map_or("", |whole| whole.as_str())
}

/// Values that stand for a secret without being one.
fn is_placeholder(value: &str) -> bool {
    let lower = value.to_ascii_lowercase();
    value.is_empty()
        || value.starts_with(['$', '<', '%', '{', '*', '(', '['])
        || value.contains("${")
        || value.contains("{{")
        || value.contains(REDACTED)
        || [
            "null",
            "none",
            "nil",
            "true",
            "false",
            "undefined",
            "string",
            "str",
            "changeme",
            "required",
            "optional",
            "...",
        ]
        .contains(&lower.as_str())
        || lower.starts_with("your")
        || lower.starts_with("process.env")
        || lower.starts_with("os.environ")
        || lower.starts_with("env::")
        || lower.starts_with("secrets.")
        || lower.starts_with("vault:")
        || lower.starts_with("env.")
        || value.bytes().all(|byte| matches!(byte, b'x' | b'X' | b'*' | b'.' | b'-' | b'#' | b'_'))
}

fn has_digit(value: &str) -> bool {
    value.bytes().any(|byte| byte.is_ascii_digit())
}

fn has_capital_inside(value: &str) -> bool {
    value.bytes().any(|byte| byte.is_ascii_lowercase())
        && value.bytes().skip(1).any(|byte| byte.is_ascii_uppercase())
}

fn quoted_secret(value: &str, name: &str) -> bool {
    if value.contains([' ', '\t']) {
        return has_digit(value) && value.split_whitespace().count() <= 3 && is_assigned_name(name);
    }
    value.len() >= 6
        && (has_digit(value)
            || has_capital_inside(value)
            || value.contains(['!', '#', '$', '%', '^', '&', '+', '=']))
        || value.len() >= 16
        || value.len() >= 4 && is_assigned_name(name)
}

/// An environment's way of writing a name: `DB_PASSWORD`.
fn is_assigned_name(name: &str) -> bool {
    name.bytes().any(|byte| byte.is_ascii_uppercase())
        && !name.bytes().any(|byte| byte.is_ascii_lowercase())
}

/// Whether a value without quotes is a secret and no code, no type, no prose.
fn bare_secret(name: &str, sign: &str, close: &str, value: &str) -> bool {
    let plain = value.trim_end_matches(['.', ':', '!', '?']);
    if plain.len() < 4 {
        return false;
    }
    let blank = sign.trim().is_empty();
    if blank {
        // `--api-key VALUE`, and nothing else is written so.
        return name.starts_with("--")
            && close.is_empty()
            && plain.len() >= 6
            && !plain.starts_with('-')
            && has_digit(plain);
    }
    // Comparisons and paths through code are no values.
    if plain.starts_with('=')
        || plain.contains("::")
        || plain.contains("()")
        || plain.starts_with("//")
    {
        return false;
    }
    let tight = sign == "=";
    let letters = plain
        .bytes()
        .all(|byte| byte.is_ascii_alphabetic() || matches!(byte, b'_' | b'.' | b'-' | b'/'));
    if letters {
        let mixed = plain.len() >= 16 && has_capital_inside(plain) && !plain.contains(['.', '_']);
        return tight && is_assigned_name(name) && !is_assigned_name(plain) || mixed;
    }
    // Code reads `config.token2` or `docs/auth2.md`; secrets rarely look like that.
    let dotted_words = plain.contains(['.', '/'])
        && plain.len() < 20
        && plain.split(['.', '/']).all(|part| part.len() < 12)
        && plain.bytes().filter(u8::is_ascii_digit).count() <= 2;
    has_digit(plain)
        && (!dotted_words || tight)
        && (plain.len() >= 6 || tight && is_assigned_name(name))
        || plain.len() >= 8 && plain.contains(['!', '@', '#', '$', '%', '^', '*', '+', '='])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tables_compile() {
        assert!(PAIR.is_some() && NAME.is_some());
    }
}
