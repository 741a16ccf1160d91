//! Trees in memory.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use globset::{Glob, GlobSet, GlobSetBuilder};

use super::super::{
    EntryKind, FileEntry, HarnessCheck, HarnessQuestion, PutBack, SourceTree, Table, TreeEdit,
    judges, put_back,
};

/// A tree of files in memory.
#[derive(Clone, Default)]
pub(in crate::verify::classify) struct Planted {
    entries: BTreeMap<PathBuf, FileEntry>,
    contents: BTreeMap<PathBuf, Vec<u8>>,
}

impl Planted {
    pub(in crate::verify::classify) fn of(files: &[(&str, &str)]) -> Self {
        let mut tree = Self::default();
        for (path, content) in files {
            tree.write(path, content);
        }
        tree
    }

    pub(super) fn write(&mut self, path: &str, content: &str) {
        let regular = EntryKind::Regular { executable: false };
        self.insert(PathBuf::from(path), regular, content.as_bytes().to_vec());
    }

    pub(super) fn remove(&mut self, path: &str) {
        self.entries.remove(Path::new(path));
        self.contents.remove(Path::new(path));
    }

    fn insert(&mut self, path: PathBuf, kind: EntryKind, content: Vec<u8>) {
        let mut id = [0; 20];
        for (at, byte) in content.iter().enumerate() {
            let place = at % 20;
            id[place] = byte.wrapping_add(u8::rotate_left(id[place], 3)).wrapping_add(7);
        }
        self.entries.insert(path.clone(), FileEntry { kind, id });
        self.contents.insert(path, content);
    }

    /// The tree after edits.
    pub(super) fn after(&self, edits: &[TreeEdit]) -> Self {
        let mut tree = self.clone();
        for edit in edits {
            match edit {
                TreeEdit::Remove { path } => {
                    tree.entries.remove(path);
                    tree.contents.remove(path);
                }
                TreeEdit::Write { path, kind, bytes } => {
                    let in_the_way = |other: &PathBuf| {
                        other != path && (other.starts_with(path) || path.starts_with(other))
                    };
                    tree.entries.retain(|other, _| !in_the_way(other));
                    tree.contents.retain(|other, _| !in_the_way(other));
                    tree.insert(path.clone(), *kind, bytes.clone());
                }
            }
        }
        tree
    }

    pub(super) fn text(&self, path: &str) -> Option<String> {
        let bytes = self.contents.get(Path::new(path))?;
        Some(String::from_utf8_lossy(bytes).into_owned())
    }
}

impl SourceTree for Planted {
    fn paths(&self) -> &BTreeMap<PathBuf, FileEntry> {
        &self.entries
    }

    fn read(&self, path: &Path) -> Option<Vec<u8>> {
        self.contents.get(path).cloned()
    }
}

pub(super) fn globs(texts: &[&str]) -> GlobSet {
    let mut globs = GlobSetBuilder::new();
    for text in texts {
        globs.add(Glob::new(text).expect("a glob"));
    }
    globs.build().expect("globs")
}

/// Asks about two trees with one check.
pub(super) fn ask(check: &str, start: &Planted, now: &Planted) -> PutBack {
    let none = GlobSet::empty();
    let question = HarnessQuestion {
        start,
        now,
        checks: &[HarnessCheck { command: check, missing_at_start: false }],
        setup: &[],
        table: &Table::new(&[]).expect("the table"),
        may_change: &none,
        protect: &none,
    };
    put_back(&question)
}

/// A change of a tree: files with new content, or `None` for a deleted one.
pub(super) type Change<'a> = &'a [(&'a str, Option<&'a str>)];

/// A tree after a change.
pub(super) fn changed(start: &Planted, change: Change<'_>) -> Planted {
    let mut now = start.clone();
    for (path, content) in change {
        match content {
            Some(content) => now.write(path, content),
            None => now.remove(path),
        }
    }
    now
}

/// The judges of a command in these files.
pub(super) fn judged(files: &[(&str, &str)], command: &str) -> Vec<String> {
    let table = Table::new(&[]).expect("the table");
    let found = judges(&Planted::of(files), &table, &[command]);
    found.files.iter().map(|path| path.to_string_lossy().into_owned()).collect()
}
