//! Secrets that are known by the name before them: environment files,
//! JSON, YAML, query strings, options on a command line.
//!
//! Which names those are is the business of `secrets`, which values of `value`; this file
//! finds the two.

use std::borrow::Cow;
use std::sync::LazyLock;

use aho_corasick::AhoCorasick;
use regex::{Captures, Match};

use super::escape;
use super::mark::REDACTED;
use super::pattern::LazyPattern;
use super::phrase;
use super::quotes::{Strings, quoted_ends};
use super::value::{self, ValueContext};
use crate::guard::secrets::{self, Says};

/// The text after a name: the sign, then a quote, or a value without one. A quote may have a prefix
/// (`$'…'`, `b"…"`), be tripled, be one in a string of a shell (`'\''`), or be a typographic one. A
/// type may precede the sign.
const PAIR: &str = concat!(
    r#"^(?P<close>(?:\\*["']?|[”’»›])\]?|%(?:25)*2[27])"#,
    r#"(?P<sign>[ \t]*=>[ \t]*|[ \t]*[:?]=[ \t]*|[ \t]*:[ \t]*&?(?:'static[ \t]+)?[A-Za-z_][A-Za-z0-9_.:]{0,40}[ \t]+=[ \t]+|[ \t]+=[ \t]+|=|[ \t]*:[ \t]*|[ \t]+|%(?:25)*3[ADad](?:%(?:25)*2[027])*)"#,
    r#"(?:(?:[$@]|[rRbBuUfFL]{1,2})?(?:(?P<triple>"{3}|'{3}|(?:\\"){3}|(?:\\'){3}|'\\+''|'\\*"'\\*"')|(?P<open>\\*["'`]))"#,
    r#"|(?P<smart>[“‘„«‹])|(?P<lead>[{<(]?)(?P<bare>[^\s"'`\\,;&<>(){}\[\]|]+)(?P<next>[(\[{<]?))"#,
);

/// Longest name that is looked at, in bytes.
const LONGEST_NAME: usize = 64;

