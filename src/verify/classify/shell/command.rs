//! A simple command of a shell text, and where its output goes.

use std::collections::BTreeSet;
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
    /// Words whose `*` and `?` are all quoted.
    pub(in crate::verify) quoted_globs: Vec<String>,
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
    pub(in crate::verify::classify) function: Option<String>,
    /// Its output is clearly compared.
    pub(in crate::verify) compared: bool,
    /// Its output is run as code.
    pub(in crate::verify::classify) code: bool,
    /// The next command depends on its exit status.
    pub(in crate::verify::classify) asked: bool,
    /// Its exit status may decide.
    pub(in crate::verify::classify) decides: bool,
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
pub(in crate::verify::classify) struct Capture {
    pub(in crate::verify::classify) commands: Range<usize>,
    pub(in crate::verify::classify) into: Into,
    /// An exit status is part of the output.
    pub(super) status: bool,
}

/// Where output goes.
#[derive(Clone, Debug)]
pub(in crate::verify::classify) enum Into {
    Variable(String),
    /// A word of a command: its place in the text, and the word's place in it.
    Word(usize, usize),
    /// The word of a `case`.
    Case,
    /// The commands of a pipeline.
    Pipeline(usize),
    /// A comparison in the text that runs this one.
    Caller,
}

/// What the text that runs another one compares of it.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::verify::classify) struct ComparedElsewhere {
    /// Everything that it prints.
    pub(in crate::verify::classify) output: bool,
    /// Files that it may write.
    pub(in crate::verify::classify) files: BTreeSet<String>,
}

/// The known facts about a text, other than its commands.
#[derive(Debug, Default)]
pub(in crate::verify::classify) struct Flow {
    pub(in crate::verify::classify) captures: Vec<Capture>,
    /// Words that a `case` compares.
    pub(in crate::verify::classify) cases: Vec<String>,
    /// Files that the caller of the text compares.
    pub(super) files: BTreeSet<String>,
}

impl Flow {
    /// Adds what the caller of a text compares of its commands.
    pub(super) fn end(&mut self, commands: usize, elsewhere: &ComparedElsewhere) {
        self.files.clone_from(&elsewhere.files);
        if elsewhere.output {
            let whole = Capture { commands: 0..commands, into: Into::Caller, status: false };
            self.captures.push(whole);
        }
    }
}

/// Whether a word uses a variable.
pub(in crate::verify::classify) fn uses(word: &str, name: &str) -> bool {
    let ends = |rest: &str| !rest.starts_with(|c: char| c.is_alphanumeric() || c == '_');
    word.contains(&format!("${{{name}}}"))
        || word.split(&format!("${name}")).skip(1).any(|rest| ends(rest) && !name.is_empty())
}
