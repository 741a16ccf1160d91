//! The report for a terminal: all of it, or what fits one screen.

use std::fmt::Write as _;

use super::facts::{Night, NightCriterion};
use super::timeline::word;
use crate::events::{IterationRow, RunStatus};
use crate::report::format::{duration, harmless, message, millis, one_line, shown, why_denied};

/// Criteria that are listed; more are counted.
const LISTED: usize = 200;
/// Criteria, and lines of other lists, on one screen.
const ON_SCREEN: usize = 20;
const SHORT: usize = 5;
/// Columns of a text in a list.
const SHOWN: usize = 70;

/// Writes the report as plain text, without a line break at the end.
pub fn text(night: &Night) -> String {
    let mut out = head(night);
    section(&mut out, "Since the last run", since(night));
    let mut lines = Vec::new();
    for it in night.criteria.iter().take(LISTED) {
        lines.extend(lines_of(it, true));
        let commits = it.commits.iter();
        let commits =
            commits.map(|it| format!("{INDENT}{} {}", it.id.short(), shown(&it.subject, 90)));
        lines.extend(commits);
    }
    lines.extend(more(&night.criteria, LISTED));
    section(&mut out, "Criteria", lines);
    section(&mut out, "Timeline", timeline(night));
    section(&mut out, "Denied", denied(night, false));
    section(&mut out, "Not checked", night.unchecked.clone());
    section(&mut out, "Lessons", night.lessons.iter().map(|it| message(it)).collect());
    section(&mut out, "Next", night.next.iter().map(|next| one_line(next)).collect());
    out.trim_end().to_owned()
}

/// Writes what matters of a report on one screen, for a run that may still be at work: `doing`
/// says at what.
pub fn screen(night: &Night, doing: &[String]) -> String {
    let mut out = head(night);
    doing.iter().for_each(|line| out += &format!("  {line}\n"));
    section(&mut out, "Criteria", criteria_lines(&night.criteria));
    section(&mut out, "Denied", short(denied(night, true)));
    section(&mut out, "Lessons", short(night.lessons.iter().map(|it| shown(it, 150)).collect()));
    section(&mut out, "Next", night.next.iter().map(|next| one_line(next)).collect());
    out.trim_end().to_owned()
}

fn short(mut lines: Vec<String>) -> Vec<String> {
    let more = lines.len().saturating_sub(SHORT);
    lines.truncate(SHORT);
    lines.extend((more > 0).then(|| format!("… and {more} more")));
    lines
}

fn section(out: &mut String, title: &str, lines: Vec<String>) {
    if !lines.is_empty() {
        let _infallible = write!(out, "\n{title}\n");
        for line in &lines {
            let _infallible = writeln!(out, "  {line}");
        }
    }
}

/// Outcome, time, place, numbers, and cost.
fn head(night: &Night) -> String {
    let mut out = format!("{}: {}\n", night.task, one_line(&night.outcome));
    let details = night.details.iter().map(|line| format!("  {line}"));
    let status = match (night.status, night.exit_code) {
        (RunStatus::Ended, Some(code)) => format!("exit code {code}"),
        (RunStatus::Ended | RunStatus::Running, _) => "running".to_owned(),
        (RunStatus::Waiting, _) => "waiting".to_owned(),
        (RunStatus::Died, _) => "died".to_owned(),
    };
    let same_day = night.began.date_naive() == night.ended.date_naive();
    let work = night.work.iter().map(|work| format!("; {work}")).collect::<String>();
    let lines = details.chain([
        format!(
            "run {}: {status}, {} to {}, on {} from {}",
            night.run,
            night.began.format("%F %T"),
            night.ended.format(if same_day { "%T UTC" } else { "%F %T UTC" }),
            one_line(&night.branch),
            night.start
        ),
        format!("{}; {}{work}", night.counted, night.cost),
    ]);
    for line in lines.chain(night.elsewhere.clone()).chain(night.later.clone()) {
        let _infallible = writeln!(out, "{line}");
    }
    out
}

/// The denials by rule, on a screen without the advice.
fn denied(night: &Night, on_screen: bool) -> Vec<String> {
    let why = |row| match why_denied(row).split_once(". Nothing was run") {
        Some((why, _)) if on_screen => shown(why, SHOWN),
        _ => message(why_denied(row)),
    };
    let rows = night.denials.iter();
    rows.map(|row| format!("{} × {}: {}", row.count, row.rule, why(row))).collect()
}

/// A line for each iteration, of many the last ones.
fn timeline(night: &Night) -> Vec<String> {
    let earlier = night.iterations.len().saturating_sub(LISTED);
    let line = |row: &IterationRow| {
        let worker = row.worker.map(|it| format!("worker {it}  ")).unwrap_or_default();
        format!(
            "{}  {worker}iteration {:<3}  {:>11}  {:<7}  {}",
            row.began.format("%T"),
            row.iteration,
            duration(millis(row.began, row.ended)),
            word(row),
            shown(&row.criterion.text, SHOWN)
        )
    };
    let left_out = (earlier > 0).then(|| format!("… {earlier} earlier ones"));
    left_out.into_iter().chain(night.iterations[earlier..].iter().map(line)).collect()
}

/// What follows a criterion's own line begins here.
const INDENT: &str = "           ";

/// The lines about criteria on a screen.
pub fn criteria_lines(criteria: &[NightCriterion]) -> Vec<String> {
    let listed = criteria.iter().take(ON_SCREEN).flat_map(|it| lines_of(it, false));
    listed.chain(more(criteria, ON_SCREEN)).collect()
}

fn more(criteria: &[NightCriterion], listed: usize) -> Option<String> {
    let more = criteria.len().checked_sub(listed).filter(|more| *more > 0)?;
    Some(format!("… and {more} more: ralph-copilot report --html FILE"))
}

/// A criterion: its line, box, text, standing, reason, and the way out.
fn lines_of(it: &NightCriterion, whole: bool) -> Vec<String> {
    let mark = if it.checked { "x" } else { " " };
    let said = if it.said == "open" { String::new() } else { format!("  {}", it.said) };
    let mut lines = vec![format!("{:>3}  [{mark}] {}{said}", it.line, shown(&it.text, 100))];
    let reason = it.why().into_iter().flat_map(|why| match whole {
        true => harmless(why).lines().map(str::to_owned).collect(),
        false => vec![message(why)],
    });
    lines.extend(reason.chain(it.next.clone()).map(|line| format!("{INDENT}{line}")));
    lines
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
