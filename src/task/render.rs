//! Renders diagnostics as text: the place, the line, a caret, and one hint.

use std::ops::Range;

use annotate_snippets::{AnnotationKind, Group, Level, Renderer, Snippet, renderer::DecorStyle};

use crate::model::{Diagnostic, Severity};

/// Columns to show; a longer line is cut around the caret.
const WIDTH: usize = 120;

/// Renders one diagnostic: the message, `path:line:column`, the line with a caret, and the hint.
/// The result is plain text, with control characters made visible.
pub fn render_diagnostic(path: &str, source: &str, diagnostic: &Diagnostic) -> String {
    let level = match diagnostic.severity {
        Severity::Error => Level::ERROR,
        Severity::Warning => Level::WARNING,
    };
    let (line, caret) = line_of(source, &diagnostic.span);
    let snippet = Snippet::source(line)
        .path(path)
        .line_start(diagnostic.line)
        .annotation(AnnotationKind::Primary.span(caret));
    let group =
        Group::with_title(level.primary_title(diagnostic.message.as_str())).element(snippet);
    let group = match &diagnostic.hint {
        Some(hint) => group.element(Level::HELP.message(hint.as_str())),
        None => group,
    };
    Renderer::plain().decor_style(DecorStyle::Ascii).term_width(WIDTH).render(&[group])
}

/// The line that a span begins on, and the span within that line.
fn line_of<'a>(source: &'a str, span: &Range<usize>) -> (&'a str, Range<usize>) {
    let start = source.floor_char_boundary(span.start.min(source.len()));
    let ends = |byte: &u8| matches!(byte, b'\n' | b'\r');
    let before = &source.as_bytes()[..start];
    let line_start = before.iter().rposition(ends).map_or(0, |at| at + 1);
    let rest = &source.as_bytes()[start..];
    let line_end = rest.iter().position(ends).map_or(source.len(), |at| start + at);
    let end = source.floor_char_boundary(span.end.clamp(start, line_end));
    let line = &source[line_start..line_end];
    // A byte order mark is not part of any column.
    let mark = if line_start == 0 { "\u{feff}" } else { "" };
    let text = line.strip_prefix(mark).unwrap_or(line);
    let place = |at: usize| (at - line_start).saturating_sub(line.len() - text.len());
    (text, place(start)..place(end.max(start)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::task::parse;

    /// All diagnostics of a file.
    fn told(source: &[u8]) -> String {
        let task = parse("t", source);
        let told = task.diagnostics.iter();
        told.map(|it| render_diagnostic("TASK.md", &task.source, it) + "\n\n").collect()
    }

    macro_rules! assert_text {
        ($text:expr) => {
            insta::with_settings!({ omit_expression => true }, { insta::assert_snapshot!($text) })
        };
    }

    #[test]
    fn place_line_caret_and_hint() {
        assert_text!(told(
            "---\r\nverfy: make\r\nmax_iterations: none\r\n---\r\n# Täsk\r\n- [ ] ä\r\n  - verify:\r\n\t- [y] 😀 tab\r\n"
                .as_bytes()
        ));
    }

    #[test]
    fn files_without_a_line_to_show() {
        assert_text!(
            [&b""[..], b"\xef\xbb\xbf", b"\n\n# T", b"- [ ] a\nb\xff\xfec", b"\xff\xfe-\0"]
                .map(told)
                .join("========\n")
        );
    }

    #[test]
    fn a_long_line_is_cut_around_the_caret() {
        let long = "ä".repeat(500_000);
        let source = format!("- [y] {long}\n- [ ] {long}\n- a {long} b\n  [ ] {long}\n");
        let deep = [b"- [ ] ".as_slice(), &vec![b'x'; 1 << 20], b"\xff y"].concat();
        let wide = format!("- [ ] a\n- verify: {}", "y".repeat(1 << 20));
        let text = told(source.as_bytes()) + &told(&deep) + &told(wide.as_bytes());
        assert!(text.lines().all(|line| line.len() < 300), "every line is short");
        assert_text!(text);
    }

    #[test]
    fn control_characters_do_not_reach_the_terminal() {
        let text = told(b"---\n\"a\\eb\": 1\n---\n- [y] \x1b[31mred\x07 \x08\n- [ ] a\n- [ ] a\x1b[0m\n- [ ] a\x1b[0m");
        assert!(!text.contains(|letter: char| letter.is_control() && letter != '\n'), "{text:?}");
        assert!(text.contains("red"));
    }

    #[test]
    fn a_span_from_another_text_does_not_panic() {
        let mut diagnostic = parse("t", b"").diagnostics.remove(0);
        for (start, end) in [(0, 99), (99, 100), (7, 3), (1, 2), (2, 3), (usize::MAX, usize::MAX)] {
            diagnostic.span = start..end;
            assert!(render_diagnostic("T", "ä\nb", &diagnostic).contains("the file is empty"));
        }
    }
}
