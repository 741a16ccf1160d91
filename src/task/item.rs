//! List items below a criterion that begin with a keyword: `verify:` and `recipe:`.
//!
//! Invariant: a value is read only if its extent is unambiguous: the rest of the line, or one
//! code span that takes up the rest of the line. Anything else is an error, because the runner
//! would otherwise run something that the human did not write.

use std::ops::Range;

use super::segment::Segment;

/// A code span: its bytes in the file, and the code.
pub(super) type CodeSpan = (Range<usize>, String);

/// Why an item has no usable value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ItemError {
    /// Nothing follows the keyword.
    Empty,
    /// The value continues on a second line.
    Lines,
    /// A code span with other text beside it, or a stray backtick.
    Mixed,
    /// A NUL byte.
    Nul,
}

/// Does `text` begin with `keyword` and a colon, in any case?
pub(super) fn has_keyword(text: &str, keyword: &str) -> bool {
    behind(text, keyword).is_some()
}

/// The text behind `keyword` and its colon, which spaces may precede.
pub(super) fn behind<'a>(text: &'a str, keyword: &str) -> Option<&'a str> {
    let start = text.get(..keyword.len())?;
    let rest = text[keyword.len()..].trim_ascii_start().strip_prefix(':')?;
    start.eq_ignore_ascii_case(keyword).then_some(rest)
}

/// Reads the value of an item whose first block of text is `segments`.
///
/// Returns the span of its first line and the value, or `None` if the item does not begin
/// with `keyword`.
pub(super) fn read<'a>(
    segments: &[Segment<'a>],
    keyword: &str,
    code: &'a [CodeSpan],
) -> Option<(Range<usize>, Result<&'a str, ItemError>)> {
    let first = segments.first().filter(|first| has_keyword(first.text, keyword))?;
    let one_line = segments[1..].iter().all(|segment| segment.text.is_empty());
    let value = if one_line { value(first, keyword, code) } else { Err(ItemError::Lines) };
    Some((first.span(), value))
}

fn value<'a>(
    first: &Segment<'a>,
    keyword: &str,
    code: &'a [CodeSpan],
) -> Result<&'a str, ItemError> {
    let rest = behind(first.text, keyword).unwrap_or_default().trim_ascii_start();
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
