//! `verify:` items: the command below a criterion, or the error to report.

use std::ops::Range;

use super::{
    item::{self, CodeSpan, ItemError},
    segment::Segment,
};

/// The keyword that begins the item.
const KEYWORD: &str = "verify";

/// Words between `verify` and a command.
const BETWEEN: [&str; 9] = ["with", "by", "via", "using", "it", "this", "running", "run", "is"];

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

/// A check at the end of a criterion's own text: `- [ ] a - verify: \`make test\``, also in round
/// brackets. Returns `None` unless it is clear what the command is.
pub(super) fn at_the_end(segments: &[Segment<'_>], code: &[CodeSpan]) -> Option<VerifyItem> {
    let last = segments.iter().rfind(|segment| !segment.text.is_empty())?;
    let (span, command) = code.last().filter(|(span, _)| span.start >= last.start)?;
    let (before, after) =
        (&last.text[..span.start - last.start], last.text.get(span.end - last.start..)?.trim());
    let start = within(before)?;
    let bracket = before[..start].trim_end().ends_with('(');
    let clear = match after {
        "" | "." => !bracket,
        ")" | ")." | ".)" => bracket,
        _ => false,
    };
    let sign = before[start + KEYWORD.len()..].trim();
    let usable = !command.trim().is_empty() && !command.contains('\0');
    let command = Ok(command.trim_ascii().to_owned());
    (clear && sign == ":" && usable)
        .then_some(VerifyItem { span: last.start + start..span.end, command })
}

/// Where a text that goes on has the word `verify` behind a sign that ends a clause, and before a
/// colon or an arrow.
pub(super) fn within(text: &str) -> Option<usize> {
    let small = text.to_ascii_lowercase();
    small.match_indices(KEYWORD).map(|(start, _)| start).find(|start| {
        let ends_clause = ['-', '–', '—', ';', ',', '(', '|', '·', '.', '/', '→'];
        let rest = text[start + KEYWORD.len()..].trim_start();
        // Nothing but a check is `verify: COMMAND` with a command in code.
        let command = rest.trim_start_matches(['*', '_']).strip_prefix(':');
        let command = command.map(|it| it.trim_start_matches(['*', '_']).trim_start());
        let is_within = !text[..*start].trim().is_empty();
        let is_word = is_within
            && !text[..*start].ends_with(|c: char| c.is_alphanumeric() || "_-`".contains(c));
        is_word && command.is_some_and(|it| it.starts_with('`'))
            || text[..*start].ends_with('(') && is_command_next(rest)
            || text[..*start].trim_end().ends_with(ends_clause)
                && [":", "→", "->", "=>", "："].iter().any(|sign| rest.starts_with(sign))
    })
}

/// Does code come next, behind signs and words such as `by`?
pub(super) fn is_command_next(text: &str) -> bool {
    let is_between = |it: char| !it.is_alphanumeric() && it != '`';
    let mut rest = text.trim_start_matches(is_between);
    while let Some(after) = BETWEEN
        .iter()
        .find_map(|word| rest.strip_prefix(word).filter(|after| after.starts_with(is_between)))
    {
        rest = after.trim_start_matches(is_between);
    }
    rest.starts_with('`')
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
