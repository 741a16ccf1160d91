//! Files of the workspace that are hard links: package managers link installed files into a store,
//! and `git clone` links objects. A write in the workspace would change the other file, too.
//!
//! Invariant: a file keeps its name, content, mode, times, and attributes; only its inode changes.
//! Nothing outside the folder is written.

use std::collections::BTreeMap;
use std::fs::{self, File, FileTimes, Metadata};
use std::io;
use std::num::NonZeroUsize;
use std::os::unix::fs::{MetadataExt as _, chown};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use rustix::fs::{Access, XattrFlags, access, getxattr, listxattr, setxattr};
use rustix::io::Errno;
use rustix::process::geteuid;

use crate::sys::visit;

/// Largest list of names, and largest value, of extended attributes in Linux, in bytes.
const LARGEST_ATTRIBUTE: usize = 64 << 10;

/// Gives every file below `root` that has names elsewhere its own inode. Files whose names all lie
/// below `root`, such as those of a build folder, stay linked to each other. Returns how many were
/// copied.
///
/// # Errors
/// If a file cannot be copied that this user can write. Folders that cannot be read are passed
/// over: the agent cannot read them either.
pub fn separate(root: &Path) -> io::Result<usize> {
    let mut shared = Shared::new();
    for part in visit(root.to_owned(), collect) {
        for (file, (links, names)) in part {
            let all = shared.entry(file).or_insert((links, Vec::new()));
            all.1.extend(names);
        }
    }
    let elsewhere = |(links, names): &(u64, Vec<PathBuf>)| *links > names.len() as u64;
    let found: Vec<Vec<PathBuf>> =
        shared.into_values().filter(elsewhere).map(|(_, names)| names).collect();
    let next = AtomicUsize::new(0);
    let work = || {
        while let Some(names) = found.get(next.fetch_add(1, Ordering::Relaxed)) {
            renew(names).or_else(|error| if is_writable(names) { Err(error) } else { Ok(()) })?;
        }
        Ok(())
    };
    let threads = thread::available_parallelism().map_or(1, NonZeroUsize::get);
    thread::scope(|scope| {
        let started: Vec<_> = (1..threads).map(|_| scope.spawn(work)).collect();
        let own = work();
        let others = started.into_iter().map(|thread| {
            thread.join().unwrap_or_else(|_| Err(io::Error::other("a thread that copies failed")))
        });
        others.fold(own, Result::and)
    })?;
    Ok(found.len())
}

/// May this user write the file, or let itself write it?
fn is_writable(names: &[PathBuf]) -> bool {
    let user = geteuid();
    names.first().is_some_and(|name| {
        let owner = fs::metadata(name).is_ok_and(|meta| meta.uid() == user.as_raw());
        owner || user.is_root() || access(name, Access::WRITE_OK).is_ok()
    })
}

/// Files with several names: how many each has, and those that are known.
type Shared = BTreeMap<(u64, u64), (u64, Vec<PathBuf>)>;

/// Finds the names in a folder of each file that has several. Returns the folders in it.
fn collect(folder: PathBuf, shared: &mut Shared) -> Vec<PathBuf> {
    let mut folders = Vec::new();
    for entry in fs::read_dir(folder).into_iter().flatten().filter_map(Result::ok) {
        let Ok(kind) = entry.file_type() else { continue };
        if kind.is_dir() {
            folders.push(entry.path());
        } else if let Some(meta) = kind.is_file().then(|| entry.metadata().ok()).flatten()
            && meta.nlink() > 1
        {
            let names = shared.entry((meta.dev(), meta.ino())).or_default();
            names.0 = meta.nlink();
            names.1.push(entry.path());
        }
    }
    folders
}

/// Copies a file once, and links all these names to the copy.
fn renew(names: &[PathBuf]) -> io::Result<()> {
    let Some((first, others)) = names.split_first() else { return Ok(()) };
    let folder = first.parent().ok_or(io::ErrorKind::InvalidInput)?;
    let copy = tempfile::Builder::new().prefix(".ralph-tmp-").tempfile_in(folder)?;
    let meta = fs::metadata(first)?;
    fs::copy(first, copy.path())?;
    keep(&meta, copy.path())?;
    keep_attributes(first, copy.path())?;
    fs::set_permissions(copy.path(), meta.permissions())?;
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
    File::open(copy)?.set_times(times)
}

fn keep_attributes(from: &Path, to: &Path) -> io::Result<()> {
    let mut names = vec![0; LARGEST_ATTRIBUTE];
    let length = match listxattr(from, &mut names) {
        Ok(length) => length,
        // Some file systems have none.
        Err(Errno::OPNOTSUPP) => 0,
        Err(error) => return Err(error.into()),
    };
    for name in names[..length].split(|byte| *byte == 0).filter(|name| !name.is_empty()) {
        let mut value = vec![0; LARGEST_ATTRIBUTE];
        let length = getxattr(from, name, &mut value)?;
        match setxattr(to, name, &value[..length], XattrFlags::empty()) {
            // Only root sets those of the system.
            Ok(()) | Err(Errno::PERM | Errno::OPNOTSUPP) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
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
        let attribute =
            setxattr(at("store/shared"), "user.ralph", b"kept", XattrFlags::empty()).is_ok();
        assert_eq!(separate(&at("repo")).expect("separated"), 1);
        let mut value = [0; 8];
        let kept = getxattr(at("repo/a/shared"), "user.ralph", &mut value);
        assert!(!attribute || kept == Ok(4), "{kept:?}");
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
