//! The report for a terminal.

use std::fmt::Write as _;

use super::facts::Night;
use crate::report::format::{count, message, one_line, shown};

/// Criteria and iterations that are listed; more are counted.
const LISTED: usize = 200;

/// Writes the report as plain text, without a line break at the end.
pub fn text(night: &Night) -> String {
    let mut out = format!(
        "{}: {}\n{}, {} to {}, on {} from {}\n{}\n{}\n",
        night.task,
        one_line(&night.outcome),
        night.run,
        night.began.format("%F %T"),
        night.ended.format("%F %T UTC"),
        one_line(&night.branch),
        night.start,
        night.counted,
        night.cost
    );
    let mut section = |title: &str, lines: Vec<String>| {
        if !lines.is_empty() {
            let _infallible = write!(out, "\n{title}\n");
            for line in &lines {
                let _infallible = writeln!(out, "  {line}");
            }
        }
    };
    section("Since the last run", since(night));
    let mut lines = Vec::new();
    for it in night.criteria.iter().take(LISTED) {
        let failed = match it.failed_attempts {
            0 => String::new(),
            some => format!(", {}", count(some.into(), "failed attempt")),
        };
        lines.push(format!("{:>5}  {}: {}{failed}", it.line, shown(&it.text, 100), it.standing));
        lines.extend(it.reason.iter().map(|why| format!("         {}", message(why))));
        let commits = it
            .commits
            .iter()
            .map(|it| format!("         {} {}", it.id.short(), shown(&it.subject, 90)));
        lines.extend(commits);
    }
    lines.extend(
        night
            .criteria
            .len()
            .checked_sub(LISTED + 1)
            .map(|more| format!("… and {}", count(more as u64 + 1, "criterion in --html"))),
    );
    section("Criteria", lines);
    let denied = night
        .denials
        .iter()
        .map(|row| format!("{} × {}: {}", row.count, row.rule, message(&row.reason)));
    section("Denied", denied.collect());
    section("Not checked", night.unchecked.clone());
    section("Next", night.next.iter().map(|next| one_line(next)).collect());
    out.trim_end().to_owned()
}

/// What is new since the last run, in words.
pub(super) fn since(night: &Night) -> Vec<String> {
    let Some(changes) = &night.changes else { return Vec::new() };
    let mut lines = Vec::new();
    let mut say = |what: &str, texts: &[String]| {
        lines.extend(texts.iter().map(|text| format!("{what}: {}", shown(text, 100))));
    };
    say("newly done", &changes.newly_done);
    say("red again", &changes.red_again);
    say("still stuck", &changes.still_stuck);
    if !changes.ended {
        lines.push(format!("the run before, {}, did not end by itself", changes.since));
    }
    if lines.is_empty() {
        lines.push("nothing has changed".to_owned());
    }
    lines
}
