//! JSON as text: members are replaced in place, so that their order and the comments stay.

use std::ops::Range;

/// A member of an object: its key, and where it and its value are.
#[derive(Clone, Debug)]
pub(super) struct Member {
    pub(super) key: String,
    pub(super) value: Range<usize>,
    whole: Range<usize>,
}

/// The members of the object at a place in the text.
pub(super) fn members(text: &str, from: usize) -> Vec<Member> {
    let bytes = text.as_bytes();
    let mut found = Vec::new();
    let mut at = skip(bytes, from);
    if bytes.get(at) != Some(&b'{') {
        return found;
    }
    at = skip(bytes, at + 1);
    while bytes.get(at) == Some(&b'"') {
        let key_end = string(bytes, at);
        let key = text.get(at + 1..key_end.saturating_sub(1)).unwrap_or("").to_owned();
        let colon = skip(bytes, key_end);
        let begins = skip(bytes, colon + 1);
        let ends = value(bytes, begins);
        found.push(Member { key, value: begins..ends, whole: at..ends });
        let comma = skip(bytes, ends);
        if bytes.get(comma) != Some(&b',') {
            break;
        }
        at = skip(bytes, comma + 1);
    }
    found
}

/// The value at a path of keys.
pub(in super::super) fn get<'t>(text: &'t str, path: &[&str]) -> Option<&'t str> {
    find(text, path).map(|member| &text[member.value])
}

fn find(text: &str, path: &[&str]) -> Option<Member> {
    let mut from = 0;
    let mut found = None;
    for key in path {
        let member = members(text, from).into_iter().find(|member| member.key == *key)?;
        from = member.value.start;
        found = Some(member);
    }
    found
}

/// The keys of the object at a path.
pub(super) fn keys(text: &str, path: &[&str]) -> Vec<String> {
    let from = if path.is_empty() { Some(0) } else { find(text, path).map(|m| m.value.start) };
    let members = from.map(|from| members(text, from)).unwrap_or_default();
    members.into_iter().map(|member| member.key).collect()
}

/// The text with a value set, or removed.
pub(super) fn set(text: &str, path: &[&str], to: Option<&str>) -> String {
    let mut text = text.to_owned();
    let Some((key, above)) = path.split_last() else { return text };
    match (find(&text, path), to) {
        (Some(member), Some(to)) => text.replace_range(member.value, to),
        (Some(member), None) => remove(&mut text, &member),
        (None, None) => {}
        (None, Some(to)) => {
            let from = if above.is_empty() {
                Some(skip(text.as_bytes(), 0))
            } else {
                find(&text, above).map(|member| member.value.start)
            };
            match from {
                Some(from) => {
                    let comma = if members(&text, from).is_empty() { "" } else { "," };
                    let entry = format!(" \"{key}\": {to}{comma}");
                    if text.as_bytes().get(from) == Some(&b'{') {
                        text.insert_str(from + 1, &entry);
                    }
                }
                None => text = set(&text, above, Some(&format!("{{ \"{key}\": {to} }}"))),
            }
        }
    }
    text
}

fn remove(text: &mut String, member: &Member) {
    let bytes = text.as_bytes();
    let after = skip(bytes, member.whole.end);
    if bytes.get(after) == Some(&b',') {
        let next = skip(bytes, after + 1);
        text.replace_range(member.whole.start..next, "");
        return;
    }
    let before = text[..member.whole.start].trim_end();
    let from = if before.ends_with(',') { before.len() - 1 } else { before.len() };
    text.replace_range(from..member.whole.end, "");
}

/// The content of a string, without unusual escapes.
pub(in super::super) fn unquoted(value: &str) -> String {
    let inner = value.trim().trim_start_matches('"');
    let inner = inner.strip_suffix('"').unwrap_or(inner);
    inner.replace("\\\"", "\"").replace("\\n", "\n").replace("\\\\", "\\")
}

/// After white space and comments.
fn skip(bytes: &[u8], from: usize) -> usize {
    let mut at = from;
    loop {
        match bytes.get(at..).unwrap_or_default() {
            [c, ..] if c.is_ascii_whitespace() => at += 1,
            [b'/', b'/', rest @ ..] => {
                at += 2 + rest.iter().position(|c| *c == b'\n').unwrap_or(rest.len());
            }
            [b'/', b'*', rest @ ..] => {
                let end = rest.windows(2).position(|pair| pair == b"*/");
                at += 2 + end.map_or(rest.len(), |end| end + 2);
            }
            [0xef, 0xbb, 0xbf, ..] if at == 0 => at = 3,
            _ => return at,
        }
    }
}

fn string(bytes: &[u8], from: usize) -> usize {
    let mut at = from + 1;
    while at < bytes.len() {
        match bytes[at] {
            b'\\' => at += 2,
            b'"' => return at + 1,
            _ => at += 1,
        }
    }
    bytes.len()
}

/// After the value at a place.
fn value(bytes: &[u8], from: usize) -> usize {
    let mut depth = 0_usize;
    let mut at = from;
    while at < bytes.len() {
        match bytes[at] {
            b'"' => {
                at = string(bytes, at);
                if depth == 0 {
                    return at;
                }
                continue;
            }
            b'{' | b'[' => depth += 1,
            b'}' | b']' => {
                if depth <= 1 {
                    return at + depth;
                }
                depth -= 1;
            }
            b',' if depth == 0 => return at,
            b'/' if matches!(bytes.get(at + 1), Some(b'/' | b'*')) => {
                if depth == 0 {
                    return at;
                }
                at = skip(bytes, at);
                continue;
            }
            c if depth == 0 && c.is_ascii_whitespace() => return at,
            _ => {}
        }
        at += 1;
    }
    bytes.len()
}
