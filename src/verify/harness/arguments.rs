//! The arguments of a call in most languages: what is between two parentheses, and between commas.

use std::ops::Range;

/// The arguments of a call, by the place of its opening parenthesis, and the place of the closing
/// one.
pub(super) fn arguments(code: &str, open: usize) -> Option<(Vec<Range<usize>>, usize)> {
    /// Longer calls are not read.
    const MOST: usize = 1 << 14;
    let mut depth = 0usize;
    let mut starts = vec![open + 1];
    let mut ends = Vec::new();
    let mut rest = code.get(open..)?.char_indices();
    while let Some((at, c)) = rest.next() {
        if at > MOST {
            return None;
        }
        match c {
            '(' | '[' | '{' => depth += 1,
            ')' | ']' | '}' => {
                depth = depth.checked_sub(1)?;
                if depth == 0 {
                    ends.push(open + at);
                    let parts = starts.into_iter().zip(ends);
                    return Some((parts.map(|(start, end)| start..end).collect(), open + at));
                }
            }
            ',' if depth == 1 => {
                ends.push(open + at);
                starts.push(open + at + 1);
            }
            '"' | '`' | '\'' => {
                let after = &code[open + at + 1..];
                // `'a` in Rust is no text, and has no second quote in its line.
                let text = if c == '\'' { after.lines().next().unwrap_or("") } else { after };
                if let Some(end) = quoted(text, c) {
                    let end = open + at + 1 + end;
                    while rest.clone().next().is_some_and(|(at, _)| open + at <= end) {
                        rest.next();
                    }
                }
            }
            _ => {}
        }
    }
    None
}

/// Where the text of a quote ends.
fn quoted(text: &str, quote: char) -> Option<usize> {
    let mut escaped = false;
    for (at, c) in text.char_indices() {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            _ if c == quote => return Some(at),
            _ => {}
        }
    }
    None
}
