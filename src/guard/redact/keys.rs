//! Private keys in PEM: between their marks, and without one of them.
//!
//! Invariant: the prefix of each line, such as a line number, a file's name or a sign of
//! quoting, hides no part of a key.

use super::mark::REDACTED;

/// The marks of a private key; its name is between them and five more dashes.
const BEGIN: &str = "-----BEGIN ";
const END: &str = "-----END ";
const DASHES: &str = "-----";

/// Shortest line of a key's body, but for its last one.
const LINE: usize = 16;

/// How far before its end a key without a beginning is looked for, in bytes.
const BEFORE_END: usize = 16 * 1024;

/// Longest text before a line of a key, in bytes.
const LONGEST_PREFIX: usize = 120;

/// The beginnings of lines before a key's body.
const HEADERS: &[&str] = &["Proc-Type:", "DEK-Info:", "Version:", "Comment:"];

/// The text without private keys; `None` if it has none.
pub(super) fn redact(text: &str) -> Option<String> {
    let whole = if text.contains(BEGIN) { begun(text) } else { None };
    let text = whole.as_deref().unwrap_or(text);
    if text.contains(END)
        && let Some(changed) = ended(text)
    {
        return Some(changed);
    }
    whole
}

/// Where the line begins of the first private key behind the last end of one.
pub(super) fn open(text: &str) -> Option<usize> {
    let named = |(at, mark): &(usize, &str)| key_name(&text[at + mark.len()..]).is_some();
    let done = text.rmatch_indices(END).find(named).map_or(0, |(end, _)| end);
    let mut begins = text[done..].match_indices(BEGIN).map(|(at, mark)| (done + at, mark));
    let (begin, _) = begins.find(named)?;
    Some(text[..begin].rfind('\n').map_or(0, |end| end + 1))
}

/// The length of `NAME PRIVATE KEY-----` at the start of a text.
fn key_name(text: &str) -> Option<usize> {
    let end = text.find(DASHES).filter(|end| *end <= 64)?;
    let name = &text[..end];
    let name = name.strip_suffix(" BLOCK").unwrap_or(name);
    let plain =
        name.bytes().all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b' ');
    (plain && name.ends_with("PRIVATE KEY")).then_some(end + DASHES.len())
}

/// Without the keys whose beginning is there, found by their marks in one pass.
fn begun(text: &str) -> Option<String> {
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
        let next = text[body..].find(DASHES).map(|next| body + next);
        let closed = next
            .filter(|next| text[*next..].starts_with(END) && !text[body..*next].contains('"'))
            .and_then(|next| {
                let name = key_name(&text[next + END.len()..])?;
                Some(next + END.len() + name)
            });
        let until = next.unwrap_or(text.len());
        let end = closed.unwrap_or_else(|| body_end(text, begin, body, until));
        out.push_str(&text[done..begin]);
        out.push_str(REDACTED);
        done = end;
        at = end;
    }
    (done > 0).then(|| out + &text[done..])
}

/// Where a body ends that no mark ends: behind its last line.
fn body_end(text: &str, begin: usize, body: usize, until: usize) -> usize {
    let prefix = Prefix::before(text, begin);
    let mut end = body;
    let mut lines = 0;
    for (from, to) in (Lines { text, at: body, until }) {
        match prefix.line(&text[from..to]) {
            Line::Blank => {}
            Line::Header => end = to,
            Line::Body { end: length, short, last, .. } => {
                let closes = text[..from + length].ends_with('=') || to == text.len();
                if short && !(lines > 0 && closes) {
                    break;
                }
                end = from + length;
                lines += 1;
                if short || last {
                    break;
                }
            }
            Line::Other => break,
        }
    }
    end
}

/// Without the keys of which only the end is there.
fn ended(text: &str) -> Option<String> {
    let mut out = String::new();
    let (mut done, mut seen) = (0, 0);
    for (mark, _) in text.match_indices(END) {
        let Some(name) = key_name(&text[mark + END.len()..]) else { continue };
        let from = seen.max(text.floor_char_boundary(mark.saturating_sub(BEFORE_END)));
        seen = mark + END.len() + name;
        let prefix = Prefix::before(text, mark);
        let lines: Vec<(usize, usize)> = Lines { text, at: from, until: mark }.collect();
        let mut begin = None;
        for (at, (from, to)) in lines.iter().rev().enumerate() {
            match prefix.line(&text[*from..*to]) {
                Line::Blank => {}
                // The last line may be short, if there are others before it.
                Line::Body { short: true, last: false, .. } if at <= 1 => {}
                Line::Body { start, short: false, last: false, .. } => begin = Some(from + start),
                Line::Body { .. } | Line::Header | Line::Other => break,
            }
        }
        let Some(begin) = begin else { continue };
        out.push_str(&text[done..begin]);
        out.push_str(REDACTED);
        done = seen;
    }
    (done > 0).then(|| out + &text[done..])
}

/// The lines of a part of a text, broken by breaks and by escaped ones.
struct Lines<'t> {
    text: &'t str,
    at: usize,
    until: usize,
}

impl Iterator for Lines<'_> {
    type Item = (usize, usize);

    fn next(&mut self) -> Option<Self::Item> {
        let from = self.at;
        if from >= self.until {
            return None;
        }
        let bytes = &self.text.as_bytes()[from..self.until];
        let end = bytes.iter().position(|byte| matches!(byte, b'\n' | b'\\'));
        let Some(end) = end else {
            self.at = self.until;
            return Some((from, self.until));
        };
        let slashes = bytes[end..].iter().take_while(|byte| **byte == b'\\').count();
        self.at = from + end + slashes;
        if slashes == 0 || matches!(bytes.get(end + slashes), Some(b'n' | b'r' | b't')) {
            self.at += 1;
        }
        Some((from, from + end))
    }
}

