//! Which changed files are tests, and the edits that put them back.
//!
//! Only files that differ from the start are looked at. In this order: `protect` and `may_change`,
//! the table, the files that checks name, and test items inside Rust sources. Everything else is the
//! product.

use std::cell::OnceCell;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use super::ends::ends;
use super::files::{EntryKind, FileEntry, SourceTree, text};
use super::judges::{Judges, judges};
use super::manifests;
use super::paths::{extension, folder};
use super::question::{HarnessQuestion, PutBack, TreeEdit};
use super::rust_items;
use super::table::Role;

/// Compares the harness of two trees and says how to put it back.
pub fn put_back(question: &HarnessQuestion<'_>) -> PutBack {
    // The lines of shell that judge the work, or prepare that.
    let checks = question.checks.iter().map(|check| check.command);
    let commands: Vec<&str> = checks.chain(question.setup.iter().map(String::as_str)).collect();
    let found = judges(question.start, question.table, &commands);
    let mut work = Work {
        question,
        asked_for: OnceCell::new(),
        result: PutBack { judges: found.files.clone(), ..PutBack::default() },
        found,
        writes: BTreeMap::new(),
        product: BTreeMap::new(),
    };
    for path in differing(question.start.paths(), question.now.paths()) {
        work.compare(path);
    }
    work.finish()
}

/// The paths that differ between two trees.
fn differing<'t>(
    start: &'t BTreeMap<PathBuf, FileEntry>,
    now: &'t BTreeMap<PathBuf, FileEntry>,
) -> BTreeSet<&'t PathBuf> {
    let changed = start.iter().filter(|(path, entry)| now.get(*path) != Some(*entry));
    let new = now.iter().filter(|(path, _)| !start.contains_key(*path));
    changed.chain(new).map(|(path, _)| path).collect()
}

type Content = Option<(EntryKind, Vec<u8>)>;

struct Work<'a> {
    question: &'a HarnessQuestion<'a>,
    /// What the checks run and look at, in the start's tree.
    found: Judges,
    /// Files of checks that had no test at the start.
    asked_for: OnceCell<BTreeSet<PathBuf>>,
    result: PutBack,
    /// Tests with what the start has there: nothing means a removal.
    writes: BTreeMap<PathBuf, Content>,
    /// The product in the same form.
    product: BTreeMap<PathBuf, Content>,
}

