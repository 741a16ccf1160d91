//! Bracket expressions of patterns: `[a-z]`, `[![:digit:]]`, `[[.e.]]`.
//!
//! Where one ends, and whether it is plain enough for the matcher. One that is not stands
//! for more than it matches, never for less. What a pattern matches is `paths`' work.

/// Longest bracket expression that is looked through, in bytes.
const LONGEST: usize = 128;

/// What begins with a `[`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Bracket {
    /// Characters and ranges only, up to this byte.
    Plain(usize),
    /// With classes such as `[:alpha:]` in it, up to this byte: one character or another.
    Classes(usize),
    /// With quotes or expansions in it: nobody knows where it ends.
    Unclear,
    /// It does not end: the bracket stands for itself.
    Open,
}

/// Looks at a text that begins with a `[`.
pub(super) fn bracket(text: &str) -> Bracket {
    let bytes = text.as_bytes();
    let mut classes = false;
    let mut at = 1 + usize::from(matches!(bytes.get(1), Some(b'!' | b'^')));
    let first = at;
    while at < LONGEST {
        match bytes.get(at) {
            None | Some(b'/') => return Bracket::Open,
            Some(b'\'' | b'"' | b'\\' | b'$' | b'`') => return unclear(&text[at..]),
            Some(b']') if at > first => {
                return if classes { Bracket::Classes(at + 1) } else { Bracket::Plain(at + 1) };
            }
            Some(b'[') if matches!(bytes.get(at + 1), Some(b':' | b'.' | b'=')) => {
                let end = [bytes[at + 1], b']'];
                let rest = bytes.get(at + 2..bytes.len().min(LONGEST)).unwrap_or_default();
                let Some(length) = rest.windows(2).position(|pair| pair == end) else {
                    return Bracket::Unclear;
                };
                classes = true;
                at += length + 4;
            }
            Some(_) => at += 1,
        }
    }
    Bracket::Unclear
}

/// Quotes alone do not close it, an expansion may.
fn unclear(rest: &str) -> Bracket {
    if rest.contains([']', '$', '`']) { Bracket::Unclear } else { Bracket::Open }
}

/// A pattern that a program is given, such that the matcher takes it for no less than the
/// program may.
pub(in crate::guard) fn widened(pattern: &str) -> String {
    let mut out = String::new();
    let mut rest = pattern;
    while let Some(at) = rest.find('[') {
        out.push_str(&rest[..at]);
        rest = &rest[at..];
        let end = match bracket(rest) {
            Bracket::Plain(end) => {
                out.push_str(&rest[..end]);
                end
            }
            Bracket::Classes(end) => {
                out.push('?');
                end
            }
            Bracket::Unclear => {
                out.push('*');
                rest.find('/').unwrap_or(rest.len())
            }
            Bracket::Open => {
                out.push('[');
                1
            }
        };
        rest = &rest[end..];
    }
    out + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn brackets_end_where_bash_ends_them() {
        for (text, want) in [
            ("[a-z]x", Bracket::Plain(5)),
            ("[]a]x", Bracket::Plain(4)),
            ("[!]a]", Bracket::Plain(5)),
            ("[[a]", Bracket::Plain(4)),
            ("[[:alpha:]]x", Bracket::Classes(11)),
            ("[![:digit:]_]x", Bracket::Classes(13)),
            ("[[.].]]", Bracket::Classes(7)),
            ("[[=e=]]", Bracket::Classes(7)),
            ("[[:alpha]", Bracket::Unclear),
            ("[\"e\"]", Bracket::Unclear),
            ("[\\e]", Bracket::Unclear),
            ("[e$x", Bracket::Unclear),
            ("[", Bracket::Open),
            ("[a/]", Bracket::Open),
            ("['a'", Bracket::Open),
        ] {
            assert_eq!(bracket(text), want, "{text}");
        }
        assert_eq!(bracket(&"[".repeat(1000)), Bracket::Unclear);
        // A class that begins where no more is looked at.
        for filled in LONGEST - 4..LONGEST + 2 {
            assert_eq!(bracket(&format!("[{}[:", "a".repeat(filled))), Bracket::Unclear);
        }
    }

    #[test]
    fn patterns_of_programs_are_widened() {
        for (pattern, want) in
            [("*.[ch]", "*.[ch]"), (".en[[:alpha:]]", ".en?"), (".[\\e]nv/x", ".*/x"), ("a[", "a[")]
        {
            assert_eq!(widened(pattern), want, "{pattern}");
        }
    }
}
