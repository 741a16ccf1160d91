//! Git's ids and paths as the model holds them.

use std::fs;
use std::path::{Path, PathBuf};

use crate::model::Oid;
use crate::verify::error::{VerifyError, io_error};

/// The bytes of a file; none if it does not exist.
pub(super) fn read_or_empty(path: &Path) -> Result<Vec<u8>, VerifyError> {
    match fs::read(path) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(Vec::new()),
        other => other.map_err(io_error("read", path)),
    }
}

/// Does git ignore a path? An ignored folder includes everything in it, even files that a later
/// pattern would bring back; libgit2 looks only at the path.
pub(super) fn is_ignored(repo: &git2::Repository, path: &Path) -> Result<bool, git2::Error> {
    for above in path.ancestors().filter(|above| !above.as_os_str().is_empty()) {
        if repo.is_path_ignored(above)? {
            return Ok(true);
        }
    }
    Ok(false)
}

/// A git id as the model holds it.
pub(super) fn oid(id: git2::Oid) -> Oid {
    Oid::new(id.to_string())
}

/// A path as git stores it: bytes, `/`-separated.
pub(super) fn path(bytes: &[u8]) -> PathBuf {
    use std::os::unix::ffi::OsStrExt;
    // A directory's trailing slash would make two names of one thing.
    let bytes = bytes.strip_suffix(b"/").unwrap_or(bytes);
    PathBuf::from(std::ffi::OsStr::from_bytes(bytes))
}
