//! Other folders of objects that a repository borrows from (`git clone --shared`, `--reference`).

use std::fs;
use std::os::unix::ffi::OsStringExt as _;
use std::path::{Path, PathBuf};

use crate::verify::error::RepoProblem;

/// The list of them in a folder of objects.
const LIST: &str = "info/alternates";

/// git follows a list in a list this far.
const DEPTH: usize = 6;

/// The folders that a folder of objects borrows from, the whole chain: without links, and as they are
/// written.
///
/// # Errors
/// If one is not there.
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
