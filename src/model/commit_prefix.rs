//! The text that a project's hooks want at the beginning of commit messages.
//!
//! Invariant: it can be quoted in a shell and in a subject: one line, without quotes.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// The longest prefix; common hooks refuse a subject of more than 72 characters.
const LONGEST: usize = 40;

/// A prefix of commit messages.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct CommitPrefix(String);

impl CommitPrefix {
    /// The accepted values, for messages.
    pub const TAKES: &str = "what commit messages begin with, such as `feat:` or `ABC-12`: one line \
                             of at most 40 characters, without quotes, backslashes, or `!` at its end";

    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for CommitPrefix {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let text = text.trim();
        let is_quotable = !text.contains(|it: char| it.is_control() || "'\"\\`".contains(it));
        let is_short = (1..=LONGEST).contains(&text.chars().count());
        // Git takes `#` for a comment, and `fixup! …` for an amendment.
        if is_quotable && is_short && !text.starts_with('#') && !text.ends_with('!') {
            return Ok(Self(text.to_owned()));
        }
        Err(format!("invalid commit prefix: it takes {}", Self::TAKES))
    }
}

impl TryFrom<String> for CommitPrefix {
    type Error = String;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        text.parse()
    }
}

impl From<CommitPrefix> for String {
    fn from(prefix: CommitPrefix) -> Self {
        prefix.0
    }
}

impl fmt::Display for CommitPrefix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_fits_into_a_quoted_subject_is_taken() {
        for text in ["feat:", " chore(ci): ", "[ABC-12]", "feat!:"] {
            assert_eq!(text.parse::<CommitPrefix>().expect("taken").as_str(), text.trim());
        }
        for text in
            ["", " ", "a\nb", "it's", "\"a\"", "a\\b", "`a`", "#12", "fixup!", &"x".repeat(41)]
        {
            assert!(text.parse::<CommitPrefix>().is_err(), "{text}");
        }
    }
}
