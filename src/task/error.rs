//! Errors of finding, reading and editing a task.

use std::path::PathBuf;

/// An error with a task that is not a diagnostic of its TASK.md.
#[derive(Debug, thiserror::Error)]
pub enum TaskError {
    /// No task has this name.
    #[error("no task named `{name}`; {}", list(.available))]
    Missing {
        /// The name or path as typed.
        name: String,
        /// The places searched, in order.
        looked: Vec<PathBuf>,
        /// The names of all tasks, sorted.
        available: Vec<String>,
    },
    /// The folder has no TASK.md.
    #[error("{} has no TASK.md", .folder.display())]
    NoFile {
        /// The folder.
        folder: PathBuf,
        /// The names of all tasks, sorted.
        available: Vec<String>,
    },
    /// The folder's name cannot be used in commit messages and refs.
    #[error("`{name}` is not a valid task name: {reason}")]
    Name {
        /// The name.
        name: String,
        /// Why not.
        reason: &'static str,
    },
    /// The path exists but cannot be a task.
    #[error("cannot use {} as a task: {reason}", .path.display())]
    Unusable {
        /// The folder or file.
        path: PathBuf,
        /// Why not.
        reason: &'static str,
    },
    /// A file system operation failed.
    #[error("cannot {operation} {}: {source}", .path.display())]
    Io {
        /// The operation, such as `read`.
        operation: &'static str,
        /// The path.
        path: PathBuf,
        /// The cause.
        source: std::io::Error,
    },
    /// The expected place has no checkbox.
    #[error("no checkbox at byte {offset}: the file changed since it was read")]
    NoBox {
        /// The byte offset.
        offset: usize,
    },
}

fn list(names: &[String]) -> String {
    if names.is_empty() {
        "there are no tasks yet".to_owned()
    } else {
        format!("available tasks: {}", names.join(", "))
    }
}
