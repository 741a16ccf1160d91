//! Whether the value after the name of a secret is a secret, and not a word, code or a placeholder.

use super::lexicon;
use super::mark::REDACTED;
use crate::guard::secrets::{self, Says};

/// The surroundings of a value without quotes.
#[derive(Debug)]
pub(super) struct ValueContext<'t> {
    pub(super) name: &'t str,
    /// The sign between the name and the value.
    pub(super) sign: &'t str,
    /// The quote behind the name.
    pub(super) close: &'t str,
    /// The text behind the value.
    pub(super) after: &'t str,
    /// Whether the pair has a line, or a field of a query, to itself.
    pub(super) alone: bool,
}

/// Words that stand for a secret.
const STAND_INS: &[&str] = &[
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
];

/// Beginnings of code that reads a secret from elsewhere.
const READINGS: &[&str] =
    &["your", "process.env", "os.environ", "env::", "secrets.", "vault:", "env."];

/// Values that stand for a secret without being one.
pub(super) fn is_placeholder(value: &str) -> bool {
    let lower = value.to_ascii_lowercase();
    value.is_empty()
        || value.contains("${")
        || value.contains("{{")
        || value.contains(REDACTED)
        || is_expansion(value)
        || STAND_INS.contains(&lower.as_str())
        || READINGS.iter().any(|reading| lower.starts_with(reading))
        || !value.eq_ignore_ascii_case("x")
            && value
                .bytes()
                .all(|byte| matches!(byte, b'x' | b'X' | b'*' | b'.' | b'-' | b'#' | b'_'))
}

/// Whether a value is what a shell, a template, a format or a pointer is written as. A secret
/// may begin with the same sign: what follows has to be the name of something, too.
fn is_expansion(value: &str) -> bool {
    let Some(first) = value.chars().next() else { return false };
    let rest = &value[first.len_utf8()..];
    let closed = |close: char| rest.contains(close);
    match first {
        '$' => rest.is_empty() || rest.starts_with(['(', '{', '[']) || is_variable(rest),
        '<' => closed('>'),
        '{' => closed('}'),
        '(' => closed(')'),
        '[' => closed(']'),
        '*' => is_variable(rest.trim_start_matches(['*', '.'])),
        '%' => {
            rest.starts_with(['(', '{', '<'])
                || rest.ends_with('%')
                || rest.len() <= 3 && rest.bytes().all(|byte| !byte.is_ascii_digit())
                || rest.len() <= 4 && rest.ends_with(|c: char| c.is_ascii_lowercase())
        }
        _ => false,
    }
}

/// Whether text begins with a variable's name: words with two digits at most behind each, and
/// then something that ends a name.
fn is_variable(text: &str) -> bool {
    let end = text.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(text.len());
    let (name, after) = text.split_at(end);
    let word = |part: &str| {
        let digits = part.len() - part.trim_end_matches(|c: char| c.is_ascii_digit()).len();
        digits <= 2 && !part[..part.len() - digits].bytes().any(|byte| byte.is_ascii_digit())
    };
    let capitals = !name.bytes().any(|byte| byte.is_ascii_lowercase());
    let ended = match after.chars().next() {
        None | Some('/' | '.' | ':' | '[' | '(' | '-' | '>' | ',' | ';' | ')' | '}' | ' ') => true,
        Some('$') => is_variable(&after[1..]),
        Some(_) => false,
    };
    !name.is_empty() && ended && (capitals || name.split('_').all(word))
}

pub(super) fn has_digit(value: &str) -> bool {
    value.bytes().any(|byte| byte.is_ascii_digit())
}

pub(super) fn has_capital_inside(value: &str) -> bool {
    value.bytes().any(|byte| byte.is_ascii_lowercase())
        && value.bytes().skip(1).any(|byte| byte.is_ascii_uppercase())
}

/// Letters without words in them: every second one a capital, and not one here and there.
fn jumbled(value: &str) -> bool {
    let capitals = value.bytes().filter(u8::is_ascii_uppercase).count();
    has_capital_inside(value) && capitals * 4 > value.len()
}

/// Whether a value behind a name that may be anything's is a secret: long, and no words with
/// a number behind them.
pub(super) fn looks_random(value: &str, name: &str) -> bool {
    let (shortest, piece) = if is_assigned_name(name) { (12, 12) } else { (20, 16) };
    let random = |part: &str| {
        let digits = part.bytes().filter(u8::is_ascii_digit).count();
        part.len() >= piece
            && (digits >= 2 && part.bytes().any(|byte| byte.is_ascii_alphabetic())
                || part.len() >= 16 && jumbled(part))
    };
    value.len() >= shortest
        && !value.contains(char::is_whitespace)
        && value.split(['_', '-', '.', '/', ':', '@', ' ']).any(random)
}

/// Names of what a human makes up, which may be a plain word.
pub(super) fn is_password(name: &str) -> bool {
    let lower = name.to_ascii_lowercase();
    ["password", "passwd", "passphrase", "pwd"].iter().any(|word| lower.ends_with(word))
}

/// An environment's way of writing a name: `DB_PASSWORD`.
pub(super) fn is_assigned_name(name: &str) -> bool {
    name.bytes().any(|byte| byte.is_ascii_uppercase())
        && !name.bytes().any(|byte| byte.is_ascii_lowercase())
}

/// Whether a value is the name of such a thing itself: `"_RSAPrivateKey"` is a type. What a
/// human makes up may well be called so.
fn is_own_name(value: &str, name: &str) -> bool {
    let letters = value.bytes().all(|byte| byte.is_ascii_alphabetic() || byte == b'_');
    letters && !is_password(name) && secrets::name(value) != Says::Nothing
}