impl Work<'_> {
    fn start(&self) -> &dyn SourceTree {
        self.question.start
    }

    fn now(&self) -> &dyn SourceTree {
        self.question.now
    }

    fn compare(&mut self, path: &Path) {
        let HarnessQuestion { protect, may_change, table, .. } = self.question;
        let is_protected = protect.is_match(path);
        if may_change.is_match(path) && !is_protected {
            return;
        }
        let is_new = !self.start().paths().contains_key(path);
        let role = table.role(path);
        let files = &self.found.files;
        let is_named = files.contains(path)
            || is_new && path.ancestors().any(|above| files.contains(above))
            || is_new && self.asked_for().contains(path);
        match role {
            _ if is_protected || is_named && role != Some(Role::Manifest) => self.restore(path),
            Some(Role::Config | Role::Tests) => self.restore(path),
            Some(Role::Expected) if is_new && self.is_of_a_new_case(path) => {}
            Some(Role::Expected) => self.restore(path),
            // What it needs to be built may be new, too.
            // `make` takes it before the one of the start.
            Some(Role::Manifest) if is_new && self.comes_first(path) => self.restore(path),
            Some(Role::Manifest | Role::Build) if is_new => self.product(path),
            // What an entry prints is compared, as in `test "$(make -s version)" = 2`.
            Some(Role::Manifest) if self.found.subjects.contains(path) => self.product(path),
            Some(Role::Manifest) => self.parts(path),
            Some(Role::Build) => {
                self.result.build.push(path.to_owned());
                self.restore(path);
            }
            None if extension(path) == "rs" => self.rust(path),
            None => self.product(path),
        }
    }

    /// New scripts of checks that found their test missing at the start.
    fn asked_for(&self) -> &BTreeSet<PathBuf> {
        self.asked_for.get_or_init(|| {
            let missing = self.question.checks.iter().filter(|check| check.missing_at_start);
            let commands: Vec<&str> = missing.map(|check| check.command).collect();
            judges(self.now(), self.question.table, &commands).files
        })
    }

    /// Whether a new expected output belongs to an input that is new, too: `loud.golden` beside
    /// `loud.in`, `golden/loud.txt` for `docs/loud.md`.
    fn is_of_a_new_case(&self, path: &Path) -> bool {
        let stem = |path: &Path| path.file_name()?.to_str()?.split('.').next().map(str::to_owned);
        let mut new =
            self.now().paths().keys().filter(|it| !self.start().paths().contains_key(*it));
        new.any(|it| it != path && stem(it) == stem(path) && self.question.table.role(it).is_none())
    }

    fn comes_first(&self, path: &Path) -> bool {
        path.file_name()
            .is_some_and(|name| name.to_string_lossy().to_lowercase().contains("makefile"))
            && ["GNUmakefile", "makefile", "Makefile"]
                .iter()
                .any(|name| self.start().paths().contains_key(&folder(path).join(name)))
    }

    fn content(&self, path: &Path) -> Content {
        let entry = self.start().paths().get(path)?;
        Some(match entry.kind {
            EntryKind::Gitlink => (entry.kind, entry.id.to_vec()),
            kind => (kind, self.start().read(path).unwrap_or_default()),
        })
    }

    /// Makes a path as it was at the start.
    fn restore(&mut self, path: &Path) {
        let old = self.content(path);
        self.result.changed.push(path.to_owned());
        self.writes.insert(path.to_owned(), old);
    }

    fn product(&mut self, path: &Path) {
        let old = self.content(path);
        self.product.insert(path.to_owned(), old);
    }

    /// A text with parts of another one in it.
    fn write(&mut self, path: &Path, text: String) {
        let kind = self.now().paths().get(path).map(|entry| entry.kind);
        let kind = kind.unwrap_or(EntryKind::Regular { executable: false });
        self.result.changed.push(path.to_owned());
        self.writes.insert(path.to_owned(), Some((kind, text.into_bytes())));
    }

    /// The parts of a manifest that say how things run.
    fn parts(&mut self, path: &Path) {
        let entry = self.now().paths().get(path);
        let is_file = |it: &FileEntry| matches!(it.kind, EntryKind::Regular { .. });
        let old = text(self.start(), path);
        let new = text(self.now(), path).filter(|_| entry.is_some_and(is_file));
        match (old, new) {
            (Some(old), Some(new)) => {
                if let Some(merged) = manifests::put_back(path, &old, &new) {
                    self.write(path, merged);
                }
            }
            (None, _) | (_, None) => self.restore(path),
        }
    }

    /// Test items inside a Rust source.
    fn rust(&mut self, path: &Path) {
        let (old, new) = (text(self.start(), path), text(self.now(), path));
        if new.is_none() && old.as_deref().is_some_and(rust_items::holds_tests) {
            return self.restore(path);
        }
        let (old, new) = (old.unwrap_or_default(), new.unwrap_or_default());
        let merged = rust_items::put_back(&old, &new);
        if let Some(merged) = merged.filter(|_| self.start().paths().contains_key(path)) {
            self.write(path, merged);
        }
        let with_new_tests = rust_items::put_back(&new, &old).unwrap_or_else(|| old.clone());
        let regular = EntryKind::Regular { executable: false };
        let is_there = !with_new_tests.trim().is_empty();
        let content = is_there.then(|| (regular, with_new_tests.into_bytes()));
        if content.as_ref().is_none_or(|(_, bytes)| *bytes != new.as_bytes()) {
            self.product.insert(path.to_owned(), content);
        }
    }

    fn finish(mut self) -> PutBack {
        self.result.edits = edits(self.writes);
        self.result.product = edits(self.product);
        let commands = self.question.checks.iter().map(|check| check.command);
        self.result.ends = ends(self.question, commands, &self.found, &self.result.edits);
        self.result
    }
}

/// Removals first, since a file may stand where a folder has to be.
fn edits(contents: BTreeMap<PathBuf, Content>) -> Vec<TreeEdit> {
    let (gone, written): (Vec<_>, Vec<_>) =
        contents.into_iter().partition(|(_, content)| content.is_none());
    let gone = gone.into_iter().map(|(path, _)| TreeEdit::Remove { path });
    let written = written.into_iter().filter_map(|(path, content)| {
        let (kind, bytes) = content?;
        Some(TreeEdit::Write { path, kind, bytes })
    });
    gone.chain(written).collect()
}
