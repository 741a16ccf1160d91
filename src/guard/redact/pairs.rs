//! Secrets that are known by the name they stand behind: environment files,
//! JSON, YAML, query strings, options on a command line.

use std::borrow::Cow;
use std::sync::LazyLock;

use aho_corasick::AhoCorasick;
use regex::Captures;

use super::REDACTED;
use super::pattern::Pattern;

/// Last words of a name that holds a secret.
const NAMES: &str = concat!(
    r"(?:pass(?:word|wd|phrase|code)|pwd|secret|token|authtoken|api[_-]?key|apikey|access[_-]?key|secret[_-]?key(?:[_-]?base)?|private[_-]?key|",
    r"(?:signing|encryption|master|account|auth|shared|service|deploy|app|storage|session|subscription|license|hmac|aes|cipher|instrumentation|admin|stream)[_-]?key|",
    r"(?:db|user|admin|root|smtp|ftp|ssh|mail|login)[_-]?pass|[_-]pass|credentials?|secret[_-]?access[_-]?key|key[_-]?secret|_auth|",
    r"connection[_-]?string|x-api-key|pat)",
);

/// What such a name contains somewhere: where it may begin.
const WORDS: &[&str] = &[
    "pass",
    "pwd",
    "secret",
    "token",
    "auth",
    "api",
    "access",
    "private",
    "signing",
    "encryption",
    "master",
    "account",
    "shared",
    "service",
    "deploy",
    "app",
    "storage",
    "session",
    "subscription",
    "license",
    "hmac",
    "aes",
    "cipher",
    "instrumentation",
    "admin",
    "stream",
    "db",
    "user",
    "root",
    "smtp",
    "ftp",
    "ssh",
    "mail",
    "login",
    "_pass",
    "-pass",
    "credential",
    "key",
    "_auth",
    "client",
    "connection",
    "x-api",
    "pat",
];

/// The last words of a name, the sign, then a value in quotes or bare.
const PAIR: &str = concat!(
    r#"^(?P<last>(?i-u:{names}))(?P<close>\\*["']?)"#,
    r#"(?P<sign>[ \t]*=>[ \t]*|[ \t]*:=[ \t]*|[ \t]+=[ \t]+|=|[ \t]*:[ \t]*|[ \t]+)"#,
    r#"(?:(?P<open>\\*["'`])(?P<quoted>(?:[^"'`\\\n]|\\[^"'`\n])*)|(?P<bare>[^\s"'`\\,;&<>(){}\[\]|]+)(?P<next>[(\[{<]?))"#,
);

/// Longest beginning of a name, before its last words.
const NAME_HEAD: usize = 40;

