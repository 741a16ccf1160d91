//! The report for a pull request or a step summary.

use std::fmt::Write as _;

use super::facts::{Night, NightCriterion};
use super::inert::{block, span};
use super::text::since;
use super::timeline::{why, word};
use crate::model::PathChange;
use crate::report::format::{duration, millis, sentence, why_denied};

/// Characters of a pull request's body.
const MOST: usize = 60_000;
/// Characters of a check's output.
const OUTPUT: usize = 1500;
/// Paths of a commit that are listed.
const PATHS: usize = 8;

/// Writes the report as GitHub Flavored Markdown of at most 60,000 characters.
pub fn markdown(night: &Night) -> String {
    let mut out = format!(
        "# {}\n\n**{}**\n\n{}.\n\nRun {}, {}, {} on {} from {}, {}, sandbox {}\n",
        span(&night.task),
        span(&night.outcome),
        night.numbers(),
        span(&night.run),
        night.standing(),
        night.began.format("%F %T UTC"),
        span(&night.branch),
        span(&night.start),
        duration(millis(night.began, night.ended)),
        night.sandbox,
    );
    night.besides().for_each(|line| out += &format!("\n{}\n", span(line)));
    list(&mut out, "Since the last run", since(night).iter().map(|line| span(line)).collect());
    list(&mut out, "Not checked", night.unchecked.clone());
    list(&mut out, "Next", night.next.iter().map(|next| span(next)).collect());
    let mut left = Vec::new();
    let _infallible = write!(out, "\n## Criteria\n\n");
    for it in &night.criteria {
        let part = criterion(it);
        if out.len() + part.len() < MOST * 3 / 4 {
            out.push_str(&part);
        } else {
            left.push(it);
        }
    }
    if !left.is_empty() {
        let _infallible = write!(out, "\n… and {} more\n", left.len());
    }
    let denied = night
        .denials
        .iter()
        .map(|row| format!("{} × {}: {}", row.count, span(&row.rule), span(why_denied(row))));
    list(&mut out, "Denied", denied.collect());
    list(&mut out, "Lessons", night.lessons.iter().map(|it| span(it)).collect());
    let rows = night.iterations.iter().map(|row| {
        let worker = row.worker.map(|it| format!("worker {it}, ")).unwrap_or_default();
        let took = duration(millis(row.began, row.ended));
        let (result, text) = (word(row), span(&row.criterion.text));
        let why = why(row).map(|why| format!(": {}", span(&sentence(why)))).unwrap_or_default();
        format!("{}: {result} {text} ({worker}{took}){why}", row.iteration)
    });
    list(&mut out, "Iterations", rows.collect());
    list(&mut out, "Notes", night.notices.iter().map(|it| span(it)).collect());
    bounded(out)
}

fn criterion(it: &NightCriterion) -> String {
    let mut out = format!("- **{}** {}", it.standing, span(&it.text));
    out.push('\n');
    let said = it.more_said();
    for text in said.into_iter().chain(it.why()).chain(&it.next) {
        let _infallible = writeln!(out, "  - {}", span(text));
    }
    for commit in &it.commits {
        let paths: Vec<String> = commit.paths.iter().take(PATHS).map(path).collect();
        let more = commit.paths.len().saturating_sub(PATHS);
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        let (id, subject) = (span(commit.id.short()), span(&commit.subject));
        let paths = paths.join(", ");
        let paths = if paths.is_empty() { paths } else { format!(": {paths}{more}") };
        let _infallible = writeln!(out, "  - {id} {subject}{paths}");
    }
    for check in it.checks.iter().filter(|check| !check.passed() || it.standing == "proven") {
        let how = if check.passed() { "passed" } else { "failed" };
        let _infallible = writeln!(out, "  - {how}: {}", span(&check.command));
        if !check.passed() && !check.output.is_empty() {
            let _infallible = write!(out, "\n{}\n", indented(&block(&check.output, OUTPUT)));
        }
    }
    out
}

fn path(change: &PathChange) -> String {
    span(&change.path.to_string_lossy())
}

fn indented(text: &str) -> String {
    text.lines().map(|line| format!("    {line}\n")).collect()
}

fn list(out: &mut String, title: &str, lines: Vec<String>) {
    if lines.is_empty() {
        return;
    }
    let _infallible = write!(out, "\n## {title}\n\n");
    for line in &lines {
        let _infallible = writeln!(out, "- {line}");
    }
}

/// Whole lines, as far as there is room.
fn bounded(mut text: String) -> String {
    const CUT: &str = "\n… the rest is in `ralph-copilot report --html FILE`\n";
    if text.chars().count() <= MOST {
        return text;
    }
    let room = MOST - CUT.chars().count();
    let end = text.char_indices().nth(room).map_or(text.len(), |(at, _)| at);
    text.truncate(text[..end].rfind('\n').unwrap_or(end));
    // A block that was cut is closed.
    let open = text.lines().filter(|line| line.trim_start().starts_with("```")).count() % 2 == 1;
    if open {
        text.push_str("\n    ```");
    }
    text + CUT
}
