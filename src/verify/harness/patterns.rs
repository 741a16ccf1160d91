//! Patterns of this program's own.

use regex::Regex;

/// A pattern that is known to be valid.
pub(super) fn regex(pattern: &str) -> Regex {
    Regex::new(pattern).expect("a valid pattern")
}
