//! Secrets in YAML and in manifests, whose name is some lines before them.
//!
//! Invariant: names and indents are kept, so that YAML stays YAML, and JSON stays JSON.

use std::sync::LazyLock;

use super::mark::REDACTED;
use super::pattern::LazyPattern;
use super::{phrase, value};
use crate::guard::secrets::{self, Says};

/// The data of a secret's manifest written in one line, and a value in it.
static DATA: LazyLock<[LazyPattern; 2]> = LazyLock::new(|| {
    [
        LazyPattern::new(r#"\\*"(?:data|stringData)\\*"[ ]*:[ ]*\{[^{}\n]*\}"#),
        LazyPattern::new(r#"(?P<p>:[ ]*\\*")(?P<s>[^"\\\n]+)"#),
    ]
});

/// Whether such a secret may be here at all.
fn hinted(text: &str) -> bool {
    text.contains(": |") || text.contains(": >") || text.contains("kind") && text.contains("Secret")
}

/// The text without them; `None` if it has none.
pub(super) fn redact(text: &str) -> Option<String> {
    if !hinted(text) {
        return None;
    }
    let mut lines: Vec<Line<'_>> = text.split_inclusive('\n').map(Line::new).collect();
    let mut seen = 0;
    for at in 0..lines.len() {
        if at >= seen && lines[at].is_secret_kind() {
            seen = hide_manifest(&mut lines, at);
        }
    }
    for at in 0..lines.len() {
        if lines[at].block_of_secret() {
            let end = block_end(&lines, at);
            if is_secret_block(&lines[at + 1..end]) {
                hide_block(&mut lines[at + 1..end]);
            }
        }
    }
    let changed = lines.iter().any(|line| line.new.is_some());
    let shown = |line: &Line<'_>| line.new.clone().unwrap_or_else(|| line.text.to_owned());
    changed.then(|| lines.iter().map(shown).collect())
}

/// Where the line begins of the first such secret that may continue after the text, which has
/// whole lines.
pub(super) fn open(text: &str) -> Option<usize> {
    let (mut text, mut name) = (text, None);
    while let Some(at) = name_alone(text) {
        (text, name) = (&text[..at], Some(at));
    }
    if !(hinted(text) || text.contains("ata")) {
        return name;
    }
    let lines: Vec<Line<'_>> = text.split_inclusive('\n').map(Line::new).collect();
    let mut start = 0;
    // The indent of a manifest that is none of a secret, or has ended, and where.
    let mut known = (usize::MAX, 0);
    for (at, line) in lines.iter().enumerate() {
        let block = line.block_of_secret() && block_end(&lines, at) == lines.len();
        let seen = line.indent == known.0 && at < known.1;
        if block {
            return Some(start);
        }
        if !seen && (line.is_data() || line.kind() == Some("Secret")) {
            let (_, end) = manifest(&lines, at);
            let other = |other: &Line<'_>| other.indent == line.indent && other.is_other_kind();
            if end == lines.len() && !lines[at..end].iter().any(other) {
                return Some(start);
            }
            known = (line.indent, end);
        }
        start += line.text.len();
    }
    name
}

/// Where the last line begins if it names a secret whose value is in the next one: in a
/// list of variables, or in a file of logins.
fn name_alone(text: &str) -> Option<usize> {
    let ended = text.trim_end();
    let start = ended.rfind('\n').map_or(0, |end| end + 1);
    let line = Line::new(&ended[start..]);
    let quotes = [' ', '"', '\'', '\\', ','];
    let named = |(before, name): (&str, &str)| {
        let before = before.trim_end_matches(quotes).to_ascii_lowercase();
        (before.ends_with("name") || before.ends_with("key"))
            && secrets::name(name.trim_matches(quotes)) != Says::Nothing
    };
    let login =
        line.plain.split_whitespace().rev().nth(1).is_some_and(|word| word.ends_with("login"));
    (login || line.plain.rsplit_once([':', '=']).is_some_and(named)).then_some(start)
}

/// A line and what it becomes.
struct Line<'t> {
    text: &'t str,
    /// The blanks before it; signs of a diff count as such.
    blanks: usize,
    /// The same with the dash of a list.
    indent: usize,
    /// The line without those and without what ends it.
    plain: &'t str,
    new: Option<String>,
}

impl<'t> Line<'t> {
    fn new(text: &'t str) -> Self {
        let ended = text.trim_end();
        let mut plain = ended.trim_start_matches([' ', '\t', '+', '>']);
        let blanks = ended.len() - plain.len();
        while let Some(item) = plain.strip_prefix("- ") {
            plain = item.trim_start();
        }
        Self { text, blanks, indent: ended.len() - plain.len(), plain, new: None }
    }

    fn is_item(&self) -> bool {
        self.indent > self.blanks
    }

    /// The key and its value.
    fn pair(&self) -> Option<(&'t str, &'t str)> {
        let (key, value) = self.plain.split_once(':')?;
        let key = key.trim().trim_matches(['"', '\'']);
        let named = !key.is_empty() && !key.contains([' ', '"', '{']);
        (named && (value.is_empty() || value.starts_with(' '))).then(|| (key, value.trim()))
    }

    fn kind(&self) -> Option<&'t str> {
        let (key, value) = self.pair()?;
        (key == "kind").then(|| value.trim_end_matches(',').trim_matches(['"', '\'']))
    }

    fn is_secret_kind(&self) -> bool {
        self.kind() == Some("Secret") || self.plain.contains('{') && self.has_inline_kind()
    }

    fn has_inline_kind(&self) -> bool {
        let text: String = self.plain.chars().filter(|c| !matches!(c, ' ' | '\\' | '"')).collect();
        text.contains("kind:Secret")
    }

    fn is_other_kind(&self) -> bool {
        self.kind().is_some_and(|kind| kind != "Secret")
    }

    /// Whether the data of a manifest begins here, whatever its kind.
    fn is_data(&self) -> bool {
        self.pair().is_some_and(|(key, value)| {
            matches!(key, "data" | "stringData") && matches!(value, "" | "{")
        })
    }

    /// Whether this is the line before a block of text, with the name of a secret.
    fn block_of_secret(&self) -> bool {
        self.new.is_none()
            && self
                .pair()
                .is_some_and(|(key, value)| is_block(value) && secrets::name(key) == Says::Secret)
    }

    fn hide(&mut self) {
        let end = self.text.trim_end().len();
        let ending = &self.text[end..];
        self.new = Some(format!("{}{REDACTED}{ending}", &self.text[..self.blanks]));
    }
}

