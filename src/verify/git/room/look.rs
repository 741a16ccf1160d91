//! A look at what a check left beside the files of the index: what git does not see, or cannot enter.
//!
//! Invariant: folders of the index are opened before they are listed, and no link is followed. Which
//! files of the index differ is for git to say.

use std::collections::{HashMap, HashSet};
use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use git2::{FileMode, Index, IndexEntry};

use crate::sys::open_folder;
use crate::verify::git::pipes::{PatternFile, pattern};
use crate::verify::git::plain::path;
use crate::verify::git::tracked::folders_of;

/// The findings of a look at a room. Paths are relative to it.
#[derive(Debug, Default)]
pub(super) struct Look {
    /// Neither files, nor links, nor folders: git does not see them.
    pub(super) special: Vec<PathBuf>,
    /// Entries that hide files of the index: folders in their places, and repositories around them.
    pub(super) hiding: Vec<PathBuf>,
    /// Folders that hold nothing of the index.
    pub(super) others: Vec<PathBuf>,
    /// Files with patterns in the other folders.
    pub(super) patterns: Vec<PathBuf>,
}

impl Look {
    /// Looks at every folder of the index. Removes pipes in the place of files that git reads, and
    /// files of the index that cannot be read.
    pub(super) fn at(work: &Path, index: &Index) -> Self {
        let is_module = |entry: &IndexEntry| entry.mode == u32::from(FileMode::Commit);
        let files = index.iter().map(|entry| (path(&entry.path), is_module(&entry))).collect();
        let folders = folders_of(index);
        let mut found = Self::default();
        let mut waiting = vec![PathBuf::new()];
        while let Some(folder) = waiting.pop() {
            // Files behind a link in the place of a folder are not part of the room.
            if open_folder(&work.join(&folder)) {
                waiting.extend(found.add(work, &folder, (&files, &folders)));
            }
        }
        found
    }

    /// Adds what is in a folder, and returns the folders of the index in it.
    fn add(
        &mut self,
        work: &Path,
        folder: &Path,
        (files, folders): (&HashMap<PathBuf, bool>, &HashSet<PathBuf>),
    ) -> Vec<PathBuf> {
        let mut below = Vec::new();
        for entry in fs::read_dir(work.join(folder)).into_iter().flatten().filter_map(Result::ok) {
            let (name, Ok(kind)) = (entry.file_name(), entry.file_type()) else { continue };
            let at = folder.join(&name);
            let file = files.get(&at);
            if name == ".git" {
                // Its own is written anew; one below makes a repository of a folder.
                self.hiding.extend((folder != Path::new("")).then_some(at));
            } else if kind.is_dir() {
                match file {
                    // A submodule looks after itself.
                    Some(true) => {}
                    Some(false) => self.hiding.push(at),
                    None if folders.contains(&at) => below.push(at),
                    None => self.others.push(at),
                }
            } else if !kind.is_file() && !kind.is_symlink() {
                if pattern(&work.join(folder), &name, kind) == PatternFile::None {
                    self.special.push(at);
                }
            } else {
                if pattern(&work.join(folder), &name, kind) == PatternFile::File {
                    self.patterns.push(at);
                }
                if file.is_some() && kind.is_file() && is_closed(&entry) {
                    // It is written anew. If it cannot be removed, git says so.
                    drop(fs::remove_file(entry.path()));
                }
            }
        }
        below
    }
}

/// Can its owner not read a file?
fn is_closed(entry: &fs::DirEntry) -> bool {
    entry.metadata().is_ok_and(|meta| meta.mode() & 0o400 == 0)
}
