//! The live lines of a run with several jobs: a head line, and one line for each worker.
//!
//! Invariant: a worker keeps its line, so that none moves; all go when this is dropped.

use std::collections::{BTreeMap, BTreeSet};

use chrono::{DateTime, Utc};
use indicatif::ProgressBar;

use super::format;
use super::live_line::LiveLine;
use crate::model::{CriterionKey, Totals};

/// Columns of a line before the criterion, and the most of the criterion.
const LEFT: usize = 18;
const CRITERION: usize = 50;

/// These lines are drawn less often: each draws all of them.
const SLOWER: u32 = 5;

/// The lines.
pub(super) struct WorkerLines {
    terminal: LiveLine,
    head: ProgressBar,
    criteria: Totals,
    to_land: BTreeSet<CriterionKey>,
    proving: Option<CriterionKey>,
    workers: BTreeMap<usize, Line>,
}

struct Line {
    bar: ProgressBar,
    /// The criterion, as far as there is room, and what is to be said of it.
    at: String,
    key: Option<CriterionKey>,
}

impl WorkerLines {
    pub(super) fn new(terminal: LiveLine, since: DateTime<Utc>, criteria: Totals) -> Self {
        let head = terminal.begin("{spinner} {since} · {wide_msg}", since, 1);
        let (to_land, proving, workers) = (BTreeSet::new(), None, BTreeMap::new());
        Self { terminal, head, criteria, to_land, proving, workers }
    }

    /// A worker begins an attempt at a criterion.
    pub(super) fn begins(
        &mut self,
        worker: usize,
        now: DateTime<Utc>,
        key: &CriterionKey,
        attempt: u32,
    ) {
        let room = (self.terminal.columns() / 2).saturating_sub(LEFT).clamp(10, CRITERION);
        let mut at = format::filled(&format!("\"{}\"", format::shown(&key.text, room)), room + 2);
        if attempt > 1 {
            at.push_str(&format!("  attempt {attempt}"));
        }
        self.set(worker, now, at, Some(key.clone()));
        self.tell();
    }

    /// What it does now.
    pub(super) fn does(&mut self, worker: usize, what: &str) {
        if let Some(line) = self.workers.get(&worker).filter(|line| line.key.is_some()) {
            line.bar.set_message(format!("{}  {what}", line.at));
            line.bar.tick();
        }
    }

    /// Its work waits to land.
    pub(super) fn hands_in(&mut self, worker: usize, now: DateTime<Utc>, criterion: &CriterionKey) {
        self.to_land.insert(criterion.clone());
        self.rests(worker, now, criterion);
        self.tell();
    }

    /// Its work is proven.
    pub(super) fn proves(&mut self, worker: usize, now: DateTime<Utc>, criterion: &CriterionKey) {
        self.to_land.remove(criterion);
        self.proving = Some(criterion.clone());
        // One that died handed in nothing.
        self.rests(worker, now, criterion);
        self.tell();
    }

    /// It landed, or did not.
    pub(super) fn proved(&mut self, criteria: Totals) {
        (self.criteria, self.proving) = (criteria, None);
        self.tell();
    }

    fn rests(&mut self, worker: usize, now: DateTime<Utc>, criterion: &CriterionKey) {
        if self.workers.get(&worker).is_some_and(|line| line.key.as_ref() == Some(criterion)) {
            self.set(worker, now, "idle".to_owned(), None);
        }
    }

    fn set(&mut self, worker: usize, now: DateTime<Utc>, at: String, key: Option<CriterionKey>) {
        let template = format!("  {worker:>2}  {{since:11}}  {{wide_msg}}");
        let bar = match self.workers.remove(&worker) {
            Some(line) => line.bar,
            None => self.terminal.begin(&template, now, SLOWER),
        };
        bar.set_style(self.terminal.style(&template, now));
        bar.set_message(at.clone());
        bar.tick();
        self.workers.insert(worker, Line { bar, at, key });
    }

    fn tell(&self) {
        let Totals { total, open } = self.criteria;
        let mut parts = vec![format!("{} of {total} done", total.saturating_sub(open))];
        let waiting = self.to_land.len();
        parts.extend((waiting > 0).then(|| format!("{waiting} waiting to land")));
        let proving = self.proving.as_ref();
        parts.extend(proving.map(|it| format!("proving {}", format::criterion(it))));
        self.head.set_message(parts.join(" · "));
        self.head.tick();
    }
}

impl Drop for WorkerLines {
    fn drop(&mut self) {
        let bars = std::iter::once(&self.head).chain(self.workers.values().map(|line| &line.bar));
        bars.for_each(|bar| self.terminal.end(bar));
    }
}
