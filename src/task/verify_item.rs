//! `verify:` items: the command below a criterion, or the error to report.

use std::ops::Range;

use super::{
    item::{self, CodeSpan, ItemError},
    segment::Segment,
};

/// The keyword that begins the item.
const KEYWORD: &str = "verify:";

/// A `verify:` item.
pub(super) struct VerifyItem {
    /// The bytes of its first line in the file.
    pub(super) span: Range<usize>,
    /// The command for `sh -c`, as written, or the message and hint of an error.
    pub(super) command: Result<String, (&'static str, &'static str)>,
}

/// Does this text begin like a verify item, in any case?
pub(super) fn is_verify(text: &str) -> bool {
    item::has_keyword(text, KEYWORD)
}

/// Reads an item's first block of text. Returns `None` if it is not a verify item.
pub(super) fn read(segments: &[Segment<'_>], code: &[CodeSpan]) -> Option<VerifyItem> {
    let (span, value) = item::read(segments, KEYWORD, code)?;
    Some(VerifyItem { span, command: value.map(str::to_owned).map_err(explain) })
}

fn explain(error: ItemError) -> (&'static str, &'static str) {
    const EXAMPLE: &str = "for example: - verify: `cargo test`";
    match error {
        ItemError::Empty => ("`verify:` has no command", EXAMPLE),
        ItemError::Lines => (
            "a verify command must fit on one line",
            "move longer commands into a script and call the script here",
        ),
        ItemError::Mixed => (
            "cannot tell which part of this line is the command",
            "write only the command; if it contains backticks, wrap it in ``double backticks``",
        ),
        ItemError::Nul => ("a verify command cannot contain a NUL byte", EXAMPLE),
    }
}