/// Is this the mark of a block of text: `|`, `>-`, `|2`?
fn is_block(value: &str) -> bool {
    let value = value.split(" #").next().unwrap_or(value).trim();
    value.starts_with(['|', '>'])
        && value.len() <= 3
        && value[1..].bytes().all(|byte| byte.is_ascii_digit() || matches!(byte, b'+' | b'-'))
}

/// Where the lines end that belong to the one at `at`, since they stand further in.
fn block_end(lines: &[Line<'_>], at: usize) -> usize {
    let inside = |line: &Line<'_>| line.plain.is_empty() || line.blanks > lines[at].indent;
    let end = lines[at + 1..].iter().position(|line| !inside(line));
    end.map_or(lines.len(), |end| at + 1 + end)
}

/// Whether a block is a secret: no sentences, nothing that is filled in later.
fn is_secret_block(lines: &[Line<'_>]) -> bool {
    let prose = |line: &Line<'_>| {
        let words = line.plain.split_whitespace();
        words.clone().count() >= 4 && words.clone().all(|word| !value::has_digit(word))
    };
    let filled = |line: &Line<'_>| line.plain.is_empty() || value::is_placeholder(line.plain);
    !lines.iter().all(filled)
        && !lines
            .iter()
            .any(|line| prose(line) && !phrase::words_made_up(line.plain, "password", "="))
}

/// Leaves one line of a block.
fn hide_block(lines: &mut [Line<'_>]) {
    let mut first = true;
    for line in lines.iter_mut().filter(|line| !line.plain.is_empty()) {
        if first {
            line.hide()
        } else {
            line.new = Some(String::new())
        }
        first = false;
    }
}

/// The first line and the one behind the last one of the manifest around a line of it.
fn manifest(lines: &[Line<'_>], at: usize) -> (usize, usize) {
    let indent = lines[at].indent;
    let belongs = |line: &Line<'_>| {
        line.plain.is_empty()
            || line.indent > indent
            || line.indent == indent
                && (line.pair().is_some() || line.plain.starts_with(['}', ']']))
    };
    let mut from = at;
    while from > 0
        && !(lines[from].indent == indent && lines[from].is_item())
        && belongs(&lines[from - 1])
    {
        from -= 1;
    }
    let begins = |line: &Line<'_>| line.indent == indent && line.is_item();
    let end = lines[at + 1..].iter().position(|line| !belongs(line) || begins(line));
    (from, end.map_or(lines.len(), |end| at + 1 + end))
}

/// Hides what a secret's manifest holds; gives where that ends.
fn hide_manifest(lines: &mut [Line<'_>], kind: usize) -> usize {
    if lines[kind].plain.contains('{') {
        let line = &mut lines[kind];
        line.new = inline(line.text);
        return kind + 1;
    }
    let indent = lines[kind].indent;
    let (from, end) = manifest(lines, kind);
    let mut inside = None;
    for line in &mut lines[from..end] {
        if line.plain.is_empty() {
            continue;
        }
        if line.indent <= indent {
            inside = line.is_data().then_some(usize::MAX);
            continue;
        }
        let Some(field) = &mut inside else { continue };
        *field = line.indent.min(*field);
        if line.indent > *field {
            line.hide();
            continue;
        }
        let Some((_, old)) = line.pair() else { continue };
        let old = old.trim_end_matches(',');
        let bare = old.trim_matches(['"', '\'']);
        if !bare.is_empty() && !is_block(old) && !value::is_placeholder(bare) {
            let at = line.text.rfind(bare).unwrap_or(line.indent);
            line.new =
                Some(format!("{}{REDACTED}{}", &line.text[..at], &line.text[at + bare.len()..]));
        }
    }
    end
}

/// A manifest in one line without its data; `None` if it has none.
fn inline(line: &str) -> Option<String> {
    // If a table itself were broken, nothing may pass.
    let [Some(data), Some(field)] = [DATA[0].get(), DATA[1].get()] else {
        return Some(REDACTED.to_owned());
    };
    let hide = |found: &regex::Captures<'_>| {
        let whole = found.get(0).map_or("", |whole| whole.as_str());
        field.replace_all(whole, format!("${{p}}{REDACTED}").as_str()).into_owned()
    };
    match data.replace_all(line, hide) {
        std::borrow::Cow::Owned(changed) => Some(changed),
        std::borrow::Cow::Borrowed(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_in_any_number_of_lines_are_one_that_may_go_on() {
        assert_eq!(open(&"login a\n".repeat(100_000)), Some(0));
        assert_eq!(open(&format!("a: 1\n{}", "login a\n".repeat(3))), Some("a: 1\n".len()));
    }

    #[test]
    fn blocks_and_manifests_lose_their_values_and_keep_their_shape() {
        for (text, want) in [
            ("password: |\n  hunter2abc\nnext: 1\n", "password: |\n  [REDACTED]\nnext: 1\n"),
            (
                "a:\n  token: >-\n    abc\n    def\n\n  b: 1",
                "a:\n  token: >-\n    [REDACTED]\n\n  b: 1",
            ),
            ("- api_key: |2 # x\n    abc\n", "- api_key: |2 # x\n    [REDACTED]\n"),
            ("+secret: |\r\n+  abc\r\n+b: 1", "+secret: |\r\n+  [REDACTED]\r\n+b: 1"),
            (
                "apiVersion: v1\nkind: Secret\nmetadata:\n  name: db\ndata:\n  user: YWRtaW4=\n  k.pem: |\n    LS0t\n    LS1x\ntype: Opaque\n---\ndata:\n  a: b\n",
                "apiVersion: v1\nkind: Secret\nmetadata:\n  name: db\ndata:\n  user: [REDACTED]\n  k.pem: |\n    [REDACTED]\n    [REDACTED]\ntype: Opaque\n---\ndata:\n  a: b\n",
            ),
            (
                "items:\n- apiVersion: v1\n  data:\n    a: YQ==\n  kind: Secret\n- apiVersion: v1\n  data:\n    a: b\n  kind: ConfigMap\n",
                "items:\n- apiVersion: v1\n  data:\n    a: [REDACTED]\n  kind: Secret\n- apiVersion: v1\n  data:\n    a: b\n  kind: ConfigMap\n",
            ),
            (
                "{\n    \"apiVersion\": \"v1\",\n    \"data\": {\n        \"a\": \"YWRtaW4=\",\n        \"b\": \"Yg==\"\n    },\n    \"kind\": \"Secret\"\n}\n",
                "{\n    \"apiVersion\": \"v1\",\n    \"data\": {\n        \"a\": \"[REDACTED]\",\n        \"b\": \"[REDACTED]\"\n    },\n    \"kind\": \"Secret\"\n}\n",
            ),
            (
                "x {\"data\":{\"a\":\"YWRtaW4=\",\"b\":\"Yg==\"},\"kind\":\"Secret\",\"n\":{\"a\":\"b\"}}",
                "x {\"data\":{\"a\":\"[REDACTED]\",\"b\":\"[REDACTED]\"},\"kind\":\"Secret\",\"n\":{\"a\":\"b\"}}",
            ),
        ] {
            assert_eq!(redact(text).as_deref(), Some(want), "{text}");
            // Whatever is held back is held from before the secret.
            for (cut, _) in text.match_indices('\n').filter(|(cut, _)| cut + 1 < text.len()) {
                let (now, later) = text.split_at(cut + 1);
                let (now, held) = now.split_at(open(now).unwrap_or(now.len()));
                let shown = |part: &str| redact(part).unwrap_or_else(|| part.to_owned());
                assert_eq!(shown(now) + &shown(&format!("{held}{later}")), want, "{cut} {text}");
            }
        }
    }

    #[test]
    fn other_blocks_and_manifests_stay() {
        for text in [
            "description: |\n  abc123def\n",
            "password: |\n  The password that a user types in here.\n",
            "token: |\n  ${TOKEN}\n",
            "password: |\nnext: 1\n",
            "apiVersion: v1\nkind: ConfigMap\ndata:\n  a: b\n",
            "kind: Secret\nmetadata:\n  name: x\n",
            "match kind { Kind: Secret => | x }\n",
        ] {
            assert_eq!(redact(text), None, "{text}");
            assert_eq!(open(&(text.to_owned() + "end\n")), None, "{text}");
        }
    }
}
