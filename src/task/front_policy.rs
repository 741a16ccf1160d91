//! The `policy` key of the front matter: the rules of `[policy]`, each with its place in TASK.md.
//!
//! Invariant: an unknown key or a value of the wrong type is an error, so that a mistyped rule is
//! never silently dropped. The guard checks whether a rule is valid and fits its examples;
//! `config` merges the rules of several sources.

use std::{ops::Range, path::PathBuf};

use serde::Deserialize;
use serde_saphyr::{Location, Spanned};

use super::lines::Lines;
use crate::model::{CommandRule, PathRule, Pattern, PolicyDefault, PolicyRules, RulePlace, Task};

/// [`PolicyRules`] as read from YAML, each rule with its location.
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct FrontPolicy {
    default: Option<PolicyDefault>,
    allowed_tools: Vec<Spanned<Pattern>>,
    blocked_tools: Vec<Spanned<Pattern>>,
    ask_tools: Vec<Spanned<Pattern>>,
    blocked_patterns: Vec<Spanned<Pattern>>,
    command: Vec<Spanned<CommandRule>>,
    path: Vec<Spanned<PathRule>>,
}

impl FrontPolicy {
    /// Converts locations in the YAML to places in the file.
    pub(super) fn placed(self, place: impl Fn(Location) -> RulePlace) -> PolicyRules {
        let patterns = |list: Vec<Spanned<Pattern>>| {
            let placed =
                |it: Spanned<Pattern>| Pattern { place: Some(place(it.referenced)), ..it.value };
            list.into_iter().map(placed).collect()
        };
        PolicyRules {
            default: self.default,
            allowed_tools: patterns(self.allowed_tools),
            blocked_tools: patterns(self.blocked_tools),
            ask_tools: patterns(self.ask_tools),
            blocked_patterns: patterns(self.blocked_patterns),
            command: (self.command.into_iter())
                .map(|it| CommandRule { place: Some(place(it.referenced)), ..it.value })
                .collect(),
            path: (self.path.into_iter())
                .map(|it| PathRule { place: Some(place(it.referenced)), ..it.value })
                .collect(),
        }
    }
}

/// The place of a rule at `span`, which must be within one line.
pub(super) fn rule_place(lines: &Lines<'_>, span: Range<usize>) -> RulePlace {
    let (line, column) = lines.position(span.start);
    let source = lines.source();
    RulePlace {
        file: PathBuf::from(Task::FILE_NAME),
        offset: span.start,
        line,
        column,
        width: source[span].chars().count(),
        text: source[lines.range(line)].to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use crate::task::parse;

    #[test]
    fn rules_have_the_right_place_in_any_encoding_and_style() {
        let yaml = "model: ä😀\r\n\
                    policy:\r\n  \
                      blocked_tools: [\"ö*\", x]\r\n  \
                      blocked_patterns:\r\n  \
                      - &p ü😀\r\n  \
                      - *p\r\n  \
                      - |\r\n    \
                        two\r\n    \
                        lines\r\n  \
                      command:\r\n  \
                      - id: ä\r\n    \
                        decision: deny\r\n    \
                        command: ä\r\n    \
                        reason: ö\r\n    \
                        match: [ä]\r\n";
        let source = format!("\u{feff}---\r\n{yaml}---\r\n- [ ] a\r\n");
        let task = parse("t", source.as_bytes());
        assert_eq!(task.diagnostics, []);
        let policy = &task.settings.policy;
        let patterns = policy.blocked_tools.iter().chain(&policy.blocked_patterns);
        let patterns = patterns.map(|it| (it.text.as_str(), &it.place));
        let rules = policy.command.iter().map(|it| (it.id.as_str(), &it.place));
        let places: Vec<_> = patterns
            .chain(rules)
            .map(|(text, place)| {
                let place = place.as_ref().expect("a place");
                (text, place.line, place.column, place.width, place.text.as_str())
            })
            .collect();
        assert_eq!(
            places,
            [
                ("ö*", 4, 19, 4, "  blocked_tools: [\"ö*\", x]"),
                ("x", 4, 25, 1, "  blocked_tools: [\"ö*\", x]"),
                ("ü😀", 6, 8, 2, "  - &p ü😀"),
                // An alias is reported where it is used.
                ("ü😀", 7, 5, 2, "  - *p"),
                ("two\nlines\n", 9, 5, 3, "    two"),
                ("ä", 12, 5, 0, "  - id: ä"),
            ]
        );
    }
}
