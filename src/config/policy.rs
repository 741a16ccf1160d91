//! Where the rules of `[policy]` stand in their file, so that a bad one can be pointed at.

use std::ops::Range;
use std::path::Path;

use serde::Deserialize;
use serde::de::IgnoredAny;
use toml::Spanned;

use crate::model::{PolicyRules, RulePlace};

/// The same tables as [`PolicyRules`], but only their places.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Spans {
    policy: Policy,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Policy {
    allowed_tools: Vec<Spanned<IgnoredAny>>,
    blocked_tools: Vec<Spanned<IgnoredAny>>,
    ask_tools: Vec<Spanned<IgnoredAny>>,
    blocked_patterns: Vec<Spanned<IgnoredAny>>,
    command: Vec<Spanned<IgnoredAny>>,
    path: Vec<Spanned<IgnoredAny>>,
}

/// Notes with each rule where it stands in the text it was read from.
pub(super) fn place(rules: &mut PolicyRules, text: &str, file: &Path) {
    let Ok(Spans { policy }) = toml::from_str::<Spans>(text) else { return };
    let at = |span: &Spanned<IgnoredAny>| Some(place_of(span.span(), text, file));
    for (patterns, spans) in [
        (&mut rules.allowed_tools, &policy.allowed_tools),
        (&mut rules.blocked_tools, &policy.blocked_tools),
        (&mut rules.ask_tools, &policy.ask_tools),
        (&mut rules.blocked_patterns, &policy.blocked_patterns),
    ] {
        patterns.iter_mut().zip(spans).for_each(|(pattern, span)| pattern.place = at(span));
    }
    rules.command.iter_mut().zip(&policy.command).for_each(|(rule, span)| rule.place = at(span));
    rules.path.iter_mut().zip(&policy.path).for_each(|(rule, span)| rule.place = at(span));
}

pub(super) fn place_of(span: Range<usize>, text: &str, file: &Path) -> RulePlace {
    let before = text.get(..span.start).unwrap_or_default();
    let start = before.rfind('\n').map_or(0, |at| at + 1);
    let line = text.get(start..).and_then(|rest| rest.lines().next()).unwrap_or_default();
    let meant = text.get(span.start..span.end.min(start + line.len())).unwrap_or_default();
    RulePlace {
        file: file.to_owned(),
        offset: span.start,
        line: before.matches('\n').count() + 1,
        column: before.get(start..).unwrap_or_default().chars().count() + 1,
        width: meant.trim_end().chars().count(),
        text: line.to_owned(),
    }
}
