//! The list of diagnostics that grows while a file is read.

use std::ops::Range;

use super::{lines::Lines, looks_like_box::BoxLike};
use crate::model::{Diagnostic, Severity, in_quotes};

/// The longest piece of the user's text that a message repeats, in characters.
const QUOTED: usize = 60;

/// The diagnostics of one file so far.
pub(super) struct Diagnostics<'a> {
    lines: &'a Lines<'a>,
    list: Vec<Diagnostic>,
    /// Offsets of texts that look like an open criterion.
    boxes: Vec<usize>,
}

impl<'a> Diagnostics<'a> {
    /// An empty list for the file with these lines.
    pub(super) fn on(lines: &'a Lines<'a>) -> Self {
        Self { lines, list: Vec::new(), boxes: Vec::new() }
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

    /// Adds a warning about something that a person would read as an open criterion or a check,
    /// and that is neither: a run refuses to start.
    pub(super) fn unread(
        &mut self,
        span: Range<usize>,
        message: impl Into<String>,
        hint: impl Into<String>,
    ) {
        self.add(Severity::Warning, span, message.into(), hint.into());
        if let Some(last) = self.list.last_mut() {
            last.unread = true;
        }
    }

    /// Adds a warning about a box that is none; an open one would be a criterion.
    pub(super) fn of_box(
        &mut self,
        found: &BoxLike<'_>,
        span: Range<usize>,
        message: String,
        hint: String,
    ) {
        if found.is_open() {
            self.boxes.push(span.start);
            self.unread(span, message, hint);
        } else {
            self.warning(span, message, hint);
        }
    }

    /// The number of diagnostics so far.
    pub(super) fn count(&self) -> usize {
        self.list.len()
    }

    /// Where the first text is that looks like an open criterion.
    pub(super) fn first_box(&self) -> Option<usize> {
        self.boxes.iter().min().copied()
    }

    fn add(&mut self, severity: Severity, span: Range<usize>, message: String, hint: String) {
        let (line, column) = self.lines.position(span.start);
        let hint = Some(hint);
        self.list.push(Diagnostic { severity, line, column, message, hint, span, unread: false });
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
        Some((end, _)) => in_quotes(&format!("{}…", &text[..end])),
        None => in_quotes(text),
    }
}
