//! The files of a room as they were on disk when they matched its commit, and their differences
//! after a check.
//!
//! Invariant: a file counts as unchanged only if the kernel says so: the same inode, size, mode,
//! and times. Programs cannot set the change time. git compares files that changed so shortly
//! before they were recorded that their time could stay the same.

use std::collections::{HashMap, HashSet};
use std::ffi::OsString;
use std::fs::{self, Metadata};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use crate::sys::open_folder;
use crate::verify::git::pipes::{PatternFile, pattern};

/// The bits of a mode that give the type of an entry, and three of their values.
const KIND: u32 = 0o170_000;
const FILE: u32 = 0o100_000;
const LINK: u32 = 0o120_000;
const FOLDER: u32 = 0o040_000;
/// The kernel's clock for files may stand still this long.
const TICK: Duration = Duration::from_millis(100);
/// More threads do not list folders faster.
const MOST_THREADS: usize = 4;

/// The recorded state of the files in an index.
#[derive(Debug, Default)]
pub(super) struct OnDisk(HashMap<PathBuf, Folder>);

#[derive(Debug, Default)]
struct Folder {
    files: HashMap<OsString, Known>,
    folders: HashSet<OsString>,
}

/// The recorded state of a path in an index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Known {
    /// As the room is to hold it.
    As(Stat),
    /// Nothing: git has to look at it.
    Nothing,
    /// It is a submodule's, which looks after itself.
    Submodule,
}

/// A file without its content.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Stat {
    id: (u64, u64),
    mode: u32,
    size: u64,
    modified: (i64, i64),
    changed: (i64, i64),
}

impl Stat {
    /// Of a regular file.
    pub(super) fn of_file(path: &Path) -> Option<Self> {
        fs::symlink_metadata(path).ok().filter(Metadata::is_file).map(|meta| Self::of(&meta))
    }

    fn of(meta: &Metadata) -> Self {
        Self {
            id: (meta.dev(), meta.ino()),
            mode: meta.mode(),
            size: meta.size(),
            modified: (meta.mtime(), meta.mtime_nsec()),
            changed: (meta.ctime(), meta.ctime_nsec()),
        }
    }

    /// Neither a file, nor a link, nor a folder: git does not see it.
    pub(super) fn is_special(&self) -> bool {
        ![FILE, LINK, FOLDER].contains(&(self.mode & KIND))
    }

    /// A file of this mode in an index, which knows only whether its owner may execute it.
    pub(super) fn is_plain(&self, mode: u32) -> bool {
        self.mode & KIND == FILE && mode & KIND == FILE && (self.mode ^ mode) & 0o100 == 0
    }

    /// A file that its owner cannot read.
    fn is_closed(&self) -> bool {
        self.mode & KIND == FILE && self.mode & 0o400 == 0
    }

    /// Would a later change have another time?
    fn is_settled(&self, now: SystemTime) -> bool {
        let (seconds, nanos) = self.changed;
        let changed = u64::try_from(seconds).ok().zip(u32::try_from(nanos).ok());
        let changed = changed.map(|(s, n)| SystemTime::UNIX_EPOCH + Duration::new(s, n));
        changed.is_some_and(|changed| now.duration_since(changed).is_ok_and(|age| age > TICK))
    }
}

/// The findings of a scan of a room. Paths are relative to it.
#[derive(Debug, Default)]
pub(super) struct Look {
    /// Paths that may differ, with their current state.
    pub(super) doubtful: Vec<(PathBuf, Option<Stat>)>,
    /// A folder of the index is no longer a folder, or is a separate repository.
    pub(super) odd: bool,
    /// Entries that hide files of the index: folders in their places, and repositories around them.
    pub(super) hiding: Vec<PathBuf>,
    /// Folders that hold nothing of the index.
    pub(super) others: Vec<PathBuf>,
    /// Files with patterns in the other folders.
    pub(super) patterns: Vec<PathBuf>,
}

