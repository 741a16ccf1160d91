//! Atomic replacement of a file's content.
//!
//! Invariant: at every moment the path holds the complete old content or the complete new one.
//! A symbolic link at the path is replaced, never followed, so that an agent cannot redirect our
//! writes. Appending lives in `append`.

use std::fs::{self, File, Permissions};
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use super::crash;
use super::error::SysError;
use super::file_mode::FileMode;

/// The failures that a finished write survives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Durability {
    /// The death of this process at any instruction.
    Process,
    /// A power cut as well: the content and the folder are synchronized, which waits for the disk.
    Machine,
}

/// The prefix of our temporary files; a crash may leave one behind.
pub const TEMPORARY_PREFIX: &str = ".ralph-tmp-";

/// Writes `content` to a temporary file in the same folder and renames it to `path`. An existing
/// file keeps its mode; a new one gets `mode`.
///
/// # Errors
/// If any step fails; the old content is then untouched.
pub fn write(
    path: &Path,
    content: &[u8],
    durability: Durability,
    mode: FileMode,
) -> Result<(), SysError> {
    let folder = match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    let existing = match fs::symlink_metadata(path) {
        Ok(found) if found.is_file() => Some(Permissions::from_mode(found.permissions().mode())),
        Ok(_) => None,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => None,
        Err(error) => return Err(SysError::file("inspect", path)(error)),
    };
    crash::point("replace");
    let mut temporary = tempfile::Builder::new()
        .prefix(TEMPORARY_PREFIX)
        .permissions(Permissions::from_mode(mode.mode()))
        .tempfile_in(folder)
        .map_err(SysError::file("create a file in", folder))?;
    crash::point("temporary file made");
    temporary.write_all(content).map_err(SysError::file("write", path))?;
    crash::point("temporary file written");
    if let Some(mode) = existing {
        temporary
            .as_file()
            .set_permissions(mode)
            .map_err(SysError::file("keep the mode of", path))?;
    }
    match durability {
        Durability::Process => {
            temporary
                .persist(path)
                .map_err(|error| SysError::file("replace", path)(error.error))?;
        }
        Durability::Machine => {
            temporary.as_file().sync_all().map_err(SysError::file("synchronize", path))?;
            crash::point("temporary file synchronized");
            temporary
                .persist(path)
                .map_err(|error| SysError::file("replace", path)(error.error))?;
            crash::point("renamed");
            File::open(folder)
                .and_then(|folder| folder.sync_all())
                .map_err(SysError::file("synchronize", folder))?;
        }
    }
    crash::point("replaced");
    Ok(())
}

/// Checks that a folder has room for `bytes` more, by writing them to a temporary file.
///
/// # Errors
/// If it does not.
pub fn probe(folder: &Path, bytes: usize) -> Result<(), SysError> {
    let mut temporary = tempfile::Builder::new()
        .prefix(TEMPORARY_PREFIX)
        .tempfile_in(folder)
        .map_err(SysError::file("create a file in", folder))?;
    temporary.write_all(&vec![0; bytes]).map_err(SysError::file("write in", folder))
}

/// Removes the temporary files that a crash left in a folder; a missing folder has none. Call it
/// only while nothing else writes there.
///
/// # Errors
/// If the folder cannot be read or a file cannot be removed.
pub fn clear(folder: &Path) -> Result<(), SysError> {
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(SysError::file("list", folder)(error)),
    };
    for entry in entries {
        let entry = entry.map_err(SysError::file("list", folder))?;
        let ours = entry.file_name().as_encoded_bytes().starts_with(TEMPORARY_PREFIX.as_bytes());
        if ours && entry.file_type().is_ok_and(|kind| kind.is_file()) {
            fs::remove_file(entry.path()).map_err(SysError::file("remove", &entry.path()))?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    fn names(folder: &Path) -> Vec<String> {
        let mut names: Vec<String> = fs::read_dir(folder)
            .expect("folder")
            .map(|entry| entry.expect("entry").file_name().to_string_lossy().into_owned())
            .collect();
        names.sort();
        names
    }

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).expect("metadata").permissions().mode() & 0o777
    }

    #[test]
    fn replaces_the_content_keeps_the_mode_and_leaves_nothing_else() {
        let folder = tempfile::tempdir().expect("folder");
        let path = folder.path().join("state.json");
        for durability in [Durability::Process, Durability::Machine] {
            fs::write(&path, "old").expect("old");
            fs::set_permissions(&path, Permissions::from_mode(0o640)).expect("mode");
            write(&path, b"new", durability, FileMode::Owner).expect("write");
            assert_eq!(fs::read(&path).expect("read"), b"new");
            assert_eq!(mode(&path), 0o640);
            assert_eq!(names(folder.path()), ["state.json"]);
        }
    }

    #[test]
    fn a_new_owner_file_is_private() {
        let folder = tempfile::tempdir().expect("folder");
        let path = folder.path().join("private");
        write(&path, b"x", Durability::Process, FileMode::Owner).expect("write");
        assert_eq!(mode(&path), 0o600);
        let shared = folder.path().join("shared");
        write(&shared, b"x", Durability::Process, FileMode::Umask).expect("write");
        assert_eq!(mode(&shared) & 0o400, 0o400);
        assert_eq!(mode(&shared) & 0o111, 0);
    }

    #[test]
    fn a_link_is_replaced_and_its_target_is_unchanged() {
        let folder = tempfile::tempdir().expect("folder");
        let target = folder.path().join("target");
        let link = folder.path().join("link");
        fs::write(&target, "outside").expect("target");
        symlink(&target, &link).expect("link");
        write(&link, b"inside", Durability::Machine, FileMode::Umask).expect("write");
        assert_eq!(fs::read(&target).expect("target"), b"outside");
        assert!(fs::symlink_metadata(&link).expect("link").is_file());
    }

    #[test]
    fn a_refused_write_names_operation_and_path_and_changes_nothing() {
        let folder = tempfile::tempdir().expect("folder");
        let path = folder.path().join("is-a-folder");
        fs::create_dir(&path).expect("folder");
        fs::write(path.join("inside"), "x").expect("inside");
        let error =
            write(&path, b"new", Durability::Process, FileMode::Owner).expect_err("refused");
        assert!(error.to_string().starts_with(&format!("cannot replace {}", path.display())));
        assert_eq!(names(folder.path()), ["is-a-folder"]);
        let gone = folder.path().join("gone/state.json");
        let error =
            write(&gone, b"new", Durability::Process, FileMode::Owner).expect_err("refused");
        assert!(error.to_string().starts_with("cannot create a file in "), "{error}");
    }
}
