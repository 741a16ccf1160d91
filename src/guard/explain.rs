//! Which parts of a call the guard looked at, for people who test their policy.
//!
//! Nothing is decided here, and a call without a listener costs nothing.

use crate::model::Decision;

/// Parts that are kept.
const MOST: usize = 200;

/// Longest part that is shown, in characters.
const LONGEST: usize = 200;

/// A decision with the parts of the call that it rests on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Explained {
    /// The decision, as [`super::decide`] makes it.
    pub decision: Decision,
    /// Simple commands of a line and paths of a tool, in the order they were looked at;
    /// where the call is refused, the last one is the refused one. At most 200.
    pub parts: Vec<String>,
}

/// The parts seen so far; by default none are kept.
#[derive(Debug, Default)]
pub(super) struct ExplainedParts(Option<Vec<String>>);

impl ExplainedParts {
    /// Keeps what is seen.
    pub(super) fn kept() -> Self {
        Self(Some(Vec::new()))
    }

    /// Takes a part down, once.
    pub(super) fn see(&mut self, part: impl FnOnce() -> String) {
        let Some(parts) = self.0.as_mut().filter(|parts| parts.len() < MOST) else { return };
        let part: String = part().chars().take(LONGEST).collect();
        if !parts.contains(&part) {
            parts.push(part);
        }
    }

    /// Everything seen.
    pub(super) fn into_list(self) -> Vec<String> {
        self.0.unwrap_or_default()
    }
}
