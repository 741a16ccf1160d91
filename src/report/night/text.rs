//! The report for a terminal: all of it, or what fits one screen.

use std::fmt::Write as _;

use console::measure_text_width;

use super::facts::{Night, NightCriterion};
use super::timeline::word;
use crate::events::IterationRow;
use crate::report::format::{
    duration, harmless, message, millis, one_line, shown, why_denied, width_of, wrapped,
};

/// Criteria that are listed; more are counted.
const LISTED: usize = 200;
/// Criteria, and lines of other lists, on one screen.
const ON_SCREEN: usize = 20;
const SHORT: usize = 5;
/// Columns of a text in a list.
const SHOWN: usize = 70;
/// The rows of a screen with what is left out until the rest fits: the criteria, the lines of other
/// lists, and the next steps that are listed, and whether each reason has one row.
const LEVELS: [(usize, usize, usize, bool); 7] = [
    (ON_SCREEN, SHORT, usize::MAX, false),
    (ON_SCREEN, SHORT, usize::MAX, true),
    (ON_SCREEN, 2, usize::MAX, true),
    (ON_SCREEN, 0, usize::MAX, true),
    (8, 0, 4, true),
    (4, 0, 3, true),
    (2, 0, 2, true),
];

/// Writes the report as plain text of so many columns, without a line break at the end.
pub fn text(night: &Night, columns: usize) -> String {
    let mut out = head(night, columns, false);
    section(&mut out, "Since the last run", since(night));
    let mut lines = Vec::new();
    for it in night.criteria.iter().take(LISTED) {
        lines.extend(lines_of(it, Reason::Whole, columns));
        let commits = it.commits.iter();
        let commits =
            commits.map(|it| format!("{INDENT}{} {}", it.id.short(), shown(&it.subject, 90)));
        lines.extend(commits);
    }
    lines.extend(more(&night.criteria, LISTED));
    section(&mut out, "Criteria", lines);
    section(&mut out, "Timeline", timeline(night, columns));
    section(&mut out, "Denied", denied(night, false));
    section(&mut out, "Not checked", night.unchecked.clone());
    section(&mut out, "Lessons", night.lessons.iter().map(|it| message(it)).collect());
    section(&mut out, "Notes", night.notices.iter().map(|it| message(it)).collect());
    section(&mut out, "Next", night.next.iter().map(|next| one_line(next)).collect());
    broken(&out, columns)
}

/// Writes what matters of a report on one screen of so many columns and rows, for a run that may
/// still be at work: `doing` says at what.
pub fn screen(night: &Night, doing: &[String], (columns, rows): (usize, usize)) -> String {
    let draw = |&(criteria, lists, steps, one_row): &(usize, usize, usize, bool)| {
        let mut out = head(night, columns, one_row);
        doing.iter().for_each(|line| out += &format!("  {line}\n"));
        let reason = if one_row { Reason::OneRow } else { Reason::Message };
        section(&mut out, "Criteria", listed(&night.criteria, criteria, reason, columns));
        section(&mut out, "Denied", short(denied(night, true), lists));
        let lessons = night.lessons.iter().map(|it| shown(it, 150)).collect();
        section(&mut out, "Lessons", short(lessons, lists));
        let next = night.next.iter().map(|next| one_line(next)).collect();
        section(&mut out, "Next", short(next, steps));
        broken(&out, columns)
    };
    // The prompt takes a row, too.
    let fits = |text: &String| text.lines().count() < rows;
    let mut drawn = LEVELS.iter().map(draw);
    drawn.find(fits).unwrap_or_else(|| draw(&LEVELS[LEVELS.len() - 1]))
}

/// Breaks lines that have too many columns at words.
fn broken(text: &str, columns: usize) -> String {
    let mut out = String::new();
    for line in text.trim_end().lines() {
        let lead = line.len() - line.trim_start_matches(' ').len();
        let columns = width_of(line, columns);
        let lines = match measure_text_width(line) > columns {
            true => wrapped(&line[lead..], columns.saturating_sub(lead), 2),
            false => vec![line[lead..].to_owned()],
        };
        lines.iter().for_each(|it| out += &format!("{}{it}\n", " ".repeat(lead)));
    }
    out.trim_end().to_owned()
}

