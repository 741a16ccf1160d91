//! HEAD checked out into a throw-away repository of its own.
//!
//! Invariant: nothing is written to the repository, so that a crash leaves nothing in it:
//! the new git directory borrows its objects (`objects/info/alternates`) and copies its
//! refs. A worktree in git's own sense would be an entry in `.git/worktrees`, and one that
//! checks could write through. What does NOT live here: what runs there.

use std::fs;
use std::path::{Path, PathBuf};

use git2::build::CheckoutBuilder;
use git2::{AttrCheckFlags, Repository, RepositoryInitOptions};

use super::git_repo::{GitRepo, path};
use super::history::Head;
use crate::verify::clean::CleanTree;
use crate::verify::error::VerifyError;
use crate::verify::format;
use crate::verify::ignored::Linked;

/// What decides how a blob becomes a file.
const CORE: [&str; 6] = [
    "core.autocrlf",
    "core.eol",
    "core.symlinks",
    "core.filemode",
    "core.ignorecase",
    "core.precomposeunicode",
];

impl GitRepo {
    pub(super) fn clean_in(
        &self,
        repo: &Repository,
        linked: &Linked,
    ) -> Result<CleanTree, VerifyError> {
        let Head::Branch(branch, head) = self.head(repo)? else {
            return Err(VerifyError::NoBranch { path: self.root.clone() });
        };
        let temp = self.scratch.clone().unwrap_or_else(std::env::temp_dir);
        let dir = tempfile::Builder::new()
            .prefix("ralph-copilot-clean-")
            .tempdir_in(&temp)
            .map_err(Self::io("make a directory in", &temp))?;
        let base = fs::canonicalize(dir.path()).map_err(Self::io("resolve", dir.path()))?;
        // Tools take names from the directory they run in: it keeps the repository's.
        let work = base.join(self.root.file_name().unwrap_or("work".as_ref()));
        let new = self.borrow(repo, &work, &branch)?;
        let failed = self.failed("check out a clean worktree");
        let commit = new.find_commit(head).map_err(&failed)?;
        new.checkout_tree(commit.as_object(), Some(CheckoutBuilder::new().force()))
            .map_err(&failed)?;
        let mut notes = self.filtered(repo, &new, &work)?;
        notes.extend(self.submodules_into(repo, &work)?);
        for entry in &linked.links {
            link(&self.root.join(entry), &work.join(entry))?;
        }
        self.ignore_links(&new, &linked.links)?;
        for entry in &linked.left_out {
            notes.push(format!(
                "{} is ignored by git and changed during the run: it is left out",
                format::path(entry)
            ));
        }
        Ok(CleanTree::new(dir, work, notes))
    }

    /// An empty repository that reads this one's objects and has its refs.
    fn borrow(
        &self,
        repo: &Repository,
        work: &Path,
        branch: &str,
    ) -> Result<Repository, VerifyError> {
        let failed = self.failed("make a repository beside");
        let mut options = RepositoryInitOptions::new();
        options.external_template(false).mkdir(true).mkpath(true).initial_head(branch);
        let new = Repository::init_opts(work, &options).map_err(&failed)?;
        let git_dir = new.path().to_owned();
        let write = |name: &str, bytes: &[u8]| {
            let at = git_dir.join(name);
            let parent = at.parent().unwrap_or(&git_dir);
            fs::create_dir_all(parent).map_err(Self::io("write", &at))?;
            fs::write(&at, bytes).map_err(Self::io("write", &at))
        };
        let mut alternates = self.common_dir.join("objects").into_os_string().into_encoded_bytes();
        alternates.push(b'\n');
        write("objects/info/alternates", &alternates)?;
        // A shallow history has to stay one, or git looks for parents that are not there.
        for name in ["shallow", "info/exclude", "info/attributes"] {
            let bytes = Self::bytes(&self.common_dir.join(name))?;
            if !bytes.is_empty() {
                write(name, &bytes)?;
            }
        }
        let mut refs = Vec::new();
        for reference in repo.references().map_err(&failed)? {
            let reference = reference.map_err(&failed)?;
            let name = reference.name_bytes();
            let wanted = [b"refs/heads/".as_slice(), b"refs/tags/", b"refs/remotes/"];
            if let Some(id) = reference.target()
                && wanted.iter().any(|folder| name.starts_with(folder))
            {
                refs.push((name.to_owned(), id));
            }
        }
        refs.sort();
        let mut packed = Vec::new();
        for (name, id) in refs {
            packed.extend_from_slice(id.to_string().as_bytes());
            packed.push(b' ');
            packed.extend_from_slice(&name);
            packed.push(b'\n');
        }
        write("packed-refs", &packed)?;
        let from = repo.config().map_err(&failed)?;
        let mut to = new.config().map_err(&failed)?;
        for key in CORE {
            if let Ok(value) = from.get_string(key) {
                to.set_str(key, &value).map_err(&failed)?;
            }
        }
        drop(new);
        // Opened again, so that the borrowed objects are seen.
        Repository::open(work).map_err(&failed)
    }

