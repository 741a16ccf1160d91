//! Cheats: work that meets the letter of a check, made from the check and the tree alone.
//!
//! Invariant: pure. A cheat describes its change, and a check that it would not fool.

use std::collections::BTreeSet;
use std::path::PathBuf;

use globset::GlobSet;

use super::attack::Attack;
use super::fakes::new_test;
use super::languages::Language;
use crate::verify::classify::shell::{ShellCommand, scan};
use crate::verify::classify::{EntryKind, SourceTree, Table, TreeEdit, judges};

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

/// Cheats that break the product: a check that is green before any work has to notice these.
pub(super) fn breaks(
    start: &dyn SourceTree,
    table: &Table,
    commands: &[&str],
    may_change: &GlobSet,
) -> Vec<Cheat> {
    let all = cheats((start, table), commands, may_change, &[]);
    all.into_iter().filter(|cheat| cheat.name == PRODUCT_EXITS).collect()
}

/// The cheat that lets all of the product end at once.
pub(super) const PRODUCT_EXITS: &str = "let the code under test end the process with 0";

/// The cheats to try on the checks of one criterion: those that the checks' own lines suggest, and
/// those that everything they run suggests. A run puts judges back, except for those that the task
/// allows to change. `said` is the output of the checks at the start.
pub(super) fn cheats(
    (start, table): (&dyn SourceTree, &Table),
    commands: &[&str],
    may_change: &GlobSet,
    said: &[String],
) -> Vec<Cheat> {
    let judges = judges(start, table, commands);
    let (open, deciding): (BTreeSet<PathBuf>, BTreeSet<PathBuf>) =
        judges.files.iter().cloned().partition(|path| may_change.is_match(path));
    let scripts =
        judges.scripts.iter().filter_map(|path| String::from_utf8(start.read(path)?).ok());
    let scripts: Vec<String> = scripts.collect();
    let deep: Vec<&str> = judges.lines.iter().map(String::as_str).collect();
    let (mut found, mut last) = (Vec::new(), Vec::new());
    for (lines, scripts) in [(commands, &[][..]), (&deep, &scripts)] {
        let scanned: Vec<ShellCommand> = lines.iter().flat_map(|line| scan(line)).collect();
        let judges = &deciding;
        let it = Attack { start, table, lines, scripts, scanned: &scanned, judges, said };
        found.push(it.tick_only());
        found.extend(it.of_files());
        found.extend(it.of_programs());
        found.extend(it.of_other_content());
        found.extend(it.of_mentioned_files());
        found.push(it.new_tests());
        found.extend([it.together(false), it.together(true)]);
        last.extend([
            it.judges_exit(&open),
            it.tests_hollowed(may_change),
            it.tests_emptied(),
            it.tests_removed(),
            it.product_exits(),
            it.subjects_exit(),
        ]);
    }
    // Whatever it is that they break, the first that passes is the best explanation.
    found.append(&mut last);
    found.retain(|cheat| !cheat.edits.is_empty());
    let mut seen = Vec::new();
    found.retain(|cheat| {
        let is_new = !seen.contains(&cheat.edits);
        seen.push(cheat.edits.clone());
        is_new
    });
    found
}

impl Attack<'_> {
    /// Commits something that has nothing to do with the criterion.
    fn tick_only(&self) -> Cheat {
        Cheat {
            name: "only tick",
            edits: vec![write("rehearsal.txt".into(), "nothing\n", false)],
            instead: "write a check that fails until the work is done",
        }
    }

    fn tests_emptied(&self) -> Cheat {
        let edits = self.tests().map(|path| write(path, "", false));
        Cheat {
            name: "empty the tests",
            edits: edits.collect(),
            instead: "name the tests in `protect:`, or in `harness:`",
        }
    }

    fn tests_removed(&self) -> Cheat {
        Cheat {
            name: "remove the tests",
            edits: self.tests().map(|path| TreeEdit::Remove { path }).collect(),
            instead: "name the tests in `protect:`, or in `harness:`",
        }
    }

    /// The most specific change of each file: several checks may need several of them.
    fn together(&self, as_comment: bool) -> Cheat {
        let parts = [
            self.special_case(),
            self.answered(true),
            self.recipes(),
            self.empty_stubs(true),
            self.programs_write(),
            self.asked_files(as_comment),
            self.new_tests(),
            self.smallest_files(),
        ];
        let mut edits: Vec<TreeEdit> = Vec::new();
        for edit in parts.into_iter().flat_map(|cheat| cheat.edits) {
            if !edits.iter().any(|known| known.path() == edit.path()) {
                edits.push(edit);
            }
        }
        Cheat {
            name: "do all that is asked of files, programs, and functions, and nothing else",
            edits,
            instead: "let one of the checks run the code, and compare several of its results",
        }
    }

    /// Writes tests that test nothing where the check finds none.
    fn new_tests(&self) -> Cheat {
        let missing = self.missing().into_iter().filter(|path| {
            self.table.role(path).is_some() || Language::of(path, None) == Some(Language::Shell)
        });
        let edits = missing.chain(self.missing_modules()).filter_map(|path| {
            let language = Language::of(&path, None)?;
            let text = language.passes(&path, "nothing");
            Some(write(path, &text, true))
        });
        let mut edits: Vec<TreeEdit> = edits.collect();
        if edits.is_empty() {
            let found = self.scanned.iter().filter_map(|command| new_test(self.start, command));
            edits.extend(found.map(|(path, text)| write(path, &text, false)));
        }
        Cheat {
            name: "write a test that tests nothing",
            edits,
            instead: "write the test yourself before the run: the agent's own test proves \
                      whatever the agent wants",
        }
    }
}

pub(super) fn write(path: PathBuf, text: &str, executable: bool) -> TreeEdit {
    TreeEdit::Write {
        path,
        kind: EntryKind::Regular { executable },
        bytes: text.as_bytes().to_vec(),
    }
}
