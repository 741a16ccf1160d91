//! The user's rules for tools, commands and paths, as plain data.
//!
//! The guard applies the rules, and knows the built-in ones that they cannot widen.

use std::fmt;
use std::ops::Range;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// The `[policy]` of a configuration file, or the `policy` of a task's front matter.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct PolicyRules {
    /// The decision for an unknown tool or program.
    pub default: Option<PolicyDefault>,
    /// Tools that may be used, where any are named: no others then.
    pub allowed_tools: Vec<Pattern>,
    /// Tools that are never used.
    pub blocked_tools: Vec<Pattern>,
    /// Tools that a human has to approve.
    pub ask_tools: Vec<Pattern>,
    /// Regular expressions that no argument of a call may match.
    pub blocked_patterns: Vec<Pattern>,
    /// Rules for commands.
    pub command: Vec<CommandRule>,
    /// Rules for paths.
    pub path: Vec<PathRule>,
}

/// The decision for a call that matches no rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PolicyDefault {
    /// It may run, as far as its arguments pass.
    Allow,
    /// It may not.
    Deny,
}

/// The decision of a rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RuleDecision {
    /// It may run, unless something stricter says otherwise.
    Allow,
    /// A human has to approve it; without one it may not.
    Ask,
    /// It may not.
    Deny,
}

/// The access that a path rule applies to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Access {
    /// Its content is read.
    Read,
    /// It is changed, moved or deleted.
    #[default]
    Write,
}

/// A rule for commands that begin with the same words.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CommandRule {
    /// Its name, in denials.
    pub id: String,
    /// Its decision.
    pub decision: RuleDecision,
    /// The first words; `*` matches any one word.
    pub command: String,
    /// Why, for the agent and the human.
    pub reason: String,
    /// Commands that it matches.
    pub r#match: Vec<String>,
    /// Commands that it does not match.
    #[serde(default)]
    pub not_match: Vec<String>,
    /// Its place in the file.
    #[serde(skip)]
    pub place: Option<RulePlace>,
}

/// A rule for paths.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PathRule {
    /// Its name, in denials.
    pub id: String,
    /// Its decision.
    pub decision: RuleDecision,
    /// Globs, relative to the repository, absolute, or below `~/`.
    pub paths: Vec<String>,
    /// The access that it applies to.
    #[serde(default)]
    pub access: Access,
    /// Why, for the agent and the human.
    pub reason: String,
    /// Paths that it matches.
    pub r#match: Vec<String>,
    /// Paths that it does not match.
    #[serde(default)]
    pub not_match: Vec<String>,
    /// Its place in the file.
    #[serde(skip)]
    pub place: Option<RulePlace>,
}

/// A name with `*`, or a regular expression.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "String", into = "String")]
pub struct Pattern {
    /// As it is written.
    pub text: String,
    /// Its place in the file.
    pub place: Option<RulePlace>,
}

impl From<String> for Pattern {
    fn from(text: String) -> Self {
        Self { text, place: None }
    }
}

impl From<Pattern> for String {
    fn from(pattern: Pattern) -> Self {
        pattern.text
    }
}

/// The place of a rule in a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RulePlace {
    /// The file.
    pub file: PathBuf,
    /// Byte of the file at which it begins, from 0.
    pub offset: usize,
    /// Line, from 1.
    pub line: usize,
    /// Column in characters, from 1.
    pub column: usize,
    /// Characters of the line that are meant.
    pub width: usize,
    /// The line itself.
    pub text: String,
}

impl RulePlace {
    /// The bytes of `source`, the file's text, that are meant.
    #[must_use]
    pub fn span(&self, source: &str) -> Range<usize> {
        let meant = source.get(self.offset..).unwrap_or_default().chars().take(self.width);
        self.offset..self.offset + meant.map(char::len_utf8).sum::<usize>()
    }
}

impl fmt::Display for RulePlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.shown("policy error"))
    }
}

impl RulePlace {
    /// The line with a mark under the error; `what` names the kind of error.
    #[must_use]
    pub fn shown(&self, what: &str) -> String {
        let number = self.line.to_string();
        let margin = " ".repeat(number.len());
        let before = " ".repeat(self.column.saturating_sub(1));
        let marks = "^".repeat(self.width.max(1));
        let (file, column, text) = (self.file.display(), self.column, &self.text);
        format!(
            "{file}: {what} at line {number}, column {column}\n\
             {margin} |\n{number} | {text}\n{margin} | {before}{marks}"
        )
    }
}