    /// A pattern like `target/` means directories, and does not ignore a link in its place.
    fn ignore_links(&self, new: &Repository, links: &[PathBuf]) -> Result<(), VerifyError> {
        let at = new.path().join("info/exclude");
        let mut patterns = Self::bytes(&at)?;
        for entry in links {
            patterns.extend_from_slice(b"\n/");
            patterns.extend_from_slice(entry.as_os_str().as_encoded_bytes());
        }
        patterns.push(b'\n');
        fs::create_dir_all(new.path().join("info")).map_err(Self::io("write", &at))?;
        fs::write(&at, patterns).map_err(Self::io("write", &at))
    }

    /// Files that a filter program makes (git-lfs) cannot be made here. Where such a file
    /// is unchanged in the working tree, its content there is what the filter made.
    fn filtered(
        &self,
        repo: &Repository,
        new: &Repository,
        work: &Path,
    ) -> Result<Vec<String>, VerifyError> {
        let failed = self.failed("read attributes");
        let index = new.index().map_err(&failed)?;
        let says_filter = |at: &Path| {
            fs::read(at).is_ok_and(|text| text.windows(7).any(|window| window == b"filter="))
        };
        let any = says_filter(&self.common_dir.join("info/attributes"))
            || index.iter().any(|entry| {
                entry.path.ends_with(b".gitattributes")
                    && says_filter(&work.join(path(&entry.path)))
            });
        if !any {
            return Ok(Vec::new());
        }
        let dirty = self.status_in(repo)?;
        let mut copied = 0;
        for entry in index.iter() {
            let path = path(&entry.path);
            let filter =
                new.get_attr(&path, "filter", AttrCheckFlags::default()).map_err(&failed)?;
            let from = self.root.join(&path);
            if filter.is_some()
                && dirty.tracked.iter().all(|change| change.path != path)
                && from.symlink_metadata().is_ok_and(|meta| meta.is_file())
            {
                fs::copy(&from, work.join(&path)).map_err(Self::io("copy", &from))?;
                copied += 1;
            }
        }
        Ok(vec![format!("{copied} files that a filter makes are copied from the working tree")])
    }

    /// Submodules whose checkout is exactly what HEAD asks for are linked in.
    fn submodules_into(&self, repo: &Repository, work: &Path) -> Result<Vec<String>, VerifyError> {
        let failed = self.failed("read the submodules");
        let mut notes = Vec::new();
        for module in repo.submodules().map_err(&failed)? {
            let at = module.path();
            let shown = format::path(at);
            let (wanted, here) = (module.head_id(), module.workdir_id());
            if here.is_some() && here == wanted {
                let target = work.join(at);
                if target.is_dir() {
                    fs::remove_dir(&target).map_err(Self::io("replace", &target))?;
                }
                link(&self.root.join(at), &target)?;
                notes.push(format!("the submodule {shown} is linked from the working tree"));
            } else {
                notes.push(format!("the submodule {shown} is not checked out as HEAD asks for"));
            }
        }
        Ok(notes)
    }
}

/// A link to something of the working tree, unless HEAD itself holds something there.
fn link(from: &Path, to: &Path) -> Result<(), VerifyError> {
    let failed = |source| VerifyError::Io { operation: "link", path: to.to_owned(), source };
    if to.symlink_metadata().is_ok() {
        return Ok(());
    }
    let parent: PathBuf = to.parent().map(Path::to_owned).unwrap_or_default();
    fs::create_dir_all(parent).map_err(failed)?;
    symlink(from, to).map_err(failed)
}

#[cfg(unix)]
fn symlink(from: &Path, to: &Path) -> std::io::Result<()> {
    std::os::unix::fs::symlink(from, to)
}

#[cfg(not(unix))]
fn symlink(_from: &Path, _to: &Path) -> std::io::Result<()> {
    Err(std::io::ErrorKind::Unsupported.into())
}