/// The prefix of each line of a key.
struct Prefix(String);

/// The role of a line in a key.
enum Line {
    Blank,
    Header,
    /// Base64 from `start` to `end`; `last` if a quote ends it.
    Body {
        start: usize,
        end: usize,
        short: bool,
        last: bool,
    },
    Other,
}

impl Prefix {
    /// The prefix of a mark in its line.
    fn before(text: &str, mark: usize) -> Self {
        let first = text.floor_char_boundary(mark.saturating_sub(LONGEST_PREFIX));
        let line = Lines { text, at: first, until: mark }.last();
        let line = line.map_or("", |(from, to)| &text[from..to]);
        Self(plain(line.rsplit(['"', '\'']).next().unwrap_or(line)))
    }

    fn line(&self, line: &str) -> Line {
        let quote = line.find(['"', '\'', '`']);
        let text = &line[..quote.unwrap_or(line.len())];
        let text = text.trim_end_matches([' ', '\t', '\r', '|', '*']);
        let is_base64 = |c: char| c.is_ascii_alphanumeric() || matches!(c, '+' | '/');
        let whole = text.trim_end_matches('=');
        let mut start = whole.trim_end_matches(is_base64).len();
        // Several lines of a key may have been joined by blanks.
        while let Some(before) = text[..start].strip_suffix(' ') {
            let word = before.len() - before.trim_end_matches(is_base64).len();
            if word < LINE {
                break;
            }
            start = before.len() - word;
        }
        let before = &text[..start];
        let known = before.trim().is_empty() || plain(before) == self.0;
        if start == text.len() {
            // A quote ends a key that had no lines, too.
            return if known && quote.is_none() { Line::Blank } else { Line::Other };
        }
        if plain(text) == self.0 && quote.is_none() {
            return Line::Blank;
        }
        if HEADERS.iter().any(|header| text.contains(header)) {
            return Line::Header;
        }
        if !known {
            return Line::Other;
        }
        Line::Body {
            start,
            end: text.len(),
            short: text.len() - start < LINE,
            last: quote.is_some(),
        }
    }
}

/// A prefix without what changes from line to line: numbers, and how `grep` and a diff end
/// them.
fn plain(prefix: &str) -> String {
    let mut plain = String::new();
    for c in prefix.trim().chars() {
        let c = match c {
            c if c.is_ascii_digit() => '0',
            c if c.is_whitespace() => ' ',
            '-' => ':',
            c => c,
        };
        if !(matches!(c, '0' | ' ') && plain.ends_with(c)) {
            plain.push(c);
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    const FIRST: &str = "MIIEpAIBAAKCAQEA7bq4fWk0dN3x";
    const LAST: &str = "q4fWk0dN3xMIIEpAIBAAKCAQEA7b";

    #[test]
    fn a_key_goes_with_any_prefix_of_its_lines() {
        for prefixes in [
            ["", "", ""],
            ["12:", "13:", "14:"],
            ["9-", "10-", "11-"],
            ["1. ", "2. ", "3. "],
            ["a.pem:", "a.pem:", "a.pem:"],
            ["a.pem:1:", "a.pem-2-", "a.pem-3-"],
            ["> ", "> ", "> "],
            ["+", "+", "+"],
            ["-", "-", "-"],
            ["  ", "  ", "  "],
            ["# ", "# ", "# "],
            ["    12\t", "    13\t", "    14\t"],
            ["12 | ", "13 | ", "14 | "],
            ["2024-01-01T09:59:59Z ", "2024-01-01T10:00:00Z ", "2024-01-01T10:00:01Z "],
        ] {
            let [one, two, three] = prefixes;
            for line in ["\n", "\r\n", "\\n"] {
                let open = format!(
                    "see{line}{one}-----BEGIN RSA PRIVATE KEY-----{line}{two}{FIRST}{line}{three}{LAST}"
                );
                let want = format!("see{line}{one}[REDACTED]");
                assert_eq!(redact(&open).as_deref(), Some(want.as_str()), "{open}");
                let after = format!("{open}{line}{three}and more");
                let want = format!("{want}{line}{three}and more");
                assert_eq!(redact(&after).as_deref(), Some(want.as_str()), "{after}");
                let ended = format!(
                    "{one}head of it{line}{one}{FIRST}{line}{two}{LAST}{line}{two}6w=={line}{three}-----END PRIVATE KEY-----{line}x"
                );
                let want = format!("{one}head of it{line}{one}[REDACTED]{line}x");
                let out = redact(&ended).expect("redacted");
                // A plus sign belongs to base64, too.
                let plus = |text: &str| text.replace(&format!("{line}+["), &format!("{line}["));
                assert_eq!(plus(&out), plus(&want), "{ended}");
            }
        }
    }

    #[test]
    fn other_text_behind_a_beginning_stays() {
        let text =
            "3:-----BEGIN PRIVATE KEY-----\nfn parse() {}\n/usr/share/doc/thing/abcdefghijk x\n";
        assert_eq!(redact(text), Some(text.replace("-----BEGIN PRIVATE KEY-----", REDACTED)));
        assert_eq!(redact("-----BEGIN CERTIFICATE-----\nMIIEpAIBAAKCAQEA7bq4fWk0dN3x"), None);
        assert_eq!(redact("a\nPASSWORD=\n-----END PRIVATE KEY-----"), None);
    }
}
