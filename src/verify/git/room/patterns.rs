//! Untracked `.gitignore` and `.gitattributes` files of a room. One that a check makes could hide
//! what else it leaves behind, itself included.
//!
//! Invariant: before changes are looked for, these files are those that ignored folders brought
//! along or that `setup:` made, with their content.

use std::fs;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use git2::{Index, Repository};

use super::look::Look;
use super::{PrivateRepo, failed, write};
use crate::verify::error::{VerifyError, io_error};
use crate::verify::git::pipes::pattern_files;
use crate::verify::git::plain::is_ignored;

/// More than this of a file is not compared, in bytes.
const LARGEST: u64 = 1 << 20;

impl PrivateRepo {
    /// Notes the files that are there now.
    pub fn keep_patterns(&mut self) {
        let files = self.patterns_now().into_iter();
        let files = files.filter_map(|path| {
            let content = content(&self.work.join(&path))?;
            Some((path, content))
        });
        self.patterns = files.collect();
    }

    /// Removes those that were added since beside files of the index, and restores the others.
    /// Those in an ignored folder, such as a cache of packages, hide nothing.
    pub(super) fn put_patterns_back(
        &self,
        repo: &Repository,
        index: &Index,
        look: &Look,
    ) -> Result<(), VerifyError> {
        let untracked = look.patterns.iter().filter(|path| index.get_path(path, 0).is_none());
        self.put_back_patterns(repo, untracked.cloned().collect())
    }

    pub(super) fn put_back_patterns(
        &self,
        repo: &Repository,
        mut untracked: Vec<PathBuf>,
    ) -> Result<(), VerifyError> {
        let failed = failed("ask what git ignores", &self.work);
        untracked.sort_by_key(|path| path.components().count());
        for path in untracked {
            let at = self.work.join(&path);
            let folder = path.parent().unwrap_or(Path::new(""));
            match self.patterns.get(&path) {
                Some(kept) if content(&at).as_ref() != Some(kept) => write(&at, kept)?,
                Some(_) => {}
                None if is_ignored(repo, folder).map_err(&failed)? => {}
                None => fs::remove_file(&at).map_err(io_error("remove", &at))?,
            }
        }
        Ok(())
    }

    fn patterns_now(&self) -> Vec<PathBuf> {
        let all = pattern_files(&self.work).into_iter();
        let inside = all.filter_map(|path| Some(path.strip_prefix(&self.work).ok()?.to_owned()));
        // A submodule looks after its own.
        let own = |path: &PathBuf| !self.modules.keys().any(|module| path.starts_with(module));
        inside.filter(own).collect()
    }
}

fn content(path: &Path) -> Option<Vec<u8>> {
    fs::symlink_metadata(path).ok().filter(fs::Metadata::is_file)?;
    let mut bytes = Vec::new();
    fs::File::open(path).ok()?.take(LARGEST).read_to_end(&mut bytes).ok()?;
    Some(bytes)
}
