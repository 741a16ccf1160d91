//! What is known of a word before the line runs.
//!
//! Invariant: a `ShellValue` stands for every string the shell could make of the
//! word; what is not known is a segment of its own and never an empty string.

use std::path::PathBuf;

/// A stretch of a word.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::guard) enum Seg {
    /// Exactly these characters.
    Lit(String),
    /// An unquoted pattern that the shell matches against file names: `*`, `?`, a plain
    /// bracket expression, or a `[` of which it is not known where it ends.
    Glob(String),
    /// Unknown, but only letters, digits, `_`, `.`, `:` and `-` behind a first
    /// letter or digit, and never `..`: a number, a date, a short hash.
    Token,
    /// A path below this folder that a listing printed: no secret, no option.
    Listed(PathBuf),
    /// Nothing is known.
    Any,
}

/// One word of a command.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(in crate::guard) struct ShellValue {
    /// In order.
    pub(in crate::guard) segs: Vec<Seg>,
    /// Whether it may become no word or several (an unquoted expansion).
    pub(in crate::guard) splits: bool,
}

impl ShellValue {
    pub(in crate::guard) fn lit(text: impl Into<String>) -> Self {
        Self { segs: vec![Seg::Lit(text.into())], splits: false }
    }

    pub(in crate::guard) fn one(seg: Seg) -> Self {
        Self { segs: vec![seg], splits: false }
    }

    /// About how many bytes it takes.
    pub(in crate::guard) fn weight(&self) -> usize {
        let of = |seg: &Seg| match seg {
            Seg::Lit(text) | Seg::Glob(text) => text.len(),
            Seg::Token | Seg::Listed(_) | Seg::Any => 0,
        };
        self.segs.iter().map(|seg| of(seg) + size_of::<Seg>()).sum()
    }

    /// Adds a stretch, joining literals.
    pub(in crate::guard) fn push(&mut self, seg: Seg) {
        match (self.segs.last_mut(), seg) {
            (Some(Seg::Lit(last)), Seg::Lit(more)) => last.push_str(&more),
            (_, seg) => self.segs.push(seg),
        }
    }

    /// The text, if all of it is known.
    pub(in crate::guard) fn text(&self) -> Option<&str> {
        match self.segs.as_slice() {
            [] if !self.splits => Some(""),
            [Seg::Lit(text)] if !self.splits => Some(text),
            _ => None,
        }
    }

    /// Whether it is nothing but a number, a date or the like.
    pub(in crate::guard) fn is_token(&self) -> bool {
        !self.splits
            && self.segs.iter().all(|seg| match seg {
                Seg::Token => true,
                Seg::Lit(text) => {
                    !text.is_empty() && text.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
                }
                Seg::Glob(_) | Seg::Listed(_) | Seg::Any => false,
            })
    }

    /// The text up to the first thing that is not known.
    pub(in crate::guard) fn head(&self) -> &str {
        match self.segs.first() {
            Some(Seg::Lit(text)) => text,
            _ => "",
        }
    }

    /// Whether anything in it is wholly unknown.
    pub(in crate::guard) fn is_open(&self) -> bool {
        self.splits || self.segs.contains(&Seg::Any)
    }

    /// Whether it could turn out to be an option.
    pub(in crate::guard) fn may_be_option(&self) -> bool {
        self.splits
            || match self.segs.first() {
                None => false,
                Some(Seg::Lit(text)) => text.starts_with('-'),
                // A file may be called `-o`: `*` may become it.
                Some(Seg::Glob(_) | Seg::Any) => true,
                Some(Seg::Token | Seg::Listed(_)) => false,
            }
    }

    /// The word without its first `bytes` bytes, which must be literal.
    pub(in crate::guard) fn tail(&self, bytes: usize) -> Self {
        let mut rest = self.clone();
        if let Some(Seg::Lit(text)) = rest.segs.first_mut() {
            *text = text.get(bytes..).unwrap_or_default().to_owned();
            if text.is_empty() {
                rest.segs.remove(0);
            }
        }
        rest
    }

    /// For people.
    pub(in crate::guard) fn show(&self) -> String {
        self.segs
            .iter()
            .map(|seg| match seg {
                Seg::Lit(text) | Seg::Glob(text) => text.as_str(),
                Seg::Token | Seg::Listed(_) | Seg::Any => "…",
            })
            .collect()
    }
}

/// What a command prints, as far as its words tell.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::guard) enum ShellOutput {
    /// Nothing is known.
    Opaque,
    /// Tokens only (see [`Seg::Token`]).
    Tokens,
    /// Paths below this folder, no secrets among them.
    Listing(PathBuf),
    /// Exactly this text.
    Text(String),
    /// Some lines of a known text, or all of them.
    Lines(String),
}

impl ShellOutput {
    /// Whether nothing is printed at all.
    pub(in crate::guard) fn is_empty(&self) -> bool {
        matches!(self, Self::Text(text) if text.is_empty())
    }
}

/// What ways print of which one is taken, or some: nothing, or nobody knows.
#[derive(Default)]
pub(super) struct Printed {
    something: bool,
}

impl Printed {
    pub(super) fn also(&mut self, stream: ShellOutput) {
        self.something |= !stream.is_empty();
    }

    pub(super) fn stream(self) -> ShellOutput {
        if self.something { ShellOutput::Opaque } else { ShellOutput::Text(String::new()) }
    }
}

/// What two commands after each other print.
pub(super) fn joined(first: ShellOutput, second: ShellOutput) -> ShellOutput {
    match (first, second) {
        (ShellOutput::Text(text), other) | (other, ShellOutput::Text(text)) if text.is_empty() => {
            other
        }
        (ShellOutput::Tokens, ShellOutput::Tokens) => ShellOutput::Tokens,
        (ShellOutput::Listing(one), ShellOutput::Listing(two)) if one == two => {
            ShellOutput::Listing(one)
        }
        _ => ShellOutput::Opaque,
    }
}