impl OnDisk {
    /// Is nothing noted yet?
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Notes files of the index as they are: they are as the room is to hold them.
    pub(super) fn note<'p>(&mut self, work: &Path, paths: impl Iterator<Item = (&'p Path, bool)>) {
        let now = SystemTime::now();
        for (path, is_submodule) in paths {
            let known = match fs::symlink_metadata(work.join(path)) {
                _ if is_submodule => Known::Submodule,
                Ok(meta) => known(Stat::of(&meta), now),
                Err(_) => Known::Nothing,
            };
            self.set(path, known);
        }
    }

    /// Records files that git found to be unchanged, with their state before git compared them.
    pub(super) fn note_seen(&mut self, path: &Path, stat: Stat, before: SystemTime) {
        let folder = self.0.get_mut(path.parent().unwrap_or(Path::new("")));
        let file = folder.zip(path.file_name()).and_then(|(it, name)| it.files.get_mut(name));
        if let Some(file) = file {
            *file = known(stat, before);
        }
    }

    /// Forgets a path that is no longer in the index.
    pub(super) fn forget(&mut self, path: &Path) {
        let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else { return };
        let Some(folder) = self.0.get_mut(parent) else { return };
        folder.files.remove(name);
        if folder.files.is_empty() && folder.folders.is_empty() && !parent.as_os_str().is_empty() {
            self.0.remove(parent);
            self.forget_folder(parent);
        }
    }

    fn forget_folder(&mut self, path: &Path) {
        let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else { return };
        let Some(folder) = self.0.get_mut(parent) else { return };
        folder.folders.remove(name);
        if folder.files.is_empty() && folder.folders.is_empty() && !parent.as_os_str().is_empty() {
            self.0.remove(parent);
            self.forget_folder(parent);
        }
    }

    fn set(&mut self, path: &Path, known: Known) {
        let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else { return };
        if let Some(folder) = self.0.get_mut(parent) {
            folder.files.insert(name.to_owned(), known);
            return;
        }
        self.0.entry(parent.to_owned()).or_default().files.insert(name.to_owned(), known);
        for folder in parent.ancestors() {
            let (Some(above), Some(name)) = (folder.parent(), folder.file_name()) else { break };
            if !self.0.entry(above.to_owned()).or_default().folders.insert(name.to_owned()) {
                break;
            }
        }
    }

    /// Gives the owner every right on the folders of the index. Returns the existing ones: files
    /// behind a link in the place of a folder are not part of the room.
    fn open_folders(&self, work: &Path) -> Vec<(PathBuf, &Folder)> {
        let (mut there, mut waiting) = (Vec::new(), vec![PathBuf::new()]);
        while let Some(path) = waiting.pop() {
            if let Some(folder) = self.0.get(&path).filter(|_| open_folder(&work.join(&path))) {
                waiting.extend(folder.folders.iter().map(|name| path.join(name)));
                there.push((path, folder));
            }
        }
        there
    }

    /// Looks at every file of the index, and at the entries beside them. Removes pipes in the place
    /// of files that git reads, and files of the index that cannot be read.
    pub(super) fn look(&self, work: &Path) -> Look {
        let folders = self.open_folders(work);
        let threads = std::thread::available_parallelism().map_or(1, usize::from);
        let size = folders.len().div_ceil(threads.min(MOST_THREADS)).max(1);
        let mut all = Look { odd: folders.len() != self.0.len(), ..Look::default() };
        std::thread::scope(|scope| {
            let look = |part: &[(PathBuf, &Folder)]| {
                let mut found = Look::default();
                part.iter().for_each(|(path, folder)| folder.look(work, path, &mut found));
                found
            };
            let parts = folders.chunks(size);
            let running: Vec<_> = parts.map(|part| scope.spawn(move || look(part))).collect();
            for part in running {
                match part.join() {
                    Ok(found) => all.add(found),
                    Err(_) => all.odd = true,
                }
            }
        });
        all
    }
}

fn known(stat: Stat, now: SystemTime) -> Known {
    if stat.is_settled(now) { Known::As(stat) } else { Known::Nothing }
}

impl Look {
    fn add(&mut self, other: Self) {
        self.doubtful.extend(other.doubtful);
        self.odd |= other.odd;
        self.hiding.extend(other.hiding);
        self.others.extend(other.others);
        self.patterns.extend(other.patterns);
    }
}

impl Folder {
    fn look(&self, work: &Path, path: &Path, found: &mut Look) {
        let folder = work.join(path);
        let Ok(entries) = fs::read_dir(&folder) else {
            found.odd = true;
            return;
        };
        let (mut files, mut folders) = (0, 0);
        for entry in entries {
            let Ok((entry, kind)) = entry.and_then(|it| it.file_type().map(|kind| (it, kind)))
            else {
                found.odd = true;
                continue;
            };
            let name = entry.file_name();
            if name == ".git" {
                // Its own is written anew; one below makes a repository of a folder.
                if !path.as_os_str().is_empty() {
                    found.odd = true;
                    found.hiding.push(path.join(&name));
                }
                continue;
            }
            let at = || path.join(&name);
            let file = self.files.get(&name);
            files += usize::from(file.is_some());
            if kind.is_dir() {
                let is_folder = self.folders.contains(&name);
                folders += usize::from(is_folder);
                match file {
                    Some(Known::Submodule) => {}
                    Some(Known::As(_) | Known::Nothing) => {
                        found.odd = true;
                        found.hiding.push(at());
                    }
                    None if is_folder => {}
                    None => found.others.push(at()),
                }
                continue;
            }
            match pattern(&folder, &name, kind) {
                PatternFile::None => {}
                PatternFile::File => found.patterns.push(at()),
                PatternFile::Removed => {
                    found.doubtful.push((at(), None));
                    continue;
                }
            }
            let mut stat = entry.metadata().ok().map(|meta| Stat::of(&meta));
            if file.is_some() && stat.is_some_and(|stat| stat.is_closed()) {
                // It is written anew. If it cannot be removed, git says so.
                drop(fs::remove_file(entry.path()));
                stat = None;
            }
            let is_as_noted =
                matches!((file, &stat), (Some(Known::As(known)), Some(now)) if known == now);
            if !is_as_noted {
                found.doubtful.push((at(), stat));
            }
        }
        // A folder that is a link does not count as a folder.
        found.odd |= folders != self.folders.len();
        if files != self.files.len() {
            let gone = self.files.keys().map(|name| path.join(name));
            let gone = gone.filter(|path| fs::symlink_metadata(work.join(path)).is_err());
            found.doubtful.extend(gone.map(|path| (path, None)));
        }
    }
}
