//! Converts byte offsets to 1-based lines and columns, with columns counted in characters.
//!
//! Invariant: lines end where Markdown ends them, at `\n`, `\r\n` or a lone `\r`, so the numbers
//! agree with the parser's. A byte order mark is not part of any column.

use std::ops::Range;

/// The byte order mark, in UTF-8.
const BOM: &str = "\u{feff}";

/// The byte offsets at which the lines of a text begin.
pub(super) struct Lines<'a> {
    source: &'a str,
    starts: Vec<usize>,
}

impl<'a> Lines<'a> {
    /// Finds the start of each line.
    pub(super) fn of(source: &'a str) -> Self {
        let bytes = source.as_bytes();
        let mut starts = vec![if source.starts_with(BOM) { BOM.len() } else { 0 }];
        for (at, byte) in bytes.iter().enumerate() {
            let ends = *byte == b'\n' || (*byte == b'\r' && bytes.get(at + 1) != Some(&b'\n'));
            if ends {
                starts.push(at + 1);
            }
        }
        Self { source, starts }
    }

    /// The text.
    pub(super) fn source(&self) -> &'a str {
        self.source
    }

    /// The number of lines; an empty text has one.
    pub(super) fn count(&self) -> usize {
        self.starts.len()
    }

    /// The 1-based line of an offset.
    pub(super) fn line_at(&self, offset: usize) -> usize {
        self.starts.partition_point(|start| *start <= offset).max(1)
    }

    /// The 1-based line and column of an offset.
    pub(super) fn position(&self, offset: usize) -> (usize, usize) {
        let line = self.line_at(offset);
        let start = self.starts[line - 1];
        let before = self.source.as_bytes().get(start..offset).unwrap_or_default();
        // UTF-8 continuation bytes begin with the bits 10.
        (line, before.iter().filter(|byte| **byte & 0xC0 != 0x80).count() + 1)
    }

    /// The bytes of a 1-based line, without its line ending.
    pub(super) fn range(&self, line: usize) -> Range<usize> {
        let start = self.starts[line - 1];
        let end = self.starts.get(line).copied().unwrap_or(self.source.len());
        let text = &self.source[start..end];
        start..start + text.trim_end_matches(['\r', '\n']).len()
    }

    /// The start of the line after a 1-based line, or the end of the text.
    pub(super) fn next_start(&self, line: usize) -> usize {
        self.starts.get(line).copied().unwrap_or(self.source.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_end_where_markdown_ends_them() {
        let lines = Lines::of("a\nb\r\nc\rd");
        let texts: Vec<&str> =
            (1..=lines.count()).map(|line| &lines.source()[lines.range(line)]).collect();
        assert_eq!(texts, ["a", "b", "c", "d"]);
        assert_eq!(lines.next_start(2), 5);
        assert_eq!(lines.next_start(4), 8);
    }

    #[test]
    fn columns_count_characters_and_not_the_byte_order_mark() {
        let lines = Lines::of("\u{feff}äß]\n😀x");
        assert_eq!(lines.position(3), (1, 1));
        assert_eq!(lines.position(7), (1, 3));
        assert_eq!(lines.position(13), (2, 2));
        assert_eq!(lines.position(0), (1, 1), "the mark itself is before the first column");
    }

    #[test]
    fn an_empty_text_has_one_empty_line() {
        let lines = Lines::of("");
        assert_eq!((lines.count(), lines.range(1), lines.position(0)), (1, 0..0, (1, 1)));
    }
}
