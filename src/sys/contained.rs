//! Files below a folder, opened without following links.
//!
//! Invariant: a path is walked from the folder component by component, and a component that is a
//! link is an error. So the opened file is the one that a caller judged by its path without links,
//! even if another process creates a link there in between.

use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Component, Path};

use rustix::fs::{Dir, FileType, Mode, OFlags, mkdirat, open, openat};

/// The folder of the opened file.
#[derive(Debug)]
pub struct Contained(OwnedFd);

/// A folder's entry.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct FolderEntry {
    /// Its name, as text.
    pub name: String,
    /// Is it a folder itself? A link to one is not.
    pub is_folder: bool,
}

/// An entry in the place of a folder on the way.
const FOLDER: OFlags =
    OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

impl Contained {
    /// Opens the folder; links in its own path are followed.
    ///
    /// # Errors
    /// If it cannot be opened.
    pub fn open(folder: &Path) -> io::Result<Self> {
        Ok(Self(open(folder, FOLDER.difference(OFlags::NOFOLLOW), Mode::empty())?))
    }

    /// Opens a regular file for reading. Never waits, as for the writer of a pipe.
    ///
    /// # Errors
    /// If it is not a regular file, cannot be opened, or a link is on the way.
    pub fn read(&self, path: &Path) -> io::Result<File> {
        let (folders, name) = split(path)?;
        let flags =
            OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
        let file = File::from(openat(self.walk(&folders)?, name, flags, Mode::empty())?);
        if !file.metadata()?.is_file() {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "it is not a file"));
        }
        Ok(file)
    }

    /// Creates a file for writing, and the folders on the way that are missing.
    ///
    /// # Errors
    /// If it exists, cannot be created, or a link is on the way.
    pub fn create(&self, path: &Path) -> io::Result<File> {
        let (folders, name) = split(path)?;
        let mut at = self.0.try_clone()?;
        for folder in folders {
            match mkdirat(&at, folder, Mode::from_raw_mode(0o777)) {
                Ok(()) | Err(rustix::io::Errno::EXIST) => {}
                Err(error) => return Err(error.into()),
            }
            at = openat(&at, folder, FOLDER, Mode::empty())?;
        }
        let flags =
            OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        Ok(File::from(openat(&at, name, flags, Mode::from_raw_mode(0o666))?))
    }

    /// The entries of a folder, by name; an empty path is the folder itself.
    ///
    /// # Errors
    /// If it cannot be read, or a link is on the way.
    pub fn list(&self, path: &Path) -> io::Result<Vec<FolderEntry>> {
        let mut found = Vec::new();
        for entry in Dir::read_from(self.walk(&names(path)?)?)? {
            let entry = entry?;
            let name = entry.file_name().to_string_lossy().into_owned();
            if name != "." && name != ".." {
                let is_folder = entry.file_type() == FileType::Directory;
                found.push(FolderEntry { name, is_folder });
            }
        }
        found.sort();
        Ok(found)
    }

    fn walk(&self, folders: &[&OsStr]) -> io::Result<OwnedFd> {
        let mut at = self.0.try_clone()?;
        for folder in folders {
            at = openat(&at, *folder, FOLDER, Mode::empty())?;
        }
        Ok(at)
    }
}

/// The names on the way to a path; one that leads elsewhere is an error.
fn names(path: &Path) -> io::Result<Vec<&OsStr>> {
    let inside = |part| match part {
        Component::Normal(name) => Ok(name),
        Component::Prefix(_) | Component::RootDir | Component::CurDir | Component::ParentDir => {
            Err(io::Error::new(io::ErrorKind::InvalidInput, "it leads out of its folder"))
        }
    };
    path.components().map(inside).collect()
}

/// The folders on the way, and the last name.
fn split(path: &Path) -> io::Result<(Vec<&OsStr>, &OsStr)> {
    let mut names = names(path)?;
    let last = names.pop();
    let last = last.ok_or_else(|| io::Error::new(io::ErrorKind::InvalidInput, "it is a folder"))?;
    Ok((names, last))
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::io::{Read as _, Write as _};
    use std::os::unix::fs::symlink;

    use super::*;

    fn read(folder: &Contained, path: &str) -> io::Result<String> {
        let mut text = String::new();
        folder.read(Path::new(path))?.read_to_string(&mut text)?;
        Ok(text)
    }

    #[test]
    fn files_are_read_created_and_listed_and_no_link_is_followed() {
        let place = tempfile::tempdir().expect("a folder");
        let (inner, outer) = (place.path().join("in"), place.path().join("out"));
        fs::create_dir_all(inner.join("a")).expect("made");
        fs::create_dir(&outer).expect("made");
        fs::write(inner.join("a/file"), "text").expect("written");
        fs::write(outer.join("file"), "secret").expect("written");
        for (to, link) in [
            (outer.as_path(), "folder-link"),
            (&outer.join("file"), "file-link"),
            (Path::new("a/file"), "inner-link"),
            (&outer.join("new"), "dangling"),
        ] {
            symlink(to, inner.join(link)).expect("a link");
        }
        let folder = Contained::open(&inner).expect("opened");
        assert_eq!(read(&folder, "a/file").expect("read"), "text");
        for path in [
            "folder-link/file",
            "file-link",
            "inner-link",
            "dangling",
            "../out/file",
            "/etc/passwd",
        ] {
            assert!(read(&folder, path).is_err(), "{path}");
            assert!(folder.create(Path::new(path)).is_err(), "{path}");
        }
        assert!(read(&folder, "a").is_err() && read(&folder, "").is_err());
        assert!(folder.create(Path::new("folder-link/b/new")).is_err());
        assert!(folder.list(Path::new("folder-link")).is_err());
        let mut made = folder.create(Path::new("b/c/new")).expect("created");
        made.write_all(b"new").expect("written");
        assert_eq!(read(&folder, "b/c/new").expect("read"), "new");
        assert!(folder.create(Path::new("b/c/new")).is_err(), "it is there");
        assert_eq!(fs::read_dir(&outer).expect("listed").count(), 1, "something was made outside");
        let names = |path: &str| -> Vec<(String, bool)> {
            let entries = folder.list(Path::new(path)).expect("listed");
            entries.into_iter().map(|entry| (entry.name, entry.is_folder)).collect()
        };
        assert_eq!(names("b"), [("c".to_owned(), true)]);
        let all = names("");
        assert!(all.contains(&("a".to_owned(), true)), "{all:?}");
        assert!(all.contains(&("folder-link".to_owned(), false)), "{all:?}");
    }

    #[test]
    fn a_pipe_is_no_file_and_is_not_waited_for() {
        let place = tempfile::tempdir().expect("a folder");
        let mode = Mode::from_raw_mode(0o600);
        let path = place.path().join("pipe");
        rustix::fs::mknodat(rustix::fs::CWD, &path, FileType::Fifo, mode, 0).expect("a pipe");
        let folder = Contained::open(place.path()).expect("opened");
        assert!(folder.read(Path::new("pipe")).is_err());
    }
}
