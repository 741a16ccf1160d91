//! Blocks of Markdown text, line by line.

use std::ops::Range;

/// One line of a block, without indentation, quote marks and trailing blanks.
pub(super) struct Segment<'a> {
    /// Byte offset of the text in the file.
    pub(super) start: usize,
    /// The text.
    pub(super) text: &'a str,
}

impl Segment<'_> {
    /// The segment's bytes in the file.
    pub(super) fn span(&self) -> Range<usize> {
        self.start..self.start + self.text.len()
    }
}

/// Splits the block at `range` into lines. `quotes` is the number of block quotes around it.
pub(super) fn segments(source: &str, range: Range<usize>, quotes: usize) -> Vec<Segment<'_>> {
    let mut segments = Vec::new();
    let mut start = range.start;
    for (number, line) in source[range].split_inclusive(['\n', '\r']).enumerate() {
        let mut text = line.trim_ascii_start();
        // The first line's quote marks are before the block. A lazy continuation line may
        // have fewer marks than the block has quotes.
        for _ in 0..if number == 0 { 0 } else { quotes } {
            match text.strip_prefix('>') {
                Some(rest) => text = rest.trim_ascii_start(),
                None => break,
            }
        }
        let offset = start + (line.len() - text.len());
        segments.push(Segment { start: offset, text: text.trim_ascii_end() });
        start += line.len();
    }
    segments
}
