//! The reason why a part of a call is denied, and a permitted alternative.

use std::borrow::Cow;

/// The denial of one part of a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Denial {
    /// The rule's id, as in `git.push`.
    pub(super) rule: Cow<'static, str>,
    /// The reason, a clause without a full stop; with the part as its subject it begins with `it `.
    pub(super) why: String,
    /// The part of the call, as people read it; filled in where it is known.
    pub(super) part: Option<String>,
    /// A permitted alternative.
    pub(super) instead: Option<String>,
}

/// Rules against what a call plainly means to do, by the beginning of their ids. Any other rule
/// says that the guard does not know what a command does, or names a place that a sandbox walls
/// off by itself.
const INTENTS: &[&str] = &[
    "approval.",
    "container",
    "git.branch",
    "git.config",
    "git.destructive",
    "git.history",
    "git.internals",
    "git.network",
    "git.push",
    "git.stash",
    "human.",
    "network",
    "path.git",
    "path.protected",
    "path.scope",
    "path.settings",
    "policy.",
    "privilege",
    "program.delete",
    "program.install",
    "publish",
    "secret.",
    "state.",
    "system",
    "tool.",
];

/// The basis of a denial.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum DenialKind {
    /// The call plainly does what its rule forbids.
    Intent,
    /// The guard does not know what the call does, or a sandbox keeps it from doing harm.
    NotUnderstood,
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

    /// Its basis.
    pub(super) fn kind(&self) -> DenialKind {
        if INTENTS.iter().any(|intent| self.rule.starts_with(intent)) {
            DenialKind::Intent
        } else {
            DenialKind::NotUnderstood
        }
    }

    /// Whether an open network lifts it.
    pub(super) fn is_about_the_network(&self) -> bool {
        matches!(self.rule.as_ref(), "network" | "program.install" | "git.network")
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
    ///
    /// A reason that begins with `it ` has the denied part as its subject, and so has one
    /// that begins with the first words of the part.
    pub(super) fn text(&self) -> String {
        let part = self.part.as_deref().map(shorten);
        let subject = |part: &str| {
            let (words, does) = self.why.strip_prefix('`')?.split_once("` ")?;
            part.starts_with(words).then_some(does)
        };
        let why = match (&part, self.why.strip_prefix("it ")) {
            (Some(part), Some(does)) => format!("`{part}` {does}"),
            (None, Some(does)) => format!("this call {does}"),
            (Some(part), None) => match subject(part) {
                Some(does) => format!("`{part}` {does}"),
                None if self.why.starts_with(part) => self.why.clone(),
                None => format!("`{part}`: {}", self.why),
            },
            (None, None) => self.why.clone(),
        };
        let mut text = format!("Denied ({}): {why}. Nothing was run.", self.rule);
        if let Some(instead) = &self.instead {
            text.push_str(" Instead: ");
            text.push_str(instead);
            text.push('.');
        }
        text
    }
}

/// The denial of a call that writes code and runs it.
pub(super) fn runs_what_it_writes() -> Denial {
    Denial::new("program.script", "this call writes the code that it runs")
        .instead("write the file first, with the create tool, and run it in a call of its own")
}

/// A part of a call on one line, cut to a length that people read.
fn shorten(part: &str) -> String {
    let flat = part.split_whitespace().collect::<Vec<_>>().join(" ");
    let short: String = flat.chars().take(MOST_PART).collect();
    if short.len() < flat.len() { format!("{short}…") } else { short }
}
