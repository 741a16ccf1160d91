//! What a check expects, changed so that it must fail: files that it compares with what a program
//! makes, and the assertions of the tests that it runs.
//!
//! A check that passes all the same does not look at the work: the product shows the expected file,
//! or reaches into the process of its tests.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use super::conventions::{Role, SOURCES};
use super::ends::is_compiled;
use super::files::{EntryKind, text};
use super::flipped::{self, Flipped};
use super::known_start::KnownStart;
use super::paths::{extension, sounds_in};
use super::question::{HarnessQuestion, PutBack, TreeEdit};
use super::test_code::TestCode;

/// What a check expects, and how it can be changed.
#[derive(Debug, Default)]
pub(in crate::verify) struct Mutants {
    /// Files that it compares, with other contents.
    pub(in crate::verify) data: Vec<TreeEdit>,
    /// The tests that it runs.
    pub(in crate::verify) tests: Vec<TestFile>,
}

/// A file with tests.
#[derive(Debug)]
pub(in crate::verify) struct TestFile {
    pub(in crate::verify) path: PathBuf,
    kind: EntryKind,
    pub(in crate::verify) code: TestCode,
}

impl TestFile {
    /// The file with other code.
    pub(in crate::verify) fn edit(&self, code: String) -> TreeEdit {
        let (path, kind) = (self.path.clone(), self.kind);
        TreeEdit::Write { path, kind, bytes: code.into_bytes() }
    }
}

/// The changes with which a check of the question must fail, besides those that put the harness
/// back. `endings` are those of the tests that its runners ran. New tests of that run count, too.
pub(in crate::verify) fn mutants(
    question: &HarnessQuestion<'_>,
    known: &KnownStart,
    found: &PutBack,
    (command, endings, new): (&str, &[&str], &[&Path]),
) -> Mutants {
    let mut by_check = known.by_check(question).iter();
    let Some((_, judges)) = by_check.find(|(check, _)| check == command) else {
        return Mutants::default();
    };
    let tree = Tree { question, found, new };
    let data = judges.compared.iter().filter_map(|path| tree.other_data(path)).collect();
    // A test that is run for what it prints, and searched, decides, too.
    let printed = judges.printed.iter().filter(|path| sounds_in(path));
    let is_code = |path: &&PathBuf| {
        let ending = extension(path);
        SOURCES.contains(&ending) || matches!(ending, "bats" | "t" | "cts" | "mts")
    };
    // A check that runs no test may build or format some.
    let runs_some =
        !endings.is_empty() || !judges.scripts.is_empty() || printed.clone().next().is_some();
    let mut files: BTreeSet<&PathBuf> = BTreeSet::new();
    if runs_some {
        files.extend(judges.files.iter().chain(printed).filter(is_code));
    }
    if !endings.is_empty() {
        let by_table = known.by_table(question).iter().filter(is_code);
        files.extend(by_table.filter(|path| {
            question.table.role(path) == Some(Role::Tests) && endings.contains(&extension(path))
        }));
        if endings.contains(&"rs") {
            let sources = question.start.paths().keys().filter(|path| extension(path) == "rs");
            files.extend(sources);
        }
    }
    let ends = found.ends.iter().filter(|end| end.check == command);
    let programs = ends.filter_map(|end| end.at_start.edit.as_ref().map(TreeEdit::path));
    files.extend(programs.filter(|path| is_compiled(path)));
    let new: Vec<PathBuf> = new.iter().map(|path| path.to_path_buf()).collect();
    files.extend(&new);
    Mutants { data, tests: tree.tests(&files) }
}

/// The tree of the run with the harness put back.
struct Tree<'a> {
    question: &'a HarnessQuestion<'a>,
    found: &'a PutBack,
    /// New files that stay.
    new: &'a [&'a Path],
}

impl Tree<'_> {
    /// A file of the start as it is there, if it is one that can be changed.
    fn text(&self, path: &Path) -> Option<(EntryKind, String)> {
        /// Larger files are not changed.
        const MOST: usize = 1 << 20;
        let edits = self.found.edits.iter().filter(|_| !self.is_new(path));
        let edit = edits.rev().find(|edit| edit.path() == path);
        let (kind, text) = match edit {
            Some(TreeEdit::Remove { .. }) => return None,
            Some(TreeEdit::Write { kind, bytes, .. }) => {
                (*kind, String::from_utf8(bytes.clone()).ok()?)
            }
            None => {
                let kind = self.question.now.paths().get(path)?.kind;
                (kind, text(self.question.now, path)?)
            }
        };
        let is_file = matches!(kind, EntryKind::Regular { .. });
        (is_file && text.len() <= MOST).then_some((kind, text))
    }

    fn is_new(&self, path: &Path) -> bool {
        self.new.contains(&path)
    }

    fn other_data(&self, path: &Path) -> Option<TreeEdit> {
        let (kind, text) = self.text(path)?;
        let other = other_words(&text);
        (other != text).then(|| {
            let (path, bytes) = (path.to_owned(), other.into_bytes());
            TreeEdit::Write { path, kind, bytes }
        })
    }

    /// All tests, or none if one cannot be changed: a check may run any of them.
    fn tests(&self, files: &BTreeSet<&PathBuf>) -> Vec<TestFile> {
        /// More files are not read.
        const MOST: usize = 300;
        let mut found = Vec::new();
        let in_crate =
            |path: &Path| extension(path) == "rs" && self.question.table.role(path).is_none();
        let was_there = |path: &Path| self.question.start.paths().contains_key(path);
        let files = files.iter().filter(|path| was_there(path) || self.is_new(path));
        for (at, path) in files.enumerate() {
            if at >= MOST {
                return Vec::new();
            }
            let Some((kind, code)) = self.text(path) else { continue };
            let from = match in_crate(path) {
                true => flipped::of_tests(&code),
                false => Some(0),
            };
            let Some(from) = from else { continue };
            match flipped::flipped(path, &code, from) {
                // A new test that asserts nothing holds whatever it expects.
                Flipped::Nothing | Flipped::Unknown
                    if self.is_new(path) && !flipped::asserts(&code) =>
                {
                    found.push(TestFile {
                        path: (*path).clone(),
                        kind,
                        code: TestCode::plain(code),
                    });
                }
                Flipped::Nothing => {}
                Flipped::Unknown => return Vec::new(),
                Flipped::Tests(code) => found.push(TestFile { path: (*path).clone(), kind, code }),
            }
        }
        found
    }
}

/// Data with other letters and digits. Equal words become different ones, so that what is said of
/// two of them does not hold of the new ones.
fn other_words(text: &str) -> String {
    let other = |(at, c): (usize, char)| {
        let by = (at.wrapping_mul(2_654_435_761) >> 7) as u32;
        let turned = |base: char, size: u32| {
            let at = c as u32 - base as u32;
            char::from_u32(base as u32 + (at + 1 + by % (size - 1)) % size).unwrap_or(c)
        };
        match c {
            // No number begins with 0 that did not.
            '0'..='9' => match turned('0', 10) {
                '0' if c == '9' => '1',
                '0' => '9',
                other => other,
            },
            'a'..='z' => turned('a', 26),
            'A'..='Z' => turned('A', 26),
            _ => c,
        }
    };
    text.char_indices().map(other).collect()
}
