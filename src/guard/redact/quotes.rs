//! Where a quoted value ends: other quotes, and escaped ones, are part of it.
//!
//! Invariant: the border of a JSON string that encloses a value is never crossed, so that JSON
//! stays JSON.

/// A value in quotes.
#[derive(Debug)]
struct Quoted<'t> {
    /// The quote, with the backslashes that stand before it in a text that was quoted itself.
    open: &'t str,
    /// Where the value begins.
    from: usize,
}

/// How a value in quotes ends.
#[derive(Debug, PartialEq, Eq)]
enum End {
    /// At its own quote.
    Closed(usize),
    /// Its own quote is missing.
    Cut {
        /// The first quote of another kind, which may be a border; else as `line`.
        border: usize,
        /// Where the line ends, the text, or the string that encloses the value.
        line: usize,
        /// Whether the value may go on in the next line.
        goes_on: bool,
    },
}

impl Quoted<'_> {
    fn end(&self, text: &str, strings: &mut Strings<'_>) -> End {
        let bytes = text.as_bytes();
        let level = self.open.len() - 1;
        let quote = bytes[self.from - 1];
        let enclosed = quote != b'"' && strings.is_inside(self.from - self.open.len());
        let mut border = None;
        let mut slashes = 0;
        let cut = |border: Option<usize>, line: usize, goes_on: bool| End::Cut {
            border: border.unwrap_or(line),
            line,
            goes_on: goes_on && level == 0,
        };
        for (at, byte) in bytes.iter().enumerate().skip(self.from) {
            match byte {
                b'\\' => {
                    slashes += 1;
                    continue;
                }
                b'\n' => return cut(border, at - slashes, true),
                byte if *byte == quote => {
                    // As many backslashes as before the first quote, behind whole escaped ones.
                    if slashes % (2 * (level + 1)) == level {
                        return End::Closed(at - level);
                    }
                    if encloses(slashes, level) {
                        return cut(border, at - slashes, false);
                    }
                }
                b'"' if enclosed && slashes % 2 == 0 => return cut(border, at - slashes, false),
                b'"' | b'\'' | b'`' => border = border.or(Some(at - slashes)),
                _ => {}
            }
            slashes = 0;
        }
        cut(border, text.len() - slashes, true)
    }
}

/// Where a quoted value may end.
#[derive(Debug)]
pub(super) struct QuotedEnds {
    /// The possible ends, the likeliest first.
    pub(super) candidates: Vec<usize>,
    /// Whether the value may continue after the text.
    pub(super) goes_on: bool,
}

/// Where the value ends that begins at `from`, after the quote `open`.
pub(super) fn quoted_ends(
    text: &str,
    from: usize,
    open: &str,
    strings: &mut Strings<'_>,
) -> QuotedEnds {
    let one = |end: usize| QuotedEnds { candidates: vec![end], goes_on: false };
    let close: &[char] = match open {
        "‘" => &['’', '\n'],
        "«" => &['»', '\n'],
        "‹" => &['›', '\n'],
        "“" | "„" => &['”', '“', '\n'],
        triple if triple.matches(['"', '\'']).count() >= 3 => {
            return triple_ends(text, from, triple, strings);
        }
        _ => return plain_ends(text, &Quoted { open, from }, strings),
    };
    let border = enclosing_end(text, from, strings.is_inside(from - open.len()));
    one(text[from..border].find(close).map_or(border, |to| from + to))
}

fn plain_ends(text: &str, quoted: &Quoted<'_>, strings: &mut Strings<'_>) -> QuotedEnds {
    match quoted.end(text, strings) {
        End::Closed(end) => QuotedEnds { candidates: vec![end], goes_on: false },
        End::Cut { border, line, goes_on } => {
            let quote = char::from(text.as_bytes()[quoted.from - 1]);
            match closed_later(text, line, quote) {
                Later::At(end) if goes_on => {
                    QuotedEnds { candidates: vec![end, line, border], goes_on: false }
                }
                later => QuotedEnds {
                    candidates: vec![line, border],
                    goes_on: line == text.len() || goes_on && later == Later::Unknown,
                },
            }
        }
    }
}

/// The same behind three quotes: the value may have any number of lines, unless a string of
/// JSON encloses it.
fn triple_ends(text: &str, from: usize, open: &str, strings: &mut Strings<'_>) -> QuotedEnds {
    let enclosed =
        open.starts_with('\\') || open.starts_with('\'') && strings.is_inside(from - open.len());
    let border = enclosing_end(text, from, enclosed);
    let closed = text[from..border].find(open);
    let end = closed.map_or(border, |end| from + end);
    QuotedEnds { candidates: vec![end], goes_on: closed.is_none() && border == text.len() }
}

/// Where the string of JSON ends that encloses a place, or else the text.
fn enclosing_end(text: &str, from: usize, enclosed: bool) -> usize {
    let mut slashes = 0;
    for (at, byte) in text.bytes().enumerate().skip(from).take_while(|_| enclosed) {
        match byte {
            b'\\' => slashes += 1,
            b'\n' => return at - slashes,
            b'"' if slashes % 2 == 0 => return at - slashes,
            _ => slashes = 0,
        }
    }
    text.len()
}

/// The position of the quote that closes a value of several lines.
#[derive(Debug, PartialEq, Eq)]
enum Later {
    At(usize),
    /// The next quote opens something else.
    Nowhere,
    /// The text ends before.
    Unknown,
}

/// Finds the quote that closes a value whose first line ends at `line`.
fn closed_later(text: &str, line: usize, quote: char) -> Later {
    let lines = &text[line..];
    let Some(found) = lines.find(quote) else { return Later::Unknown };
    let (before, after) = (&lines[..found], &lines[found + quote.len_utf8()..]);
    // An opening quote follows a sign or a blank, and precedes a word.
    let own_line = before.rsplit('\n').next().is_some_and(|head| head.trim().is_empty());
    let opens = !own_line && before.ends_with([' ', '\t', '=', ':', '(', '[', '{', ',', '\\']);
    let ends = after.is_empty() || after.starts_with(['\n', '\r', ' ', ',', ';', ')', '}', ']']);
    if ends && !opens { Later::At(line + found) } else { Later::Nowhere }
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
                // An escaped character is not a border; a line break always is.
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
            let end = match (Quoted { open, from }).end(&text, &mut Strings::new(&text)) {
                End::Closed(end) | End::Cut { border: end, .. } => end,
            };
            assert_eq!(&text[from..end], value, "{text}");
        }
    }
}
