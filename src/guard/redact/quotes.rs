//! Where a quoted value ends: other quotes, and escaped ones, are part of it.
//!
//! Invariant: the border of a JSON string that encloses a value is never crossed, so that
//! JSON stays JSON.

/// A value in quotes.
#[derive(Debug)]
pub(super) struct Quoted<'t> {
    /// The quote, with the backslashes that stand before it in a text that was quoted itself.
    pub(super) open: &'t str,
    /// Where the value begins.
    pub(super) from: usize,
}

impl Quoted<'_> {
    /// Where the value ends: at its quote, or else at whatever may be a border.
    pub(super) fn end(&self, text: &str, strings: &mut Strings<'_>) -> usize {
        let bytes = text.as_bytes();
        let level = self.open.len() - 1;
        let quote = bytes[self.from - 1];
        let enclosed = quote != b'"' && strings.is_inside(self.from - self.open.len());
        // Where the value ends if its own quote does not come.
        let mut border = None;
        let mut slashes = 0;
        for (at, byte) in bytes.iter().enumerate().skip(self.from) {
            match byte {
                b'\\' => {
                    slashes += 1;
                    continue;
                }
                b'\n' => return border.unwrap_or(at - slashes),
                byte if *byte == quote => {
                    // As many backslashes as before the first quote, behind whole escaped ones.
                    if slashes % (2 * (level + 1)) == level {
                        return at - level;
                    }
                    if encloses(slashes, level) {
                        return border.unwrap_or(at - slashes);
                    }
                }
                b'"' if enclosed && slashes % 2 == 0 => return border.unwrap_or(at - slashes),
                b'"' | b'\'' | b'`' => border = border.or(Some(at - slashes)),
                _ => {}
            }
            slashes = 0;
        }
        border.unwrap_or(text.len() - slashes)
    }
}

/// Whether a quote behind so many backslashes ends a text that was quoted less often than
/// the value, and so ends the value, too.
fn encloses(slashes: usize, level: usize) -> bool {
    let outer = std::iter::successors(Some(0), |outer| Some(2 * outer + 1));
    outer.take_while(|outer| *outer < level).any(|outer| slashes % (2 * (outer + 1)) == outer)
}

/// Knows whether a place is inside a string, as JSON writes them: within a line, between two
/// quotes. Asked from left to right, it reads the text once.
#[derive(Debug)]
pub(super) struct Strings<'t> {
    text: &'t str,
    at: usize,
    inside: bool,
}

impl<'t> Strings<'t> {
    pub(super) fn new(text: &'t str) -> Self {
        Self { text, at: 0, inside: false }
    }

    /// Whether `place` is inside a string; it is not before the one that was asked last.
    fn is_inside(&mut self, place: usize) -> bool {
        let bytes = self.text.as_bytes();
        while self.at < place {
            match bytes[self.at] {
                b'\n' => self.inside = false,
                b'"' => self.inside = !self.inside,
                // What is escaped is no border; a line break always is one.
                b'\\' if self.inside && bytes.get(self.at + 1) != Some(&b'\n') => self.at += 1,
                _ => {}
            }
            self.at += 1;
        }
        self.inside
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_ends_with_its_own_quote_and_never_behind_the_string_around_it() {
        for (before, value, after) in [
            ("\"", "it's1", "\",\"a\":1"),
            ("\"", "a\\\"b1", "\"}"),
            ("\"", "a\\\\", "\",\"b\":\"\\\"\""),
            ("'", "abc\"def", "'"),
            ("\"", "a`b", "\""),
            ("\\\"", "a\\\\\\\"b", "\\\"}\""),
            ("\\\"", "a'b", "\\\","),
            ("\\\"", "cut", "\",\"b\":\"\\\"x"),
            ("\\\"", "cut", "\\\\\",\"b\":\"\\\"x"),
            ("{\"m\":\"password='", "abc", "\",\"b\":[\"it's\"]}"),
            ("{\"m\":\"password='", "abc\\\"d", "' x\"}"),
            ("'", "open", "\"x\nit's"),
            ("\"", "open", "\nx\""),
            ("\"", "open", ""),
        ] {
            let text = format!("{before}{value}{after}");
            let from = before.len();
            let open = if before.starts_with('{') { "'" } else { before };
            let end = Quoted { open, from }.end(&text, &mut Strings::new(&text));
            assert_eq!(&text[from..end], value, "{text}");
        }
    }
}
