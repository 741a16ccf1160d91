//! Failed calls of the operating system, with the operation and the path.

use std::path::{Path, PathBuf};

use super::holder::Holder;

/// A failed call of the operating system.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "the messages say it")]
pub enum SysError {
    #[error("cannot {operation} {path}: {source}")]
    File { operation: &'static str, path: PathBuf, source: std::io::Error },
    #[error("{path} is held by {}", holder.as_ref().map_or_else(|| "another run".to_owned(), Holder::to_string))]
    Locked { path: PathBuf, holder: Option<Holder> },
    #[error("cannot start {program}: {source}")]
    Spawn { program: String, source: std::io::Error },
    #[error("cannot {operation}: {source}")]
    Process { operation: &'static str, source: std::io::Error },
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
