//! Diagnostics as text: the place, the line, a caret, one hint.

use std::ops::Range;

use annotate_snippets::{
    AnnotationKind, Group, Level, Origin, Renderer, Snippet, renderer::DecorStyle,
};

use crate::model::{Diagnostic, Severity};

/// How much of a long line is shown on each side of the caret, in bytes.
const SHOWN: usize = 100;

/// One diagnostic, for people: `path` as it should be shown, then `:line:column`, the
/// line with a caret, and the hint. Plain text; control characters are made visible.
pub fn render_diagnostic(path: &str, source: &str, diagnostic: &Diagnostic) -> String {
    let level = match diagnostic.severity {
        Severity::Error => Level::ERROR,
        Severity::Warning => Level::WARNING,
    };
    let (text, caret) = excerpt(source, &diagnostic.span);
    let place = Origin::path(path).line(diagnostic.line).char_column(diagnostic.column);
    let snippet = Snippet::source(text.as_str())
        .line_start(diagnostic.line)
        .annotation(AnnotationKind::Primary.span(caret));
    let group = Group::with_title(level.primary_title(diagnostic.message.as_str()))
        .element(place)
        .element(snippet);
    let group = match &diagnostic.hint {
        Some(hint) => group.element(Level::HELP.message(hint.as_str())),
        None => group,
    };
    Renderer::plain().decor_style(DecorStyle::Ascii).render(&[group])
}

/// The line a span begins on, cut where it is long, and the span's place in it.
fn excerpt(source: &str, span: &Range<usize>) -> (String, Range<usize>) {
    let start = source.floor_char_boundary(span.start.min(source.len()));
    let ends = |byte: &u8| matches!(byte, b'\n' | b'\r');
    let line_start = source.as_bytes()[..start].iter().rposition(ends).map_or(0, |at| at + 1);
    let line_end =
        source.as_bytes()[start..].iter().position(ends).map_or(source.len(), |at| start + at);
    let from = source.ceil_char_boundary(line_start.max(start.saturating_sub(SHOWN)));
    let to = source.floor_char_boundary(line_end.min(start + SHOWN));
    let dots = |cut: bool| if cut { "…" } else { "" };
    let before = dots(from > line_start);
    let text = format!("{before}{}{}", &source[from..to], dots(to < line_end));
    let shift = |at: usize| before.len() + at - from;
    let end = source.floor_char_boundary(span.end.clamp(start, to));
    let caret = shift(start)..shift(end.max(start));
    let text = match text.strip_prefix('\u{feff}') {
        Some(rest) if caret.start >= 3 => return (rest.to_owned(), caret.start - 3..caret.end - 3),
        Some(rest) => return (rest.to_owned(), 0..0),
        None => text,
    };
    (text, caret)
}
