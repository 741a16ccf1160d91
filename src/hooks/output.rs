//! The JSON in what a hook printed.
//!
//! Invariant: an object is found whether it stands alone, on several lines or among others.
//! What it decides does NOT live here.

use serde_json::{Map, Value};

/// The JSON objects that begin at the beginning of a line, each with its text.
pub(super) fn objects(output: &str) -> Vec<(&str, Map<String, Value>)> {
    let mut found = Vec::new();
    let mut at = 0;
    while at < output.len() {
        let line = &output[at..];
        let indent = line.len() - line.trim_start_matches([' ', '\t', '\r']).len();
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
