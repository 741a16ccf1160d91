//! The list of diagnostics that grows while a file is read.

use std::ops::Range;

use super::lines::Lines;
use crate::model::{Diagnostic, Severity};

/// The longest piece of the user's text that a message repeats, in characters.
const QUOTED: usize = 60;

/// The diagnostics of one file so far.
pub(super) struct Diagnostics<'a> {
    lines: &'a Lines<'a>,
    list: Vec<Diagnostic>,
}

impl<'a> Diagnostics<'a> {
    /// An empty list for the file with these lines.
    pub(super) fn on(lines: &'a Lines<'a>) -> Self {
        Self { lines, list: Vec::new() }
    }

    /// Adds an error: the task cannot be used.
    pub(super) fn error(
        &mut self,
        span: Range<usize>,
        message: impl Into<String>,
        hint: impl Into<String>,
    ) {
        self.add(Severity::Error, span, message.into(), hint.into());
    }

    /// Adds a warning: the task can be used, but probably says something unintended.
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

    /// Returns all diagnostics: errors first, then warnings, each in file order.
    pub(super) fn finish(mut self) -> Vec<Diagnostic> {
        self.list.sort_by_key(|it| (it.severity != Severity::Error, it.span.start));
        self.list
    }
}

/// Quotes a piece of the user's text for a message, cut to a bounded length.
pub(super) fn quote(text: &str) -> String {
    match text.char_indices().nth(QUOTED) {
        Some((end, _)) => format!("`{}…`", &text[..end]),
        None => format!("`{text}`"),
    }
}
