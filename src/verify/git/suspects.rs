//! The paths that may differ from the index: git only needs to look at these.
//!
//! libgit2 asks for one file after the other, by its whole path. This walk lists folders with
//! several threads instead; it follows the index of the last look while the current one is read.
//! Invariant: a path that is left out is the same in both, and its file has the inode, size, mode,
//! and times that git noted, which are older than the index. Git alone says whether and how the
//! others differ.

use std::cmp::Ordering;
use std::ffi::OsStr;
use std::fs::{self, DirEntry, Metadata};
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::os::unix::fs::MetadataExt as _;
use std::panic::resume_unwind;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use git2::{IndexEntry, IndexEntryExtendedFlag, IndexTime, ObjectType, Oid, Repository, Tree};

use super::index_file::{FLAGS, IndexFile, holds, pair, place};
use super::pipes::{PatternFile, pattern, remove_pipes};
use crate::sys::visit;

/// More paths than this are not faster than all of them.
const MOST: usize = 1_000;
/// Bits of an entry's flags that number the sides of a conflict.
const STAGE: u16 = 0x3000;
/// The kernel's clock for files stands still this long.
pub(super) const TICK: Duration = Duration::from_millis(20);
/// A file without content.
const EMPTY: &str = "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391";

/// An index as it was read.
pub(super) struct Indexed {
    pub(super) entries: Vec<IndexEntry>,
    /// Its bytes, where libgit2 did not have to read them.
    bytes: Option<IndexFile>,
    /// Its file; none without one.
    file: Option<Metadata>,
}

impl Indexed {
    pub(super) fn read(repo: &Repository) -> Result<Self, git2::Error> {
        let path = repo.path().join("index");
        // A time that is too old only makes more files suspect.
        let file = fs::metadata(&path).ok();
        if let Some((bytes, entries)) = file.as_ref().and_then(|_| IndexFile::read(&path)) {
            return Ok(Self { entries, bytes: Some(bytes), file });
        }
        let mut index = repo.index()?;
        // libgit2 keeps an index whose file is gone, unless it is told to read it anyway.
        index.read(file.is_none())?;
        Ok(Self { entries: index.iter().collect(), bytes: None, file })
    }

    /// This index with other entries for some of its paths, as `write` puts its bytes in the place of
    /// the file that was read. Nothing if libgit2 has to do that.
    pub(super) fn changed<E>(
        self,
        noted: Vec<IndexEntry>,
        write: impl FnOnce(&Metadata, &[u8]) -> Result<Metadata, E>,
    ) -> Option<Result<Self, E>> {
        let written = self.written()?;
        let (mut entries, mut bytes, file) = (self.entries, self.bytes?, self.file?);
        let file = write(&file, bytes.change(&mut entries, noted, written)?);
        Some(file.map(|file| Self { entries, bytes: Some(bytes), file: Some(file) }))
    }

    /// Is it the same file that is there now?
    pub(super) fn is_current(&self, repo: &Repository) -> bool {
        let path = repo.path().join("index");
        let now = fs::metadata(&path).ok();
        // A clock of whole seconds does not tell two changes of one second.
        self.bytes.as_ref().is_none_or(|bytes| bytes.has_sum_of(&path))
            && now.is_some()
            && now.as_ref().map(stamp) == self.file.as_ref().map(stamp)
    }

    /// The entry of a path that has no conflict and no extended flags.
    pub(super) fn entry(&self, path: &Path) -> Option<&IndexEntry> {
        let at = place(&self.entries, path.as_os_str().as_bytes())?;
        Some(&self.entries[at]).filter(|entry| is_settled(entry))
    }

    /// Is a file as git noted it when it last read it, possibly at the very time of this index?
    pub(super) fn has_noted(&self, root: &Path, path: &Path) -> bool {
        let meta = fs::symlink_metadata(root.join(path)).ok();
        let (entry, written) = (self.entry(path), self.written());
        let found = entry.zip(meta).zip(written);
        found.is_some_and(|((entry, meta), written)| Older(written).is_as_seen(entry, &meta))
    }

    /// Does it hold this very path, at any stage?
    pub(super) fn tracks(&self, path: &Path) -> bool {
        place(&self.entries, path.as_os_str().as_bytes()).is_some()
    }

