//! What is below a folder: looked at once in a decision, since a long line may name one
//! folder again and again, and only as far as the first entries.

use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use crate::model::Access;

use super::denial::Denial;
use super::files::FileKind;
use super::judge::{Judge, secret};
use super::secrets;

/// What is below a folder.
pub(super) struct Tree {
    pub(super) paths: Vec<PathBuf>,
    /// Whether these are all of them.
    pub(super) all: bool,
    /// Those of them that hold secrets, by their names.
    pub(super) secrets: Vec<PathBuf>,
}

/// Entries of a tree that are looked at before it counts as too large to know.
const MOST_ENTRIES: usize = 400;

impl Judge<'_> {
    /// Refuses a recursive read that would meet a secret. Folders that hold
    /// dependencies or build output are not looked into, and a large tree only
    /// as far as the first entries.
    pub(super) fn tree(&mut self, root: &Path) -> Result<(), Denial> {
        let tree = self.entries(root);
        if self.policy.rules.hides() {
            for path in &tree.paths {
                self.ruled_path(path, Access::Read, true)?;
            }
        }
        tree.secrets.first().map_or(Ok(()), |path| {
            Err(secret(path).instead("narrow it: `rg -n PATTERN`, `git grep -n PATTERN`, a subfolder, or `--include='*.rs'`"))
        })
    }

    /// What is below a folder.
    pub(super) fn entries(&self, root: &Path) -> Rc<Tree> {
        if let Some(tree) = self.trees.borrow().get(root) {
            return Rc::clone(tree);
        }
        let (paths, all) = self.listed(root);
        let name =
            |path: &&PathBuf| path.file_name().map(|name| name.to_string_lossy().into_owned());
        let hidden = |path: &&PathBuf| name(path).is_some_and(|name| secrets::file_name(&name));
        let secrets = paths.iter().filter(hidden).cloned().collect();
        let tree = Rc::new(Tree { paths, all, secrets });
        self.trees.borrow_mut().insert(root.to_owned(), Rc::clone(&tree));
        tree
    }

    /// Paths below a folder, breadth first, and whether these are all of them.
    fn listed(&self, root: &Path) -> (Vec<PathBuf>, bool) {
        let mut found = Vec::new();
        let mut queue = VecDeque::from([root.to_owned()]);
        while let Some(folder) = queue.pop_front() {
            let Ok(names) = self.files.list(&folder, MOST_ENTRIES) else { continue };
            for name in names {
                if found.len() >= MOST_ENTRIES {
                    return (found, false);
                }
                let path = folder.join(&name);
                let skipped = matches!(name.as_str(), "node_modules" | "target" | ".git" | ".venv");
                if !skipped && self.files.kind(&path) == FileKind::Dir {
                    queue.push_back(path.clone());
                }
                found.push(path);
            }
        }
        (found, true)
    }
}
