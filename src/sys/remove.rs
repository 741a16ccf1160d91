//! Removal of folders in which other programs wrote.

use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

/// Removes a folder with everything in it, also where folders in it cannot be entered or changed.
/// Links are not followed.
///
/// # Errors
/// If an entry in it belongs to another user.
pub fn remove_tree(folder: &Path) -> io::Result<()> {
    match fs::remove_dir_all(folder) {
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
            open_up(folder);
            fs::remove_dir_all(folder)
        }
        removed => removed,
    }
}

/// Removes a file, a link, or a folder with everything in it, if it is there.
///
/// # Errors
/// As for [`remove_tree`].
pub fn remove_any(path: &Path) -> io::Result<()> {
    match fs::symlink_metadata(path) {
        Ok(meta) if meta.is_dir() => remove_tree(path),
        Ok(_) => fs::remove_file(path),
        Err(error)
            if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) =>
        {
            Ok(())
        }
        Err(error) => Err(error),
    }
}

/// Gives the owner every right on a folder. Returns whether it is a folder: a link to one is not.
pub fn open_folder(path: &Path) -> bool {
    let Ok(meta) = fs::symlink_metadata(path) else { return false };
    let mode = meta.permissions().mode();
    if meta.is_dir() && mode & 0o700 != 0o700 {
        // A failed change is reported by the later step in the folder.
        drop(fs::set_permissions(path, fs::Permissions::from_mode(mode | 0o700)));
    }
    meta.is_dir()
}

/// Gives the owner every right on the folders of a tree.
pub fn open_up(path: &Path) {
    if !open_folder(path) {
        return;
    }
    for entry in fs::read_dir(path).into_iter().flatten().filter_map(Result::ok) {
        open_up(&entry.path());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_that_nobody_may_enter_are_removed_and_links_are_not_followed() {
        let dir = tempfile::tempdir().expect("a folder");
        let (tree, kept) = (dir.path().join("tree"), dir.path().join("kept"));
        fs::create_dir_all(tree.join("closed/inside")).expect("made");
        fs::create_dir(&kept).expect("made");
        fs::set_permissions(&kept, fs::Permissions::from_mode(0o500)).expect("closed");
        std::os::unix::fs::symlink(&kept, tree.join("closed/link")).expect("linked");
        for folder in ["closed/inside", "closed"] {
            let closed = fs::Permissions::from_mode(0o000);
            fs::set_permissions(tree.join(folder), closed).expect("closed");
        }
        remove_tree(&tree).expect("removed");
        assert!(!tree.exists());
        assert_eq!(fs::metadata(&kept).expect("kept").permissions().mode() & 0o777, 0o500);
    }
}