    /// Does it hold a path, or one below it?
    pub(super) fn holds(&self, path: &Path) -> bool {
        holds(&self.entries, path.as_os_str().as_bytes())
    }

    /// Is everything in it as in a tree, and the other way around?
    pub(super) fn is(&self, repo: &Repository, tree: &Tree<'_>) -> Result<bool, git2::Error> {
        let covered = covered(repo, tree, &mut Vec::new(), &self.entries)?;
        Ok(covered == Some(self.entries.len()))
    }

    /// The time when it was written.
    fn written(&self) -> Option<IndexTime> {
        self.file.as_ref().and_then(|meta| time(meta.mtime(), meta.mtime_nsec()))
    }

    /// The paths whose entries are not the same in both.
    fn differences(&self, other: &Self) -> Vec<Vec<u8>> {
        let (mut ours, mut theirs) = (self.entries.as_slice(), other.entries.as_slice());
        let mut found = Vec::new();
        loop {
            let order = match (ours.first(), theirs.first()) {
                (None, None) => return found,
                (Some(_), None) => Ordering::Less,
                (None, Some(_)) => Ordering::Greater,
                (Some(our), Some(their)) => our.path.cmp(&their.path),
            };
            let (our, their) = (order.is_le(), order.is_ge());
            let same = our && their && is_same(&ours[0], &theirs[0]);
            if !same {
                found.push(if our { ours[0].path.clone() } else { theirs[0].path.clone() });
            }
            ours = &ours[usize::from(our)..];
            theirs = &theirs[usize::from(their)..];
        }
    }
}

/// How many of the first entries are those of a tree; none if one of the tree is not there.
fn covered(
    repo: &Repository,
    tree: &Tree<'_>,
    prefix: &mut Vec<u8>,
    entries: &[IndexEntry],
) -> Result<Option<usize>, git2::Error> {
    let mut at = 0;
    for child in tree {
        let length = prefix.len();
        prefix.extend(child.name_bytes());
        if child.kind() == Some(ObjectType::Tree) {
            prefix.push(b'/');
            let inner = repo.find_tree(child.id())?;
            match covered(repo, &inner, prefix, &entries[at..])? {
                Some(count) => at += count,
                None => return Ok(None),
            }
        } else {
            let mode = child.filemode_raw().unsigned_abs();
            let entry = entries.get(at).filter(|entry| is_settled(entry));
            if !entry.is_some_and(|it| it.id == child.id() && it.mode == mode && it.path == *prefix)
            {
                return Ok(None);
            }
            at += 1;
        }
        prefix.truncate(length);
    }
    Ok(Some(at))
}

/// Has an entry neither a conflict nor extended flags?
fn is_settled(entry: &IndexEntry) -> bool {
    entry.flags & STAGE == 0 && entry.flags_extended == 0
}

/// What tells a file from a later one in its place.
pub(super) fn stamp(meta: &Metadata) -> (u64, u64, [i64; 4]) {
    let times = [meta.mtime(), meta.mtime_nsec(), meta.ctime(), meta.ctime_nsec()];
    (meta.ino(), meta.size(), times)
}

/// Does an index say the same about a file?
fn is_same(a: &IndexEntry, b: &IndexEntry) -> bool {
    let noted = |it: &IndexEntry| (it.ino, it.file_size, it.mode, it.flags, it.flags_extended);
    let times = |it: &IndexEntry| (pair(&it.mtime), pair(&it.ctime));
    noted(a) == noted(b) && times(a) == times(b) && a.id == b.id
}

/// An entry that says of its file that it is unchanged.
pub(super) fn noted(entry: &IndexEntry, meta: &Metadata) -> Option<IndexEntry> {
    Some(IndexEntry {
        ctime: time(meta.ctime(), meta.ctime_nsec())?,
        mtime: time(meta.mtime(), meta.mtime_nsec())?,
        dev: low(meta.dev()),
        ino: low(meta.ino()),
        uid: meta.uid(),
        gid: meta.gid(),
        file_size: low(meta.size()),
        path: entry.path.clone(),
        ..*entry
    })
}

/// What a look at the working tree is to find.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Sought {
    /// Changed and untracked files.
    Changes,
    /// Ignored files.
    Ignored,
    All,
}

