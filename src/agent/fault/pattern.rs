//! Regular expressions for error text: ASCII, case-insensitive.
//!
//! Invariant: compiled on first use, without Unicode tables, which would take most of the
//! memory. `.` matches a byte; `\w`, `\s`, `\d` and `\b` are ASCII. Other characters appear in
//! alternatives, never in classes.

use std::borrow::Cow;
use std::sync::OnceLock;

use regex::bytes::{Regex, RegexBuilder};

/// One pattern of the tables.
pub(super) struct FaultPattern {
    text: &'static str,
    regex: OnceLock<Regex>,
}

impl FaultPattern {
    pub(super) const fn new(text: &'static str) -> Self {
        Self { text, regex: OnceLock::new() }
    }

    /// The pattern's source.
    #[cfg(test)]
    pub(super) fn text(&self) -> String {
        self.text.to_owned()
    }

    fn get(&self) -> &Regex {
        self.regex.get_or_init(|| {
            let compiled =
                RegexBuilder::new(self.text).case_insensitive(true).unicode(false).build();
            // The patterns are constants, and a test compiles each of them.
            compiled.unwrap_or_else(|error| unreachable!("{error}"))
        })
    }

    pub(super) fn is_match(&self, text: &str) -> bool {
        self.get().is_match(text.as_bytes())
    }

    /// The end of the first match.
    pub(super) fn end(&self, text: &str) -> Option<usize> {
        let end = self.get().find(text.as_bytes())?.end();
        Some(text.ceil_char_boundary(end))
    }

    /// The first `N` groups of the first match, empty where a group did not take part.
    pub(super) fn groups<'t, const N: usize>(&self, text: &'t str) -> Option<[&'t str; N]> {
        let found = self.get().captures(text.as_bytes())?;
        let group = |index: usize| {
            let group = found.get(index + 1);
            group.and_then(|group| text.get(group.range())).unwrap_or_default()
        };
        Some(std::array::from_fn(group))
    }

    /// The text without the matches.
    pub(super) fn taken_from<'t>(&self, text: &'t str) -> Cow<'t, str> {
        match self.get().replace_all(text.as_bytes(), b"") {
            Cow::Borrowed(_) => Cow::Borrowed(text),
            Cow::Owned(bytes) => Cow::Owned(String::from_utf8_lossy(&bytes).into_owned()),
        }
    }

    /// The parts between the matches.
    pub(super) fn split<'t>(&self, text: &'t str) -> impl Iterator<Item = &'t str> {
        let mut parts = Vec::new();
        let mut from = 0;
        for found in self.get().find_iter(text.as_bytes()) {
            parts.extend(text.get(from..found.start()));
            from = found.end();
        }
        parts.extend(text.get(from..));
        parts.into_iter()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn other_signs_than_asciis_are_never_cut_in_two() {
        let pattern = FaultPattern::new(r"^file \S");
        assert_eq!(pattern.end("FILE über"), Some("FILE ü".len()));
        let pattern = FaultPattern::new(r"^(.)(x)?");
        assert_eq!(pattern.groups("über"), Some(["", ""]));
        assert_eq!(pattern.groups("exit"), Some(["e", "x"]));
        let pattern = FaultPattern::new(r"\s*(?:—|,)\s*");
        assert_eq!(pattern.split("ä — ö,ü").collect::<Vec<_>>(), ["ä", "ö", "ü"]);
        assert_eq!(pattern.taken_from("ä — ö,ü"), "äöü");
        assert_eq!(pattern.taken_from("äöü"), "äöü");
    }
}
