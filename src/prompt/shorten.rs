//! Fits long texts into a prompt: what is left out, and where that is said.
//!
//! Invariant: a cut falls between characters, between lines where one is near, and a
//! line in its place says how many bytes are missing.

use std::ops::Range;

/// The most bytes a line about a cut takes, with the line breaks around it.
const MARK: usize = 64;

/// How far a cut may move to fall between lines, in bytes.
const NEAR: usize = 200;

/// Which end of a text matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CutStyle {
    /// The beginning.
    Head,
    /// The end.
    Tail,
    /// Beginning and end alike.
    Ends,
    /// The beginning, and what stands around this 1-based line.
    Around(usize),
}

/// A text that was cut, and how much of it is missing.
pub(super) struct Shortened {
    /// The text with a line at each gap.
    pub(super) text: String,
    /// Bytes left out.
    pub(super) left_out: usize,
}

/// Cuts a text to `limit` bytes; below some 130 bytes only the line about the cut is
/// left, and a text shorter than that line is left alone.
pub(super) fn shorten(text: &str, limit: usize, keep: CutStyle) -> Shortened {
    if text.len() <= limit.max(MARK) {
        return Shortened { text: text.to_owned(), left_out: 0 };
    }
    let room = limit.saturating_sub(2 * MARK);
    let end = text.len();
    let kept = match keep {
        CutStyle::Head => [0..room, end..end],
        CutStyle::Tail => [0..0, end - room..end],
        CutStyle::Ends => [0..room / 2, end - room / 2..end],
        CutStyle::Around(line) => around(text, room, line),
    };
    join(text, kept)
}

/// The beginning of the text, and the rest of the room around a line.
fn around(text: &str, room: usize, line: usize) -> [Range<usize>; 2] {
    let focus = line_range(text, line);
    let head = room / 4;
    let window = room - head;
    let margin = window.saturating_sub(focus.len()) / 2;
    let start = focus.start.saturating_sub(margin).min(text.len() - window);
    if start <= head { [0..room, text.len()..text.len()] } else { [0..head, start..start + window] }
}

/// The bytes of a 1-based line; of the last one where there are fewer.
fn line_range(text: &str, line: usize) -> Range<usize> {
    let mut range = 0..0;
    for found in text.split_inclusive('\n').take(line.max(1)) {
        range = range.end..range.end + found.len();
    }
    range
}

/// Puts the kept pieces together, with a line about each gap.
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
    fn what_fits_is_left_alone() {
        let text = hundred();
        let short = shorten(&text, text.len(), CutStyle::Head);
        assert_eq!((short.text, short.left_out), (text, 0));
        let short = shorten("a short text", 0, CutStyle::Tail);
        assert_eq!((short.text.as_str(), short.left_out), ("a short text", 0));
    }

    #[test]
    fn each_way_of_cutting_says_what_is_missing() {
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
    fn the_focus_stays_wherever_it_is() {
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
                assert!(short.text.len() <= limit.max(MARK), "{limit} {keep:?}");
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
