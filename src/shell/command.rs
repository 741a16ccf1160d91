//! A simple command of a shell text, and where its output goes.

use std::ops::Range;

/// The use of a command's result.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Use {
    /// Its exit status decides.
    #[default]
    Status,
    /// Its exit status is ignored.
    Ignored,
    /// Its output is captured, piped, or written to a file.
    Output,
}

/// A simple command.
#[derive(Clone, Debug, Default)]
pub struct ShellCommand {
    /// Without quotes; a substitution is a `$`.
    pub words: Vec<String>,
    /// Variables that are set for it, or by it.
    pub assignments: Vec<(String, String)>,
    /// Files that are its standard input.
    pub stdin: Vec<String>,
    /// A here-document or here-string.
    pub document: Option<String>,
    /// What becomes of its result.
    pub usage: Use,
    /// Pipeline that it belongs to, and its place there.
    pub pipeline: usize,
    /// The line can end with 0 although the command did not run or failed: a branch, a loop, an
    /// alternative, a negation.
    pub conditional: bool,
    /// Its standard output is thrown away.
    pub discarded: bool,
    /// Files that its output goes to.
    pub outputs: Vec<String>,
    /// The function whose body holds it.
    pub function: Option<String>,
    /// Its output is clearly compared.
    pub compared: bool,
    /// It must succeed here and fail elsewhere in the text, or the other way around.
    pub both_ways: bool,
    /// It goes on beside what follows: `node server.js &`.
    pub background: bool,
    /// All is well if it fails: `! sh app.sh`, `if sh app.sh; then exit 1; fi`.
    pub must_fail: bool,
}

impl ShellCommand {
    /// The head of a `for` loop: its values are assignments.
    pub fn is_loop(&self) -> bool {
        self.words.first().is_some_and(|word| word == "for") && !self.assignments.is_empty()
    }
}

/// Commands whose output becomes part of another one.
#[derive(Clone, Debug)]
pub struct Capture {
    /// Their places in the text.
    pub commands: Range<usize>,
    /// Where their output goes.
    pub into: Target,
    /// An exit status is part of the output.
    pub status: bool,
}

/// Where output goes.
#[derive(Clone, Debug)]
pub enum Target {
    /// A variable of this name.
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
pub struct Flow {
    /// Output that goes on.
    pub captures: Vec<Capture>,
    /// Words that a `case` compares.
    pub cases: Vec<String>,
}

/// Whether a word uses a variable.
pub fn uses(word: &str, name: &str) -> bool {
    let ends = |rest: &str| !rest.starts_with(|c: char| c.is_alphanumeric() || c == '_');
    word.contains(&format!("${{{name}}}"))
        || word.split(&format!("${name}")).skip(1).any(|rest| ends(rest) && !name.is_empty())
}
