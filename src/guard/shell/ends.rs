//! Where quotes, expansions, substitutions and here-documents end.
//!
//! Every function takes the text and the place behind the opening mark, and gives
//! the place of the closing one; `None` if there is none, or too many inside each
//! other. Nothing is understood here beyond that.

/// Expansions inside each other in one word.
pub(super) const MOST_DEPTH: usize = 24;

/// The `}` that closes a `${`.
pub(super) fn param_end(text: &str, from: usize, depth: usize) -> Option<usize> {
    if depth > MOST_DEPTH {
        return None;
    }
    let bytes = text.as_bytes();
    let mut at = from;
    loop {
        match *bytes.get(at)? {
            b'}' => return Some(at),
            b'\\' => at += 2,
            b'\'' => {
                // In double quotes this is text, elsewhere it quotes; a lone one is text.
                at = match text.get(at + 1..).and_then(|rest| rest.find('\'')) {
                    Some(end) if !text[at + 1..at + 1 + end].contains('}') => at + end + 2,
                    _ => at + 1,
                };
            }
            b'$' if bytes.get(at + 1) == Some(&b'{') => {
                at = param_end(text, at + 2, depth + 1)? + 1
            }
            b'$' if bytes.get(at + 1) == Some(&b'(') => {
                at = command_end(text, at + 2, depth + 1)? + 1
            }
            b'`' => at = backquote_end(bytes, at + 1)? + 1,
            _ => at += 1,
        }
    }
}

pub(super) fn backquote_end(bytes: &[u8], from: usize) -> Option<usize> {
    let mut at = from;
    loop {
        match *bytes.get(at)? {
            b'`' => return Some(at),
            b'\\' => at += 2,
            _ => at += 1,
        }
    }
}

pub(super) fn double_end(text: &str, from: usize, depth: usize) -> Option<usize> {
    if depth > MOST_DEPTH {
        return None;
    }
    let bytes = text.as_bytes();
    let mut at = from;
    loop {
        match *bytes.get(at)? {
            b'"' => return Some(at),
            b'\\' => at += 2,
            b'$' if bytes.get(at + 1) == Some(&b'{') => {
                at = param_end(text, at + 2, depth + 1)? + 1
            }
            b'$' if bytes.get(at + 1) == Some(&b'(') => {
                at = command_end(text, at + 2, depth + 1)? + 1
            }
            b'`' => at = backquote_end(bytes, at + 1)? + 1,
            _ => at += 1,
        }
    }
}

/// The `)` that closes a `$(`, with quotes, comments and here-documents inside.
pub(super) fn command_end(text: &str, from: usize, depth: usize) -> Option<usize> {
    if depth > MOST_DEPTH {
        return None;
    }
    let bytes = text.as_bytes();
    let mut at = from;
    let mut depth = 0_usize;
    let mut documents: Vec<(String, bool)> = Vec::new();
    let mut starts_word = true;
    loop {
        let byte = *bytes.get(at)?;
        let word_start = starts_word;
        starts_word = matches!(byte, b' ' | b'\t' | b'\n' | b';' | b'&' | b'|' | b'(' | b')');
        match byte {
            b')' if depth == 0 => return Some(at),
            b')' => {
                depth -= 1;
                at += 1;
            }
            b'(' => {
                depth += 1;
                at += 1;
            }
            b'\\' => at += 2,
            b'\'' => at += text.get(at + 1..)?.find('\'')? + 2,
            b'"' => at = double_end(text, at + 1, depth + 1)? + 1,
            b'`' => at = backquote_end(bytes, at + 1)? + 1,
            b'$' if bytes.get(at + 1) == Some(&b'\'') => {
                at = backslash_quote_end(bytes, at + 2)? + 1
            }
            b'$' if bytes.get(at + 1) == Some(&b'{') => {
                at = param_end(text, at + 2, depth + 1)? + 1
            }
            b'$' if bytes.get(at + 1) == Some(&b'(') => {
                at = command_end(text, at + 2, depth + 1)? + 1
            }
            b'#' if word_start => at += text.get(at..)?.find('\n')?,
            b'<' if text.get(at..)?.starts_with("<<<") => at += 3,
            b'<' if text.get(at..)?.starts_with("<<") => {
                let (delimiter, dashed, end) = delimiter(text, at + 2)?;
                documents.push((delimiter, dashed));
                at = end;
            }
            b'\n' => {
                at += 1;
                for (delimiter, dashed) in documents.drain(..) {
                    at = document_end(text, at, &delimiter, dashed)?;
                }
            }
            _ => at += 1,
        }
    }
}

pub(super) fn backslash_quote_end(bytes: &[u8], from: usize) -> Option<usize> {
    let mut at = from;
    loop {
        match *bytes.get(at)? {
            b'\'' => return Some(at),
            b'\\' => at += 2,
            _ => at += 1,
        }
    }
}

/// The delimiter of a here-document, whether tabs are stripped, and where it ends.
fn delimiter(text: &str, from: usize) -> Option<(String, bool, usize)> {
    let bytes = text.as_bytes();
    let mut at = from;
    let dashed = bytes.get(at) == Some(&b'-');
    at += usize::from(dashed);
    while matches!(bytes.get(at), Some(b' ' | b'\t')) {
        at += 1;
    }
    let mut name = String::new();
    loop {
        match bytes.get(at) {
            Some(quote @ (b'\'' | b'"')) => {
                let end = text.get(at + 1..)?.find(char::from(*quote))?;
                name.push_str(&text[at + 1..at + 1 + end]);
                at += end + 2;
            }
            Some(b'\\') => at += 1,
            Some(byte) if byte.is_ascii_alphanumeric() || b"_-.+%@".contains(byte) => {
                name.push(char::from(*byte));
                at += 1;
            }
            _ => break,
        }
    }
    (!name.is_empty()).then_some((name, dashed, at))
}

/// Behind the line that ends a here-document.
fn document_end(text: &str, from: usize, delimiter: &str, dashed: bool) -> Option<usize> {
    let mut at = from;
    loop {
        let rest = text.get(at..)?;
        if rest.is_empty() {
            return None;
        }
        let line = rest.split('\n').next()?;
        let shown = if dashed { line.trim_start_matches('\t') } else { line };
        at += (line.len() + 1).min(rest.len());
        if shown == delimiter {
            return Some(at);
        }
    }
}
