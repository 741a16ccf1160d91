//! Rejects absurdly deep nesting before the Markdown parser sees it.
//!
//! The parser's time grows with the number of lines times their nesting depth. An agent can
//! write any TASK.md, and must not be able to hold up the runner with it.

use super::lines::Lines;

/// The deepest nesting of lists and quotes that is parsed.
const DEEPEST: usize = 1000;

/// The first 1-based line that may be nested deeper than [`DEEPEST`].
pub(super) fn too_deep(lines: &Lines<'_>) -> Option<usize> {
    (1..=lines.count()).find(|line| depth(&lines.source().as_bytes()[lines.range(*line)]) > DEEPEST)
}

/// An upper bound of the number of lists and quotes around a line: those that it opens, and those
/// that its indentation can continue.
fn depth(line: &[u8]) -> usize {
    let (mut at, mut markers, mut columns) = (0, 0, 0);
    loop {
        let rest = &line[at..];
        let marker = match rest {
            [b' ', ..] => {
                (at, columns) = (at + 1, columns + 1);
                continue;
            }
            [b'\t', ..] => {
                (at, columns) = (at + 1, columns + 4);
                continue;
            }
            [b'>', ..] => 1,
            [b'-' | b'*' | b'+', b' ' | b'\t', ..] => 1,
            _ => {
                let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
                match &rest[digits..] {
                    [b'.' | b')', b' ' | b'\t', ..] if digits > 0 => digits + 1,
                    // A blank line opens nothing and continues anything.
                    [] if markers == 0 => return 0,
                    _ => return markers.max(columns / 2),
                }
            }
        };
        (at, markers, columns) = (at + marker, markers + 1, columns + marker);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markers_and_indentation_count() {
        for (line, expected) in [
            ("", 0),
            ("text", 0),
            ("- a", 1),
            ("- > 1. 12) + * a", 7),
            (">>> a", 3),
            ("> > >", 3),
            ("    - a", 3),
            ("\t\ta", 4),
            ("-----", 0),
            ("2026 a", 0),
            ("          ", 0),
            ("*emphasis*", 0),
        ] {
            assert_eq!(depth(line.as_bytes()), expected, "{line:?}");
        }
    }
}
