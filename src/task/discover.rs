//! Finds a task's folder by what the user typed.
//!
//! Invariant: what is found lies inside the repository, below its root, under a name
//! that can stand in commit messages and refs, with a TASK.md that is a file of its
//! own: a link could point the one-byte tick, and all evidence, somewhere else.

use std::{
    collections::BTreeSet,
    fs, io,
    path::{Component, Path, PathBuf},
};

use super::{TaskError, parse};
use crate::model::Task;

/// The name of the file that makes a folder a task.
pub const TASK_FILE: &str = "TASK.md";

/// Where tasks are looked for in a repository, in this order.
const PLACES: [&str; 2] = [".ralph/active", "tasks"];

/// The longest name of a task, in bytes; it becomes part of file names in `.git`.
const LONGEST_NAME: usize = 100;

/// A task's folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TaskFolder {
    /// The folder, absolute, without links.
    pub dir: PathBuf,
    /// Its TASK.md.
    pub task_file: PathBuf,
    /// The folder's name, which is the task's.
    pub name: String,
}

/// Finds a task: the path itself (the folder or its TASK.md, relative to `cwd`), then
/// `.ralph/active/<task>/`, then `tasks/<task>/` in the repository at `root`.
///
/// # Errors
/// [`TaskError::Missing`] with the tasks there are; [`TaskError::Unusable`] and
/// [`TaskError::Name`] for a folder that breaks the invariant above.
pub fn discover(root: &Path, cwd: &Path, name: &str) -> Result<TaskFolder, TaskError> {
    let given = Path::new(name);
    let mut looked = Vec::new();
    if !name.is_empty() {
        let path = cwd.join(given);
        if path.file_name().is_some_and(|file| file == TASK_FILE) && path.is_file() {
            return folder(root, path.parent().unwrap_or(&path));
        }
        if path.join(TASK_FILE).exists() {
            return folder(root, &path);
        }
        if path.is_file() {
            return Err(TaskError::Unusable { path, reason: "a task's file is called TASK.md" });
        }
        looked.push(path);
        // A bare name alone is looked up: `../x` must not leave the places for tasks.
        if matches!(Vec::from_iter(given.components())[..], [Component::Normal(_)]) {
            for place in PLACES {
                let path = root.join(place).join(given);
                if path.join(TASK_FILE).exists() {
                    return folder(root, &path);
                }
                looked.push(path);
            }
        }
    }
    Err(TaskError::Missing { name: name.to_owned(), looked, available: available(root)? })
}

/// Reads the TASK.md of a folder that was found.
///
/// # Errors
/// [`TaskError::Io`] if the file cannot be read; what it holds never fails.
pub fn load(folder: &TaskFolder) -> Result<Task, TaskError> {
    let bytes = fs::read(&folder.task_file).map_err(io_error("read", &folder.task_file))?;
    Ok(parse(&folder.name, &bytes))
}

fn folder(root: &Path, dir: &Path) -> Result<TaskFolder, TaskError> {
    let resolve = |path: &Path| path.canonicalize().map_err(io_error("resolve", path));
    let (root, dir) = (resolve(root)?, resolve(dir)?);
    let task_file = dir.join(TASK_FILE);
    let unusable = |path: &Path, reason| TaskError::Unusable { path: path.to_owned(), reason };
    if dir == root {
        return Err(unusable(
            &dir,
            "the repository's root cannot be a task folder; move TASK.md to tasks/<name>/",
        ));
    }
    if !dir.starts_with(&root) {
        return Err(unusable(&dir, "it lies outside the repository"));
    }
    if dir.strip_prefix(&root).is_ok_and(|inside| inside.starts_with(".git")) {
        return Err(unusable(&dir, "it lies in git's own folder"));
    }
    let kind = fs::symlink_metadata(&task_file).map_err(io_error("look at", &task_file))?;
    if !kind.is_file() {
        return Err(unusable(&task_file, "it must be a file, and no link"));
    }
    let name = dir.file_name().unwrap_or_default().to_string_lossy().into_owned();
    match wrong_with_name(&name) {
        Some(reason) => Err(TaskError::Name { name, reason }),
        None => Ok(TaskFolder { dir, task_file, name }),
    }
}

/// Why a folder's name cannot be a task's, if it cannot.
fn wrong_with_name(name: &str) -> Option<&'static str> {
    let allowed = |letter: char| letter.is_alphanumeric() || "-_.".contains(letter);
    if name.len() > LONGEST_NAME {
        Some("it is longer than 100 bytes")
    } else if !name.chars().all(allowed) {
        // A name that is not UTF-8 lands here too, with its U+FFFD.
        Some("only letters, digits, `-`, `_` and `.` may stand in it")
    } else if name.starts_with(['-', '.']) || name.ends_with(['.']) {
        Some("it must not begin with `-` or `.`, nor end with a dot")
    } else if name.contains("..") || name.ends_with(".lock") {
        Some("git does not allow `..` and a final `.lock` in the name of a ref")
    } else {
        None
    }
}

/// The names of all tasks in the places for tasks.
fn available(root: &Path) -> Result<Vec<String>, TaskError> {
    let mut names = BTreeSet::new();
    for place in PLACES {
        let place = root.join(place);
        let entries = match fs::read_dir(&place) {
            Ok(entries) => entries,
            Err(error) if is_absent(&error) => continue,
            Err(error) => return Err(io_error("list", &place)(error)),
        };
        for entry in entries {
            let entry = entry.map_err(io_error("list", &place))?;
            if entry.path().join(TASK_FILE).is_file() {
                names.insert(entry.file_name().to_string_lossy().into_owned());
            }
        }
    }
    Ok(names.into_iter().collect())
}

fn is_absent(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

fn io_error(operation: &'static str, path: &Path) -> impl FnOnce(io::Error) -> TaskError {
    let path = path.to_owned();
    move |source| TaskError::Io { operation, path, source }
}
