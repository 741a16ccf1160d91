//! The entries below a folder, only as far as the first ones.

use std::collections::VecDeque;
use std::path::{Path, PathBuf};

use super::files::{FileKind, Files};
use super::secrets;

/// The entries below a folder.
pub(super) struct Tree {
    pub(super) paths: Vec<PathBuf>,
    /// Whether these are all of them.
    pub(super) all: bool,
    /// Those of them that hold secrets, by their names.
    pub(super) secrets: Vec<PathBuf>,
}

/// Entries of a tree that are looked at before it counts as too large to know.
const MOST_ENTRIES: usize = 400;

impl Tree {
    /// Looks through a folder.
    pub(super) fn below(root: &Path, files: &dyn Files) -> Self {
        let (paths, all) = listed(root, files);
        let name =
            |path: &&PathBuf| path.file_name().map(|name| name.to_string_lossy().into_owned());
        let hidden = |path: &&PathBuf| name(path).is_some_and(|name| secrets::file_name(&name));
        let secrets = paths.iter().filter(hidden).cloned().collect();
        Self { paths, all, secrets }
    }
}

/// Paths below a folder, breadth first, and whether these are all of them.
fn listed(root: &Path, files: &dyn Files) -> (Vec<PathBuf>, bool) {
    let mut found = Vec::new();
    let mut queue = VecDeque::from([root.to_owned()]);
    while let Some(folder) = queue.pop_front() {
        let Ok(names) = files.list(&folder, MOST_ENTRIES) else { continue };
        for name in names {
            if found.len() >= MOST_ENTRIES {
                return (found, false);
            }
            let path = folder.join(&name);
            let skipped = matches!(name.as_str(), "node_modules" | "target" | ".git" | ".venv");
            if !skipped && files.kind(&path) == FileKind::Dir {
                queue.push_back(path.clone());
            }
            found.push(path);
        }
    }
    (found, true)
}