/// Whether a value is a color: a theme has tokens, too.
fn is_color(value: &str, name: &str) -> bool {
    let hex = value.strip_prefix('#').unwrap_or_default();
    matches!(hex.len(), 3 | 4 | 6 | 8)
        && hex.bytes().all(|byte| byte.is_ascii_hexdigit())
        && !is_password(name)
}

/// Is a value a list of the names of variables, such as `"API_TOKEN DB_PASSWORD"`?
fn is_list_of_names(value: &str, name: &str) -> bool {
    let words = || value.split([' ', ',', '\t']).filter(|word| !word.is_empty());
    let is_variable = |word: &str| {
        is_assigned_name(word)
            && word.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
            && (word.contains('_') || secrets::name(word) != Says::Nothing)
    };
    words().count() >= 2 && !is_password(name) && words().all(is_variable)
}

/// Whether a value is a stand-in for a secret: a placeholder, names, a color.
pub(super) fn stands_in(value: &str, name: &str) -> bool {
    is_placeholder(value)
        || is_own_name(value, name)
        || is_list_of_names(value, name)
        || is_color(value, name)
}

/// Names of the secrets that services issue. A single `token` or `key` may be a lexer's or a
/// map's, these are not.
fn is_credential(name: &str) -> bool {
    const NAMES: &[&str] = &[
        "apikey",
        "apisecret",
        "apitoken",
        "accesskey",
        "accesstoken",
        "appsecret",
        "authkey",
        "authtoken",
        "bearertoken",
        "clientsecret",
        "clienttoken",
        "consumersecret",
        "privatekey",
        "refreshtoken",
        "secretkey",
        "sessionsecret",
        "signingkey",
        "signingsecret",
        "webhooksecret",
    ];
    let plain: String = name.chars().filter(char::is_ascii_alphanumeric).collect();
    let plain = plain.to_ascii_lowercase();
    NAMES.iter().any(|credential| plain.ends_with(credential))
}

/// Whether a value in quotes is a secret.
pub(super) fn quoted_secret(value: &str, name: &str, says: Says) -> bool {
    if stands_in(value, name) {
        return false;
    }
    if says == Says::Perhaps {
        return looks_random(value, name);
    }
    if value.contains([' ', '\t']) {
        let words = value.split_whitespace().count();
        return has_digit(value) && words <= 3 && is_assigned_name(name);
    }
    let is_secret = name.to_ascii_lowercase().ends_with("secret");
    value.len() >= 6
        && (has_digit(value)
            || has_capital_inside(value)
            || value.contains(['!', '#', '$', '%', '^', '&', '+', '=']))
        || value.len() >= 16
        || value.len() >= 4 && is_assigned_name(name)
        || value.len() >= 8 && is_password(name) && !is_password(value)
        || !lexicon::is_common(value)
            && (value.len() >= 3 && is_credential(name)
                || value.len() >= 6 && is_secret && value.bytes().all(|b| b.is_ascii_lowercase()))
}

/// Does a word begin with a capital, as types do?
fn is_capital_word(word: &str) -> bool {
    word.starts_with(|c: char| c.is_ascii_uppercase())
}

/// Whether a value without quotes is a secret, and not code, a type or prose.
pub(super) fn bare_secret(value: &str, says: Says, place: &ValueContext<'_>) -> bool {
    let ValueContext { name, sign, close, after, alone } = *place;
    let plain = value.trim_end_matches(['.', ':', '?']);
    if plain.len() < 4 || is_placeholder(value) || is_color(plain, name) {
        return false;
    }
    if says == Says::Perhaps && !looks_random(plain, name) {
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
    // Comparisons, paths through code and types of constants are not values.
    let typed = sign.contains(':') && after.trim_start_matches(' ').starts_with('=');
    if plain.starts_with('=')
        || sign.contains(':') && plain.starts_with(':')
        || plain.contains("::")
        || plain.contains("()")
        || plain.starts_with("//")
        || plain.starts_with('#') && !has_digit(plain)
        || plain.starts_with("0x") && plain.len() <= 10
        || typed
    {
        return false;
    }
    let tight = sign == "=" || sign.contains('%');
    let letters = plain
        .bytes()
        .all(|byte| byte.is_ascii_alphabetic() || matches!(byte, b'_' | b'.' | b'-' | b'/'));
    if letters {
        let mixed = plain.len() >= 16 && jumbled(plain) && !plain.contains(['.', '_']);
        // `f(password=password)` is code; `password=correcthorse` is not.
        let made_up = is_password(name) && !is_password(plain);
        let word = made_up
            && plain.len() >= 6
            && !plain.contains(['.', '_', '/'])
            && !after.starts_with([',', ')', '(', '.', ' ']);
        // No word is so long.
        let words = made_up
            && plain.len() >= 18
            && plain.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'-')
            && (after.is_empty() || after.starts_with(['\n', '\r', '"', '\\']));
        let assigned = is_assigned_name(name) && !is_assigned_name(plain);
        // `client_secret=topsecret` in an environment file or a query, or as YAML.
        let issued = alone
            && is_credential(name)
            && plain.len() >= if tight { 4 } else { 6 }
            && !plain.contains(['.', '/'])
            && !is_credential(plain)
            && (tight || !is_capital_word(plain))
            && !lexicon::is_common(plain);
        return tight && (assigned || word) || mixed || words || issued;
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
