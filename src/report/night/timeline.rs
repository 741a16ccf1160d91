//! The iterations of a run as an SVG: one lane for each worker.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::facts::Night;
use super::inert::escaped;
use crate::events::IterationRow;
use crate::model::VerdictResult;

/// The width of the picture, and of its labels, in units.
const WIDTH: f64 = 1000.0;
const LABEL: f64 = 80.0;
/// The height of a lane.
const LANE: usize = 26;

/// The word for what became of an iteration.
pub(super) fn word(row: &IterationRow) -> &'static str {
    match &row.result {
        Some(VerdictResult::Pass(_)) => "pass",
        Some(VerdictResult::Fail) => "fail",
        Some(VerdictResult::Held) => "held",
        Some(VerdictResult::Blocked) => "blocked",
        Some(VerdictResult::Inconclusive) => "unclear",
        None => "cut off",
    }
}

/// Why an iteration did not pass, if that is known.
pub(super) fn why(row: &IterationRow) -> Option<&str> {
    let found = row.findings.first().map(|found| &found.message);
    found.or(row.fault.as_ref()).map(String::as_str)
}

/// Draws the timeline.
pub(super) fn svg(night: &Night) -> String {
    let mut lanes: BTreeMap<usize, usize> = BTreeMap::new();
    for row in &night.iterations {
        let next = lanes.len();
        lanes.entry(row.worker.unwrap_or(0)).or_insert(next);
    }
    let all = (night.ended - night.began).num_milliseconds().max(1);
    #[expect(clippy::cast_precision_loss, reason = "a picture needs no more digits")]
    let x = |at: chrono::DateTime<chrono::Utc>| {
        let share = (at - night.began).num_milliseconds().clamp(0, all) as f64 / all as f64;
        LABEL + share * (WIDTH - LABEL)
    };
    let height = lanes.len().max(1) * LANE;
    let mut out = format!(
        "<svg class=\"time\" viewBox=\"0 0 {WIDTH} {height}\" role=\"img\" \
         aria-label=\"Timeline of the iterations\">\n"
    );
    for (worker, lane) in &lanes {
        let name = if *worker == 0 { "run".to_owned() } else { format!("worker {worker}") };
        let y = lane * LANE + 17;
        let _infallible = writeln!(out, "<text x=\"0\" y=\"{y}\">{name}</text>");
    }
    for row in &night.iterations {
        let (from, to) = (x(row.began), x(row.ended));
        let lane = lanes.get(&row.worker.unwrap_or(0)).copied().unwrap_or_default();
        let word = word(row);
        let _infallible = writeln!(
            out,
            "<rect class=\"{}\" x=\"{from:.1}\" y=\"{}\" width=\"{:.1}\" height=\"{}\" rx=\"3\">\
             <title>{}: {word}: {}</title></rect>",
            word.replace(' ', "-"),
            lane * LANE + 3,
            (to - from).max(2.0),
            LANE - 6,
            row.iteration,
            escaped(&row.criterion.text)
        );
    }
    out + "</svg>\n"
}
