//! Errors of loading and rendering templates.

use std::path::PathBuf;

/// An error in a template or in the prompt rendered from it.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "the messages say it")]
pub enum PromptError {
    #[error("cannot read template {}: {source}", .path.display())]
    Read { path: PathBuf, source: std::io::Error },
    #[error("{} is not the name of a template; the templates are: {known}", .path.display())]
    UnknownTemplate { path: PathBuf, known: String },
    #[error("{file}:{line}:{column}: {reason}")]
    Syntax { file: String, line: usize, column: usize, reason: String },
    #[error("{file}:{line}:{column}: unknown value `{name}`; the known values are: {known}")]
    UnknownValue { file: String, line: usize, column: usize, name: String, known: String },
    #[error("{file}:{line}:{column}: {reason}")]
    Render { file: String, line: usize, column: usize, reason: String },
    #[error("cannot pass the values to a template: {0}")]
    Values(#[source] serde_json::Error),
    #[error("{file} renders to an empty prompt")]
    Empty { file: String },
    #[error(
        "{file} renders to {bytes} bytes even after all cuts, but the limit is {budget}: \
         shorten the criterion or the template"
    )]
    TooLong { file: String, bytes: usize, budget: usize },
}
