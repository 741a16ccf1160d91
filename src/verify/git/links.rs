//! Links among git's own files and folders.
//!
//! Invariant: libgit2 writes to the target of a link. The runner works outside the sandbox in which
//! an agent could have created the link, so it writes nothing while there is one.

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
    /// Refuses links in the place of files that the runner writes, and of folders on the way there.
    pub(super) fn refuse_links(&self, repo: &Repository) -> Result<(), VerifyError> {
        let mut written: Vec<PathBuf> = WRITTEN.map(|name| self.git_dir.join(name)).into();
        let mut refs = vec![OURS.to_owned()];
        if let Ok(Head::Branch(branch, _) | Head::Unborn(branch)) = self.head(repo) {
            refs.push(branch);
        }
        for name in refs {
            written.extend([self.common_dir.join(&name), self.common_dir.join("logs").join(&name)]);
        }
        let on_the_way = |path: &PathBuf| self.link_on_the_way(path).or_else(|| link_at(path));
        let objects = || self.link_among_objects();
        match written.iter().find_map(on_the_way).or_else(objects) {
            None => Ok(()),
            Some(path) => Err(VerifyError::Linked { path }),
        }
    }

    /// The folder of objects, or one in it, if that is a link.
    fn link_among_objects(&self) -> Option<PathBuf> {
        let folder = self.common_dir.join("objects");
        if folder.is_symlink() {
            return Some(folder);
        }
        let entries = fs::read_dir(&folder).into_iter().flatten().filter_map(Result::ok);
        let is_link = |entry: &fs::DirEntry| entry.file_type().is_ok_and(|it| it.is_symlink());
        entries.into_iter().find(is_link).map(|entry| entry.path())
    }

    /// The outermost folder above a path that is a link, of the git directory or of the common one.
    fn link_on_the_way(&self, path: &Path) -> Option<PathBuf> {
        let own = |folder: &&Path| {
            folder.starts_with(&self.common_dir) || folder.starts_with(&self.git_dir)
        };
        let folders: Vec<&Path> = path.ancestors().skip(1).take_while(own).collect();
        folders.into_iter().rev().find(|folder| folder.is_symlink()).map(Path::to_owned)
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
