//! What the operating system refused, with the operation and the path.

use std::path::{Path, PathBuf};

use super::lock::Holder;

/// What the operating system refused.
#[derive(Debug, thiserror::Error)]
pub enum SysError {
    /// A file operation failed.
    #[error("cannot {operation} {path}: {source}")]
    File {
        /// What was tried, as a verb.
        operation: &'static str,
        /// The file or folder.
        path: PathBuf,
        /// Why it failed.
        source: std::io::Error,
    },
    /// Somebody else holds the lock of the working tree.
    #[error("{path} is held by {}", holder.as_ref().map_or_else(|| "another run".to_owned(), Holder::to_string))]
    Locked {
        /// The lock file.
        path: PathBuf,
        /// Who holds it; `None` in the moment before its name is written.
        holder: Option<Holder>,
    },
    /// A program could not be started.
    #[error("cannot start {program}: {source}")]
    Spawn {
        /// The program as it was asked for.
        program: String,
        /// Why it failed.
        source: std::io::Error,
    },
    /// An operation on processes failed.
    #[error("cannot {operation}: {source}")]
    Process {
        /// What was tried, as a verb with its object.
        operation: &'static str,
        /// Why it failed.
        source: std::io::Error,
    },
}

impl SysError {
    /// Names the operation and the path of a failed file operation, for `map_err`.
    pub(super) fn file(
        operation: &'static str,
        path: &Path,
    ) -> impl FnOnce(std::io::Error) -> Self {
        move |source| Self::File { operation, path: path.to_path_buf(), source }
    }
}
