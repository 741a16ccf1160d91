//! The index after a commit of the runner's own: some paths as in the tree, the rest left alone.

use std::fs::{self, Metadata, OpenOptions};
use std::io::Write as _;
use std::path::{Path, PathBuf};

use git2::{ErrorClass, ErrorCode, IndexEntry, ObjectType, Repository, Tree};

use super::git_repo::GitRepo;
use super::index_file::FLAGS;
use super::locks::patiently;
use super::suspects::{TICK, noted as noted_as, stamp};
use crate::verify::error::{VerifyError, io_error};

impl GitRepo {
    /// Makes the index hold these paths as the tree does, and leaves the rest of it alone.
    pub(super) fn index_follows(
        &self,
        repo: &Repository,
        tree: &Tree<'_>,
        paths: &[PathBuf],
    ) -> Result<(), VerifyError> {
        patiently(|| match self.in_place(repo, tree, paths) {
            Some(result) => result,
            None => self.through_git(repo, tree, paths),
        })
        .map_err(self.failed("write the index"))
    }

    /// Changes entries that are there. Nothing if that is not enough.
    fn in_place(
        &self,
        repo: &Repository,
        tree: &Tree<'_>,
        paths: &[PathBuf],
    ) -> Option<Result<(), git2::Error>> {
        let at = self.git_dir.join("index");
        let mut seen = self.index_now(repo).ok()?;
        let index = seen.as_ref()?;
        let mut noted = Vec::new();
        for path in paths {
            let (held, entry) = match (tree.get_path(path), index.entry(path)) {
                (Ok(held), Some(entry)) if entry.flags & FLAGS == 0 => (held, entry),
                (Err(_), None) if !index.holds(path) => continue,
                _ => return None,
            };
            let mode = held.filemode().unsigned_abs();
            if (entry.id, entry.mode) == (held.id(), mode) {
                continue;
            }
            let file = self.root.join(path);
            // Before the content: what changes it later shows.
            let meta = file.symlink_metadata().ok()?;
            if held.kind() != Some(ObjectType::Blob) || repo.blob_path(&file).ok()? != held.id() {
                return None;
            }
            noted.push(IndexEntry { mode, id: held.id(), ..noted_as(entry, &meta)? });
        }
        if noted.is_empty() {
            return Some(Ok(()));
        }
        // What is not written is read again.
        let written = seen.take()?.changed(noted, |before, bytes| replaced(&at, before, bytes))?;
        Some(written.map(|now| *seen = Some(now)))
    }

    /// Writes what filters made of files that were checked out just now, and notes in the index that
    /// they are unchanged.
    pub(super) fn write_made(
        &self,
        repo: &Repository,
        made: &[(PathBuf, Vec<u8>)],
    ) -> Result<(), VerifyError> {
        if made.is_empty() {
            return Ok(());
        }
        for (path, bytes) in made {
            let at = self.root.join(path);
            fs::write(&at, bytes).map_err(io_error("write", &at))?;
        }
        // None of them may be as young as the index.
        std::thread::sleep(TICK);
        let at = self.git_dir.join("index");
        patiently(|| {
            let mut seen = self.index_now(repo)?;
            let Some(index) = seen.take() else { return Ok(()) };
            let noted = made.iter().filter_map(|(path, _)| {
                noted_as(index.entry(path)?, &self.root.join(path).symlink_metadata().ok()?)
            });
            let noted = noted.collect();
            let written = index.changed(noted, |before, bytes| replaced(&at, before, bytes));
            *seen = written.transpose()?;
            Ok(())
        })
        .map_err(self.failed("write the index"))
    }

    fn through_git(
        &self,
        repo: &Repository,
        tree: &Tree<'_>,
        paths: &[PathBuf],
    ) -> Result<(), git2::Error> {
        let mut index = repo.index()?;
        index.read(false)?;
        let mut stale = false;
        for path in paths {
            let held = tree.get_path(path).ok().filter(|e| e.kind() != Some(ObjectType::Tree));
            let staged = index.get_path(path, 0).map(|entry| (entry.id, entry.mode));
            let mode = |entry: &git2::TreeEntry<'_>| entry.filemode().unsigned_abs();
            if staged == held.as_ref().map(|entry| (entry.id(), mode(entry))) {
                continue;
            }
            stale = true;
            if held.is_some() && self.root.join(path).symlink_metadata().is_ok() {
                index.add_path(path)?;
            } else {
                index.remove_path(path)?;
            }
        }
        if stale { index.write() } else { Ok(()) }
    }
}

/// Writes a file by way of git's lock beside it, unless it changed since.
fn replaced(path: &Path, before: &Metadata, bytes: &[u8]) -> Result<Metadata, git2::Error> {
    let lock = path.with_extension("lock");
    let failed = |error: std::io::Error| {
        let held = error.kind() == std::io::ErrorKind::AlreadyExists;
        let code = if held { ErrorCode::Locked } else { ErrorCode::GenericError };
        git2::Error::new(code, ErrorClass::Index, format!("{}: {error}", lock.display()))
    };
    let mut file = OpenOptions::new().write(true).create_new(true).open(&lock).map_err(failed)?;
    let written = (|| {
        let now = fs::metadata(path)?;
        if stamp(&now) != stamp(before) {
            // Another process was faster: once more.
            return Err(std::io::ErrorKind::AlreadyExists.into());
        }
        file.write_all(bytes)?;
        file.set_permissions(now.permissions())?;
        fs::rename(&lock, path)?;
        file.metadata()
    })();
    written.map_err(|error| {
        drop(fs::remove_file(&lock));
        failed(error)
    })
}
