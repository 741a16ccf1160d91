//! Which paths git tracks.

use std::collections::BTreeSet;
use std::path::PathBuf;

use super::GitRepo;
use super::plain::path;
use crate::verify::VerifyError;

impl GitRepo {
    /// All paths that git tracks, relative to the root.
    ///
    /// # Errors
    /// If the index cannot be read.
    pub fn all_tracked(&self) -> Result<Vec<PathBuf>, VerifyError> {
        let repo = self.lock();
        let mut index = repo.index().map_err(self.failed("read the index"))?;
        index.read(false).map_err(self.failed("read the index"))?;
        Ok(index.iter().map(|entry| path(&entry.path)).collect())
    }

    /// Those of these paths, relative to the root, that git tracks.
    ///
    /// # Errors
    /// If the index cannot be read.
    pub fn tracked(&self, paths: BTreeSet<PathBuf>) -> Result<BTreeSet<PathBuf>, VerifyError> {
        let mut index = self.lock().index().map_err(self.failed("read the index"))?;
        index.read(false).map_err(self.failed("read the index"))?;
        // A conflict has stages and no single entry.
        let held = |path: &PathBuf| (0..=3).any(|stage| index.get_path(path, stage).is_some());
        Ok(paths.into_iter().filter(held).collect())
    }
}
