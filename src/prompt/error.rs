//! Errors of loading and rendering templates.

use std::path::PathBuf;

/// An error in a template or in the prompt rendered from it.
#[derive(Debug, thiserror::Error)]
pub enum PromptError {
    /// A template's file cannot be read.
    #[error("cannot read template {}: {source}", .path.display())]
    Read {
        /// The file or folder.
        path: PathBuf,
        /// The cause.
        source: std::io::Error,
    },
    /// A file in the template folder that is not named like a template.
    #[error("{} is not the name of a template; the templates are: {known}", .path.display())]
    UnknownTemplate {
        /// The file.
        path: PathBuf,
        /// All valid names.
        known: String,
    },
    /// The template has a syntax error.
    #[error("{file}:{line}:{column}: {reason}")]
    Syntax {
        /// The template's file.
        file: String,
        /// 1-based line.
        line: usize,
        /// 1-based column.
        column: usize,
        /// The problem.
        reason: String,
    },
    /// The template uses a value that does not exist.
    #[error("{file}:{line}:{column}: unknown value `{name}`; the known values are: {known}")]
    UnknownValue {
        /// The template's file.
        file: String,
        /// 1-based line.
        line: usize,
        /// 1-based column.
        column: usize,
        /// The value's name in the template.
        name: String,
        /// All valid names.
        known: String,
    },
    /// The template cannot be rendered for any other reason.
    #[error("{file}:{line}:{column}: {reason}")]
    Render {
        /// The template's file.
        file: String,
        /// 1-based line, 0 if unknown.
        line: usize,
        /// 1-based column, 0 if unknown.
        column: usize,
        /// The problem.
        reason: String,
    },
    /// The values cannot be converted for the template engine.
    #[error("cannot pass the values to a template: {0}")]
    Values(#[source] serde_json::Error),
    /// The rendered prompt is blank.
    #[error("{file} renders to an empty prompt")]
    Empty {
        /// The template's file.
        file: String,
    },
    /// The prompt is too long even after all cuts.
    #[error(
        "{file} renders to {bytes} bytes even after all cuts, but the limit is {budget}: \
         shorten the criterion or the template"
    )]
    TooLong {
        /// The template's file.
        file: String,
        /// The prompt's length after all cuts, in bytes.
        bytes: usize,
        /// The limit, in bytes.
        budget: usize,
    },
}
