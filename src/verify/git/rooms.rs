//! The proof rooms of a run, prepared from the repository.

use std::fs;
use std::os::unix::ffi::OsStringExt as _;
use std::path::Path;

use super::git_repo::GitRepo;
use super::history::Head;
use super::room::RoomSource;
use crate::verify::classify::{EntryKind, TreeEdit};
use crate::verify::error::{VerifyError, io_error};
use crate::verify::fingerprint::{Fingerprint, Fingerprints};
use crate::verify::layout::Layout;
use crate::verify::master::{Master, RoomFolders};
use crate::verify::proof_rooms::ProofRooms;
use crate::verify::repo::Preflight;

impl GitRepo {
    /// Prepares the proof rooms of a run, from the repository that a preflight found: before an
    /// agent works. The human's uncommitted files are shown in them.
    ///
    /// # Errors
    /// If something cannot be read or copied.
    pub fn proof_rooms(
        &self,
        layout: &Layout,
        folders: RoomFolders<'_>,
        preflight: &Preflight,
    ) -> Result<ProofRooms, VerifyError> {
        let repo = &*self.lock();
        let branch = match self.head(repo)? {
            Head::Branch(branch, _) | Head::Unborn(branch) => branch,
            // Programs ask for the branch.
            Head::Detached(_) => "refs/heads/main".to_owned(),
        };
        let modules = self.submodules(repo).map_err(self.failed("read the submodules"))?;
        let source = RoomSource::of(repo, modules)?;
        let master = Master::of(&self.root, layout, folders, preflight.ignored.clone())?;
        let human = (self.edits(&preflight.human)?, preflight.marked.clone());
        Ok(ProofRooms::new((source, branch), &self.root, folders, master, human))
    }

    /// Uncommitted files, as edits of the commit.
    pub(super) fn edits(&self, files: &Fingerprints) -> Result<Vec<TreeEdit>, VerifyError> {
        let edits = files.paths().filter_map(|path| {
            let print = files.get(path)?;
            edit(&self.root, path, print).transpose()
        });
        edits.collect()
    }
}

/// The uncommitted content of a path, as an edit of the commit.
fn edit(root: &Path, path: &Path, print: &Fingerprint) -> Result<Option<TreeEdit>, VerifyError> {
    let (at, path) = (root.join(path), path.to_owned());
    let failed = io_error("read", &at);
    Ok(match print {
        Fingerprint::Absent => Some(TreeEdit::Remove { path }),
        Fingerprint::File { executable, .. } => {
            let kind = EntryKind::Regular { executable: *executable };
            Some(TreeEdit::Write { path, kind, bytes: fs::read(&at).map_err(failed)? })
        }
        Fingerprint::Link(to) => {
            let bytes = to.clone().into_os_string().into_vec();
            Some(TreeEdit::Write { path, kind: EntryKind::Link, bytes })
        }
        Fingerprint::Directory | Fingerprint::Special => None,
    })
}
