//! A remark on a file of the user, with its place.

use serde::{Deserialize, Serialize};

/// The severity of a diagnostic.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    /// The file cannot be used.
    Error,
    /// The file can be used, but probably has a mistake.
    Warning,
}

/// One remark: place, message, and one hint.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Diagnostic {
    /// Error or warning.
    pub severity: Severity,
    /// 1-based line in the file.
    pub line: usize,
    /// 1-based column, counted in characters.
    pub column: usize,
    /// The problem, one sentence without a full stop.
    pub message: String,
    /// The remedy.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
    /// Byte range in the source that the carets mark.
    #[serde(skip)]
    pub span: std::ops::Range<usize>,
    /// A person would read this as an open criterion or as a check, and the runner does not. A run
    /// refuses to start with it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub unread: bool,
}
