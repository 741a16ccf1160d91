//! Numbers over all runs of a task, and what they foretell.
//!
//! Invariant: every rate has its denominator; what was not reported is absent, and never 0.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use serde::Serialize;

use super::format::{count, credits, duration, grouped, message, why_denied};
use crate::events::{DenialRow, IterationRow, Rollup};
use crate::model::{Credits, CriterionKey, Usage, VerdictResult};

/// Proven criteria that a forecast needs.
const ENOUGH: usize = 3;

/// The sums of a task's runs.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Stats {
    /// Runs that began an iteration.
    pub runs: usize,
    /// Iterations of all runs.
    pub iterations: usize,
    /// Criteria that were worked on.
    pub criteria: usize,
    /// Those that passed in the end.
    pub passed: usize,
    /// Those that passed at their first attempt.
    pub passed_at_first: usize,
    /// Iterations that a criterion took until it passed: quarter, half, and three quarters took no
    /// more. So for the others.
    pub attempts: Option<[u64; 3]>,
    /// Milliseconds for each criterion that passed.
    pub millis: Option<[u64; 3]>,
    /// Tokens for each criterion that passed.
    pub tokens: Option<[u64; 3]>,
    /// Thousandths of an AI credit for each criterion that passed.
    pub millicredits: Option<[u64; 3]>,
    /// Verdicts that failed, by their weightiest finding, the most frequent first.
    pub failures: Vec<(String, u64)>,
    /// The guard's denials by rule, the most frequent first.
    pub denials: Vec<DenialRow>,
    /// All that the agent reported to have used.
    pub usage: Option<Usage>,
}

/// The work on one criterion.
#[derive(Default)]
struct Work {
    iterations: u64,
    millis: u64,
    usage: Option<Usage>,
    passed: bool,
}

impl Stats {
    /// Of the runs of a task, the oldest first.
    pub fn of(runs: impl IntoIterator<Item = Rollup>) -> Self {
        let mut stats = Self::default();
        let mut all: BTreeMap<(String, usize), Work> = BTreeMap::new();
        let mut failures: BTreeMap<String, u64> = BTreeMap::new();
        for run in runs {
            stats.runs += usize::from(!run.iterations.is_empty());
            for row in &run.iterations {
                let CriterionKey { text, occurrence } = row.criterion.clone();
                all.entry((text, occurrence)).or_default().take(row);
                stats.iterations += 1;
                stats.usage = Usage::sum([stats.usage, row.usage]);
                let found =
                    row.findings.first().filter(|_| row.result == Some(VerdictResult::Fail));
                if let Some(found) = found {
                    let kind = serde_json::to_value(found.kind).unwrap_or_default();
                    *failures.entry(kind.as_str().unwrap_or("other").to_owned()).or_default() += 1;
                }
            }
            for row in run.denials {
                match stats.denials.iter_mut().find(|known| known.rule == row.rule) {
                    Some(known) => known.count += row.count,
                    None => stats.denials.push(row),
                }
            }
        }
        stats.denials.sort_by_key(|row| std::cmp::Reverse(row.count));
        stats.failures = failures.into_iter().collect();
        stats.failures.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
        stats.criteria = all.len();
        let passed: Vec<&Work> = all.values().filter(|work| work.passed).collect();
        stats.passed = passed.len();
        stats.passed_at_first = passed.iter().filter(|work| work.iterations == 1).count();
        stats.attempts = quartiles(passed.iter().map(|work| Some(work.iterations)));
        stats.millis = quartiles(passed.iter().map(|work| Some(work.millis)));
        stats.tokens = quartiles(passed.iter().map(|work| work.usage.map(|it| it.total)));
        let known = |usage: Usage| match usage.credits? {
            Credits::Milli(milli) => Some(milli),
            Credits::Unknown => None,
        };
        stats.millicredits = quartiles(passed.iter().map(|work| work.usage.and_then(known)));
        stats
    }

    /// What so many open criteria may take; none as long as too little is known.
    pub fn forecast(&self, open: usize) -> Option<String> {
        let [low, _, high] = self.millis.filter(|_| self.passed >= ENOUGH && open > 0)?;
        let times = |one: u64| one.saturating_mul(open as u64);
        let all =
            if open == 1 { "1 open criterion".into() } else { format!("{open} open criteria") };
        let mut said = format!(
            "{all}: by the {} that passed so far {} to {}",
            self.passed,
            duration(times(low)),
            duration(times(high))
        );
        let whole = |milli: u64| grouped(times(milli).div_ceil(1000));
        if let Some([low, _, high]) = self.millicredits {
            let _infallible = write!(said, ", {} to {} AI credits", whole(low), whole(high));
        } else if let Some([low, _, high]) = self.tokens {
            let (low, high) = (grouped(times(low)), grouped(times(high)));
            let _infallible = write!(said, ", {low} to {high} tokens");
        }
        Some(said)
    }

