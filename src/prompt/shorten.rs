//! Shortens long texts to fit into a prompt.
//!
//! Invariant: a cut never splits a character, falls between lines if a line break is near, and is
//! replaced by a line that gives the number of missing bytes.

use std::ops::Range;

/// The longest marker line for a cut, with its line breaks, in bytes.
const MARKER: usize = 64;

/// How far a cut may move to reach a line break, in bytes.
const NEAR: usize = 200;

/// The part of a text to keep.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CutStyle {
    /// The beginning.
    Head,
    /// The end.
    Tail,
    /// The beginning and the end equally.
    Ends,
    /// The beginning, and the text around this 1-based line.
    Around(usize),
}

/// A text after cutting.
pub(super) struct Shortened {
    /// The text, with a marker line in place of each cut.
    pub(super) text: String,
    /// Number of bytes left out.
    pub(super) left_out: usize,
}

/// Cuts a text to `limit` bytes. With a limit below about 130 bytes only the marker line
/// remains. A text shorter than a marker line is never cut.
pub(super) fn shorten(text: &str, limit: usize, keep: CutStyle) -> Shortened {
    if text.len() <= limit.max(MARKER) {
        return Shortened { text: text.to_owned(), left_out: 0 };
    }
    let room = limit.saturating_sub(2 * MARKER);
    let end = text.len();
    let kept = match keep {
        CutStyle::Head => [0..room, end..end],
        CutStyle::Tail => [0..0, end - room..end],
        CutStyle::Ends => [0..room / 2, end - room / 2..end],
        CutStyle::Around(line) => around(text, room, line),
    };
    join(text, kept)
}

/// Keeps the beginning of the text, and uses the remaining room for the text around a line.
fn around(text: &str, room: usize, line: usize) -> [Range<usize>; 2] {
    let focus = line_range(text, line);
    let head = room / 4;
    let window = room - head;
    let margin = window.saturating_sub(focus.len()) / 2;
    let start = focus.start.saturating_sub(margin).min(text.len() - window);
    if start <= head { [0..room, text.len()..text.len()] } else { [0..head, start..start + window] }
}

/// The bytes of a 1-based line, or of the last line if there are fewer.
fn line_range(text: &str, line: usize) -> Range<usize> {
    let mut range = 0..0;
    for found in text.split_inclusive('\n').take(line.max(1)) {
        range = range.end..range.end + found.len();
    }
    range
}

/// Joins the kept pieces, with a marker line in each gap.
fn join(text: &str, kept: [Range<usize>; 2]) -> Shortened {
    let mut shown = String::new();
    let (mut at, mut left_out) = (0, 0);
    let mut gap = |shown: &mut String, bytes: usize| {
        if bytes > 0 {
            if !shown.is_empty() && !shown.ends_with('\n') {
                shown.push('\n');
            }
            shown.push_str(&format!("[… {bytes} bytes left out …]\n"));
            left_out += bytes;
        }
    };
    for piece in kept {
        let start = if piece.start == 0 { 0 } else { line_start_after(text, piece.start) };
        let end =
            if piece.end == text.len() { piece.end } else { line_end_before(text, piece.end) };
        if start < end {
            gap(&mut shown, start - at);
            shown.push_str(&text[start..end]);
            at = end;
        }
    }
    gap(&mut shown, text.len() - at);
    Shortened { text: shown, left_out }
}

fn line_start_after(text: &str, at: usize) -> usize {
    let at = text.ceil_char_boundary(at);
    let near = text.floor_char_boundary(at + NEAR);
    if text[..at].ends_with('\n') {
        return at;
    }
    text[at..near].find('\n').map_or(at, |newline| at + newline + 1)
}

fn line_end_before(text: &str, at: usize) -> usize {
    let at = text.floor_char_boundary(at);
    let near = text.ceil_char_boundary(at.saturating_sub(NEAR));
    text[near..at].rfind('\n').map_or(at, |newline| near + newline + 1)
}

/// The last lines of a text.
pub(super) fn last_lines(text: &str, count: usize) -> &str {
    let ends = text.trim_end().rmatch_indices('\n');
    let start = ends.map(|(at, _)| at + 1).nth(count.saturating_sub(1)).unwrap_or(0);
    &text[start..]
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A hundred lines of eleven bytes: `line 1…    `.
    fn hundred() -> String {
        (1..=100).map(|number| format!("{:<10}\n", format!("line {number}"))).collect()
    }

    fn lines_of(text: &str) -> Vec<&str> {
        text.lines().map(str::trim_end).collect()
    }

    #[test]
    fn a_text_that_fits_is_not_cut() {
        let text = hundred();
        let short = shorten(&text, text.len(), CutStyle::Head);
        assert_eq!((short.text, short.left_out), (text, 0));
        let short = shorten("a short text", 0, CutStyle::Tail);
        assert_eq!((short.text.as_str(), short.left_out), ("a short text", 0));
    }

    #[test]
    fn each_style_marks_its_cuts() {
        let text = hundred();
        let cut = |keep| shorten(&text, 128 + 44, keep);
        let head = cut(CutStyle::Head);
        assert_eq!(
            lines_of(&head.text),
            ["line 1", "line 2", "line 3", "line 4", "[… 1056 bytes left out …]"]
        );
        assert_eq!(head.left_out, 1056);
        assert_eq!(
            lines_of(&cut(CutStyle::Tail).text),
            ["[… 1056 bytes left out …]", "line 97", "line 98", "line 99", "line 100"]
        );
        assert_eq!(
            lines_of(&cut(CutStyle::Ends).text),
            ["line 1", "line 2", "[… 1056 bytes left out …]", "line 99", "line 100"]
        );
        let around = cut(CutStyle::Around(50));
        assert_eq!(
            lines_of(&around.text),
            [
                "line 1",
                "[… 517 bytes left out …]",
                "line 49",
                "line 50",
                "line 51",
                "[… 539 bytes left out …]"
            ]
        );
        assert_eq!(around.left_out, 1056);
    }

    #[test]
    fn the_focus_line_is_always_kept() {
        let text = hundred();
        for line in 1..=100 {
            let short = shorten(&text, 128 + 88, CutStyle::Around(line));
            assert!(lines_of(&short.text).contains(&format!("line {line}").as_str()), "{line}");
            assert!(short.text.len() <= 128 + 88, "{line}: {}", short.text.len());
        }
    }

    #[test]
    fn a_cut_never_splits_a_character() {
        let text = "😀".repeat(500);
        for limit in 0..600 {
            for keep in [CutStyle::Head, CutStyle::Tail, CutStyle::Ends, CutStyle::Around(1)] {
                let short = shorten(&text, limit, keep);
                assert!(short.text.len() <= limit.max(MARKER), "{limit} {keep:?}");
                let kept = short.text.matches('😀').count() * 4;
                assert_eq!(kept + short.left_out, text.len(), "{limit} {keep:?}");
            }
        }
    }

    #[test]
    fn the_last_lines() {
        assert_eq!(last_lines("a\nb\nc\n", 2), "b\nc\n");
        assert_eq!(last_lines("a\nb\nc", 2), "b\nc");
        assert_eq!(last_lines("a\nb", 2), "a\nb");
        assert_eq!(last_lines("", 2), "");
    }
}
