//! Finds a task's folder by the name or path that the user typed.
//!
//! Invariant: the folder is inside the repository, below its root, and its name is valid in
//! commit messages and refs. Its TASK.md is a regular file: a link could redirect the one-byte
//! tick, and all evidence, to another file.

use std::{
    collections::BTreeSet,
    fs, io,
    path::{Component, Path, PathBuf},
};

use super::{
    error::TaskError,
    parse::{parse, too_large},
};
use crate::model::Task;

/// The name of the file that makes a folder a task.
pub const TASK_FILE: &str = Task::FILE_NAME;

/// The subfolders that hold tasks, in search order.
const PLACES: [&str; 2] = [".ralph/active", "tasks"];

/// The longest task name in bytes. Names become part of file names in `.git`.
const LONGEST_NAME: usize = 100;

/// A task's folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TaskFolder {
    /// The folder: absolute, with links resolved.
    pub dir: PathBuf,
    /// Its TASK.md.
    pub task_file: PathBuf,
    /// The folder's name, which is also the task's.
    pub name: String,
}

/// Finds a task: the path itself (the folder or its TASK.md, relative to `cwd`), then
/// `.ralph/active/<task>/` and `tasks/<task>/` in each folder from `cwd` up to the
/// repository's `root`.
///
/// # Errors
/// [`TaskError::Missing`] if the task does not exist; [`TaskError::NoFile`] if the folder
/// has no TASK.md; [`TaskError::Unusable`] and [`TaskError::Name`] if the folder breaks the
/// invariant of this module.
pub fn discover(root: &Path, cwd: &Path, name: &str) -> Result<TaskFolder, TaskError> {
    let given = Path::new(name);
    let places = places(root, cwd);
    let mut looked = Vec::new();
    if !name.is_empty() {
        let path = cwd.join(given);
        if path.file_name().is_some_and(|file| file == TASK_FILE) && path.is_file() {
            return folder(root, path.parent().unwrap_or(&path));
        }
        if path.join(TASK_FILE).exists() {
            return folder(root, &path);
        }
        // The work on a task may create a file with the task's name, which does not count.
        let file = path.is_file().then(|| path.clone());
        looked.push(path);
        // Search for plain names only: `../x` must not escape the task folders.
        if matches!(Vec::from_iter(given.components())[..], [Component::Normal(_)]) {
            for place in &places {
                let path = place.join(given);
                if path.join(TASK_FILE).exists() {
                    return folder(root, &path);
                }
                looked.push(path);
            }
        }
        if let Some(path) = file {
            let reason = "a task is a folder with a file named TASK.md";
            return Err(TaskError::Unusable { path, reason });
        }
    }
    let available = available(&places)?;
    // A folder below `tasks/` is the likelier candidate than one in the current folder.
    match looked.iter().rev().find(|path| path.is_dir()) {
        Some(folder) => Err(TaskError::NoFile { folder: folder.clone(), available }),
        None => Err(TaskError::Missing { name: name.to_owned(), looked, available }),
    }
}

/// The names of the tasks that [`discover`] would find.
///
/// # Errors
/// If a folder cannot be read.
pub fn task_names(root: &Path, cwd: &Path) -> Result<Vec<String>, TaskError> {
    available(&places(root, cwd))
}

/// The folders that hold tasks, from `cwd` up to `root`, in search order.
fn places(root: &Path, cwd: &Path) -> Vec<PathBuf> {
    let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let (root, cwd) = (real(root), real(cwd));
    let from = if cwd.starts_with(&root) { &cwd } else { &root };
    let up = from.ancestors().take_while(|folder| folder.starts_with(&root));
    up.flat_map(|folder| PLACES.map(|place| folder.join(place))).collect()
}

/// Reads and parses the TASK.md of a task folder.
///
/// # Errors
/// [`TaskError::Io`] if the file cannot be read, [`TaskError::Unusable`] if it is not a regular
/// file. Invalid contents are not an error but diagnostics.
pub fn load(folder: &TaskFolder) -> Result<Task, TaskError> {
    let path = &folder.task_file;
    let meta = fs::symlink_metadata(path).map_err(io_error("access", path))?;
    if let Some(reason) = wrong_with_file(&meta) {
        return Err(TaskError::Unusable { path: path.clone(), reason });
    }
    if meta.len() > Task::MOST_BYTES {
        return Ok(too_large(&folder.name));
    }
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
            "the repository root cannot be a task folder; move TASK.md to tasks/<name>/",
        ));
    }
    if !dir.starts_with(&root) {
        return Err(unusable(&dir, "it is outside the repository"));
    }
    if dir.strip_prefix(&root).is_ok_and(|inside| inside.starts_with(".git")) {
        return Err(unusable(&dir, "it is inside .git"));
    }
    let meta = fs::symlink_metadata(&task_file).map_err(io_error("access", &task_file))?;
    if let Some(reason) = wrong_with_file(&meta) {
        return Err(unusable(&task_file, reason));
    }
    let name = dir.file_name().unwrap_or_default().to_string_lossy().into_owned();
    match wrong_with_name(&name) {
        Some(reason) => Err(TaskError::Name { name, reason }),
        None => Ok(TaskFolder { dir, task_file, name }),
    }
}

/// Why a file cannot be a TASK.md, regardless of its contents.
fn wrong_with_file(meta: &fs::Metadata) -> Option<&'static str> {
    (!meta.is_file()).then_some("it must be a regular file, not a link")
}