    /// As plain text, without a line break at the end.
    pub fn text(&self, name: &str) -> String {
        let mut out = format!(
            "{name}: {}, {}\n{} of {} criteria passed, {} of them at the first attempt\n",
            count(self.runs as u64, "run"),
            count(self.iterations as u64, "iteration"),
            self.passed,
            self.criteria,
            self.passed_at_first
        );
        let mut line = |what: &str, values: Option<[u64; 3]>, show: &dyn Fn(u64) -> String| {
            if let Some([low, half, high]) = values {
                let (low, half, high) = (show(low), show(half), show(high));
                let _infallible = writeln!(out, "{what}: {half} (half took {low} to {high})");
            }
        };
        line("Iterations for a criterion that passed", self.attempts, &grouped);
        line("Time", self.millis, &duration);
        line("Tokens", self.tokens, &grouped);
        line("AI credits", self.millicredits, &|milli| credits(Credits::Milli(milli)));
        if let Some(used) = self.usage {
            let cached = grouped(used.cached);
            let _infallible =
                write!(out, "In all: {} ({cached} cached)", count(used.total, "token"));
            let cost = used.credits.map(|it| format!(", {}", credits(it))).unwrap_or_default();
            let _infallible = writeln!(out, "{cost}");
        }
        let failed: u64 = self.failures.iter().map(|(_, count)| count).sum();
        if failed > 0 {
            let _infallible = writeln!(out, "\nFailed attempts");
        }
        for (kind, count) in &self.failures {
            let _infallible = writeln!(out, "  {count} of {failed}: {}", kind.replace('_', " "));
        }
        if !self.denials.is_empty() {
            let _infallible = writeln!(out, "\nDenied");
        }
        for row in &self.denials {
            let _infallible =
                writeln!(out, "  {} × {}: {}", row.count, row.rule, message(why_denied(row)));
        }
        out.trim_end().to_owned()
    }
}

impl Work {
    /// Counts an iteration, unless it was cut off before it was judged.
    fn take(&mut self, row: &IterationRow) {
        self.millis += super::format::millis(row.began, row.ended);
        self.usage = Usage::sum([self.usage, row.usage]);
        self.iterations += u64::from(row.result.is_some());
        self.passed |= matches!(row.result, Some(VerdictResult::Pass(_)));
    }
}

/// A quarter of the values is at most the first, half at most the second, three quarters at most the
/// third. None if a value is missing, or all are.
fn quartiles(values: impl Iterator<Item = Option<u64>>) -> Option<[u64; 3]> {
    let mut values = values.collect::<Option<Vec<u64>>>()?;
    values.sort_unstable();
    let last = values.len().checked_sub(1)?;
    Some([1, 2, 3].map(|quarter| values[(last * quarter + 2) / 4]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quartiles_are_values_that_were_there_and_a_missing_one_is_not_guessed() {
        let of = |values: &[u64]| quartiles(values.iter().map(|it| Some(*it)));
        assert_eq!(of(&[]), None);
        assert_eq!(of(&[7]), Some([7, 7, 7]));
        assert_eq!(of(&[8, 7]), Some([7, 8, 8]));
        assert_eq!(of(&[5, 1, 4, 2, 3]), Some([2, 3, 4]));
        assert_eq!(quartiles([Some(1), None].into_iter()), None);
    }

    #[test]
    fn a_forecast_needs_three_criteria_that_passed() {
        let stats = |passed| Stats {
            passed,
            millis: Some([60_000, 90_000, 120_000]),
            tokens: Some([1000, 2000, 3000]),
            ..Stats::default()
        };
        assert_eq!((stats(2).forecast(4), stats(3).forecast(0)), (None, None));
        let said = stats(3).forecast(4).expect("a forecast");
        let by = "4 open criteria: by the 3 that passed so far 4 min 00 s to 8 min 00 s";
        assert_eq!(said, format!("{by}, 4,000 to 12,000 tokens"));
        let priced = Stats { millicredits: Some([1500, 2000, 2500]), ..stats(3) };
        assert_eq!(
            priced.forecast(2).expect("a forecast").split(", ").nth(1),
            Some("3 to 5 AI credits")
        );
    }
}
