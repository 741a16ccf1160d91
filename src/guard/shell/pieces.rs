//! The pieces that a word is made of, as the lexer tells them apart.

use crate::guard::denial::Denial;

/// A stretch of a word as it is written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Piece {
    /// Characters that stand for themselves.
    Text(String),
    /// An unquoted `*`, `?` or bracket expression; a lone `[` where its end is not known.
    Glob(String),
    /// `~` or `~name` at the start.
    Tilde(String),
    /// `$name`, `${name…}`.
    Param(Param),
    /// `$(…)` or backquotes, without them.
    Command {
        /// The line inside.
        body: String,
        /// Whether it stands in double quotes.
        quoted: bool,
    },
    /// `$((…))`, as a word of its own.
    Arith(Vec<Piece>),
}

/// A parameter expansion.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Param {
    /// Variable, number or special character.
    pub(super) name: String,
    /// What is done to it.
    pub(super) op: Op,
    /// Expansions inside the braces, behind the name.
    pub(super) inner: Vec<Piece>,
    /// What of that bash evaluates as arithmetic: a subscript, an offset, a length.
    pub(super) index: Vec<Piece>,
    /// Which of several values it means.
    pub(super) which: Which,
    /// Whether it stands in double quotes.
    pub(super) quoted: bool,
}

/// Which values of an array an expansion means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Which {
    /// The first one: `$a`.
    First,
    /// Each as a word of its own: `$@`, `${a[@]}`.
    Each,
    /// All of them, in quotes as one word: `$*`, `${a[*]}`.
    Joined,
}

impl Which {
    /// What stands behind a name decides it, and the name itself.
    pub(super) fn of(name: &str, rest: &str) -> Self {
        if name == "@" || rest.starts_with("[@]") {
            Self::Each
        } else if name == "*" || rest.starts_with("[*]") {
            Self::Joined
        } else {
            Self::First
        }
    }
}

/// What a parameter expansion does to the value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Op {
    /// Nothing: the value itself.
    Value,
    /// Its length, or a number of things.
    Length,
    /// The keys of an array.
    Keys,
    /// Assigns a default.
    Assign,
    /// Anything else: a default, a part, a replacement.
    Change,
}

/// The denial of a word that cannot be read in one way only.
pub(super) fn unclear(what: &str) -> Denial {
    Denial::new("shell.unparsed", format!("cannot parse {what} with certainty"))
        .instead("write it more simply, one command per line")
}

/// The denial of words nested too deep.
pub(super) fn too_deep() -> Denial {
    Denial::new("shell.too-long", "the line is nested too deeply")
}
