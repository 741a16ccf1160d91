//! Links among git's own files.
//!
//! Invariant: libgit2 writes the file that a link leads to. The runner works outside of the sandbox
//! in which an agent could have made the link, so it writes nothing while there is one.

use std::fs;
use std::path::{Path, PathBuf};

use git2::Repository;

use super::git_repo::GitRepo;
use super::history::Head;
use crate::verify::error::VerifyError;

/// Files of the git directory that the runner writes.
const WRITTEN: [&str; 4] = ["index", "HEAD", "ORIG_HEAD", "logs/HEAD"];

/// Refs of our own, below the common directory.
const OURS: &str = "refs/ralph";

impl GitRepo {
    /// Refuses links in the place of files that the runner writes.
    pub(super) fn refuse_links(&self, repo: &Repository) -> Result<(), VerifyError> {
        let mut written: Vec<PathBuf> = WRITTEN.map(|name| self.git_dir.join(name)).into();
        let mut refs = vec![OURS.to_owned()];
        if let Ok(Head::Branch(branch, _) | Head::Unborn(branch)) = self.head(repo) {
            refs.push(branch);
        }
        for name in refs {
            written.extend([self.common_dir.join(&name), self.common_dir.join("logs").join(&name)]);
        }
        match written.into_iter().find_map(|path| link_at(&path)) {
            None => Ok(()),
            Some(path) => Err(VerifyError::Io {
                operation: "write",
                path,
                source: std::io::Error::other(
                    "it is a link, and git would write what it leads to: remove the link",
                ),
            }),
        }
    }
}

/// The path itself, or one below it, if that is a link.
fn link_at(path: &Path) -> Option<PathBuf> {
    let kind = fs::symlink_metadata(path).ok()?.file_type();
    if kind.is_symlink() {
        return Some(path.to_owned());
    }
    let entries = kind.is_dir().then(|| fs::read_dir(path).ok()).flatten();
    entries.into_iter().flatten().filter_map(Result::ok).find_map(|entry| link_at(&entry.path()))
}
