//! Why a part of a call was refused, and what passes instead.

use std::borrow::Cow;

/// A no to one part of a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Denial {
    /// The rule's id, as in `git.push`.
    pub(super) rule: Cow<'static, str>,
    /// What it is about, one clause without a full stop.
    pub(super) why: String,
    /// The part of the call, for people; filled in by whoever knows it.
    pub(super) part: Option<String>,
    /// What passes instead.
    pub(super) instead: Option<String>,
}

/// Longest part shown.
const MOST_PART: usize = 160;

/// The denial of a call that matches a blocked pattern.
pub(super) fn blocked_pattern(pattern: &str) -> Denial {
    Denial::new("policy.blocked-pattern", format!("it matches the blocked pattern `{pattern}`"))
}

impl Denial {
    pub(super) fn new(rule: impl Into<Cow<'static, str>>, why: impl Into<String>) -> Self {
        Self { rule: rule.into(), why: why.into(), part: None, instead: None }
    }

    pub(super) fn instead(mut self, instead: impl Into<String>) -> Self {
        self.instead.get_or_insert(instead.into());
        self
    }

    /// Names the part, unless an inner one was named already.
    pub(super) fn within(mut self, part: &str) -> Self {
        self.part.get_or_insert_with(|| part.to_owned());
        self
    }

    /// The whole text for the agent and the human.
    pub(super) fn text(&self) -> String {
        let mut text = match &self.part {
            Some(part) => {
                let flat = part.split_whitespace().collect::<Vec<_>>().join(" ");
                let short: String = flat.chars().take(MOST_PART).collect();
                let more = if short.len() < flat.len() { "…" } else { "" };
                format!("Refused by rule {}: `{short}{more}`: {}.", self.rule, self.why)
            }
            None => format!("Refused by rule {}: {}.", self.rule, self.why),
        };
        text.push_str(" Nothing of this call was run.");
        if let Some(instead) = &self.instead {
            text.push_str(" Instead: ");
            text.push_str(instead);
            text.push('.');
        }
        text
    }
}
