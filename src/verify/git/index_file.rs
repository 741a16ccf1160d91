//! The file of git's index, as bytes: read, and changed in place.
//!
//! libgit2 takes several times as long as git for both. Invariant: a file that is not understood
//! whole (a split or sparse index, version 4, a wrong sum) is left to libgit2, which says what is
//! wrong with it.

use std::fs::File;
use std::io::{Read as _, Seek as _, SeekFrom};
use std::path::Path;

use git2::{IndexEntry, IndexTime, Oid};
use sha1::{Digest as _, Sha1};

/// Bytes of an entry before its flags.
const STAT: usize = 60;
/// Bytes of a sum, and of an object's id.
const SUM: usize = 20;
/// The bits of an entry's flags that are not the length of its name.
pub(super) const FLAGS: u16 = 0xf000;
/// An entry has more flags.
const EXTENDED: u16 = 0x4000;
/// How deep folders may lie in the part about trees.
const MOST_DEPTH: usize = 256;

/// The bytes of an index, and where its entries stand in them.
pub(super) struct IndexFile {
    bytes: Vec<u8>,
    /// Where each entry begins.
    places: Vec<usize>,
    /// Where the extensions begin.
    end: usize,
}

impl IndexFile {
    /// Reads an index whose format and sum are as they should be, and its entries.
    pub(super) fn read(path: &Path) -> Option<(Self, Vec<IndexEntry>)> {
        Self::parse(std::fs::read(path).ok()?)
    }

    fn parse(bytes: Vec<u8>) -> Option<(Self, Vec<IndexEntry>)> {
        let body = bytes.len().checked_sub(SUM)?;
        let version = number(&bytes, 4)?;
        if !bytes.starts_with(b"DIRC") || !matches!(version, 2 | 3) {
            return None;
        }
        if Sha1::digest(&bytes[..body])[..] != bytes[body..] {
            return None;
        }
        let count = usize::try_from(number(&bytes, 8)?).ok()?;
        let (mut entries, mut places) = (Vec::new(), Vec::new());
        let mut at = 12;
        for _ in 0..count {
            let (entry, next) = entry(&bytes[..body], at, version)?;
            entries.push(entry);
            places.push(at);
            at = next;
        }
        let is_sorted = entries.windows(2).all(|pair| pair[0].path <= pair[1].path);
        let file = Self { bytes, places, end: at };
        // An extension in small letters changes what the entries mean.
        let known =
            |part: Option<Extension<'_>>| part.is_some_and(|it| it.0[0].is_ascii_uppercase());
        (is_sorted && file.extensions().all(known)).then_some((file, entries))
    }

    /// Name and content of each extension; none at the first that is cut off.
    fn extensions(&self) -> impl Iterator<Item = Option<Extension<'_>>> {
        let body = self.bytes.len() - SUM;
        let mut rest = &self.bytes[self.end..body];
        std::iter::from_fn(move || {
            if rest.is_empty() {
                return None;
            }
            let found = (|| {
                let name = rest.first_chunk::<4>()?;
                let size = usize::try_from(number(rest, 4)?).ok()?;
                Some((name, rest[8..].get(..size)?))
            })();
            rest = found.map_or(&[], |(_, content)| &rest[8 + content.len()..]);
            Some(found)
        })
    }

    /// Does a file end with the sum of this index?
    pub(super) fn has_sum_of(&self, path: &Path) -> bool {
        let mut sum = [0; SUM];
        let read = File::open(path).and_then(|mut file| {
            file.seek(SeekFrom::End(-(SUM as i64)))?;
            file.read_exact(&mut sum)
        });
        read.is_ok() && self.bytes.ends_with(&sum)
    }

    /// Puts other entries in the place of those with their paths; `entries` are all of this index.
    /// `written` is when it was written: what was modified at that time or later may differ
    /// unnoticed, so that it gets a size that makes git read it. Nothing if a path is not there or an
    /// extension is broken: then this index is not to be used any more.
    pub(super) fn change(
        &mut self,
        entries: &mut [IndexEntry],
        noted: Vec<IndexEntry>,
        written: IndexTime,
    ) -> Option<&[u8]> {
        for (entry, at) in entries.iter_mut().zip(&self.places) {
            if pair(&entry.mtime) >= pair(&written) {
                entry.file_size = 0;
                self.bytes[at + 36..at + 40].fill(0);
            }
        }
        let stale: Vec<&[u8]> = noted.iter().map(|entry| entry.path.as_slice()).collect();
        let mut extensions = Vec::new();
        for extension in self.extensions() {
            let (name, content) = extension?;
            let trees;
            let content = match name {
                b"TREE" => {
                    trees = without_ids(content, &stale)?;
                    trees.as_slice()
                }
                // These say where the others stand.
                b"EOIE" | b"IEOT" => continue,
                _ => content,
            };
            extensions.extend(name);
            extensions.extend(u32::try_from(content.len()).ok()?.to_be_bytes());
            extensions.extend(content);
        }
        for entry in noted {
            let which = place(entries, &entry.path)?;
            let at = self.places[which];
            self.bytes[at..at + STAT].copy_from_slice(&stat(&entry));
            entries[which] = entry;
        }
        self.bytes.truncate(self.end);
        self.bytes.extend(extensions);
        let sum = Sha1::digest(&self.bytes);
        self.bytes.extend(sum);
        Some(&self.bytes)
    }
}

