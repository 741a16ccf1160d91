//! A pattern that is compiled when it is first needed.

use std::sync::OnceLock;

use regex::{Regex, RegexBuilder};

/// Most memory that a pattern's search may take for what it has learned, in bytes: many
/// patterns live side by side, and texts are short.
const LEARNED: usize = 128 << 10;

/// A pattern of the tables.
#[derive(Debug)]
pub(super) struct LazyPattern {
    text: String,
    regex: OnceLock<Option<Regex>>,
}

impl LazyPattern {
    pub(super) fn new(text: impl Into<String>) -> Self {
        Self { text: text.into(), regex: OnceLock::new() }
    }

    /// The pattern, compiled; none if it is broken, and then nothing may pass.
    pub(super) fn get(&self) -> Option<&Regex> {
        let compile = || RegexBuilder::new(&self.text).dfa_size_limit(LEARNED).build().ok();
        self.regex.get_or_init(compile).as_ref()
    }
}
