//! Files of the workspace that are also files of something else: package managers link what they
//! install into a store, and `git clone` links objects. A write in the workspace would change
//! the other one, too.
//!
//! Invariant: a file keeps its name, content, mode and times; only its inode is another one.

use std::collections::BTreeMap;
use std::fs::{self, File, FileTimes, Metadata};
use std::io;
use std::os::unix::fs::{MetadataExt as _, chown};
use std::path::{Path, PathBuf};

/// Gives every file below `root` that has names elsewhere an inode of its own. Files whose names
/// all lie below `root`, such as those of a build folder, stay linked to each other.
///
/// # Errors
/// If a file cannot be copied. Folders that cannot be read are passed over: the agent cannot read
/// them either.
pub fn separate(root: &Path) -> io::Result<()> {
    let mut shared: BTreeMap<(u64, u64), (u64, Vec<PathBuf>)> = BTreeMap::new();
    collect(root, &mut shared);
    for (links, names) in shared.into_values() {
        if links > names.len() as u64 {
            renew(&names)?;
        }
    }
    Ok(())
}

/// Finds the names below a folder of each file that has several.
fn collect(folder: &Path, shared: &mut BTreeMap<(u64, u64), (u64, Vec<PathBuf>)>) {
    for entry in fs::read_dir(folder).into_iter().flatten().filter_map(Result::ok) {
        let Ok(kind) = entry.file_type() else { continue };
        if kind.is_dir() {
            collect(&entry.path(), shared);
        } else if let Some(meta) = kind.is_file().then(|| entry.metadata().ok()).flatten()
            && meta.nlink() > 1
        {
            let names = shared.entry((meta.dev(), meta.ino())).or_default();
            names.0 = meta.nlink();
            names.1.push(entry.path());
        }
    }
}

/// Copies a file once, and links all these names to the copy.
fn renew(names: &[PathBuf]) -> io::Result<()> {
    let Some((first, others)) = names.split_first() else { return Ok(()) };
    let folder = first.parent().ok_or(io::ErrorKind::InvalidInput)?;
    let copy = tempfile::Builder::new().prefix(".ralph-tmp-").tempfile_in(folder)?;
    let meta = fs::metadata(first)?;
    fs::copy(first, copy.path())?;
    keep(&meta, copy.path())?;
    let copy = copy.persist(first)?;
    drop(copy);
    for name in others {
        let folder = name.parent().ok_or(io::ErrorKind::InvalidInput)?;
        let beside = tempfile::Builder::new().prefix(".ralph-tmp-").tempdir_in(folder)?;
        let link = beside.path().join("link");
        fs::hard_link(first, &link)?;
        fs::rename(&link, name)?;
    }
    Ok(())
}

fn keep(meta: &Metadata, copy: &Path) -> io::Result<()> {
    let made = fs::metadata(copy)?;
    if (made.uid(), made.gid()) != (meta.uid(), meta.gid()) {
        // Only root can; for others a copy is their own.
        drop(chown(copy, Some(meta.uid()), Some(meta.gid())));
    }
    let times = FileTimes::new().set_modified(meta.modified()?).set_accessed(meta.accessed()?);
    File::open(copy)?.set_times(times)?;
    fs::set_permissions(copy, meta.permissions())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_with_names_elsewhere_is_copied_and_one_without_stays() {
        let dir = tempfile::tempdir().expect("temporary folder");
        let at = |name: &str| dir.path().join(name);
        for folder in ["store", "repo/a", "repo/b"] {
            fs::create_dir_all(at(folder)).expect("folder");
        }
        for (original, names) in [
            ("store/shared", ["repo/a/shared", "repo/b/shared"]),
            ("repo/a/inside", ["repo/b/inside", "repo/b/again"]),
        ] {
            fs::write(at(original), "text").expect("written");
            names.iter().for_each(|name| fs::hard_link(at(original), at(name)).expect("linked"));
        }
        let inode = |name: &str| fs::metadata(at(name)).expect("there").ino();
        let modified =
            |name: &str| fs::metadata(at(name)).expect("there").modified().expect("time");
        let (inside, time) = (inode("repo/a/inside"), modified("store/shared"));
        let mode = std::os::unix::fs::PermissionsExt::from_mode(0o555);
        fs::set_permissions(at("store/shared"), mode).expect("mode");
        separate(&at("repo")).expect("separated");
        assert_ne!(inode("repo/a/shared"), inode("store/shared"));
        assert_eq!(inode("repo/a/shared"), inode("repo/b/shared"));
        assert_eq!(inode("repo/b/again"), inside);
        assert_eq!(modified("repo/b/shared"), time);
        assert_eq!(fs::metadata(at("repo/a/shared")).expect("there").mode() & 0o777, 0o555);
        assert_eq!(fs::read_to_string(at("repo/b/shared")).expect("read"), "text");
        let left: Vec<_> = fs::read_dir(at("repo/b")).expect("folder").flatten().collect();
        assert_eq!(left.len(), 3, "{left:?}");
    }
}
