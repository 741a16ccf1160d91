//! Words without their quotes.

use super::parse::{closing, nested};

/// A word as it is written, without its quotes. Each substitution is a `$`, and its own text is in
/// the list; `${NAME}` stays.
pub(super) fn unquoted(raw: &str) -> (String, Vec<String>) {
    let chars: Vec<char> = raw.chars().collect();
    let (mut text, mut bodies) = (String::new(), Vec::new());
    let (mut at, mut quoted) = (0, false);
    while let Some(c) = chars.get(at).copied() {
        at += 1;
        let upto = |end: usize| chars[at.min(end)..end].iter().collect::<String>();
        match (c, chars.get(at)) {
            ('\'', _) if !quoted => {
                let end = closing(&chars, at, '\'');
                text.push_str(&upto(end));
                at = end + 1;
            }
            ('"', _) => quoted = !quoted,
            ('\\', Some(next)) => {
                let kept = quoted && !matches!(next, '"' | '\\' | '$' | '`' | '\n');
                text.extend(kept.then_some('\\'));
                text.extend((*next != '\n').then_some(*next));
                at += 1;
            }
            ('`', _) => {
                let end = closing(&chars, at, '`');
                bodies.push(upto(end));
                text.push('$');
                at = end + 1;
            }
            ('$', Some('(')) => {
                let end = nested(&chars, at, '(', ')');
                let body: String = upto(end).chars().skip(1).collect();
                match body.strip_prefix('(') {
                    Some(number) => bodies.extend(unquoted(number).1),
                    None => bodies.push(body),
                }
                text.push('$');
                at = end + 1;
            }
            _ => text.push(c),
        }
    }
    (text, bodies)
}
