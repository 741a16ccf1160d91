//! Commits from a repository in which an agent worked.
//!
//! Invariant: only objects come, each under the name of its content. No setting, ref, or hook of the
//! other repository is used.

use std::io::Write as _;
use std::path::Path;

use git2::Repository;

use super::git_repo::GitRepo;
use super::locks::patiently;
use super::plain::oid;
use crate::model::Oid;
use crate::sys::crash;
use crate::verify::error::VerifyError;

impl GitRepo {
    /// Copies a commit, and everything that it needs beyond `base`.
    pub(super) fn import_in(
        &self,
        repo: &Repository,
        from: &Path,
        (commit, base): (&Oid, &Oid),
    ) -> Result<git2::Oid, VerifyError> {
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
        copied().map_err(failed)
    }

    /// Removes a ref, if it still names this object.
    pub(super) fn release_in(
        &self,
        repo: &Repository,
        name: &str,
        object: &Oid,
    ) -> Result<(), VerifyError> {
        let failed = self.failed("remove a ref");
        let Ok(mut found) = repo.find_reference(name) else { return Ok(()) };
        if found.target().map(oid).as_ref() != Some(object) {
            return Ok(());
        }
        patiently(|| found.delete()).map_err(failed)
    }
}
