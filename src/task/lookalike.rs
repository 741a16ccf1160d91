//! Warnings for text that resembles a criterion or verify command but is not one.
//!
//! Invariant: nothing here changes which criteria a file has.

use std::ops::Range;

use super::{
    diagnostics::{Diagnostics, quote},
    recipe_item::is_recipe,
    segment::Segment,
    verify_item::is_verify,
};

/// Marks that people put between brackets to mean "done" or some other state.
const MARKS: [&str; 24] = [
    "x", "X", "y", "Y", "v", "V", "o", "O", "*", "-", "+", "~", "/", ">", "<", "!", "?", ".", "✓",
    "✔", "✅", "✗", "❌", "•",
];

/// The longest text between brackets that may be meant as a mark, in bytes.
const LONGEST_MARK: usize = 8;

/// Words that people put before a command that is to be run as a check.
const WORDS: [&str; 12] = [
    "check",
    "checks",
    "test",
    "tests",
    "run",
    "command",
    "cmd",
    "verification",
    "verified",
    "validate",
    "proof",
    "prove",
];

/// A pair of brackets at the start of a text.
struct Brackets<'a> {
    inner: &'a str,
    after: &'a str,
}

impl<'a> Brackets<'a> {
    /// Reads the brackets. Returns `None` if there are none or if they begin a link.
    fn read(text: &'a str) -> Option<Self> {
        let rest = text.strip_prefix('[')?;
        let close = rest.bytes().take(LONGEST_MARK + 1).position(|byte| byte == b']')?;
        let (inner, after) = (&rest[..close], &rest[close + 1..]);
        (!after.starts_with(['(', '[', ':'])).then_some(Self { inner, after })
    }

    /// Would Markdown read this as a checkbox at the start of a list item?
    fn is_box(&self) -> bool {
        matches!(self.inner, " " | "\t" | "x" | "X")
    }
}

/// Checks the first text of a list item that has no checkbox.
pub(super) fn item(segments: &[Segment<'_>], diagnostics: &mut Diagnostics<'_>) {
    let Some((first, others)) = segments.split_first() else { return };
    lines(others, diagnostics);
    let unstyled = first.text.trim_start_matches(['*', '_']);
    let not_verify = "this is not read as a verify command";
    let warning = if unstyled.len() < first.text.len() && is_styled_verify(unstyled) {
        Some((not_verify.to_owned(), "remove the formatting: `verify: …`".to_owned()))
    } else if is_other_word(first.text) {
        let hint =
            "the runner knows only `verify:`, as in `- verify: …`, indented below a criterion";
        Some((not_verify.to_owned(), hint.to_owned()))
    } else {
        misspelled(first.text).map(|keyword| {
            let hint = format!("write `- {keyword}: …`, indented below a criterion");
            (format!("this is not read as `{keyword}`"), hint)
        })
    };
    if let Some((message, hint)) = warning {
        diagnostics.warning(first.span(), message, hint);
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
            no_text(span, diagnostics);
        } else if !brackets.after.starts_with(|after: char| after.is_ascii_whitespace()) {
            diagnostics.warning(
                span,
                "this is not a checkbox: there is no space after it",
                format!("write {shown} followed by a space"),
            );
        }
    } else if mark.is_empty() {
        diagnostics.warning(
            span,
            format!("{shown} is not a checkbox"),
            "write `[ ]`, with exactly one space inside",
        );
    } else if MARKS.contains(&mark) {
        let hint = if mark.eq_ignore_ascii_case("x") {
            "write `[x]`, without spaces inside"
        } else {
            "use `[x]` for done and `[ ]` for open; there are no other marks"
        };
        diagnostics.warning(span, format!("{shown} is not a checkbox"), hint);
    }
}

/// The error for a checkbox that nothing follows.
pub(super) fn no_text(brackets: Range<usize>, diagnostics: &mut Diagnostics<'_>) {
    diagnostics.error(
        brackets,
        "this criterion has no text",
        "write after the checkbox what must be true, or remove the item",
    );
}

/// Warns about a criterion whose text begins like a verify command or a recipe.
pub(super) fn boxed(
    first: &Segment<'_>,
    brackets: Range<usize>,
    diagnostics: &mut Diagnostics<'_>,
) {
    let (message, hint) = if is_verify(first.text) {
        (
            "this is a separate criterion, not a verify command",
            "remove the checkbox: `- verify: …`, indented below its criterion",
        )
    } else if is_recipe(first.text) {
        (
            "this is a separate criterion, not the recipe of one",
            "remove the checkbox: `- recipe: …`, indented below its criterion",
        )
    } else {
        return;
    };
    diagnostics.warning(brackets, message, hint);
}

/// Is this `verify:` with leftover emphasis, as in `verify**:` or `verify:**`?
fn is_styled_verify(text: &str) -> bool {
    let word = text.get(..6).unwrap_or_default();
    let rest = text.get(6..).unwrap_or_default().trim_start_matches(['*', '_']);
    word.eq_ignore_ascii_case("verify") && rest.starts_with(':')
}

/// Is this `verify:` misspelled, without its colon, or with a command behind another word?
fn is_other_word(text: &str) -> bool {
    let end = text.find(|it: char| !it.is_alphanumeric() && it != '_').unwrap_or(text.len());
    let (word, rest) = (text[..end].to_lowercase(), text[end..].trim_start());
    let (has_colon, rest) = match rest.strip_prefix(':') {
        Some(rest) => (true, rest.trim_start()),
        None => (false, rest),
    };
    let is_command = rest.starts_with('`') && rest.ends_with('`');
    let is_misspelled = word.len() > 4 && strsim::damerau_levenshtein(&word, "verify") <= 2;
    match word.as_str() {
        "verify" => !has_colon && is_command,
        word if WORDS.contains(&word) => has_colon && is_command,
        _ => is_misspelled && (has_colon || is_command),
    }
}

/// The keyword, other than `verify`, that a text begins with a misspelling of.
fn misspelled(text: &str) -> Option<&'static str> {
    let (word, _) = text.split_once(':')?;
    let word = word.trim_end().to_lowercase();
    let distance = |keyword| strsim::damerau_levenshtein(&word, keyword);
    let known = [("may_change", 2), ("recipe", 1)].into_iter();
    let close = known.filter(|(keyword, most)| (1..=*most).contains(&distance(keyword)));
    close.map(|(keyword, _)| keyword).next()
}

/// Checks lines that are not the start of a list item.
pub(super) fn lines(segments: &[Segment<'_>], diagnostics: &mut Diagnostics<'_>) {
    for segment in segments {
        if is_verify(segment.text) {
            diagnostics.warning(
                segment.span(),
                "this is not read as a verify command: it continues the text above",
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
                "write `- [ ] text`, with both spaces; the list may also need an empty line before it, or less indentation",
            );
        }
    }
}

/// A place where a list can end up unnoticed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Hidden {
    /// An indented code block.
    Code,
    /// An HTML block.
    Html,
}

/// HTML whose contents are clearly not meant as Markdown.
const LEFT_ALONE: [&str; 5] = ["<!--", "<pre", "<script", "<style", "<textarea"];

/// Checks lines that Markdown does not parse.
pub(super) fn hidden(segments: &[Segment<'_>], place: Hidden, diagnostics: &mut Diagnostics<'_>) {
    let (message, hint) = match place {
        Hidden::Code => (
            "this checkbox is in a code block: the line is indented by four or more spaces",
            "indent the line less; if it is meant as code, use a fenced code block",
        ),
        Hidden::Html => (
            "this checkbox is inside HTML, where Markdown is not parsed",
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

/// Splits off a bullet or number at the start of a text.
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
