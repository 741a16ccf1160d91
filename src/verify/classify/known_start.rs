//! The judges of the start, found once: every proof of a run asks about the same start, and most
//! commits change few of its files.
//!
//! Invariant: a tree's name is the hash of its content, so an entry never becomes stale. All
//! questions to one [`KnownStarts`] have the same table.

use std::sync::Arc;

use super::judges::{Judges, judges};
use super::question::HarnessQuestion;

/// How many are remembered: a verdict and the check in a turn may run other commands.
const STARTS: usize = 4;

/// The judges in the start's tree.
#[derive(Debug)]
pub struct KnownStart {
    pub(super) found: Judges,
}

impl KnownStart {
    /// Reads what the question's commands run.
    pub fn of(question: &HarnessQuestion<'_>) -> Self {
        let commands: Vec<&str> = commands(question).collect();
        Self { found: judges(question.start, question.table, &commands) }
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
