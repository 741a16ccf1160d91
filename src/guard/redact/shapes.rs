//! Secrets that are known by their own shape, anywhere in a text.

use std::borrow::Cow;
use std::sync::LazyLock;

use aho_corasick::AhoCorasick;
use regex::Captures;

use super::mark::{REDACTED, replace};
use super::pattern::LazyPattern;
use super::{blocks, keys, lexicon, tokens, value};
use crate::guard::secrets::{self, Says};

/// Shapes of which the group `s` goes and the rest stays, each behind a part that every
/// match has, in lower case.
const PARTS: &[(&str, &str)] = &[
    // Credentials in a URL, up to the last `@` of the host part.
    ("://", r#"[A-Za-z][A-Za-z0-9+.-]*://[^\s/:@"'<>\\]*:(?P<s>[^\s/"'<>\\]+)@"#),
    ("://", r#"[A-Za-z][A-Za-z0-9+.-]*://(?P<s>[A-Za-z0-9_-]{20,})@"#),
    ("slack.com", r"hooks\.slack\.com/(?:services|workflows|triggers)/(?P<s>[A-Za-z0-9+/_-]{16,})"),
    ("discord", r"discord(?:app)?\.com/api/webhooks/(?P<s>[0-9]+/[A-Za-z0-9_-]{20,})"),
    ("webhook.office.com", r"\.webhook\.office\.com/(?P<s>[A-Za-z0-9@/_-]{30,})"),
    ("sig=", r"(?:[?&; ]|\\u0026)sig=(?P<s>[A-Za-z0-9%+/=_-]{16,})"),
    (
        "sig%3d",
        r"(?:%3F|%26)(?i-u:sig%3D)(?P<s>[A-Za-z0-9%+/=_-]{16,}?)(?:%26|[^A-Za-z0-9%+/=_-]|$)",
    ),
    // URLs that were signed, and the signature in a header.
    (
        "signature=",
        r"(?:[?&;, ]|\\u0026)(?i-u:(?:X-[A-Z]{2,8}-)?signature=)(?P<s>[A-Za-z0-9%+/=_~-]{16,})",
    ),
    (
        "signature%3d",
        r"(?:%3F|%26)(?i-u:(?:X-[A-Z]{2,8}-)?signature%3D)(?P<s>[A-Za-z0-9%+/=_~-]{16,}?)(?:%26|[^A-Za-z0-9%+/=_~-]|$)",
    ),
    ("_session=", r"\b_[a-z0-9_]{2,40}_session=(?P<s>[A-Za-z0-9%._~+/-]{16,}={0,2})"),
    ("phpsessid=", r"\bPHPSESSID=(?P<s>[A-Za-z0-9,-]{16,})"),
    ("jsessionid=", r"\b(?i-u:JSESSIONID=)(?P<s>[A-Za-z0-9._!-]{16,})"),
    ("connect.sid=", r"\bconnect\.sid=(?P<s>[A-Za-z0-9%._~+/-]{16,})"),
    // Behind a scheme, credentials of any length and in quotes of their own.
    (
        "authorization",
        r#"(?i)\b(?:proxy-)?authorization\\*["']?\]?\s{0,4}[:=]\s{0,4}\\*["']?(?:basic|bearer|token|digest|api-?key|negotiate)[ \t]+(?:(?P<s>[^\s"',;\\]+)|\\*["'](?P<q>[A-Za-z0-9][^\s"',;\\]*))"#,
    ),
    (
        "authorization",
        r#"(?i)\b(?:proxy-)?authorization\\*["']?\]?\s{0,4}[:=]\s{0,4}\\*["']?(?P<s>[A-Za-z0-9][^\s"',;\\]{2,})"#,
    ),
    ("bearer", r"(?i)\bbearer[ \t]+(?P<s>[A-Za-z0-9._~+/=-]{3,})"),
    ("basic", r"\b(?:Basic|basic)[ \t]+(?P<s>[A-Za-z0-9+/]{12,}={0,2})"),
    ("curl", r#"\bcurl\b[^\n|;]*?[ \t](?:-u|--user)[ =]?["']?[^\s:"']+:(?P<s>[^\s"']+)"#),
    ("docker", r#"\bdocker[ \t]+login\b[^\n|;]*?[ \t]-p[ =]?(?P<s>[^\s'"]{6,})"#),
    ("mysql", r#"\bmysql(?:dump|admin)?\b[^\n|;]*?[ \t]-p(?P<s>[^\s'"]{6,})"#),
    ("login", r"\blogin[ \t\n]+\S{1,80}[ \t\n]+password[ \t]+(?P<s>[^\s\x22\\]{4,})"),
    ("sshpass", r#"\bsshpass[ \t]+-p[ \t]*["']?(?P<s>[^\s"']+)"#),
    ("auth", r#"\\*["']auth\\*["'][ \t]*(?::|=>|=)[ \t]*\\*["'](?P<s>[A-Za-z0-9+/=_-]{8,})"#),
    ("accountkey", r#"(?i-u:\bAccountKey)=(?P<s>[^;\s"']{8,})"#),
    ("shared", r#"(?i-u:\bShared(?:AccessKey|AccessSignature|Secret))=(?P<s>[^;\s"']{8,})"#),
];

/// A bearer token below this length is told from a word by its digit.
const SHORT_BEARER: usize = 16;

/// Longest word of prose or code behind `Authorization:`.
const LONGEST_WORD: usize = 16;

/// Schemes of the header, which are not a secret themselves.
const SCHEMES: &[&str] = &["basic", "bearer", "token", "digest", "apikey", "negotiate"];

struct Shapes {
    hints: AhoCorasick,
    parts: Vec<LazyPattern>,
}

static SHAPES: LazyLock<Option<Shapes>> = LazyLock::new(|| {
    let hints = AhoCorasick::builder()
        .ascii_case_insensitive(true)
        .build(PARTS.iter().map(|(hint, _)| hint));
    Some(Shapes {
        hints: hints.ok()?,
        parts: PARTS.iter().map(|(_, part)| LazyPattern::new(*part)).collect(),
    })
});

/// The text without secrets of known shapes; `None` if it has none.
pub(super) fn redact(text: &str) -> Option<String> {
    // If a table itself were broken, nothing may pass.
    apply(text).unwrap_or_else(|| Some(REDACTED.to_owned()))
}

/// As [`redact`]; `None` outside if a table is broken.
fn apply(text: &str) -> Option<Option<String>> {
    let shapes = SHAPES.as_ref()?;
    let mut out = replace(Cow::Borrowed(text), keys::redact);
    out = replace(out, blocks::redact);
    out = replace(out, tokens::redact);
    let mut hinted = [false; PARTS.len()];
    for found in shapes.hints.find_overlapping_iter(out.as_ref()) {
        hinted[found.pattern().as_usize()] = true;
    }
    for (pattern, _) in shapes.parts.iter().zip(hinted).filter(|(_, hinted)| *hinted) {
        let changed = pattern.get()?.replace_all(&out, |found: &Captures<'_>| part(found, &out));
        if let Cow::Owned(changed) = changed {
            out = Cow::Owned(changed);
        }
    }
    Some(match out {
        Cow::Owned(changed) if changed != text => Some(changed),
        Cow::Owned(_) | Cow::Borrowed(_) => None,
    })
}

fn part(found: &Captures<'_>, text: &str) -> String {
    let secret = found.name("s").or_else(|| found.name("q"));
    let (Some(whole), Some(secret)) = (found.get(0), secret) else {
        return REDACTED.to_owned();
    };
    // `authorization = header.split(…)` is code.
    let keep = value::is_placeholder(secret.as_str())
        || secret.as_str().contains(['(', '['])
        || whole.as_str().len() == secret.as_str().len();
    let lower = whole.as_str().to_ascii_lowercase();
    let word = if lower.starts_with("bearer") {
        !is_bearer(secret.as_str())
    } else if lower.starts_with("basic") {
        !random(secret.as_str())
    } else {
        is_word(secret.as_str(), &lower[..secret.start() - whole.start()], &text[secret.end()..])
    };
    if keep || word {
        return whole.as_str().to_owned();
    }
    let start = secret.start() - whole.start();
    let end = secret.end() - whole.start();
    format!("{}{REDACTED}{}", &whole.as_str()[..start], &whole.as_str()[end..])
}

/// Whether what follows a name or a scheme is a word, not a secret: the name of a secret
/// (`Authorization: Bearer TOKEN`), or behind a header's name, a word of prose or a type.
fn is_word(secret: &str, before: &str, after: &str) -> bool {
    let letters = |byte: u8| byte.is_ascii_alphabetic() || matches!(byte, b'_' | b'-' | b'.');
    if !secret.bytes().all(letters) {
        return false;
    }
    if secret.len() < 8 && secrets::name(secret) != Says::Nothing {
        return true;
    }
    if !before.contains("authorization") {
        return false;
    }
    let plain = secret.trim_end_matches('.');
    let scheme = !before.trim_end_matches(['"', '\'', '\\', ' ', '\t']).ends_with([':', '=']);
    // Prose continues after a word; a header does not.
    let goes_on = after.strip_prefix(' ').is_some_and(|rest| rest.starts_with(char::is_alphabetic));
    let scheme_alone = SCHEMES.iter().any(|name| plain.eq_ignore_ascii_case(name));
    let dotted = plain.contains('.');
    lexicon::is_common(plain)
        || goes_on && secret.len() < LONGEST_WORD && !before.contains("bearer")
        || !scheme
            && (scheme_alone
                || dotted
                || before.contains('=')
                || secret.len() < LONGEST_WORD && after.starts_with([',', ';', ')'])
                || secrets::name(plain) != Says::Nothing
                || plain.eq_ignore_ascii_case("authorization"))
}

/// Whether the word after `Bearer` is a token: a long one that is not a plain word, or a short
/// one with a digit.
fn is_bearer(word: &str) -> bool {
    if word.len() >= SHORT_BEARER {
        return random(word);
    }
    // `Bearer 2.0` is a version.
    value::has_digit(word) && (word.len() >= 5 || word.bytes().any(|b| b.is_ascii_alphabetic()))
}

/// Whether text is not a word: it has a digit, or capitals inside.
fn random(text: &str) -> bool {
    value::has_digit(text) || value::has_capital_inside(text) || text.ends_with('=')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tables_compile_and_each_part_has_its_hint() {
        for (hint, pattern) in PARTS {
            assert!(LazyPattern::new(*pattern).get().is_some(), "{pattern}");
            assert_eq!(*hint, hint.to_ascii_lowercase());
            let plain = pattern.to_ascii_lowercase().replace('\\', "");
            let named = hint.split(['"', '?']).all(|word| plain.contains(word));
            assert!(named, "{hint} is not in {pattern}");
        }
        assert!(SHAPES.is_some());
    }
}
