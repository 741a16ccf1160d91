//! Failed calls of the operating system, with the operation and the path.

use std::path::{Path, PathBuf};

use super::holder::Holder;

/// A failed call of the operating system.
#[derive(Debug, thiserror::Error)]
pub enum SysError {
    /// A file operation failed.
    #[error("cannot {operation} {path}: {source}")]
    File {
        /// The operation, as a verb.
        operation: &'static str,
        /// The file or folder.
        path: PathBuf,
        /// The cause.
        source: std::io::Error,
    },
    /// Another process holds the lock of the working tree.
    #[error("{path} is held by {}", holder.as_ref().map_or_else(|| "another run".to_owned(), Holder::to_string))]
    Locked {
        /// The lock file.
        path: PathBuf,
        /// The holder; `None` before it has written its name.
        holder: Option<Holder>,
    },
    /// A program could not be started.
    #[error("cannot start {program}: {source}")]
    Spawn {
        /// The program as the caller named it.
        program: String,
        /// The cause.
        source: std::io::Error,
    },
    /// An operation on processes failed.
    #[error("cannot {operation}: {source}")]
    Process {
        /// The operation, as a verb with its object.
        operation: &'static str,
        /// The cause.
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
