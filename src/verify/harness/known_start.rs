//! The judges of the start, found once: every proof of a run asks about the same start, and most
//! commits change few of its files.
//!
//! Invariant: a tree's name is the hash of its content, so an entry never becomes stale. All
//! questions to one [`KnownStarts`] have the same table.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

use super::judges::judges;
use super::question::HarnessQuestion;
use super::reader::Judges;
use super::started;

/// How many are remembered: a verdict and the check in a turn may run other commands.
const STARTS: usize = 4;

/// The judges in the start's tree.
#[derive(Debug)]
pub struct KnownStart {
    pub(super) found: Judges,
    by_table: OnceLock<BTreeSet<PathBuf>>,
    started: OnceLock<BTreeSet<PathBuf>>,
    by_check: OnceLock<Vec<(String, Judges)>>,
}

impl KnownStart {
    /// Reads what the question's commands run.
    pub fn of(question: &HarnessQuestion<'_>) -> Self {
        let commands: Vec<&str> = commands(question).collect();
        Self {
            found: judges(question.start, question.table, &commands),
            by_table: OnceLock::new(),
            started: OnceLock::new(),
            by_check: OnceLock::new(),
        }
    }

    /// The paths that are harness by convention.
    pub(super) fn by_table(&self, question: &HarnessQuestion<'_>) -> &BTreeSet<PathBuf> {
        self.by_table.get_or_init(|| {
            let paths = question.start.paths().keys();
            paths.filter(|path| question.table.role(path).is_some()).cloned().collect()
        })
    }

    /// What each check runs and looks at by itself.
    pub(super) fn by_check(&self, question: &HarnessQuestion<'_>) -> &[(String, Judges)] {
        self.by_check.get_or_init(|| {
            let own = |command: &str| {
                (command.to_owned(), judges(question.start, question.table, &[command]))
            };
            question.checks.iter().map(|check| own(check.command)).collect()
        })
    }

    /// The files that tests start.
    pub(super) fn started(&self, question: &HarnessQuestion<'_>) -> &BTreeSet<PathBuf> {
        self.started.get_or_init(|| {
            let tests = self.by_table(question).iter();
            let tests = tests.filter(|path| !self.found.files.contains(*path));
            started::by_tests(question.start, question.table, tests)
        })
    }
}

/// Starts that were read, the latest at the end.
#[derive(Debug, Default)]
pub(in crate::verify) struct KnownStarts(Vec<([u8; 20], Vec<String>, Arc<KnownStart>)>);

impl KnownStarts {
    /// The judges at a question's start.
    pub(in crate::verify) fn get(&mut self, question: &HarnessQuestion<'_>) -> Arc<KnownStart> {
        let Some(tree) = question.start.name() else { return Arc::new(KnownStart::of(question)) };
        let same = |known: &(_, Vec<String>, _)| {
            known.0 == tree && known.1.iter().map(String::as_str).eq(commands(question))
        };
        let known = match self.0.iter().position(same) {
            Some(at) => self.0.remove(at),
            None => {
                let commands = commands(question).map(str::to_owned).collect();
                (tree, commands, Arc::new(KnownStart::of(question)))
            }
        };
        let found = Arc::clone(&known.2);
        self.0.push(known);
        if self.0.len() > STARTS {
            self.0.remove(0);
        }
        found
    }
}

/// The lines of shell that judge the work, or prepare that.
fn commands<'a>(question: &HarnessQuestion<'a>) -> impl Iterator<Item = &'a str> + use<'a> {
    let checks = question.checks.iter().map(|check| check.command);
    checks.chain(question.setup.iter().map(String::as_str))
}