struct Pairs {
    /// The endings of a name.
    lasts: AhoCorasick,
    pair: LazyPattern,
    records: [(&'static str, LazyPattern); 2],
    cookies: LazyPattern,
    cookie: LazyPattern,
}

static PAIRS: LazyLock<Option<Pairs>> = LazyLock::new(|| {
    let lasts =
        AhoCorasick::builder().ascii_case_insensitive(true).build(secrets::last_words()).ok()?;
    Some(Pairs {
        lasts,
        pair: LazyPattern::new(PAIR),
        records: [("</", LazyPattern::new(ELEMENT)), ("alue", LazyPattern::new(RECORD))],
        cookies: LazyPattern::new(COOKIES),
        cookie: LazyPattern::new(COOKIE),
    })
});

/// A name and its value in an XML element.
const ELEMENT: &str = r"<(?P<n>[A-Za-z0-9_.:-]{3,64})(?:[ \t][^<>\n]{0,200})?>(?P<s>[^<>\s]{4,})</";

/// The same in records whose fields are called name and value, as lists of variables are
/// written.
const RECORD: &str = r#"(?i-u:\b(?:key|name))\\*["']?[ \t]*[:=][ \t]*\\*["']?(?P<n>[A-Za-z0-9_.-]{3,64})\\*["']?[\s,]{0,40}\\*["']?(?i-u:value)\\*["']?[ \t]*[:=][ \t]*\\*["']?(?P<s>[^\s"'\\<>,}]{4,})"#;

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
                record.get()?.replace_all(&out, |found: &Captures<'_>| named_part(found))
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

/// The replacement for a part of the text.
struct Replaced {
    from: usize,
    to: usize,
    by: Cow<'static, str>,
}

impl Pairs {
    /// Without the values of `name = value`, however that is written.
    fn pairs(&self, text: &str) -> Option<Option<String>> {
        let mut out = String::new();
        let mut done = 0;
        let mut strings = Strings::new(text);
        for end in self.name_ends(text) {
            if end < done {
                continue;
            }
            let name = name_before(text, end, done);
            let says = secrets::name(name);
            if says == Says::Nothing {
                continue;
            }
            let Some(found) = self.pair.get()?.captures(&text[end..]) else { continue };
            if let Some(part) = replaced(text, name, says, end, &found, &mut strings) {
                out.push_str(&text[done..part.from]);
                out.push_str(&part.by);
                done = part.to;
            }
        }
        Some((done > 0).then(|| out + &text[done..]))
    }

    /// Where a name may end: before a sign, or before a quote and a sign.
    fn name_ends(&self, text: &str) -> Vec<usize> {
        let bytes = text.as_bytes();
        // The typographic quotes begin with these two bytes.
        let is_end =
            |at: &usize| bytes.get(*at).is_some_and(|next| b"=:? \t\"'\\%\xe2\xc2".contains(next));
        let found = self.lasts.find_overlapping_iter(text).map(|found| found.end());
        let mut ends: Vec<usize> = found.filter(is_end).collect();
        ends.dedup();
        ends
    }

    /// Where the name begins of the first quoted value of a secret that the text does not close.
    fn open_quote(&self, text: &str) -> Option<usize> {
        let mut strings = Strings::new(text);
        let mut done = 0;
        for end in self.name_ends(text) {
            if end < done {
                continue;
            }
            let name = name_before(text, end, done);
            let says = secrets::name(name);
            if says != Says::Secret {
                continue;
            }
            let Some(found) = self.pair.get()?.captures(&text[end..]) else { continue };
            let sign = found.name("sign").map_or("", |sign| sign.as_str());
            if sign.trim().is_empty() && !name.starts_with("--") {
                continue;
            }
            let Some(open) = quote(&found) else { continue };
            let from = end + open.end();
            let ends = quoted_ends(text, from, open.as_str(), &mut strings);
            let secret = |to: &usize| is_secret_text(&text[from..*to], name, says, sign);
            if ends.goes_on {
                return Some(end - name.len());
            }
            done = ends.candidates.into_iter().find(secret).unwrap_or(done);
        }
        None
    }
}

/// Where the name begins of the first quoted value of a secret that the text does not close.
pub(super) fn open_quote(text: &str) -> Option<usize> {
    PAIRS.as_ref()?.open_quote(text)
}

/// The name that ends at `end`, two dashes of an option before it included.
fn name_before(text: &str, end: usize, done: usize) -> &str {
    let bytes = text.as_bytes();
    let is_name = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.' | b'-');
    let mut head = end;
    while head > done && end - head < LONGEST_NAME && is_name(bytes[head - 1]) {
        head -= 1;
    }
    // The end of an escape or a color is not part of the name.
    head = (head + escape::rest(bytes, head)).min(end);
    &text[head..end]
}

/// The replacement for the value after a name; `None` if the value is not a secret.
fn replaced(
    text: &str,
    name: &str,
    says: Says,
    end: usize,
    found: &Captures<'_>,
    strings: &mut Strings<'_>,
) -> Option<Replaced> {
    let get = |group: &str| found.name(group).map_or("", |part| part.as_str());
    let (sign, close) = (get("sign"), get("close"));
    // A blank sign before quotes is an option: `--password "x"`.
    let signed = !sign.trim().is_empty() || name.starts_with("--");
    if let Some(open) = quote(found) {
        let from = end + open.end();
        if !signed || text[from..].starts_with([' ', '\t']) && closes(text, from, open.as_str()) {
            return None;
        }
        let ends = quoted_ends(text, from, open.as_str(), strings).candidates;
        let to = ends.into_iter().find(|to| is_secret_text(&text[from..*to], name, says, sign))?;
        return Some(Replaced { from, to, by: Cow::Borrowed(REDACTED) });
    }
    let bare = found.name("bare")?;
    if sign.contains(':') && sign.trim_end().ends_with('=') && sign.trim() != ":=" {
        // A typed variable whose value is not a literal is code.
        return None;
    }
    let from = end + bare.start();
    let mut to = end + bare.end();
    if sign.contains('%') {
        // What is a border in the text that was encoded.
        to = escape::percent_border(text, from, to);
    }
    let whole_line = value::is_assigned_name(name) && sign == "=" && close.is_empty();
    if whole_line && let Some(line) = assigned(text, end - name.len(), end + sign.len()) {
        let by = Cow::Borrowed(REDACTED);
        let from = end + sign.len();
        if !get("lead").is_empty() || line > to {
            let place = ValueContext { name, sign, close, after: &text[line..], alone: true };
            let secret = value::bare_secret(&text[from..line], says, &place);
            return secret.then_some(Replaced { from, to: line, by });
        }
    }
    if !get("lead").is_empty() || !get("next").is_empty() {
        return None;
    }
    if sign == "=" && close.is_empty() && !value::is_assigned_name(name) {
        let line = words_of_line(text, end - name.len(), from, to);
        if let Some(to) = line.filter(|to| phrase::words_made_up(&text[from..*to], name, sign)) {
            return Some(Replaced { from, to, by: Cow::Borrowed(REDACTED) });
        }
    }
    let bare = &text[from..to];
    let alone = is_alone(&text[..end - name.len()], &text[to..]);
    let place = ValueContext { name, sign, close, after: &text[to..], alone };
    if !value::bare_secret(bare, says, &place) {
        return None;
    }
    if sign.contains(':') && !close.is_empty() {
        // A number in JSON: its replacement has to be a string.
        let close = close.trim_end_matches(']');
        return Some(Replaced { from, to, by: Cow::Owned(format!("{close}{REDACTED}{close}")) });
    }
    let to = from + bare.trim_end_matches(['.', ':', '?']).len();
    Some(Replaced { from, to, by: Cow::Borrowed(REDACTED) })
}

/// The quote that opens the value.
fn quote<'t>(found: &Captures<'t>) -> Option<Match<'t>> {
    ["triple", "open", "smart"].iter().find_map(|group| found.name(group))
}

/// Whether a quoted value is a secret; one of several lines is, if any of them is.
fn is_secret_text(value: &str, name: &str, says: Says, sign: &str) -> bool {
    let secret = |value: &str| {
        value::quoted_secret(value, name, says) || phrase::quoted_made_up(value, name, says, sign)
    };
    if value.contains('\n') {
        value.lines().any(|line| secret(line.trim()))
    } else {
        secret(value.trim_start())
    }
}

/// Does the quote before `from` close a string that began earlier in its line, as in
/// `"Password: " + x`? Typographic quotes always do.
fn closes(text: &str, from: usize, open: &str) -> bool {
    if open.matches(['"', '\'']).count() >= 3 {
        return false;
    }
    let Some(quote) = open.chars().last().filter(char::is_ascii) else { return true };
    let before = &text[..from - open.len()];
    let line = &before[before.rfind('\n').map_or(0, |end| end + 1)..];
    let level = open.len() - open.trim_start_matches('\\').len();
    let is_letter = |c: Option<char>| c.is_some_and(char::is_alphanumeric);
    let quotes = line.match_indices(quote).filter(|(at, _)| {
        let head = line[..*at].trim_end_matches('\\');
        let apostrophe = is_letter(head.chars().last()) && is_letter(line[at + 1..].chars().next());
        at - head.len() == level && !(apostrophe && quote == '\'')
    });
    !quotes.count().is_multiple_of(2)
}

/// The end of a line that is only `name=several words`, as in a properties file. `to` is the
/// end of the first word.
fn words_of_line(text: &str, name: usize, from: usize, to: usize) -> Option<usize> {
    let before = text[..name].trim_end_matches([' ', '\t']);
    let line = text[to..].find(['\n', '\r']).map_or(text.len(), |end| to + end);
    let plain = |word: &str| !word.starts_with('-') && !word.contains(CODE_OR_QUOTE);
    let alone = before.is_empty() || before.ends_with('\n');
    (alone && text[from..line].split_whitespace().all(plain))
        .then(|| from + text[from..line].trim_end().len())
}

/// Characters of code, of strings, and of further pairs.
const CODE_OR_QUOTE: &[char] = &['=', ':', ';', '"', '\'', '`', '\\', '(', '[', '{', '<', '|', '&'];

/// Whether a pair has a line to itself, or a field of a query.
fn is_alone(before: &str, after: &str) -> bool {
    let query = before.ends_with(['?', '&'])
        && (after.is_empty() || after.starts_with(['&', '#', ' ', '\n', '"', '\'']));
    let before = before.trim_end_matches([' ', '\t', '-', '+']);
    let before = ["export", "set", "ENV"]
        .iter()
        .find_map(|word| before.strip_suffix(word))
        .unwrap_or(before);
    let before = before.trim_end_matches([' ', '\t']);
    let line = (before.is_empty() || before.ends_with('\n'))
        && (after.is_empty() || after.starts_with(['\n', '\r']));
    query || line
}

/// Where the value ends of a variable that a line of its own sets: at a blank, or where a
/// shell would end it. Quotes and brackets are part of it unless the shell would read them.
fn assigned(text: &str, name: usize, from: usize) -> Option<usize> {
    let before = text[..name].trim_end_matches([' ', '\t']);
    let words = ["export", "set", "ENV", "ARG", "-", "+"];
    let before = words.iter().find_map(|word| before.strip_suffix(word)).unwrap_or(before);
    let before = before.trim_end_matches([' ', '\t']);
    if !(before.is_empty() || before.ends_with('\n')) {
        return None;
    }
    let value = &text[from..];
    let end = value
        .find(|c: char| c.is_whitespace() || matches!(c, ';' | '&' | '|' | '\\' | '`'))
        .unwrap_or(value.len());
    let value = &value[..end];
    // Code: a call, an index, a template.
    let code = value.ends_with([')', ']', '}', '>', ',']) || value.contains("](");
    let quotes = value.matches(['"', '\'']).count();
    let quoted = quotes > 0 && quotes.is_multiple_of(2);
    (!code && !quoted).then_some(from + end)
}

/// The match without its group `s`, if that is a secret.
fn part(found: &Captures<'_>) -> String {
    let (whole, secret) = (get_whole(found), found.name("s").map_or("", |part| part.as_str()));
    let words = secret.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_');
    if value::is_placeholder(secret) || words && secret.len() < 12 {
        return whole.to_owned();
    }
    let at =
        found.name("s").map_or(0, |part| part.start()) - found.get(0).map_or(0, |all| all.start());
    format!("{}{REDACTED}{}", &whole[..at], &whole[at + secret.len()..])
}

/// The same, if the group `n` is the name of a secret.
fn named_part(found: &Captures<'_>) -> String {
    let get = |group: &str| found.name(group).map_or("", |part| part.as_str());
    let secret = match secrets::name(get("n")) {
        Says::Secret => true,
        Says::Perhaps => value::looks_random(get("s"), get("n")),
        Says::Nothing => false,
    };
    if secret { part(found) } else { get_whole(found).to_owned() }
}

/// Whether a JSON field of this name and text holds a secret.
pub(super) fn is_secret(name: &str, text: &str) -> bool {
    let hidden = match secrets::name(name) {
        Says::Secret => {
            !text.contains(char::is_whitespace)
                || phrase::words_made_up(text.trim(), name, ":")
                || is_secret_text(text.trim(), name, Says::Secret, ":")
        }
        Says::Perhaps => value::looks_random(text, name),
        Says::Nothing => false,
    };
    hidden && !text.is_empty() && !value::is_placeholder(text)
}

fn get_whole<'t>(found: &Captures<'t>) -> &'t str {
    found.get(0).map_or("", |whole| whole.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tables_compile() {
        let pairs = PAIRS.as_ref().expect("the words");
        let records = pairs.records.iter().map(|(_, record)| record);
        for pattern in records.chain([&pairs.pair, &pairs.cookies, &pairs.cookie]) {
            assert!(pattern.get().is_some(), "{pattern:?}");
        }
    }
}
