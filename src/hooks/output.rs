//! The JSON objects in a hook's output.
//!
//! Invariant: finds an object on one line or several, among other text, and after a byte order
//! mark; output with a broken object is distinguished from output without one. Not in this file:
//! the meaning of an object.

use serde_json::{Map, Value};

/// The byte order mark, with which some systems begin a text.
const MARK: char = '\u{feff}';

/// Whether the output is UTF-8 text. UTF-16 is either invalid as UTF-8 or full of zero bytes.
pub(super) fn is_text(output: &str) -> bool {
    !output.contains(['\0', char::REPLACEMENT_CHARACTER])
}

/// Whether the output has a JSON object, or no line that looks like one.
pub(super) fn is_understood(output: &str) -> bool {
    let space = |letter: char| letter.is_whitespace() || letter == MARK;
    !objects(output).is_empty()
        || !output.lines().any(|line| line.trim_start_matches(space).starts_with('{'))
}

/// The JSON objects that start at the beginning of a line, each with its text.
pub(super) fn objects(output: &str) -> Vec<(&str, Map<String, Value>)> {
    let mut found = Vec::new();
    let mut at = 0;
    while at < output.len() {
        let line = &output[at..];
        let indent = line.len() - line.trim_start_matches([' ', '\t', '\r', MARK]).len();
        let rest = &line[indent..];
        let mut stream = serde_json::Deserializer::from_str(rest).into_iter::<Map<String, Value>>();
        match (rest.starts_with('{'), stream.next()) {
            (true, Some(Ok(value))) => {
                let end = stream.byte_offset();
                found.push((&rest[..end], value));
                at += indent + end;
            }
            (_, _) => at += line.find('\n').map_or(line.len(), |end| end + 1),
        }
    }
    found
}