/// The bytes of an entry before its flags.
fn stat(entry: &IndexEntry) -> Vec<u8> {
    let times = [&entry.ctime, &entry.mtime].map(pair);
    let times = times.into_iter().flat_map(|it| [it.0.cast_unsigned(), it.1]);
    let numbers = times.chain([entry.dev, entry.ino, entry.mode, entry.uid, entry.gid]);
    let numbers = numbers.chain([entry.file_size]).flat_map(u32::to_be_bytes);
    numbers.chain(entry.id.as_bytes().iter().copied()).collect()
}

/// Where the entry of a path is.
pub(super) fn place(entries: &[IndexEntry], path: &[u8]) -> Option<usize> {
    entries.binary_search_by(|entry| entry.path.as_slice().cmp(path)).ok()
}

/// A time as numbers that compare.
pub(super) fn pair(time: &IndexTime) -> (i32, u32) {
    (time.seconds(), time.nanoseconds())
}

/// Is there any entry of a path, or below it?
pub(super) fn holds(entries: &[IndexEntry], path: &[u8]) -> bool {
    let from = entries.partition_point(|entry| entry.path.as_slice() < path);
    let mut rest = entries[from..].iter().take_while(|entry| entry.path.starts_with(path));
    rest.any(|entry| matches!(entry.path.get(path.len()), None | Some(b'/')))
}

type Extension<'b> = (&'b [u8; 4], &'b [u8]);

/// The number at a place.
fn number(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_be_bytes(*bytes.get(at..)?.first_chunk()?))
}

/// The entry at a place, and where the next one begins.
fn entry(bytes: &[u8], at: usize, version: u32) -> Option<(IndexEntry, usize)> {
    let numbers = |which: usize| number(bytes, at + 4 * which);
    let time =
        |which: usize| Some(IndexTime::new(numbers(which)?.cast_signed(), numbers(which + 1)?));
    let id = Oid::from_bytes(bytes.get(at + 40..at + STAT)?).ok()?;
    let short = |at: usize| Some(u16::from_be_bytes(*bytes.get(at..)?.first_chunk()?));
    let flags = short(at + STAT)?;
    let is_extended = flags & EXTENDED != 0;
    if is_extended && version < 3 {
        return None;
    }
    let name = at + STAT + if is_extended { 4 } else { 2 };
    let flags_extended = if is_extended { short(at + STAT + 2)? } else { 0 };
    let length = match usize::from(flags & 0xfff) {
        0xfff => bytes.get(name..)?.iter().position(|byte| *byte == 0)?,
        length => length,
    };
    let path = bytes.get(name..name + length)?.to_vec();
    // Filled up with one to eight zeros.
    let next = at + (name + length - at + 8) / 8 * 8;
    let entry = IndexEntry {
        ctime: time(0)?,
        mtime: time(2)?,
        dev: numbers(4)?,
        ino: numbers(5)?,
        mode: numbers(6)?,
        uid: numbers(7)?,
        gid: numbers(8)?,
        file_size: numbers(9)?,
        id,
        flags,
        flags_extended,
        path,
    };
    (next <= bytes.len()).then_some((entry, next))
}

/// The part about trees, without the ids of those above some paths.
fn without_ids(content: &[u8], stale: &[&[u8]]) -> Option<Vec<u8>> {
    let mut kept = Vec::new();
    let mut rest = content;
    while !rest.is_empty() {
        rest = tree(rest, &mut Vec::new(), stale, &mut kept, 0)?;
    }
    Some(kept)
}

