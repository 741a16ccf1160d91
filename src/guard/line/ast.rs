//! The part of bash that the guard understands, as data.

/// A piece of a word.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::guard) enum Piece {
    /// Plain text: quoted, or without a special meaning.
    Text(String),
    /// Unquoted text with `*`, `?`, or brackets.
    Glob(String),
    /// `$NAME`.
    Variable { name: String, quoted: bool },
    /// `$(…)`.
    Substitution { script: Script, quoted: bool },
    /// A number that is known at run time only.
    Number,
    /// Known at run time only.
    Unknown { quoted: bool },
}

/// A word as written.
#[derive(Clone, Debug, Default, PartialEq)]
pub(in crate::guard) struct Word {
    pub(in crate::guard) pieces: Vec<Piece>,
}

/// Where a stream leads.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::guard) enum Redirect {
    Read(Word),
    Write(Word),
    /// A file that takes another stream than the output, as in `2>`.
    WriteOther(Word),
    Append(Word),
    /// Text that stands in the line itself.
    Data {
        /// It has no letter and no digit.
        empty: bool,
        text: Word,
    },
}

/// A program with its words.
#[derive(Clone, Debug, Default, PartialEq)]
pub(in crate::guard) struct Simple {
    pub(in crate::guard) variables: Vec<(String, Word)>,
    pub(in crate::guard) words: Vec<Word>,
    pub(in crate::guard) redirects: Vec<Redirect>,
    /// As written, for people.
    pub(in crate::guard) text: String,
}

/// The use of its scripts in a compound command.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::guard) enum Compound {
    /// `{ …; }`
    Group(Script),
    /// `( … )`
    Subshell(Script),
    /// `if`, `while` and `until`: any of the scripts may run, any number of times.
    Branches(Vec<Script>),
    /// `for NAME in …`
    For { name: String, values: Vec<Word>, body: Script },
}

#[derive(Clone, Debug, PartialEq)]
pub(in crate::guard) enum PipelinePart {
    Simple(Simple),
    Compound(Box<Compound>, Vec<Redirect>),
}

/// Pipelines joined by `&&` and `||`.
#[derive(Clone, Debug, Default, PartialEq)]
pub(in crate::guard) struct List {
    pub(in crate::guard) pipelines: Vec<Vec<PipelinePart>>,
    /// Only `&&` joins them, and the shell waits for them.
    pub(in crate::guard) all_or_nothing: bool,
}

/// A sequence of lists.
#[derive(Clone, Debug, Default, PartialEq)]
pub(in crate::guard) struct Script {
    pub(in crate::guard) lists: Vec<List>,
}

impl Word {
    /// The word, if it is plain text.
    pub(in crate::guard) fn text(&self) -> Option<&str> {
        match self.pieces.as_slice() {
            [] => Some(""),
            [Piece::Text(text)] => Some(text),
            _ => None,
        }
    }
}