/// Why a folder's name is not a valid task name. `None` if it is valid.
pub fn wrong_with_name(name: &str) -> Option<&'static str> {
    let allowed = |letter: char| letter.is_alphanumeric() || "-_.".contains(letter);
    if name.is_empty() {
        Some("it is empty")
    } else if name.len() > LONGEST_NAME {
        Some("it is longer than 100 bytes")
    } else if !name.chars().all(allowed) {
        // A name that is not UTF-8 ends up here too, because of its U+FFFD.
        Some("only letters, digits, `-`, `_`, and `.` are allowed")
    } else if name.starts_with(['-', '.']) || name.ends_with(['.']) {
        Some("it must not start with `-` or `.`, or end with `.`")
    } else if name.contains("..") || name.ends_with(".lock") {
        Some("git does not allow `..` or a final `.lock` in ref names")
    } else {
        None
    }
}

/// The names of all tasks in these folders.
fn available(places: &[PathBuf]) -> Result<Vec<String>, TaskError> {
    let mut names = BTreeSet::new();
    for place in places {
        let entries = match fs::read_dir(place) {
            Ok(entries) => entries,
            Err(error) if is_absent(&error) => continue,
            Err(error) => return Err(io_error("list", place)(error)),
        };
        for entry in entries {
            let entry = entry.map_err(io_error("list", place))?;
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

#[cfg(test)]
mod tests {
    use super::*;

    /// A repository with these files. Its path has no links.
    fn repository(files: &[&str]) -> (tempfile::TempDir, PathBuf) {
        let outer = tempfile::tempdir().expect("a folder");
        let root = outer.path().canonicalize().expect("a path").join("repo");
        fs::create_dir(&root).expect("a folder");
        for file in files {
            let path = root.join(file);
            fs::create_dir_all(path.parent().expect("a parent")).expect("a folder");
            fs::write(path, "- [ ] a\n").expect("a file");
        }
        (outer, root)
    }

    /// The folder of a task relative to the repository, or the error.
    fn found(root: &Path, cwd: &str, name: &str) -> String {
        match discover(root, &root.join(cwd), name) {
            Ok(found) => {
                assert_eq!(found.task_file, found.dir.join(TASK_FILE));
                let dir = found.dir.strip_prefix(root).expect("inside");
                format!("{} as {}", dir.display(), found.name)
            }
            Err(error) => error.to_string().replace(&root.display().to_string(), "ROOT"),
        }
    }

    #[test]
    fn folders_that_cannot_be_tasks() {
        let (_outer, root) = repository(&[
            "TASK.md",
            "tasks/list.md",
            "../outside/TASK.md",
            ".git/task/TASK.md",
            "tasks/folder/TASK.md/readme",
        ]);
        assert_eq!(
            found(&root, "", "."),
            "cannot use ROOT as a task: the repository root cannot be a task folder; \
             move TASK.md to tasks/<name>/"
        );
        assert_eq!(
            found(&root, "", "tasks/list.md"),
            "cannot use ROOT/tasks/list.md as a task: a task is a folder with a file named TASK.md"
        );
        assert!(found(&root, "", "../outside").ends_with("it is outside the repository"));
        assert!(found(&root, "", ".git/task").ends_with("it is inside .git"));
        assert_eq!(
            found(&root, "", "folder"),
            "cannot use ROOT/tasks/folder/TASK.md as a task: it must be a regular file, not a link"
        );
    }

    #[test]
    fn links_are_resolved_and_must_not_lead_away() {
        use std::os::unix::fs::symlink;
        let (_outer, root) = repository(&["tasks/real/TASK.md", "../outside/TASK.md", "tasks/l/x"]);
        symlink(root.join("tasks/real"), root.join("tasks/alias")).expect("a link");
        assert_eq!(found(&root, "", "alias"), "tasks/real as real");
        symlink(root.join("../outside"), root.join("tasks/away")).expect("a link");
        assert!(found(&root, "", "away").ends_with("it is outside the repository"));
        symlink("../real/TASK.md", root.join("tasks/l/TASK.md")).expect("a link");
        assert!(found(&root, "", "l").ends_with("it must be a regular file, not a link"));
        // The repository itself may be reached through a link.
        symlink(&root, root.with_file_name("link")).expect("a link");
        let through = root.with_file_name("link");
        let reached = discover(&through, &through.join("tasks"), "real").expect("a task");
        assert_eq!(reached.dir, root.join("tasks/real"));
    }

    #[test]
    fn names_that_git_does_not_accept() {
        for good in ["a", "demo-task", "v1.2_x", "größe", "1"] {
            assert_eq!(wrong_with_name(good), None, "{good}");
        }
        for bad in
            ["a b", "a:b", "a(b)", "-a", ".a", "a.", "a..b", "a.lock", "a\n", "a~1", "a\u{fffd}"]
        {
            assert!(wrong_with_name(bad).is_some(), "{bad}");
        }
        assert!(wrong_with_name(&"a".repeat(101)).is_some());
        let (_outer, root) = repository(&["tasks/a b/TASK.md"]);
        assert_eq!(
            found(&root, "", "a b"),
            "`a b` is not a valid task name: only letters, digits, `-`, `_`, and `.` are allowed"
        );
    }
}
