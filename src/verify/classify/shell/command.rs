//! A simple command of a shell text, and where its output goes.

use std::ops::Range;

/// The use of a command's result.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::verify) enum Use {
    /// Its exit status decides.
    Status,
    /// Its exit status is ignored.
    Ignored,
    /// Its output is captured, piped, or written to a file.
    Output,
}

/// A simple command.
#[derive(Clone, Debug)]
pub(in crate::verify) struct ShellCommand {
    pub(in crate::verify) words: Vec<String>,
    pub(in crate::verify) assignments: Vec<(String, String)>,
    /// Files that are its standard input.
    pub(in crate::verify) stdin: Vec<String>,
    /// A here-document or here-string.
    pub(in crate::verify) document: Option<String>,
    pub(in crate::verify) usage: Use,
    /// Pipeline that it belongs to, and its place there.
    pub(in crate::verify) pipeline: usize,
    /// The line can end with 0 although the command did not run or failed: a branch, a loop, an
    /// alternative, a negation.
    pub(in crate::verify) conditional: bool,
    /// Its standard output is thrown away.
    pub(in crate::verify) discarded: bool,
    /// Files that its output goes to.
    pub(in crate::verify) outputs: Vec<String>,
    /// The function whose body holds it.
    pub(super) function: Option<String>,
    /// Its output is clearly compared.
    pub(in crate::verify) compared: bool,
    /// Its output is run as code.
    pub(super) code: bool,
    /// It must succeed here and fail elsewhere in the text, or the other way around.
    pub(in crate::verify) both_ways: bool,
    /// It goes on beside what follows: `node server.js &`.
    pub(in crate::verify) background: bool,
    /// All is well if it fails: `! sh app.sh`, `if sh app.sh; then exit 1; fi`.
    pub(in crate::verify) must_fail: bool,
}

impl ShellCommand {
    /// The head of a `for` loop: its values are assignments.
    pub(in crate::verify) fn is_loop(&self) -> bool {
        self.words.first().is_some_and(|word| word == "for") && !self.assignments.is_empty()
    }
}

/// Commands whose output becomes part of another one.
#[derive(Clone, Debug)]
pub(super) struct Capture {
    pub(super) commands: Range<usize>,
    pub(super) into: Into,
    /// An exit status is part of the output.
    pub(super) status: bool,
}

/// Where output goes.
#[derive(Clone, Debug)]
pub(super) enum Into {
    Variable(String),
    /// A word of a command: its place in the text, and the word's place in it.
    Word(usize, usize),
    /// The word of a `case`.
    Case,
    /// The commands of a pipeline.
    Pipeline(usize),
}

/// The known facts about a text, other than its commands.
#[derive(Debug, Default)]
pub(super) struct Flow {
    pub(super) captures: Vec<Capture>,
    /// Words that a `case` compares.
    pub(super) cases: Vec<String>,
}

/// Whether a word uses a variable.
pub(super) fn uses(word: &str, name: &str) -> bool {
    let ends = |rest: &str| !rest.starts_with(|c: char| c.is_alphanumeric() || c == '_');
    word.contains(&format!("${{{name}}}"))
        || word.split(&format!("${name}")).skip(1).any(|rest| ends(rest) && !name.is_empty())
}
