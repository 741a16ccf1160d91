//! Secrets that are known by the name they stand behind: environment files,
//! JSON, YAML, query strings, options on a command line.

use std::borrow::Cow;
use std::sync::LazyLock;

use regex::{Captures, Regex};

use super::REDACTED;

/// Last words of a name that holds a secret.
const NAMES: &str = concat!(
    r"(?:pass(?:word|wd|phrase|code)|pwd|secret|token|authtoken|api[_-]?key|apikey|access[_-]?key|secret[_-]?key(?:[_-]?base)?|private[_-]?key|",
    r"(?:signing|encryption|master|account|auth|shared|service|deploy|app|storage|session|subscription|license|hmac|aes|cipher|instrumentation|admin|stream)[_-]?key|",
    r"(?:db|user|admin|root|smtp|ftp|ssh|mail|login)[_-]?pass|[_-]pass|credentials?|secret[_-]?access[_-]?key|key[_-]?secret|_auth|",
    r"connection[_-]?string|x-api-key|pat)",
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

/// What stands behind a secret's name in an XML element, and in records whose fields are
/// called name and value, as lists of variables are written; and in netrc's own way.
const RECORDS: &[&str] = &[
    r"(?i)<[A-Z0-9_.:-]{0,40}?{names}(?:[ \t][^<>\n]{0,200})?>(?P<s>[^<>\s]{4,})</",
    r#"(?i)\b(?:key|name)\\*["']?[ \t]*[:=][ \t]*\\*["']?[A-Z0-9_.-]{0,40}?{names}\\*["']?[\s,]{0,40}\\*["']?value\\*["']?[ \t]*[:=][ \t]*\\*["']?(?P<s>[^\s"'\\<>,}}]{4,})"#,
];

static RECORD: LazyLock<Option<Vec<Regex>>> = LazyLock::new(|| {
    RECORDS
        .iter()
        .map(|record| Regex::new(&record.replace("{names}", NAMES).replace("}}", "}")).ok())
        .collect()
});

/// A line of cookies, and one of its values: what is long there is an identity.
static COOKIES: LazyLock<Option<[Regex; 2]>> = LazyLock::new(|| {
    let line = Regex::new(r#"(?i)\b(?:set-)?cookie\\*["']?[ \t]*[:=][ \t]*[^\r\n]*"#).ok()?;
    let value =
        Regex::new(r#"(?P<p>[;:\s"'][A-Za-z0-9_.-]{1,64}=)(?P<s>[A-Za-z0-9%._~+/:-]{16,}=*)"#)
            .ok()?;
    Some([line, value])
});

static NAME: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(&format!(r"(?i)^(?:.*[A-Z0-9_.-])?{NAMES}$|(?i)^{NAMES}$")).ok());

/// The text without values behind the names of secrets; `None` if it has none.
pub(super) fn redact(text: &str) -> Option<String> {
    // If a table itself were broken, nothing may pass.
    let (Some(pair), Some(records), Some([line, value])) =
        (PAIR.as_ref(), RECORD.as_ref(), COOKIES.as_ref())
    else {
        return Some(REDACTED.to_owned());
    };
    let mut out = pair.replace_all(text, |found: &Captures<'_>| {
        let after = found.get(0).map_or("", |whole| &text[whole.end()..]);
        replacement(found, after)
    });
    for record in records {
        if let Cow::Owned(changed) = record.replace_all(&out, |found: &Captures<'_>| part(found)) {
            out = Cow::Owned(changed);
        }
    }
    if let Cow::Owned(changed) = line.replace_all(&out, |found: &Captures<'_>| {
        value.replace_all(get_whole(found), |found: &Captures<'_>| part(found)).into_owned()
    }) {
        out = Cow::Owned(changed);
    }
    match out {
        Cow::Owned(changed) if changed != text => Some(changed),
        Cow::Owned(_) | Cow::Borrowed(_) => None,
    }
}

/// The match without its group `s`, unless that is no secret.
fn part(found: &Captures<'_>) -> String {
    let (whole, secret) = (get_whole(found), found.name("s").map_or("", |part| part.as_str()));
    let words = secret.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_');
    if is_placeholder(secret) || words && secret.len() < 12 {
        return whole.to_owned();
    }
    let at =
        found.name("s").map_or(0, |part| part.start()) - found.get(0).map_or(0, |all| all.start());
    format!("{}{REDACTED}{}", &whole[..at], &whole[at + secret.len()..])
}

/// Whether a JSON field of this name and text holds a secret.
pub(super) fn is_secret(name: &str, text: &str) -> bool {
    NAME.as_ref().is_none_or(|names| names.is_match(name))
        && !text.is_empty()
        && !is_placeholder(text)
        && !text.contains(char::is_whitespace)
}

fn replacement(found: &Captures<'_>, after: &str) -> String {
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
        || !bare_secret(name, sign, get("close"), bare, after);
    if keep {
        return whole.to_owned();
    }
    let tail = bare.len() - bare.trim_end_matches(['.', ':', '?']).len();
    let value_at = whole.len() - bare.len();
    if sign.contains(':') && !get("close").is_empty() {
        // A number in JSON: what stands in its place has to be a string.
        let quote = get("close");
        return format!("{}{quote}{REDACTED}{quote}", &whole[..value_at]);
    }
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

/// Letters without words in them: every second one a capital, and not one here and there.
fn jumbled(value: &str) -> bool {
    let capitals = value.bytes().filter(u8::is_ascii_uppercase).count();
    has_capital_inside(value) && capitals * 4 > value.len()
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
        || value.len() >= 8 && is_password(name) && !is_password(value)
}

/// Names of what a human makes up, which may be a plain word.
fn is_password(name: &str) -> bool {
    let lower = name.to_ascii_lowercase();
    ["password", "passwd", "passphrase", "pwd"].iter().any(|word| lower.ends_with(word))
}

/// An environment's way of writing a name: `DB_PASSWORD`.
fn is_assigned_name(name: &str) -> bool {
    name.bytes().any(|byte| byte.is_ascii_uppercase())
        && !name.bytes().any(|byte| byte.is_ascii_lowercase())
}

/// Whether a value without quotes is a secret and no code, no type, no prose.
fn bare_secret(name: &str, sign: &str, close: &str, value: &str, after: &str) -> bool {
    let plain = value.trim_end_matches(['.', ':', '?']);
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
            && (has_digit(plain) || plain.len() >= 12 && has_capital_inside(plain));
    }
    // Comparisons and paths through code are no values.
    if plain.starts_with('=')
        || plain.contains("::")
        || plain.contains("()")
        || plain.starts_with("//")
        || plain.starts_with('#') && !has_digit(plain)
    {
        return false;
    }
    let tight = sign == "=";
    let letters = plain
        .bytes()
        .all(|byte| byte.is_ascii_alphabetic() || matches!(byte, b'_' | b'.' | b'-' | b'/'));
    if letters {
        let mixed = plain.len() >= 16 && jumbled(plain) && !plain.contains(['.', '_']);
        // `f(password=password)` is code; `password=correcthorse` is none.
        let word = is_password(name)
            && plain.len() >= 6
            && !plain.contains(['.', '_', '/'])
            && !is_password(plain)
            && !after.starts_with([',', ')', '(', '.', ' ']);
        return tight && (is_assigned_name(name) && !is_assigned_name(plain) || word) || mixed;
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
        assert!(PAIR.is_some() && NAME.is_some() && RECORD.is_some() && COOKIES.is_some());
    }
}
