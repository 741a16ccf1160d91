//! Escapes before and within a text: letters in an escape belong to it.

/// How many bytes from `at` still belong to an escape that begins before it: `n` of `\n`,
/// `20` of `%20`, `31m` of a colour.
pub(super) fn rest(text: &[u8], at: usize) -> usize {
    let Some((last, before)) = text[..at].split_last() else { return 0 };
    let after = &text[at..];
    let hex = |from: usize, digits: usize| {
        after.get(from..from + digits).is_some_and(|part| part.iter().all(u8::is_ascii_hexdigit))
    };
    match last {
        b'\\' => match after.first() {
            Some(b'n' | b'r' | b't') => 1,
            Some(b'u') if hex(1, 4) => 5 + colour(after.get(5..).unwrap_or_default()),
            Some(b'x') if hex(1, 2) => 3 + colour(after.get(3..).unwrap_or_default()),
            Some(_) | None => 0,
        },
        b'%' => {
            // A percent sign may be encoded itself, as often as one likes.
            let mut at = 0;
            while after[at..].starts_with(b"25") && hex(at + 2, 2) {
                at += 2;
            }
            if hex(at, 2) { at + 2 } else { 0 }
        }
        b'[' if [&b"\x1b"[..], b"\\u001b", b"\\u001B", b"\\x1b", b"\\x1B", b"\\033", b"\\e"]
            .iter()
            .any(|escape| before.ends_with(escape)) =>
        {
            colour(text.get(at - 1..).unwrap_or_default()).saturating_sub(1)
        }
        _ => 0,
    }
}

/// The length of a colour's `[31m`.
fn colour(text: &[u8]) -> usize {
    let Some(codes) = text.strip_prefix(b"[") else { return 0 };
    let end = codes.iter().position(|byte| !byte.is_ascii_digit() && *byte != b';');
    end.filter(|end| codes[*end] == b'm').map_or(0, |end| end + 2)
}

/// Whether an escape ends at `at`, so that a word may begin there.
pub(super) fn ends_at(text: &[u8], at: usize) -> bool {
    let first = at.saturating_sub(16);
    let begin = text[first..at].iter().rposition(|byte| matches!(byte, b'\\' | b'%' | b'['));
    begin.is_some_and(|begin| {
        let after = first + begin + 1;
        after + rest(text, after) == at && after < at
    })
}

/// Where a value ends in a text that is percent-encoded: at what was a border before.
pub(super) fn percent_border(text: &str, from: usize, to: usize) -> usize {
    let value = &text[from..to];
    let mut at = 0;
    while let Some(found) = value[at..].find('%') {
        let sign = at + found;
        let mut code = &value[sign + 1..];
        while let Some(inner) = code.strip_prefix("25") {
            code = inner;
        }
        let border = ["26", "22", "20", "27", "0A", "0a", "0D", "0d", "23", "3B", "3b", "2C", "2c"];
        if border.iter().any(|border| code.starts_with(border)) {
            return from + sign;
        }
        at = sign + 1;
    }
    to
}
