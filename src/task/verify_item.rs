//! A `verify:` item below a criterion: the command it holds, or what is wrong with it.
//!
//! Invariant: a command is taken only where it is plain which characters belong to
//! it: all of the line, or one code span that is all of the line. Anything else is
//! an error, for the runner would run something the human did not write.

use std::ops::Range;

use super::scan::Segment;

/// The word an item begins with.
const WORD: &str = "verify:";

/// A `verify:` item that was read.
pub(super) struct VerifyItem {
    /// Its first line's bytes in the file.
    pub(super) span: Range<usize>,
    /// The command for `sh -c`, as written.
    pub(super) command: Result<String, ItemError>,
}

/// Why nothing can be taken from an item.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ItemError {
    /// Nothing stands behind the word.
    Empty,
    /// It goes on over more than one line.
    Lines,
    /// A code span with other text beside it, or a stray backtick.
    Mixed,
    /// A NUL byte.
    Nul,
}

impl ItemError {
    /// Message and hint.
    pub(super) fn explain(self) -> (&'static str, &'static str) {
        const EXAMPLE: &str = "write it as in - verify: `cargo test`";
        match self {
            Self::Empty => ("a verify item without a command", EXAMPLE),
            Self::Lines => (
                "a verify command must stand on one line",
                "put longer commands into a script and name the script here",
            ),
            Self::Mixed => (
                "it is not plain which part of this line is the command",
                "write nothing but the command; with backticks in it, put ``two`` around it",
            ),
            Self::Nul => ("a verify command with a NUL byte in it", EXAMPLE),
        }
    }
}

/// Whether a text begins as a verify item does, in any case.
pub(super) fn is_verify(text: &str) -> bool {
    text.get(..WORD.len()).is_some_and(|start| start.eq_ignore_ascii_case(WORD))
}

/// Reads an item's first block of text, where it is a verify item at all.
pub(super) fn read(
    segments: &[Segment<'_>],
    code: &[(Range<usize>, String)],
) -> Option<VerifyItem> {
    let first = segments.first().filter(|first| is_verify(first.text))?;
    let command = if segments[1..].iter().all(|segment| segment.text.is_empty()) {
        value(first, WORD, code).map(str::to_owned)
    } else {
        Err(ItemError::Lines)
    };
    Some(VerifyItem { span: first.span(), command })
}

/// What stands behind an item's word.
pub(super) fn value<'a>(
    first: &Segment<'a>,
    word: &str,
    code: &'a [(Range<usize>, String)],
) -> Result<&'a str, ItemError> {
    let rest = first.text[word.len()..].trim_ascii_start();
    let end = first.start + first.text.len();
    let range = end - rest.len()..end;
    let value = match code {
        [(span, code)] if *span == range => code.trim_ascii(),
        _ if rest.trim_matches('`').trim_ascii().is_empty() => "",
        _ if rest.contains('`') => return Err(ItemError::Mixed),
        _ => rest,
    };
    match value {
        "" => Err(ItemError::Empty),
        _ if first.text.contains('\0') => Err(ItemError::Nul),
        _ => Ok(value),
    }
}
