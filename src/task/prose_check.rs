//! A check that a criterion's own text only tells of, as in "prints a line, check with `make test`".

use super::diagnostics::Diagnostics;
use crate::model::Criterion;

/// Words that say that something is to be run.
const VERBS: [&str; 16] = [
    "check",
    "checks",
    "checked",
    "verify",
    "verified",
    "test",
    "tested",
    "run",
    "running",
    "prove",
    "proven",
    "validate",
    "validated",
    "confirm",
    "confirmed",
    "command",
];
/// Words between such a word and the command.
pub(super) const BETWEEN: [&str; 9] =
    ["with", "by", "via", "using", "it", "this", "running", "run", "is"];

/// Warns about criteria without a check whose text ends with what a person would read as one.
pub(super) fn warn(criteria: &[Criterion], source: &str, diagnostics: &mut Diagnostics<'_>) {
    for criterion in criteria {
        let text = &criterion.key.text;
        let has_none = criterion.verify.is_empty() && criterion.recipe.is_none();
        let Some(code) = command(text).filter(|_| has_none) else { continue };
        let start = source[criterion.mark..].find(code).map_or(criterion.mark, |at| {
            // With the backticks around it.
            criterion.mark + at - 1
        });
        diagnostics.warning(
            start..start + code.len() + 2,
            "this is not read as a verify command: it is part of the criterion's text",
            format!("if it is the check, make it a list item below: - verify: `{code}`"),
        );
    }
}

/// The code at the end of a text, if the words before it call it a check.
fn command(text: &str) -> Option<&str> {
    let (before, code) =
        text.trim_end_matches([')', '.', ' ']).strip_suffix('`')?.rsplit_once('`')?;
    let small = before.to_lowercase();
    // This has a warning of its own.
    if small.trim_end().ends_with("verify:") {
        return None;
    }
    let joined = small.trim_end().ends_with([':', '(']);
    let mut words =
        small.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).rev();
    let mut between = 0;
    let word = words.by_ref().find(|word| {
        let skipped = BETWEEN.contains(word) && !VERBS.contains(word);
        between += usize::from(skipped);
        !skipped
    })?;
    // "Callers verify `id`" speaks of an object, "verify with `make`" of a command.
    let is_command = joined || between > 0 || code.contains(' ');
    (VERBS.contains(&word) && is_command && !code.trim().is_empty()).then_some(code)
}
