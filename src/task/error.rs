//! Errors of finding, reading and editing a task.

use std::path::PathBuf;

/// An error with a task that is not a diagnostic of its TASK.md.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "the messages say it")]
pub enum TaskError {
    #[error("no task named `{name}`; {}", list(.available))]
    Missing { name: String, looked: Vec<PathBuf>, available: Vec<String> },
    #[error("{} has no TASK.md", .folder.display())]
    NoFile { folder: PathBuf, available: Vec<String> },
    #[error("`{name}` is not a valid task name: {reason}")]
    Name { name: String, reason: &'static str },
    #[error("cannot use {} as a task: {reason}", .path.display())]
    Unusable { path: PathBuf, reason: &'static str },
    #[error("cannot {operation} {}: {source}", .path.display())]
    Io { operation: &'static str, path: PathBuf, source: std::io::Error },
    #[error("no checkbox at byte {offset}: the file changed since it was read")]
    NoBox { offset: usize },
}

fn list(names: &[String]) -> String {
    if names.is_empty() {
        "there are no tasks yet".to_owned()
    } else {
        format!("available tasks: {}", names.join(", "))
    }
}