struct Pairs {
    words: AhoCorasick,
    pair: Pattern,
    records: [(&'static str, Pattern); 2],
    name: Pattern,
    cookies: Pattern,
    cookie: Pattern,
}

static PAIRS: LazyLock<Option<Pairs>> = LazyLock::new(|| {
    let words = AhoCorasick::builder().ascii_case_insensitive(true).build(WORDS).ok()?;
    let named = |text: &str| Pattern::new(text.replace("{names}", NAMES));
    Some(Pairs {
        words,
        pair: named(PAIR),
        records: [("</", named(ELEMENT)), ("alue", named(RECORD))],
        name: named(r"^(?:.*(?i-u:[A-Z0-9_.-]))?(?i-u:{names})$"),
        cookies: Pattern::new(COOKIES),
        cookie: Pattern::new(COOKIE),
    })
});

/// What stands behind a secret's name in an XML element.
const ELEMENT: &str =
    r"<(?i-u:[A-Z0-9_.:-]{0,40}?{names})(?:[ \t][^<>\n]{0,200})?>(?P<s>[^<>\s]{4,})</";

/// The same in records whose fields are called name and value, as lists of variables are
/// written.
const RECORD: &str = r#"(?i-u:\b(?:key|name))\\*["']?[ \t]*[:=][ \t]*\\*["']?(?i-u:[A-Z0-9_.-]{0,40}?{names})\\*["']?[\s,]{0,40}\\*["']?(?i-u:value)\\*["']?[ \t]*[:=][ \t]*\\*["']?(?P<s>[^\s"'\\<>,}]{4,})"#;

/// A line of cookies, and one of its values: what is long there is an identity.
const COOKIES: &str = r#"(?i-u:\b(?:set-)?cookie)\\*["']?[ \t]*[:=][ \t]*[^\r\n]*"#;
const COOKIE: &str = r#"(?P<p>[;:\s"'][A-Za-z0-9_.-]{1,64}=)(?P<s>[A-Za-z0-9%._~+/:-]{16,}=*)"#;

/// The text without values behind the names of secrets; `None` if it has none.
pub(super) fn redact(text: &str) -> Option<String> {
    // If a table itself were broken, nothing may pass.
    apply(text).unwrap_or_else(|| Some(REDACTED.to_owned()))
}

/// As [`redact`]; `None` outside if a table is broken.
fn apply(text: &str) -> Option<Option<String>> {
    let pairs = PAIRS.as_ref()?;
    let mut out = match pairs.pairs(text)? {
        Some(changed) => Cow::Owned(changed),
        None => Cow::Borrowed(text),
    };
    for (hint, record) in &pairs.records {
        if out.contains(hint)
            && let Cow::Owned(changed) =
                record.get()?.replace_all(&out, |found: &Captures<'_>| part(found))
        {
            out = Cow::Owned(changed);
        }
    }
    if out.contains("ookie") {
        let cookie = pairs.cookie.get()?;
        let lines = pairs.cookies.get()?.replace_all(&out, |found: &Captures<'_>| {
            cookie.replace_all(get_whole(found), |found: &Captures<'_>| part(found)).into_owned()
        });
        if let Cow::Owned(changed) = lines {
            out = Cow::Owned(changed);
        }
    }
    Some(match out {
        Cow::Owned(changed) if changed != text => Some(changed),
        Cow::Owned(_) | Cow::Borrowed(_) => None,
    })
}

impl Pairs {
    /// Without the values of `name = value`, however that is written.
    fn pairs(&self, text: &str) -> Option<Option<String>> {
        let mut words: Vec<usize> =
            self.words.find_overlapping_iter(text).map(|found| found.start()).collect();
        words.sort_unstable();
        words.dedup();
        let mut out = String::new();
        let mut done = 0;
        for word in words {
            if word < done {
                continue;
            }
            let Some(start) = name_start(text.as_bytes(), word, done) else { continue };
            let Some(found) = self.pair.get()?.captures(&text[word..]) else { continue };
            let end = word + get_whole(&found).len();
            let last = found.name("last").map_or(0, |last| last.len());
            let name = &text[start..word + last];
            if let Some(replaced) = replacement(&found, name, &text[end..]) {
                out.push_str(&text[done..word]);
                out.push_str(&replaced);
                done = end;
            }
        }
        Some((done > 0).then(|| out + &text[done..]))
    }
}

/// Where a name begins whose last words begin at `word`: where a word or an option begins.
fn name_start(text: &[u8], word: usize, done: usize) -> Option<usize> {
    let is_name = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.' | b'-');
    let is_word = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    let mut head = word;
    while head > done && word - head < NAME_HEAD && is_name(text[head - 1]) {
        head -= 1;
    }
    // Two dashes before the head belong to it.
    let first = head.saturating_sub(2).max(done);
    (first..=word).find(|at| {
        let bounded = || *at == 0 || is_word(text[*at - 1]) != is_word(text[*at]);
        text[*at..].starts_with(b"--") && *at + 2 >= head || *at >= head && bounded()
    })
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
    // If the table were broken, everything would be one.
    let named = PAIRS.as_ref().and_then(|pairs| pairs.name.get());
    named.is_none_or(|names| names.is_match(name))
        && !text.is_empty()
        && !is_placeholder(text)
        && !text.contains(char::is_whitespace)
}

/// The match without its value, if that is a secret.
fn replacement(found: &Captures<'_>, name: &str, after: &str) -> Option<String> {
    let get = |name: &str| found.name(name).map_or("", |part| part.as_str());
    let whole = get_whole(found);
    let sign = get("sign");
    if let Some(quoted) = found.name("quoted") {
        // A blank sign before quotes is an option: `--password "x"`.
        let option = name.starts_with("--");
        let signed = !sign.trim().is_empty() || option;
        let secret =
            signed && !is_placeholder(quoted.as_str()) && quoted_secret(quoted.as_str(), name);
        return secret.then(|| whole[..whole.len() - quoted.as_str().len()].to_owned() + REDACTED);
    }
    let bare = get("bare");
    let keep = is_placeholder(bare)
        || !get("next").is_empty()
        || !bare_secret(name, sign, get("close"), bare, after);
    if keep {
        return None;
    }
    let tail = bare.len() - bare.trim_end_matches(['.', ':', '?']).len();
    let value_at = whole.len() - bare.len();
    if sign.contains(':') && !get("close").is_empty() {
        // A number in JSON: what stands in its place has to be a string.
        let quote = get("close");
        return Some(format!("{}{quote}{REDACTED}{quote}", &whole[..value_at]));
    }
    Some(format!("{}{REDACTED}{}", &whole[..value_at], &whole[whole.len() - tail..]))
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
    use proptest::strategy::{Strategy as _, ValueTree as _};

    #[test]
    fn the_tables_compile() {
        let pairs = PAIRS.as_ref().expect("the words");
        let records = pairs.records.iter().map(|(_, record)| record);
        for pattern in records.chain([&pairs.pair, &pairs.name, &pairs.cookies, &pairs.cookie]) {
            assert!(pattern.get().is_some(), "{pattern:?}");
        }
    }

    #[test]
    fn every_name_contains_a_word_where_it_is_looked_for() {
        let mut runner = proptest::test_runner::TestRunner::deterministic();
        let names = proptest::string::string_regex(NAMES).expect("names");
        for _ in 0..2000 {
            let name = names.new_tree(&mut runner).expect("a name").current();
            assert!(WORDS.iter().any(|word| name.starts_with(word)), "{name}");
        }
    }
}
