//! The JSON in what a hook printed.
//!
//! Invariant: an object is found whether it stands alone, on several lines or among others,
//! and behind the mark that some systems begin a text with; what may hold one and cannot be
//! read is told from what holds none. What an object decides does NOT live here.

use serde_json::{Map, Value};

/// The mark of byte order, which some systems begin a text with.
const MARK: char = '\u{feff}';

/// Whether what was printed is a text in UTF-8: of UTF-16 the bytes are not, or they are full
/// of zeros, and nobody can tell what it says.
pub(super) fn is_text(output: &str) -> bool {
    !output.contains(['\0', char::REPLACEMENT_CHARACTER])
}

/// Whether a text of which some lines look like JSON has any that could be read.
pub(super) fn is_understood(output: &str) -> bool {
    let space = |letter: char| letter.is_whitespace() || letter == MARK;
    !objects(output).is_empty()
        || !output.lines().any(|line| line.trim_start_matches(space).starts_with('{'))
}

/// The JSON objects that begin at the beginning of a line, each with its text.
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
