//! Why a prompt or a file cannot be made from its template.

use std::path::PathBuf;

/// What is wrong with a template, or with what it came to.
#[derive(Debug, thiserror::Error)]
pub enum PromptError {
    /// A template's file cannot be read.
    #[error("cannot read the template {}: {source}", .path.display())]
    Read {
        /// The file or folder.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// A file among the templates that replaces none of them.
    #[error("{} replaces no template; there are: {known}", .path.display())]
    Superfluous {
        /// The file.
        path: PathBuf,
        /// The names there are.
        known: String,
    },
    /// The template is no template.
    #[error("{file}:{line}:{column}: {reason}")]
    Syntax {
        /// The template's file.
        file: String,
        /// 1-based line.
        line: usize,
        /// 1-based column.
        column: usize,
        /// What is wrong there.
        reason: String,
    },
    /// The template asks for a value that does not exist.
    #[error("{file}:{line}:{column}: there is no value `{name}`; there are: {known}")]
    Unknown {
        /// The template's file.
        file: String,
        /// 1-based line.
        line: usize,
        /// 1-based column.
        column: usize,
        /// The value's name in the template.
        name: String,
        /// The names there are.
        known: String,
    },
    /// The template cannot be rendered for another reason.
    #[error("{file}:{line}:{column}: {reason}")]
    Render {
        /// The template's file.
        file: String,
        /// 1-based line, 0 if it is not known.
        line: usize,
        /// 1-based column, 0 if it is not known.
        column: usize,
        /// What is wrong there.
        reason: String,
    },
    /// The values cannot be handed to a template.
    #[error("cannot hand the values to a template: {0}")]
    Values(#[source] serde_json::Error),
    /// Nothing but blanks came of it.
    #[error("{file} gives an empty prompt")]
    Empty {
        /// The template's file.
        file: String,
    },
    /// What must not be cut is longer than a prompt may be.
    #[error(
        "{file} gives a prompt of {bytes} bytes with everything cut that may be cut; \
         {budget} are allowed: shorten the criterion or the template"
    )]
    TooLong {
        /// The template's file.
        file: String,
        /// Its length with everything cut, in bytes.
        bytes: usize,
        /// The most it may be, in bytes.
        budget: usize,
    },
}
