//! Other folders of objects that a repository borrows from (`git clone --shared`, `--reference`).

use std::fs;
use std::os::unix::ffi::OsStringExt as _;
use std::path::{Path, PathBuf};

use super::git_repo::GitRepo;
use crate::verify::error::RepoProblem;

/// The list of them in a folder of objects.
const LIST: &str = "info/alternates";

/// git follows a list in a list this far.
const DEPTH: usize = 6;

impl GitRepo {
    /// The folders of objects outside the repository that it and its submodules borrow from, as
    /// they are written and without links.
    ///
    /// # Errors
    /// If one of its own is not there.
    pub fn alternates(&self) -> Result<Vec<PathBuf>, RepoProblem> {
        let mut all = alternates(&self.common_dir.join("objects"))?;
        for module in self.submodules(&self.lock()).unwrap_or_default() {
            let objects = module.open().map(|inner| inner.commondir().join("objects"));
            all.extend(objects.ok().and_then(|it| alternates(&it).ok()).unwrap_or_default());
        }
        all.retain(|path| !path.starts_with(&self.root) && !path.starts_with(&self.common_dir));
        Ok(all)
    }
}

/// The folders that a folder of objects borrows from, the whole chain.
pub(super) fn alternates(objects: &Path) -> Result<Vec<PathBuf>, RepoProblem> {
    let mut found = Vec::new();
    follow(objects, DEPTH, &mut found)?;
    Ok(found)
}

fn follow(objects: &Path, depth: usize, found: &mut Vec<PathBuf>) -> Result<(), RepoProblem> {
    let list = objects.join(LIST);
    for line in fs::read(&list).unwrap_or_default().split(|byte| *byte == b'\n') {
        if line.is_empty() || line.starts_with(b"#") {
            continue;
        }
        let written = objects.join(std::ffi::OsString::from_vec(line.to_vec()));
        let Some(real) = fs::canonicalize(&written).ok().filter(|it| it.is_dir()) else {
            return Err(RepoProblem::NoAlternate { path: written, list });
        };
        if found.contains(&real) {
            continue;
        }
        found.push(real.clone());
        if written != real && written.components().all(|part| part.as_os_str() != "..") {
            found.push(written);
        }
        if depth > 0 {
            follow(&real, depth - 1, found)?;
        }
    }
    Ok(())
}
