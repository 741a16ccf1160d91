//! Text that resembles a criterion but is none: warnings for likely mistakes.
//!
//! Invariant: nothing here changes what is a criterion; it only speaks up where a
//! human probably believes there is one.

use super::{
    diagnostics::{Diagnostics, quote},
    scan::Segment,
    verify_item::is_verify,
};

/// Marks that people put between brackets where they mean "done" or "something else".
const MARKS: [&str; 24] = [
    "x", "X", "y", "Y", "v", "V", "o", "O", "*", "-", "+", "~", "/", ">", "<", "!", "?", ".", "✓",
    "✔", "✅", "✗", "❌", "•",
];

/// The most bytes between brackets that may be meant as a mark.
const LONGEST_MARK: usize = 8;

/// A bracket pair at the beginning of a text.
struct Brackets<'a> {
    inner: &'a str,
    after: &'a str,
}

impl<'a> Brackets<'a> {
    /// Reads one, unless it is the beginning of a link.
    fn read(text: &'a str) -> Option<Self> {
        let rest = text.strip_prefix('[')?;
        let close = rest.bytes().take(LONGEST_MARK + 1).position(|byte| byte == b']')?;
        let (inner, after) = (&rest[..close], &rest[close + 1..]);
        (!after.starts_with(['(', '[', ':'])).then_some(Self { inner, after })
    }

    /// Whether Markdown takes it for a box, given the right place.
    fn is_box(&self) -> bool {
        matches!(self.inner, " " | "\t" | "x" | "X")
    }
}

/// Looks at the first text of a list item that has no box.
pub(super) fn item(segments: &[Segment<'_>], diagnostics: &mut Diagnostics<'_>) {
    let Some((first, others)) = segments.split_first() else { return };
    lines(others, diagnostics);
    let unstyled = first.text.trim_start_matches(['*', '_']);
    if unstyled.len() < first.text.len() && is_styled_verify(unstyled) {
        diagnostics.warning(
            first.span(),
            "this is not taken for a verify command",
            "write the word plainly: `verify: …`",
        );
        return;
    }
    let Some(brackets) = Brackets::read(first.text) else {
        lines(&segments[..1], diagnostics);
        return;
    };
    let span = first.start..first.start + brackets.inner.len() + 2;
    let shown = quote(&first.text[..brackets.inner.len() + 2]);
    let mark = brackets.inner.trim();
    if brackets.is_box() {
        if brackets.after.is_empty() {
            diagnostics.error(
                span,
                "a criterion without text",
                "write behind the box what must be true, or take the item away",
            );
        } else if !brackets.after.starts_with(|after: char| after.is_ascii_whitespace()) {
            diagnostics.warning(
                span,
                "this is not a box: the text follows it without a space",
                format!("write {shown} and a space behind it"),
            );
        }
    } else if mark.is_empty() {
        diagnostics.warning(
            span,
            format!("{shown} is not a box"),
            "write `[ ]`, with exactly one space in it",
        );
    } else if MARKS.contains(&mark) {
        let hint = if mark.eq_ignore_ascii_case("x") {
            "write `[x]`, without spaces in it"
        } else {
            "write `[x]` for done and `[ ]` for open; there are no other marks"
        };
        diagnostics.warning(span, format!("{shown} is not a box"), hint);
    }
}

/// `verify:` with the rest of its emphasis, as in `verify**:` or `verify:**`.
fn is_styled_verify(text: &str) -> bool {
    let word = text.get(..6).unwrap_or_default();
    let rest = text.get(6..).unwrap_or_default().trim_start_matches(['*', '_']);
    word.eq_ignore_ascii_case("verify") && rest.starts_with(':')
}

/// Looks at lines that are no list items.
pub(super) fn lines(segments: &[Segment<'_>], diagnostics: &mut Diagnostics<'_>) {
    for segment in segments {
        if is_verify(segment.text) {
            diagnostics.warning(
                segment.span(),
                "this is not taken for a verify command: it belongs to the text above it",
                "make it a list item below its criterion: `- verify: …`",
            );
            continue;
        }
        let (bullet, rest) = split_bullet(segment.text);
        let Some(brackets) = Brackets::read(rest) else { continue };
        let open = brackets.after.is_empty() || brackets.after.starts_with([' ', '\t']);
        let boxlike = brackets.is_box() || (brackets.inner.is_empty() && !bullet.is_empty());
        if boxlike && open {
            let end = segment.start + (segment.text.len() - brackets.after.len());
            diagnostics.warning(
                segment.start..end,
                "this looks like a criterion, but is not a list item",
                "write it as `- [ ] text`, with both spaces; an empty line before the list and less indentation may be missing too",
            );
        }
    }
}

/// Where a list can end up without its author noticing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Hidden {
    /// Code by indentation alone.
    Code,
    /// A block of HTML.
    Html,
}

/// What begins a block of HTML that is meant to be left alone.
const LEFT_ALONE: [&str; 5] = ["<!--", "<pre", "<script", "<style", "<textarea"];

/// Looks at lines that Markdown does not read.
pub(super) fn hidden(segments: &[Segment<'_>], place: Hidden, diagnostics: &mut Diagnostics<'_>) {
    let (message, hint) = match place {
        Hidden::Code => (
            "this box stands in code: the line is indented by four spaces or more",
            "indent it less, or put fences around it if it is code",
        ),
        Hidden::Html => (
            "this box stands in HTML, where no Markdown is read",
            "put an empty line between the HTML and the list",
        ),
    };
    let first = segments.first().map(|segment| segment.text.to_ascii_lowercase());
    if first.is_some_and(|text| LEFT_ALONE.iter().any(|start| text.starts_with(start))) {
        return;
    }
    for segment in segments {
        let (bullet, rest) = split_bullet(segment.text);
        if let Some(brackets) = Brackets::read(rest)
            && brackets.is_box()
            && !bullet.is_empty()
        {
            let end = segment.start + (segment.text.len() - brackets.after.len());
            diagnostics.warning(segment.start..end, message, hint);
        }
    }
}

/// A bullet or a number at the beginning of a text, and what follows it.
fn split_bullet(text: &str) -> (&str, &str) {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let bullet = if digits > 0 {
        if text[digits..].starts_with(['.', ')']) { digits + 1 } else { 0 }
    } else {
        let first = text.chars().next();
        first.filter(|first| "-*+•–—".contains(*first)).map_or(0, char::len_utf8)
    };
    let (bullet, rest) = text.split_at(bullet);
    (bullet, rest.trim_ascii_start())
}
