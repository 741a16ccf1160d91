//! Secrets that are known by their own shape, wherever they stand.

use std::borrow::Cow;
use std::sync::LazyLock;

use aho_corasick::AhoCorasick;
use regex::{Captures, Regex};

use super::pattern::Pattern;
use super::{REDACTED, tokens};

/// Shapes of which the group `s` goes and the rest stays, each behind a part that every
/// match has, in lower case.
const PARTS: &[(&str, &str)] = &[
    // Credentials in a URL, up to the last `@` of the host part.
    ("://", r#"[A-Za-z][A-Za-z0-9+.-]*://[^\s/:@"'<>\\]*:(?P<s>[^\s/"'<>\\]+)@"#),
    ("://", r#"[A-Za-z][A-Za-z0-9+.-]*://(?P<s>[A-Za-z0-9_-]{20,})@"#),
    ("slack.com", r"hooks\.slack\.com/(?:services|workflows|triggers)/(?P<s>[A-Za-z0-9+/_-]{16,})"),
    ("discord", r"discord(?:app)?\.com/api/webhooks/(?P<s>[0-9]+/[A-Za-z0-9_-]{20,})"),
    ("webhook.office.com", r"\.webhook\.office\.com/(?P<s>[A-Za-z0-9@/_-]{30,})"),
    ("sig=", r"[?&;]sig=(?P<s>[A-Za-z0-9%+/=_-]{16,})"),
    (
        "authorization",
        r#"(?i)\b(?:proxy-)?authorization\\*["']?\s{0,4}[:=]\s{0,4}\\*["']?(?:(?:basic|bearer|token|digest|apikey|negotiate)[ \t]+)?(?P<s>[A-Za-z0-9][^\s"',;\\]{7,})"#,
    ),
    ("bearer", r"(?i)\bbearer[ \t]+(?P<s>[A-Za-z0-9._~+/=-]{16,})"),
    ("basic", r"\b(?:Basic|basic)[ \t]+(?P<s>[A-Za-z0-9+/]{12,}={0,2})"),
    ("curl", r#"\bcurl\b[^\n|;]*?[ \t](?:-u|--user)[ =]?["']?[^\s:"']+:(?P<s>[^\s"']+)"#),
    ("docker", r#"\bdocker[ \t]+login\b[^\n|;]*?[ \t]-p[ =]?(?P<s>[^\s'"]{6,})"#),
    ("mysql", r#"\bmysql(?:dump|admin)?\b[^\n|;]*?[ \t]-p(?P<s>[^\s'"]{6,})"#),
    ("login", r"\blogin[ \t\n]+\S{1,80}[ \t\n]+password[ \t]+(?P<s>\S{4,})"),
    ("sshpass", r#"\bsshpass[ \t]+-p[ \t]*["']?(?P<s>[^\s"']+)"#),
    ("\"auth", r#"\\*"auth\\*"[ \t]*:[ \t]*\\*"(?P<s>[A-Za-z0-9+/=]{8,})"#),
    ("accountkey", r#"(?i-u:\bAccountKey)=(?P<s>[^;\s"']{8,})"#),
    ("shared", r#"(?i-u:\bShared(?:AccessKey|AccessSignature|Secret))=(?P<s>[^;\s"']{8,})"#),
];

/// The marks of a private key; its name stands between them and five more dashes.
const BEGIN: &str = "-----BEGIN ";
const END: &str = "-----END ";

/// The body of a private key whose end is not there: headers and lines of base64.
const PEM_OPEN: &str = r#"^(?:(?:\\[rnt]|\s)*(?:(?:Proc-Type|DEK-Info|Version|Comment):[^\n"\\]*|[A-Za-z0-9+/=]{16,}))*(?:(?:\\[rn]|\s)+[A-Za-z0-9+/=]+$)?"#;

/// The end of a private key whose beginning is not there.
const PEM_END: &str =
    r#"(?:[A-Za-z0-9+/=]{16,}(?:\\[rn]|\s)+)+-----END [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----"#;

struct Shapes {
    hints: AhoCorasick,
    parts: Vec<Pattern>,
    pem_open: Pattern,
    pem_end: Pattern,
}

static SHAPES: LazyLock<Option<Shapes>> = LazyLock::new(|| {
    let hints = AhoCorasick::builder()
        .ascii_case_insensitive(true)
        .build(PARTS.iter().map(|(hint, _)| hint));
    Some(Shapes {
        hints: hints.ok()?,
        parts: PARTS.iter().map(|(_, part)| Pattern::new(*part)).collect(),
        pem_open: Pattern::new(PEM_OPEN),
        pem_end: Pattern::new(PEM_END),
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
    let mut out = Cow::Borrowed(text);
    if text.contains(BEGIN)
        && let Some(changed) = private_keys(text, shapes.pem_open.get()?)
    {
        out = Cow::Owned(changed);
    }
    if out.contains(END)
        && let Cow::Owned(changed) = shapes.pem_end.get()?.replace_all(&out, REDACTED)
    {
        out = Cow::Owned(changed);
    }
    if let Some(changed) = tokens::redact(&out) {
        out = Cow::Owned(changed);
    }
    let mut hinted = [false; PARTS.len()];
    for found in shapes.hints.find_overlapping_iter(out.as_ref()) {
        hinted[found.pattern().as_usize()] = true;
    }
    for (pattern, _) in shapes.parts.iter().zip(hinted).filter(|(_, hinted)| *hinted) {
        let changed = pattern.get()?.replace_all(&out, |found: &Captures<'_>| part(found));
        if let Cow::Owned(changed) = changed {
            out = Cow::Owned(changed);
        }
    }
    Some(match out {
        Cow::Owned(changed) if changed != text => Some(changed),
        Cow::Owned(_) | Cow::Borrowed(_) => None,
    })
}

/// The length of `NAME PRIVATE KEY-----` at the start of a text.
fn key_name(text: &str) -> Option<usize> {
    let end = text.find("-----").filter(|end| *end <= 64)?;
    let name = &text[..end];
    let name = name.strip_suffix(" BLOCK").unwrap_or(name);
    let plain =
        name.bytes().all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b' ');
    (plain && name.ends_with("PRIVATE KEY")).then_some(end + 5)
}

/// The text without private keys, found by their marks in one pass.
fn private_keys(text: &str, open: &Regex) -> Option<String> {
    let mut out = String::new();
    let mut done = 0;
    let mut at = 0;
    while let Some(found) = text[at..].find(BEGIN) {
        let begin = at + found;
        let after = begin + BEGIN.len();
        let Some(name) = key_name(&text[after..]) else {
            at = after;
            continue;
        };
        let body = after + name;
        // The next mark is this key's end, or the key has none.
        let next = text[body..].find("-----").map(|next| body + next);
        let closed = next
            .filter(|next| text[*next..].starts_with(END) && !text[body..*next].contains('"'))
            .and_then(|next| {
                let name = key_name(&text[next + END.len()..])?;
                Some(next + END.len() + name)
            });
        let until = next.unwrap_or(text.len());
        let end = closed
            .unwrap_or_else(|| body + open.find(&text[body..until]).map_or(0, |open| open.end()));
        out.push_str(&text[done..begin]);
        out.push_str(REDACTED);
        done = end;
        at = end;
    }
    if done == 0 {
        return None;
    }
    out.push_str(&text[done..]);
    Some(out)
}

fn part(found: &Captures<'_>) -> String {
    let (Some(whole), Some(secret)) = (found.get(0), found.name("s")) else {
        return REDACTED.to_owned();
    };
    let keep = secret.as_str().starts_with(REDACTED)
        || secret.as_str().starts_with(['$', '{', '<', '*'])
        || whole.as_str().len() == secret.as_str().len();
    let lower = whole.as_str().to_ascii_lowercase();
    let scheme = lower.starts_with("bearer") || lower.starts_with("basic");
    if keep || scheme && !random(secret.as_str()) {
        return whole.as_str().to_owned();
    }
    let start = secret.start() - whole.start();
    let end = secret.end() - whole.start();
    format!("{}{REDACTED}{}", &whole.as_str()[..start], &whole.as_str()[end..])
}

/// Whether text is no word: it has a digit, or capitals inside.
fn random(text: &str) -> bool {
    text.bytes().any(|byte| byte.is_ascii_digit())
        || text.bytes().skip(1).any(|byte| byte.is_ascii_uppercase())
            && text.bytes().any(|byte| byte.is_ascii_lowercase())
        || text.ends_with('=')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tables_compile_and_each_part_has_its_hint() {
        for (hint, pattern) in PARTS {
            assert!(Pattern::new(*pattern).get().is_some(), "{pattern}");
            assert_eq!(*hint, hint.to_ascii_lowercase());
            let plain = pattern.to_ascii_lowercase().replace('\\', "");
            let named = hint.split(['"', '?']).all(|word| plain.contains(word));
            assert!(named, "{hint} is not in {pattern}");
        }
        for pattern in [PEM_OPEN, PEM_END] {
            assert!(Pattern::new(pattern).get().is_some(), "{pattern}");
        }
        assert!(SHAPES.is_some());
    }
}
