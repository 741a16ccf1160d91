//! Cheats: work that meets the letter of a check, made from the check and the tree alone.
//!
//! Invariant: pure. A cheat describes its change, and a check that it would not fool. A guess about
//! a line may be wrong: such a cheat fails.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use globset::GlobSet;

use super::attack::{Attack, MOST_FILES, write};
use super::languages::{Language, smallest};
use crate::shell::ShellCommand;
use crate::shell::unwrapped;
use crate::verify::classify::scan;
use crate::verify::classify::{Role, SourceTree, Table, TreeEdit, only_looks, only_parses};

/// One cheat.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Cheat {
    /// The cheat in a few words.
    pub name: &'static str,
    /// Its changes of the tree.
    pub edits: Vec<TreeEdit>,
    /// A better check.
    pub instead: &'static str,
}

/// The cheat that takes the product away.
pub(super) const EMPTY: &str = "empty the files of the product";

const PROTECT_TESTS: &str = "take the tests out of `may_change:`, or name them in `protect:`";

const ONLY_READS: &str = "add a test of what the code does: this check only parses, lints, or searches \
                          it, so that empty files pass";

/// Does a command run the product, rather than parse, lint, or compile it?
fn runs_code(command: &ShellCommand) -> bool {
    const VERBS: [(&str, &str); 4] = [
        ("go", "vet build fmt"),
        ("cargo", "check build clippy fmt doc"),
        ("deno", "check lint fmt"),
        ("npx", "tsc eslint prettier"),
    ];
    let words = unwrapped(&command.words);
    let Some((first, rest)) = words.split_first() else { return false };
    let verb = rest.iter().find(|word| !word.starts_with('-'));
    let names = |verbs: &str| verb.is_some_and(|verb| verbs.split(' ').any(|it| it == verb));
    !only_parses(first, rest)
        && !only_looks(first)
        && !VERBS.iter().any(|(program, verbs)| first == program && names(verbs))
}

/// The cheats to try on the checks of one criterion, for their own lines and for those that these
/// run. A run puts judges back, except for those that the task allows to change.
pub(super) fn cheats(
    (start, table): (&dyn SourceTree, &Table),
    lines: &[Vec<&str>],
    judges: &BTreeSet<PathBuf>,
    may_change: &GlobSet,
) -> Vec<Cheat> {
    let (open, judges): (BTreeSet<PathBuf>, BTreeSet<PathBuf>) =
        judges.iter().cloned().partition(|path| may_change.is_match(path));
    let (mut found, mut last) = (Vec::new(), Vec::new());
    for lines in lines {
        let scanned: Vec<ShellCommand> = lines.iter().flat_map(|line| scan(line)).collect();
        let it = Attack { start, table, scanned: &scanned, judges: &judges, may_change };
        found.extend(it.of_the_line());
        last.extend(it.of_the_product(&open));
    }
    found.append(&mut last);
    let mut seen = vec![Vec::new()];
    found.retain(|cheat| {
        let is_new = !seen.contains(&cheat.edits);
        seen.push(cheat.edits.clone());
        is_new
    });
    found
}

impl Attack<'_> {
    /// Those that do what the lines ask for, the most specific ones first.
    fn of_the_line(&self) -> Vec<Cheat> {
        let touched = self.touched();
        let echoed = joined(self.echoed(), &touched);
        let constant = joined(self.constants(), &echoed);
        vec![
            Cheat {
                name: "only tick",
                edits: vec![write("rehearsal.txt".into(), "nothing\n")],
                instead: "write a check that fails until the work is done",
            },
            Cheat {
                name: "create the files that the check names, with the smallest content",
                edits: touched,
                instead: "run the file, or compare its output: its existence proves nothing",
            },
            Cheat {
                name: "write the text that it looks for",
                edits: echoed,
                instead: "run the code and check its output: a text can be written without work",
            },
            Cheat {
                name: "let the program print the one text that it compares",
                edits: constant,
                instead: "compare several arguments, or one that the check makes up when it runs",
            },
        ]
    }

    /// Those that destroy something, which explain less.
    fn of_the_product(&self, open: &BTreeSet<PathBuf>) -> Vec<Cheat> {
        let tests = self.open_tests(open);
        let gutted = tests.iter().filter_map(|path| {
            if let Some(text) = self.hollow(path) {
                return Some(write(path.clone(), &text));
            }
            let old = self.text(path)?;
            let nothing = Language::of(path, Some(&old)).map_or("", |it| it.nothing);
            Some(self.replaced(path, nothing))
        });
        vec![
            Cheat {
                name: "leave the tests their names, and empty their bodies",
                edits: gutted.collect(),
                instead: PROTECT_TESTS,
            },
            Cheat {
                name: EMPTY,
                edits: self.emptied(),
                instead: match self.scanned.iter().any(runs_code) {
                    true => "also run the code, so that the rest of the file has to be there",
                    false => ONLY_READS,
                },
            },
        ]
    }

    /// Every named file that is not there.
    fn touched(&self) -> Vec<TreeEdit> {
        let paths = self.missing().into_iter();
        let paths = paths.map(|it| if self.is_folder(&it) { it.join("file") } else { it });
        paths.map(|path| write(path.clone(), &smallest(&path))).collect()
    }

    /// The tests and judges that the work may change, and tests that the harness does not know.
    fn open_tests(&self, open: &BTreeSet<PathBuf>) -> Vec<PathBuf> {
        let files = self.start.paths().keys().filter(|path| {
            let is_test = open.contains(*path) || self.table.role(path) == Some(Role::Tests);
            match self.may_change.is_match(path) {
                true => is_test || self.hollow(path).is_some(),
                // Tests inside the product's files of Rust are put back with them.
                false => {
                    path.extension().is_none_or(|it| it != "rs")
                        && self.is_product(path)
                        && self.hollow(path).is_some()
                }
            }
        });
        files.take(MOST_FILES).cloned().collect()
    }

    fn hollow(&self, path: &Path) -> Option<String> {
        let old = self.text(path)?;
        Some(Language::of(path, None)?.hollow(&old)).filter(|new| *new != old)
    }

    /// The product's files without content: those that the lines name, or else all sources.
    fn emptied(&self) -> Vec<TreeEdit> {
        let mut paths = self.looked_at();
        if paths.is_empty() {
            paths.extend(self.sources().map(|it| it.0.clone()));
        }
        let edits = paths.into_iter().filter_map(|path| {
            let old = self.text(&path)?;
            let text = Language::of(&path, None).map(|it| it.emptied(&old)).unwrap_or_default();
            (text != old).then(|| write(path, &text))
        });
        edits.collect()
    }
}

/// Changes, and those of other files: several checks may need several of them.
fn joined(mut edits: Vec<TreeEdit>, others: &[TreeEdit]) -> Vec<TreeEdit> {
    let is_other = |it: &&TreeEdit| edits.iter().all(|edit| edit.path() != it.path());
    let others: Vec<TreeEdit> = others.iter().filter(is_other).cloned().collect();
    edits.extend(others);
    edits
}