/// Copies one tree and those in it, and returns what follows.
fn tree<'b>(
    bytes: &'b [u8],
    above: &mut Vec<u8>,
    stale: &[&[u8]],
    kept: &mut Vec<u8>,
    depth: usize,
) -> Option<&'b [u8]> {
    if depth > MOST_DEPTH {
        return None;
    }
    let end = bytes.iter().position(|byte| *byte == 0)?;
    let (name, rest) = bytes.split_at(end);
    let line_end = rest.iter().position(|byte| *byte == b'\n')?;
    let counts = std::str::from_utf8(&rest[1..line_end]).ok()?;
    let (entries, inner) = counts.split_once(' ')?;
    let (entries, inner): (i64, usize) = (entries.parse().ok()?, inner.parse().ok()?);
    let mut rest = &rest[line_end + 1..];
    let length = above.len();
    above.extend(name);
    if depth > 0 {
        above.push(b'/');
    }
    let is_stale = stale.iter().any(|path| path.starts_with(above));
    kept.extend(name);
    let entries_now = if is_stale { -1 } else { entries };
    kept.extend(format!("\0{entries_now} {inner}\n").bytes());
    if entries >= 0 {
        let (id, after) = rest.split_at_checked(SUM)?;
        if !is_stale {
            kept.extend(id);
        }
        rest = after;
    }
    for _ in 0..inner {
        rest = tree(rest, above, stale, kept, depth + 1)?;
    }
    above.truncate(length);
    Some(rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An index of two files, with trees.
    fn sample() -> Vec<u8> {
        let folder = tempfile::TempDir::new().expect("a folder");
        let git = |args: &[&str]| {
            let mut git = std::process::Command::new("git");
            git.args(["-c", "user.name=a", "-c", "user.email=a"]).args(args);
            let done = git.current_dir(folder.path()).output().expect("git");
            assert!(done.status.success(), "{args:?}");
        };
        git(&["init", "-q"]);
        std::fs::create_dir(folder.path().join("d")).expect("a folder");
        for path in ["a", "d/b"] {
            std::fs::write(folder.path().join(path), path).expect("written");
        }
        git(&["add", "-A"]);
        git(&["commit", "-qm", "x"]);
        std::fs::read(folder.path().join(".git/index")).expect("an index")
    }

    fn other() -> IndexEntry {
        IndexEntry {
            ctime: IndexTime::new(1, 2),
            mtime: IndexTime::new(3, 4),
            dev: 5,
            ino: 6,
            mode: 0o100_755,
            uid: 7,
            gid: 8,
            file_size: 9,
            id: Oid::from_bytes(&[7; 20]).expect("an id"),
            flags: 3,
            flags_extended: 0,
            path: b"d/b".to_vec(),
        }
    }

    #[test]
    fn an_entry_is_changed_and_nothing_else() {
        let parse = |bytes: Vec<u8>| IndexFile::parse(bytes).expect("an index");
        let (mut file, mut entries) = parse(sample());
        let old = (entries[0].id, entries[0].mtime, entries[0].file_size);
        let bytes = file.change(&mut entries, vec![other()], IndexTime::new(i32::MAX, 0));
        let bytes = bytes.expect("another").to_vec();
        let (after, read) = parse(bytes.clone());
        for (a, b) in [(&read[0], &read[1]), (&entries[0], &entries[1])] {
            assert_eq!((a.id, a.mtime, a.file_size), old);
            assert_eq!((b.id, b.mode, b.file_size), (other().id, 0o100_755, 9));
            assert_eq!((b.ctime, b.mtime), (IndexTime::new(1, 2), IndexTime::new(3, 4)));
            assert_eq!((b.dev, b.ino, b.uid, b.gid), (5, 6, 7, 8));
        }
        let trees = after.extensions().flatten().find(|it| it.0 == b"TREE").expect("trees");
        assert_eq!(trees.1, b"\0-1 1\nd\0-1 0\n");
        // The same again is no change.
        let again = file.change(&mut entries, vec![other()], IndexTime::new(i32::MAX, 0));
        assert_eq!(again.expect("the same"), bytes);
        // What is as young as the index has no size.
        let racy = file.change(&mut entries, Vec::new(), IndexTime::new(0, 0));
        let (_, read) = parse(racy.expect("another").to_vec());
        assert!(read.iter().chain(&entries).all(|entry| entry.file_size == 0));
        let unknown = IndexEntry { path: b"c".to_vec(), ..other() };
        assert!(file.change(&mut entries, vec![unknown], IndexTime::new(0, 0)).is_none());
    }

    #[test]
    fn the_sum_tells_it_from_another() {
        let folder = tempfile::TempDir::new().expect("a folder");
        let path = folder.path().join("index");
        let (mut file, mut entries) = IndexFile::parse(sample()).expect("an index");
        std::fs::write(&path, &file.bytes).expect("written");
        assert!(file.has_sum_of(&path));
        file.change(&mut entries, vec![other()], IndexTime::new(i32::MAX, 0)).expect("another");
        assert!(!file.has_sum_of(&path));
        std::fs::write(&path, "short").expect("written");
        assert!(!file.has_sum_of(&path));
        assert!(!file.has_sum_of(&folder.path().join("none")));
    }

    #[test]
    fn a_broken_index_is_left_to_git() {
        let bytes = sample();
        for at in 0..bytes.len() {
            assert!(IndexFile::parse(bytes[..at].to_vec()).is_none());
            let mut flipped = bytes.clone();
            flipped[at] ^= 1;
            assert!(IndexFile::parse(flipped).is_none(), "byte {at}");
        }
        // With the right sum, it is read as it is or not at all.
        let body = bytes.len() - SUM;
        let mut read = 0;
        for at in 0..body {
            for bit in 0..8 {
                let mut forged = bytes[..body].to_vec();
                forged[at] ^= 1 << bit;
                let sum = Sha1::digest(&forged);
                forged.extend(sum);
                let Some((mut file, mut entries)) = IndexFile::parse(forged) else { continue };
                read += 1;
                let _ = file.change(&mut entries, vec![other()], IndexTime::new(1, 0));
            }
        }
        assert!(read > body, "{read} of {body} bytes");
    }
}