/// The first lines and the number of the others; nothing if there is no room for any.
fn short(mut lines: Vec<String>, most: usize) -> Vec<String> {
    let more = lines.len().saturating_sub(most);
    lines.truncate(most);
    lines.extend((more > 0 && most > 0).then(|| format!("… and {more} more")));
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
fn head(night: &Night, columns: usize, one_row: bool) -> String {
    let mut outcome = format!("{}: {}", night.task, one_line(&night.outcome));
    if one_row {
        outcome = shown(&outcome, columns);
    }
    let mut out = format!("{outcome}\n");
    let details = night.details.iter().map(|line| format!("  {line}"));
    let same_day = night.began.date_naive() == night.ended.date_naive();
    let lines = details.chain([
        format!(
            "run {}: {}, {} to {}, on {} from {}",
            night.run,
            night.standing(),
            night.began.format("%F %T"),
            night.ended.format(if same_day { "%T UTC" } else { "%F %T UTC" }),
            one_line(&night.branch),
            night.start
        ),
        night.numbers(),
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
fn timeline(night: &Night, columns: usize) -> Vec<String> {
    let earlier = night.iterations.len().saturating_sub(LISTED);
    let line = |row: &IterationRow| {
        let worker = row.worker.map(|it| format!("worker {it}  ")).unwrap_or_default();
        let what = format!(
            "{}  {worker}iteration {:<3}  {:>11}  {:<7}  ",
            row.began.format("%T"),
            row.iteration,
            duration(millis(row.began, row.ended)),
            word(row),
        );
        let room = columns.saturating_sub(what.len() + 2).clamp(20, SHOWN);
        format!("{what}{}", shown(&row.criterion.text, room))
    };
    let left_out = (earlier > 0).then(|| format!("… {earlier} earlier ones"));
    left_out.into_iter().chain(night.iterations[earlier..].iter().map(line)).collect()
}

/// What follows a criterion's own line begins here.
const INDENT: &str = "           ";

/// The lines about criteria, for a task without a run.
pub fn criteria_lines(criteria: &[NightCriterion]) -> Vec<String> {
    listed(criteria, ON_SCREEN, Reason::Message, usize::MAX)
}

fn listed(criteria: &[NightCriterion], most: usize, reason: Reason, columns: usize) -> Vec<String> {
    let listed = criteria.iter().take(most).flat_map(|it| lines_of(it, reason, columns));
    listed.chain(more(criteria, most)).collect()
}

/// How much of a reason is shown.
#[derive(Clone, Copy)]
enum Reason {
    Whole,
    Message,
    OneRow,
}

fn more(criteria: &[NightCriterion], listed: usize) -> Option<String> {
    let more = criteria.len().checked_sub(listed).filter(|more| *more > 0)?;
    Some(format!("… and {more} more: ralph-copilot report --html FILE"))
}

/// A criterion: its line, box, text, standing, reason, and the way out.
fn lines_of(it: &NightCriterion, reason: Reason, columns: usize) -> Vec<String> {
    let mark = if it.checked { "x" } else { " " };
    let said = if it.said == "open" { String::new() } else { format!("  {}", it.said) };
    let before = INDENT.len() + measure_text_width(&said);
    let room = columns.saturating_sub(before).clamp(40, 100);
    let mut lines = vec![format!("{:>3}  [{mark}] {}{said}", it.line, shown(&it.text, room))];
    let reason = it.why().into_iter().flat_map(|why| match reason {
        Reason::Whole => harmless(why).lines().map(str::to_owned).collect(),
        Reason::Message => vec![message(why)],
        Reason::OneRow => vec![shown(&message(why), columns.saturating_sub(INDENT.len() + 2))],
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
    say("still waits for you", &changes.still_stuck);
    if !changes.ended {
        lines.push(format!("the run before, {}, did not end by itself", changes.since));
    }
    if lines.is_empty() {
        lines.push("nothing has changed".to_owned());
    }
    lines
}
