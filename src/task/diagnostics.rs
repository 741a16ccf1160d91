//! Collects diagnostics while a file is read.

use std::ops::Range;

use super::lines::Lines;
use crate::model::{Diagnostic, Severity};

/// The longest piece of the user's text that a message repeats, in characters.
const QUOTED: usize = 60;

/// The diagnostics made so far on one file.
pub(super) struct Diagnostics<'a> {
    lines: &'a Lines<'a>,
    list: Vec<Diagnostic>,
}

impl<'a> Diagnostics<'a> {
    /// No diagnostics yet.
    pub(super) fn on(lines: &'a Lines<'a>) -> Self {
        Self { lines, list: Vec::new() }
    }

    /// The file cannot be used because of this.
    pub(super) fn error(
        &mut self,
        span: Range<usize>,
        message: impl Into<String>,
        hint: impl Into<String>,
    ) {
        self.add(Severity::Error, span, message.into(), hint.into());
    }

    /// The file can be used, but probably says something else than was meant.
    pub(super) fn warning(
        &mut self,
        span: Range<usize>,
        message: impl Into<String>,
        hint: impl Into<String>,
    ) {
        self.add(Severity::Warning, span, message.into(), hint.into());
    }

    fn add(&mut self, severity: Severity, span: Range<usize>, message: String, hint: String) {
        let (line, column) = self.lines.position(span.start);
        self.list.push(Diagnostic { severity, line, column, message, hint: Some(hint), span });
    }

    /// All diagnostics, errors first, each kind in the order of the file.
    pub(super) fn finish(mut self) -> Vec<Diagnostic> {
        self.list.sort_by_key(|remark| (remark.severity != Severity::Error, remark.span.start));
        self.list
    }
}

/// A piece of the user's text for a message: one line, bounded.
pub(super) fn quote(text: &str) -> String {
    match text.char_indices().nth(QUOTED) {
        Some((end, _)) => format!("`{}…`", &text[..end]),
        None => format!("`{text}`"),
    }
}
