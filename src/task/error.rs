//! Why a task cannot be found or edited.

use std::path::PathBuf;

/// What can go wrong with a task besides what its diagnostics say.
#[derive(Debug, thiserror::Error)]
pub enum TaskError {
    /// No place holds a task of this name.
    #[error("there is no task `{name}`; {}", those_there_are(.available))]
    Missing {
        /// What was asked for.
        name: String,
        /// The places that were looked at, in their order.
        looked: Vec<PathBuf>,
        /// The names of the tasks there are, sorted.
        available: Vec<String>,
    },
    /// The folder's name cannot stand in commit messages and refs.
    #[error("`{name}` cannot be a task's name: {reason}")]
    Name {
        /// The name.
        name: String,
        /// What is wrong with it.
        reason: &'static str,
    },
    /// What was found cannot be a task folder.
    #[error("{} cannot be used as a task: {reason}", .path.display())]
    Unusable {
        /// The folder or file.
        path: PathBuf,
        /// Why not.
        reason: &'static str,
    },
    /// The file system refused.
    #[error("cannot {operation} {}: {source}", .path.display())]
    Io {
        /// What was tried, as in `read`.
        operation: &'static str,
        /// On what.
        path: PathBuf,
        /// Why it failed.
        source: std::io::Error,
    },
    /// There is no box where one should be.
    #[error("there is no box at byte {offset}: the file was changed since it was read")]
    NoBox {
        /// The byte offset.
        offset: usize,
    },
}

fn those_there_are(names: &[String]) -> String {
    if names.is_empty() {
        "there are no tasks yet".to_owned()
    } else {
        format!("there are: {}", names.join(", "))
    }
}
