//! A word after its expansion, as far as it is known before it runs.

/// One argument of a program.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::guard) enum Arg {
    /// Known to the letter.
    Text(String),
    /// A pattern of file names that the shell expands.
    Pattern(String),
    /// It begins like this; the rest is known at run time only. Unquoted, it may be several words.
    Open { head: String, quoted: bool },
}

impl Arg {
    pub(in crate::guard) fn of(text: impl Into<String>) -> Self {
        Self::Text(text.into())
    }

    /// The text, if it is known.
    pub(in crate::guard) fn text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            Self::Pattern(_) | Self::Open { .. } => None,
        }
    }

    /// Its beginning, for people and for distinguishing options from operands.
    pub(in crate::guard) fn head(&self) -> &str {
        match self {
            Self::Text(text) | Self::Pattern(text) => text,
            Self::Open { head, .. } => head,
        }
    }

    /// The argument without its first bytes.
    pub(in crate::guard) fn tail(&self, from: usize) -> Self {
        let rest = |text: &str| text.get(from..).unwrap_or_default().to_owned();
        match self {
            Self::Text(text) => Self::Text(rest(text)),
            Self::Pattern(text) => Self::Pattern(rest(text)),
            Self::Open { head, quoted } => Self::Open { head: rest(head), quoted: *quoted },
        }
    }
}