/// The paths of a working tree that git needs to look at, the index, and what `beside` found, which
/// runs at the same time. No paths if git has to look at all of them: too many may differ, a folder
/// is odd, or the index is not on disk. `before` is the index of an earlier look.
pub(super) fn suspects<T>(
    (root, sought): (&Path, Sought),
    before: Option<Indexed>,
    repo: &Repository,
    beside: impl FnOnce(&Indexed) -> Result<T, git2::Error>,
) -> Result<(Option<Vec<PathBuf>>, Indexed, T), git2::Error> {
    // What is ignored beside a tracked file is found only by following the index that has the file.
    let usable = before.filter(|it| sought == Sought::Changes || it.is_current(repo));
    let followed = match usable {
        Some(before) => before,
        None => Indexed::read(repo)?,
    };
    let (found, read) = at_once(
        || walk(root, sought, &followed),
        || {
            let is_current = followed.is_current(repo);
            let newer = if is_current { None } else { Some(Indexed::read(repo)?) };
            let other = beside(newer.as_ref().unwrap_or(&followed))?;
            Ok::<_, git2::Error>((newer, other))
        },
    );
    let (newer, other) = read?;
    let paths = found.and_then(|mut found| {
        let differ = newer.as_ref().map(|newer| followed.differences(newer));
        found.paths.extend(differ.into_iter().flatten());
        found.paths.sort_unstable();
        found.paths.dedup();
        found.paths()
    });
    Ok((paths, newer.unwrap_or(followed), other))
}

/// Does the first in a thread of its own, and the second here.
pub(super) fn at_once<A: Send, B>(
    first: impl FnOnce() -> A + Send,
    second: impl FnOnce() -> B,
) -> (A, B) {
    thread::scope(|scope| {
        let first = scope.spawn(first);
        let second = second();
        (first.join().unwrap_or_else(|it| resume_unwind(it)), second)
    })
}

/// Follows an index through the working tree.
fn walk(root: &Path, sought: Sought, index: &Indexed) -> Option<Found> {
    let older = Older(index.written()?);
    let has_changed = |entry: &IndexEntry, child: DirEntry| match sought {
        // A folder in its place may hold some.
        Sought::Ignored => child.file_type().is_ok_and(|kind| kind.is_dir()),
        Sought::Changes | Sought::All => {
            !child.metadata().is_ok_and(|meta| older.is_as_noted(entry, &meta))
        }
    };
    let mut found = Found::default();
    let root_folder = Folder { prefix: Vec::new(), entries: &index.entries };
    for part in visit(root_folder, |folder, found| folder.look(root, &has_changed, found)) {
        found.add(part);
    }
    Some(found)
}

/// Would git take the path literally?
fn is_plain(path: &[u8]) -> bool {
    !path.starts_with(b"!")
        && !path.starts_with(b"#")
        && !path.iter().any(|byte| b"\\*?[".contains(byte) || byte.is_ascii_whitespace())
}

/// The time of an index: what was noted at the same time may have changed since.
struct Older(IndexTime);

/// A folder of the index.
struct Folder<'i> {
    /// Its path with a slash, or nothing for the root.
    prefix: Vec<u8>,
    entries: &'i [IndexEntry],
}

#[derive(Default)]
struct Found {
    paths: Vec<Vec<u8>>,
    /// Folders among them.
    folders: Vec<PathBuf>,
    /// A folder cannot be listed, or is a repository of its own.
    odd: bool,
}

impl Found {
    fn add(&mut self, more: Self) {
        self.paths.extend(more.paths);
        self.folders.extend(more.folders);
        self.odd |= more.odd;
    }

    /// The paths to look at, without pipes in the place of files that git reads.
    fn paths(self) -> Option<Vec<PathBuf>> {
        let plain = self.paths.iter().all(|path| is_plain(path));
        if self.odd || self.paths.len() > MOST || !plain {
            return None;
        }
        self.folders.iter().for_each(|folder| remove_pipes(folder));
        Some(self.paths.into_iter().map(|path| PathBuf::from(OsStr::from_bytes(&path))).collect())
    }
}

