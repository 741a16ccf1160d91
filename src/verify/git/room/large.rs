//! Files that a filter program makes.
//!
//! Invariant: a large file of git-lfs is taken by its name, which is the hash of its content, and
//! checked. Other filter programs run in the room, as any check does.

use std::fs;
use std::path::{Path, PathBuf};

use git2::{AttrCheckFlags, Repository};
use sha2::{Digest as _, Sha256};

use super::stat::Stat;
use super::{PrivateRepo, failed};
use crate::verify::error::{VerifyError, io_error};
use crate::verify::git::status::{ENCODING, filter_of};
use crate::verify::git::tracked::note_unchanged;

/// A pointer is short; git-lfs itself reads no more.
const LONGEST: u64 = 1024;

impl PrivateRepo {
    /// Looks at the files among these that have a filter, and makes those that git-lfs would.
    /// Returns the others.
    pub(super) fn filtered(
        &mut self,
        repo: &Repository,
        paths: &[PathBuf],
    ) -> Result<Vec<PathBuf>, VerifyError> {
        let mut waiting = Vec::new();
        for path in paths {
            let filter = filter_of(repo, path, AttrCheckFlags::default());
            let filter = filter.map_err(failed("read attributes", &self.work))?;
            let Some(filter) = filter else { continue };
            if filter == "lfs" {
                let at = self.work.join(path);
                let Some(name) = pointed_to(&at) else { continue };
                if let Some(bytes) = self.large(&name)? {
                    fs::write(&at, bytes).map_err(io_error("write", &at))?;
                    self.made(std::slice::from_ref(path));
                } else {
                    self.pointers.insert(path.clone());
                }
            } else if filter.starts_with(ENCODING)
                || self
                    .source
                    .config
                    .iter()
                    .any(|(key, _)| key.starts_with(&format!("filter.{filter}.")))
            {
                waiting.push(path.clone());
            }
        }
        Ok(waiting)
    }

    /// Can the content of a file be a filter's output?
    pub fn has_filters(&self) -> bool {
        let is_filter = |(key, _): &(String, String)| key.starts_with("filter.");
        !self.made.is_empty() || self.source.config.iter().any(is_filter)
    }

    /// Records that a filter made these files: their current content is that of the commit.
    pub fn made(&mut self, paths: &[PathBuf]) {
        for path in paths {
            if let Some(made) = Stat::of_file(&self.work.join(path)) {
                self.made.insert(path.clone(), made);
            }
        }
    }

    /// Notes in the index that these files are unchanged. Only their filters could tell, and whoever
    /// looks for changes runs none.
    ///
    /// # Errors
    /// If the index cannot be read or written.
    pub fn note_made(&self) -> Result<(), VerifyError> {
        if self.made.is_empty() {
            return Ok(());
        }
        let made = self.made.keys().filter(|path| self.is_as_made(path));
        Repository::open(&self.work)
            .and_then(|repo| note_unchanged(&mut repo.index()?, &self.work, made))
            .map_err(failed("note what filters made in", &self.work))
    }

    /// What a filter made of a file, if it is still that.
    pub fn made_of(&self, path: &Path) -> Option<Vec<u8>> {
        fs::read(self.work.join(path)).ok().filter(|_| self.is_as_made(path))
    }

    /// Does a file still have the filter's output?
    pub(super) fn is_as_made(&self, path: &Path) -> bool {
        let made = self.made.get(path);
        made.is_some_and(|made| Stat::of_file(&self.work.join(path)).as_ref() == Some(made))
    }

    /// A large file by its name, if it is here.
    fn large(&self, name: &str) -> Result<Option<Vec<u8>>, VerifyError> {
        let from = self.source.large.join(&name[..2]).join(&name[2..4]).join(name);
        let Ok(bytes) = fs::read(&from) else { return Ok(None) };
        let found =
            Sha256::digest(&bytes).iter().map(|byte| format!("{byte:02x}")).collect::<String>();
        if found == name {
            return Ok(Some(bytes));
        }
        let source = std::io::Error::other("its content is not what its name says");
        Err(io_error("read the large file", &from)(source))
    }
}

/// The name of the content that a file stands for, if it is a pointer.
fn pointed_to(at: &Path) -> Option<String> {
    let is_short = fs::symlink_metadata(at).is_ok_and(|it| it.is_file() && it.len() <= LONGEST);
    let text = is_short.then(|| fs::read_to_string(at).ok()).flatten()?;
    let name = text.lines().find_map(|line| line.strip_prefix("oid sha256:"))?.trim();
    is_name(name).then(|| name.to_owned())
}

fn is_name(text: &str) -> bool {
    text.len() == 64 && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}
