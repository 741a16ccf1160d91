//! Commits from a repository in which an agent worked.
//!
//! Invariant: only objects and git-lfs's files come, each under the name of its content. No setting,
//! ref, or hook of the other repository is used.

use std::fs::{self, File};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use git2::Repository;
use sha2::{Digest as _, Sha256};

use super::git_repo::GitRepo;
use super::locks::patiently;
use super::plain::oid;
use crate::model::Oid;
use crate::sys::crash;
use crate::verify::error::{VerifyError, io_error};
use crate::verify::layout::Layout;
use crate::verify::repo::SavedAttempt;

/// Where git-lfs keeps files, in a git folder.
const LARGE: &str = "lfs/objects";

impl GitRepo {
    /// Copies a commit from another repository on this machine, with everything that it needs
    /// beyond `base`, which both have, and keeps it as an attempt, under the first free number.
    ///
    /// # Errors
    /// If an object is missing there, or does not match its name.
    pub fn import(
        &self,
        from: &Path,
        (commit, base): (&Oid, &Oid),
        layout: &Layout,
        number: u32,
    ) -> Result<SavedAttempt, VerifyError> {
        let repo = &*self.lock();
        let failed = self.failed("copy a worker's commits");
        let copied = || -> Result<git2::Oid, git2::Error> {
            let id = git2::Oid::from_str(commit.as_str())?;
            let theirs = Repository::open(from)?;
            let mut walk = theirs.revwalk()?;
            walk.push(id)?;
            walk.hide(git2::Oid::from_str(base.as_str())?)?;
            let mut pack = theirs.packbuilder()?;
            pack.insert_walk(&mut walk)?;
            if pack.object_count() > 0 {
                let odb = repo.odb()?;
                let mut writer = odb.packwriter()?;
                let mut written = Ok(());
                pack.foreach(|chunk| {
                    written = writer.write_all(chunk);
                    written.is_ok()
                })?;
                written.map_err(|error| git2::Error::from_str(&error.to_string()))?;
                writer.commit()?;
                crash::point("work copied");
            }
            Ok(repo.find_commit(id)?.id())
        };
        let id = copied().map_err(failed)?;
        let (theirs, ours) = (from.join(".git").join(LARGE), repo.commondir().join(LARGE));
        copy_large(&theirs, &ours).map_err(io_error("copy the large files in", &theirs))?;
        self.numbered(repo, layout, number, id)
    }

    /// Removes a ref of ours, if it still names this object.
    ///
    /// # Errors
    /// If git cannot remove it.
    pub fn release(&self, name: &str, object: &Oid) -> Result<(), VerifyError> {
        let repo = &*self.lock();
        let failed = self.failed("remove a ref");
        let Ok(mut found) = repo.find_reference(name) else { return Ok(()) };
        if found.target().map(oid).as_ref() != Some(object) {
            return Ok(());
        }
        patiently(|| found.delete()).map_err(failed)
    }
}

/// Copies git-lfs's files that are not here. One whose content is not what its name says stays.
fn copy_large(from: &Path, to: &Path) -> io::Result<()> {
    for path in folders_in(from).iter().flat_map(|it| folders_in(it)).flat_map(|it| files_in(&it)) {
        let Ok(inside) = path.strip_prefix(from) else { continue };
        let (name, to) = (path.file_name().unwrap_or_default(), to.join(inside));
        if to.exists() {
            continue;
        }
        let folder = to.parent().unwrap_or(&to);
        fs::create_dir_all(folder)?;
        let (mut read, mut written) =
            (File::open(&path)?, tempfile::NamedTempFile::new_in(folder)?);
        let (mut hash, mut piece) = (Sha256::new(), vec![0; 1 << 16]);
        loop {
            let size = read.read(&mut piece)?;
            if size == 0 {
                break;
            }
            hash.update(&piece[..size]);
            written.write_all(&piece[..size])?;
        }
        let hash: String = hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect();
        if name == hash.as_str() {
            let mode = read.metadata()?.permissions().mode() & 0o666;
            written.as_file().set_permissions(fs::Permissions::from_mode(mode))?;
            written.persist(&to)?;
        }
    }
    Ok(())
}

/// What is in a folder, if it is one and no link: an agent wrote there.
fn entries(folder: &Path, wanted: fn(&fs::FileType) -> bool) -> Vec<PathBuf> {
    let is_folder = fs::symlink_metadata(folder).is_ok_and(|it| it.is_dir());
    let found = is_folder.then(|| fs::read_dir(folder).ok()).flatten().into_iter().flatten();
    let found = found.flatten().filter(|it| it.file_type().is_ok_and(|kind| wanted(&kind)));
    found.map(|it| it.path()).collect()
}

fn folders_in(folder: &Path) -> Vec<PathBuf> {
    entries(folder, fs::FileType::is_dir)
}

fn files_in(folder: &Path) -> Vec<PathBuf> {
    entries(folder, fs::FileType::is_file)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn large_files_come_under_the_name_of_their_content_alone() {
        let dir = tempfile::tempdir().expect("a folder");
        let (from, to) = (dir.path().join("from"), dir.path().join("to"));
        let put = |name: &str, content: &str| {
            let folder = from.join(&name[..2]).join(&name[2..4]);
            fs::create_dir_all(&folder).expect("folders");
            fs::write(folder.join(name), content).expect("written");
            to.join(&name[..2]).join(&name[2..4]).join(name)
        };
        let sum = |content: &str| {
            Sha256::digest(content).iter().map(|byte| format!("{byte:02x}")).collect::<String>()
        };
        let (good, false_name) = (put(&sum("large\n"), "large\n"), put(&sum("other"), "large\n"));
        // What an agent links to is not its own.
        std::os::unix::fs::symlink(dir.path(), from.join("zz")).expect("a link");
        copy_large(&from, &to).expect("copied");
        assert_eq!(fs::read_to_string(good).expect("there"), "large\n");
        assert!(!false_name.exists() && !to.join("zz").exists());
        assert_eq!(fs::read_dir(false_name.parent().expect("a folder")).expect("there").count(), 0);
        copy_large(Path::new("/nowhere"), &to).expect("nothing to copy");
    }
}