impl<'i> Folder<'i> {
    /// Compares the folder's files, and returns the folders in it.
    fn look(
        self,
        root: &Path,
        has_changed: &impl Fn(&IndexEntry, DirEntry) -> bool,
        found: &mut Found,
    ) -> Vec<Self> {
        let folder = root.join(OsStr::from_bytes(&self.prefix));
        let Ok(children) = fs::read_dir(&folder) else {
            found.odd = true;
            return Vec::new();
        };
        let start = self.prefix.len();
        let mut known = vec![false; self.entries.len()];
        let mut folders = Vec::new();
        for child in children {
            let Some((child, kind)) =
                child.and_then(|it| it.file_type().map(|kind| (it, kind))).ok()
            else {
                found.odd = true;
                return Vec::new();
            };
            let name = child.file_name().into_vec();
            if name == b".git" {
                found.odd |= start > 0;
                continue;
            }
            if pattern(&folder, OsStr::from_bytes(&name), kind) == PatternFile::Removed {
                continue;
            }
            let place = self.entries.binary_search_by(|entry| entry.path[start..].cmp(&name));
            if let Ok(at) = place {
                known[at] = true;
                if has_changed(&self.entries[at], child) {
                    found.paths.push(self.entries[at].path.clone());
                }
                continue;
            }
            let prefix = [&self.prefix, name.as_slice(), b"/"].concat();
            let from = self.entries.partition_point(|entry| entry.path < prefix);
            let is_below = |entry: &&IndexEntry| entry.path.starts_with(&prefix);
            let below = self.entries[from..].iter().take_while(is_below).count();
            if kind.is_dir() && below > 0 {
                known[from..from + below].fill(true);
                let entries = &self.entries[from..from + below];
                folders.push(Self { prefix, entries });
                continue;
            }
            found.paths.push(prefix[..prefix.len() - 1].to_vec());
            if kind.is_dir() {
                found.folders.push(child.path());
            }
        }
        let gone = self.entries.iter().zip(known).filter(|(_, known)| !known);
        found.paths.extend(gone.map(|(entry, _)| {
            let name = entry.path[start..].split(|byte| *byte == b'/').next().unwrap_or_default();
            entry.path[..start + name.len()].to_vec()
        }));
        found.paths.dedup();
        folders
    }
}

impl Older {
    /// Is the file as git noted it, at a time after which a change would show?
    fn is_as_noted(&self, entry: &IndexEntry, meta: &Metadata) -> bool {
        self.is_as_seen(entry, meta) && pair(&entry.mtime) < pair(&self.0)
    }

    /// Is the file as git noted it? If that was at the same time, it may have changed since.
    fn is_as_seen(&self, entry: &IndexEntry, meta: &Metadata) -> bool {
        let extended =
            IndexEntryExtendedFlag::SKIP_WORKTREE | IndexEntryExtendedFlag::INTENT_TO_ADD;
        let flagged = entry.flags & FLAGS != 0 || entry.flags_extended & extended.bits() != 0;
        // A size of 0 also marks a file that git has to read.
        let sized = entry.file_size != 0 || Oid::from_str(EMPTY).is_ok_and(|id| entry.id == id);
        !flagged
            && sized
            && mode(meta) == Some(entry.mode)
            && entry.file_size == low(meta.size())
            && entry.ino == low(meta.ino())
            && time(meta.mtime(), meta.mtime_nsec()) == Some(entry.mtime)
            && time(meta.ctime(), meta.ctime_nsec()) == Some(entry.ctime)
            && pair(&entry.mtime) <= pair(&self.0)
    }
}

/// The mode of a file or a link in an index.
fn mode(meta: &Metadata) -> Option<u32> {
    let kind = meta.file_type();
    let executable = meta.mode() & 0o100 != 0;
    match (kind.is_file(), kind.is_symlink()) {
        (true, _) if executable => Some(0o100_755),
        (true, _) => Some(0o100_644),
        (_, true) => Some(0o120_000),
        _ => None,
    }
}

/// The part of a number that an index holds.
fn low(number: u64) -> u32 {
    (number & u64::from(u32::MAX)) as u32
}

fn time(seconds: i64, nanos: i64) -> Option<IndexTime> {
    Some(IndexTime::new(i32::try_from(seconds).ok()?, u32::try_from(nanos).ok()?))
}
