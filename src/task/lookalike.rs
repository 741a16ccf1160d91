//! Warnings for text that resembles a criterion or verify command but is not one.
//!
//! Invariant: nothing here changes which criteria a file has.

use std::ops::Range;

use super::{
    diagnostics::{Diagnostics, quote},
    looks_like_box::{BoxLike, is_invisible},
    recipe_item::is_recipe,
    segment::Segment,
    verify_item::{is_command_next, is_verify, within},
};

/// Marks that people put between brackets to mean "done" or some other state.
const MARKS: [&str; 24] = [
    "x", "X", "y", "Y", "v", "V", "o", "O", "*", "-", "+", "~", "/", ">", "<", "!", "?", ".", "✓",
    "✔", "✅", "✗", "❌", "•",
];

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

/// Checks the first text of a list item that has no checkbox.
pub(super) fn item(segments: &[Segment<'_>], diagnostics: &mut Diagnostics<'_>) {
    let Some((first, others)) = segments.split_first() else { return };
    lines(others, diagnostics);
    let unstyled = first.text.trim_start_matches(['*', '_', '~', '`']);
    if let Some(hint) = unread_check(first.text, unstyled) {
        diagnostics.unread(first.span(), "this is not read as a verify command", hint);
        return;
    }
    if let Some(keyword) = misspelled(first.text) {
        let hint = format!("write `- {keyword}: …`, indented below a criterion");
        diagnostics.warning(first.span(), format!("this is not read as `{keyword}`"), hint);
        return;
    }
    let seen = unstyled.trim_start_matches(is_invisible);
    let start = first.start + (first.text.len() - seen.len());
    match BoxLike::read(seen) {
        Some(found) => unread_box(&found, start, seen.len() == first.text.len(), diagnostics),
        None => lines(&segments[..1], diagnostics),
    }
}

/// How to write a check that a person would read in this text, if it is none.
fn unread_check(text: &str, unstyled: &str) -> Option<String> {
    if unstyled.len() < text.len() && is_styled_verify(unstyled) {
        return Some("remove the formatting: `- verify: …`".to_owned());
    }
    is_other_word(text).then(|| {
        "the runner knows only `verify:`, as in `- verify: …`, indented below a criterion"
            .to_owned()
    })
}

/// Warns about a box that Markdown does not read as one. `first` says whether it begins its item.
fn unread_box(found: &BoxLike<'_>, start: usize, first: bool, diagnostics: &mut Diagnostics<'_>) {
    let span = start..start + found.shown.len();
    let shown = quote(found.shown);
    let mark = found.inner.trim();
    let told = format!("{shown} is not a checkbox");
    if found.is_box() && first {
        if found.after.is_empty() {
            no_text(span, diagnostics);
        } else if !found.after.starts_with(|after: char| after.is_ascii_whitespace()) {
            let message = "this is not a checkbox: there is no space after it";
            let hint = format!("write {shown} followed by a space");
            diagnostics.of_box(found, span, message.to_owned(), hint);
        }
    } else if found.is_open() || found.is_box() {
        let hint = if found.plain && found.is_box() {
            "write `- [ ] text`: the box comes first, with plain spaces around it"
        } else {
            "write `[ ]`, with exactly one space inside"
        };
        diagnostics.of_box(found, span, told, hint.to_owned());
    } else if found.plain && MARKS.contains(&mark) {
        let hint = if mark.eq_ignore_ascii_case("x") {
            "write `[x]`, without spaces inside"
        } else {
            "use `[x]` for done and `[ ]` for open; there are no other marks"
        };
        diagnostics.warning(span, told, hint);
    }
}

/// Warns about a heading that begins with an open box.
pub(super) fn heading(segments: &[Segment<'_>], diagnostics: &mut Diagnostics<'_>) {
    let Some(first) = segments.first() else { return };
    let text = first.text.trim_start_matches('#').trim_start_matches(is_invisible);
    let Some(found) = BoxLike::read(text).filter(BoxLike::is_open) else { return };
    let start = first.start + (first.text.len() - text.len());
    let hint = "write the criterion as a list item, `- [ ] text`, below the heading";
    let message = "this checkbox is in a heading";
    diagnostics.unread(start..start + found.shown.len(), message, hint);
}

/// Warns about lines that a person reads as an open box or, in a criterion, as a check, as Markdown
/// shows them: without its escapes, entities, and tags.
pub(super) fn rendered<'l, 't: 'l>(
    lines: impl Iterator<Item = (&'l str, &'l Segment<'t>)>,
    in_criterion: bool,
    diagnostics: &mut Diagnostics<'_>,
) {
    for (line, segment) in lines {
        let (_, rest) = split_bullet(line);
        let (_, rest) = split_label(rest);
        if let Some(found) = BoxLike::read(rest)
            && found.is_open()
            && !found.inner.is_empty()
            && found.stands_alone()
        {
            let message = "this looks like a criterion, but is not read as one".to_owned();
            let hint = "write `- [ ] text`: the box comes first, with plain spaces around it";
            diagnostics.of_box(&found, segment.span(), message, hint.to_owned());
        } else if in_criterion && (names_check(line) || within(line).is_some()) {
            let message = "this is not read as a verify command";
            let hint = "write `- verify: …`, indented below its criterion";
            diagnostics.unread(segment.span(), message, hint);
        }
    }
}

/// Splits off a label before a box: `TODO`, `Task 3:`.
fn split_label(text: &str) -> (&str, &str) {
    let at = text.find(['[', '☐', '□', '⬜']).unwrap_or(0);
    let label = text[..at].trim_end();
    let is_word = label.chars().all(|it| it.is_ascii_uppercase());
    let is_label = is_word || label.ends_with(':') && label.split(' ').count() <= 3;
    text.split_at(if is_label { at } else { 0 })
}

/// Does a line begin with the word `verify` and a sign or a command in code?
fn names_check(line: &str) -> bool {
    let text = line.trim_start_matches(|it: char| !it.is_alphanumeric());
    let Some((word, rest)) = text.split_at_checked(6) else { return false };
    let rest = rest.trim_start_matches(['`', '*', '_']);
    let ends = !rest.starts_with(|it: char| it.is_alphanumeric() || it == '-' || it == '_');
    let sign = rest.trim_start_matches(is_invisible);
    let is_sign = sign.starts_with([':', ';', '=', '→', '⇒', '：', '|']);
    word.eq_ignore_ascii_case("verify") && ends && (is_sign || is_command_next(sign))
}

/// Warns about a check in indented code or in a comment below a criterion.
pub(super) fn hidden_check(segments: &[Segment<'_>], diagnostics: &mut Diagnostics<'_>) {
    let text = |it: &Segment<'_>| is_verify(it.text.trim_start_matches("<!--").trim_start());
    if let Some(segment) = segments.iter().find(|it| text(it)) {
        let message = "this is not read as a verify command: it is in code or a comment";
        let hint = "make it a list item below the criterion: `- verify: …`";
        diagnostics.unread(segment.span(), message, hint);
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
    diagnostics.unread(brackets, message, hint);
}

/// Warns about a criterion whose text contains what a person would read as its check.
pub(super) fn check_within(segments: &[Segment<'_>], diagnostics: &mut Diagnostics<'_>) {
    for segment in segments {
        if let Some(start) = within(segment.text) {
            let span = segment.start + start..segment.start + segment.text.len();
            let message =
                "this is not read as a verify command: it is part of the criterion's text";
            let hint = "make it a list item below the criterion: `- verify: …`";
            diagnostics.unread(span, message, hint);
        }
    }
}

/// Is this `verify:` with leftover emphasis, as in `verify**:` or `verify:**`?
fn is_styled_verify(text: &str) -> bool {
    let word = text.get(..6).unwrap_or_default();
    let rest = text.get(6..).unwrap_or_default().trim_start_matches(['*', '_', '`']);
    word.eq_ignore_ascii_case("verify") && rest.starts_with(':')
}

/// Is this `verify:` misspelled, with another sign than its colon, or a command behind another
/// word?
fn is_other_word(text: &str) -> bool {
    const SIGNS: [&str; 10] = ["→", "->", "=>", "⇒", "=", "：", "–", "—", "-", "|"];
    let end = text.find(|it: char| !it.is_alphanumeric() && it != '_').unwrap_or(text.len());
    let (word, rest) = (text[..end].to_lowercase(), text[end..].trim_start_matches(is_invisible));
    let (has_colon, rest) = match rest.strip_prefix(':') {
        Some(rest) => (true, rest.trim_start()),
        None => (false, rest),
    };
    let has_sign = SIGNS.iter().any(|sign| rest.starts_with(sign));
    let is_command = rest.starts_with('`') && rest.ends_with('`');
    let is_misspelled = word.len() > 4 && strsim::damerau_levenshtein(&word, "verify") <= 2;
    match word.as_str() {
        "verify" => has_colon || has_sign || is_command,
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
            diagnostics.unread(
                segment.span(),
                "this is not read as a verify command: it continues the text above",
                "make it a list item below its criterion: `- verify: …`",
            );
            continue;
        }
        let (bullet, rest) = split_bullet(segment.text);
        let Some(found) = BoxLike::read(rest) else { continue };
        // A list marker makes more of it: prose may begin with brackets, too.
        let is_sign = !found.plain && found.inner == " ";
        let boxlike = if bullet.is_empty() && !is_sign { found.is_box() } else { found.is_open() };
        if (boxlike || found.is_box()) && found.stands_alone() {
            let end = segment.start + (segment.text.len() - found.after.len());
            let hint = "write `- [ ] text`, with both spaces; the list may also need an empty line before it, or less indentation";
            let message = "this looks like a criterion, but is not a list item".to_owned();
            diagnostics.of_box(&found, segment.start..end, message, hint.to_owned());
        }
    }
}

/// Warns about a check in a fenced code block: one that is labelled as a check, or, below a
/// criterion, one that begins like a check.
pub(super) fn fenced_check(
    info: &str,
    lines: &[Segment<'_>],
    in_criterion: bool,
    diagnostics: &mut Diagnostics<'_>,
) {
    let label = info.split_whitespace().next().unwrap_or_default().to_ascii_lowercase();
    let is_shell = ["", "sh", "bash", "zsh", "shell", "console"].contains(&label.as_str());
    let inside = lines.iter().skip(1).find(|line| is_verify(line.text));
    let found = match inside.filter(|_| in_criterion && is_shell) {
        None if label == "verify" => lines.first(),
        found => found,
    };
    if let Some(line) = found {
        let message = "this is not read as a verify command: it is in a code block";
        let hint = "make it a list item below the criterion: `- verify: …`";
        diagnostics.unread(line.span(), message, hint);
    }
}

/// A place where a list can end up unnoticed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Hidden {
    /// An indented code block.
    Code,
    /// An HTML block.
    Html,
    /// A fenced code block without an end.
    Fence,
    /// A table.
    Table,
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
        Hidden::Fence => (
            "this checkbox is in a code block that never ends",
            "end the code block above it with the same fence, on a line of its own",
        ),
        Hidden::Table => (
            "this checkbox is in a table, where there are no criteria",
            "write the criterion as a list item: `- [ ] text`",
        ),
    };
    let first = segments.first().map(|segment| segment.text.to_ascii_lowercase());
    if first.is_some_and(|text| LEFT_ALONE.iter().any(|start| text.starts_with(start))) {
        return;
    }
    for segment in segments {
        let (bullet, rest) = split_bullet(segment.text);
        if let Some(found) = BoxLike::read(rest)
            && match place {
                // A page shows an input, and other signs in a table or HTML, as they are.
                Hidden::Html | Hidden::Table if !found.plain => {
                    found.is_open() && !found.inner.is_empty()
                }
                Hidden::Table => (found.is_box() || found.is_open()) && !bullet.is_empty(),
                Hidden::Html | Hidden::Code | Hidden::Fence => found.is_box() && !bullet.is_empty(),
            }
        {
            let end = segment.start + (segment.text.len() - found.after.len());
            diagnostics.of_box(&found, segment.start..end, message.to_owned(), hint.to_owned());
        }
    }
}

/// Splits off what people and editors write as a bullet or number at the start of a text: `\-`, `◦`,
/// `a.`, `(1)`, a table's bar, an HTML tag.
fn split_bullet(text: &str) -> (&str, &str) {
    let mut end = 0;
    while let Some(c) = text[end..].chars().next().filter(|_| BoxLike::read(&text[end..]).is_none())
    {
        let number = text[end..].chars().take_while(|c| c.is_alphanumeric()).count();
        let after = text[end..].trim_start_matches(char::is_alphanumeric);
        end = match c {
            '<' => match text[end..].find('>') {
                Some(close) => end + close + 1,
                None => break,
            },
            '`' => break,
            _ if number == 0 => end + c.len_utf8(),
            _ if number <= 3 && after.starts_with(['.', ')', ':']) => text.len() - after.len() + 1,
            _ => break,
        };
    }
    if end == text.len() || BoxLike::read(&text[end..]).is_none() {
        end = 0;
    }
    let (bullet, rest) = text.split_at(end);
    (if bullet.chars().all(is_invisible) { "" } else { bullet }, rest)
}
