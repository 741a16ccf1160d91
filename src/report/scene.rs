//! The live lines of a run: a head line that stays, and a line for each tree in which something
//! happens.
//!
//! Invariant: pure, from the fold and the time alone.

use chrono::{DateTime, Utc};
use console::measure_text_width;
use serde_json::Value;

use super::format;
use crate::events::{Doing, LiveView, Work};
use crate::model::{Cell, FaultClass, Totals};
use crate::sys::clock::Clock;

/// Columns that a criterion may take: the most with which what happens now is not cut.
const CRITERION: [usize; 3] = [50, 22, 12];
/// Columns that a command may take in a line.
const COMMAND: usize = 120;
/// The same for a check, so that its place in the list is seen.
const CHECK: usize = 60;
/// Milliseconds without a sign of life that are not worth a word.
const LIVELY: u64 = 11_000;

/// What is drawn.
pub(super) struct Scene {
    pub(super) live: LiveView,
    pub(super) clock: Clock,
}

impl Scene {
    /// The lines, of at most so many columns if they can be cut there.
    pub(super) fn lines(&self, width: usize) -> Vec<String> {
        if self.live.own.is_none() && self.live.workers.is_empty() {
            return Vec::new();
        }
        let several = !self.live.workers.is_empty();
        let own = self.live.own.iter().map(|work| (String::new(), work));
        let workers = self.live.workers.iter().map(|(worker, work)| (worker.to_string(), work));
        let rows: Vec<Row> = workers
            .chain(own)
            .map(|(label, work)| {
                let label = if several { format!("{label:>2}  ") } else { label };
                self.row(label, work)
            })
            .collect();
        let fits = |room: &usize| {
            rows.iter().all(|row| measure_text_width(&row.with(*room, false)) <= width)
        };
        let room = CRITERION.into_iter().find(fits).unwrap_or(CRITERION[2]);
        let rows = rows.iter().map(|row| row.with(room, true));
        std::iter::once(self.head(width)).chain(rows).collect()
    }

    fn now(&self) -> DateTime<Utc> {
        self.clock.now()
    }

    /// Everything about the run as a whole, as far as there is room: the last parts go first.
    fn head(&self, width: usize) -> String {
        let LiveView { view, criteria, max_seconds, .. } = &self.live;
        let Some(start) = &view.start else { return String::new() };
        let Totals { total, open } = *criteria;
        let elapsed = format::duration(format::millis(start.at, self.now()));
        let most = max_seconds.map(|most| format!(" of {}", limit(most)));
        let mut parts = vec![
            format::shown(&start.task, 30),
            format!("{} of {total} done", total.saturating_sub(open)),
            format!("{elapsed}{}", most.unwrap_or_default()),
            format!("{} of {} iterations", view.iterations, start.max_iterations),
        ];
        let queued = view.to_land.len();
        parts.extend((queued > 0).then(|| format!("{queued} waiting to land")));
        parts.extend(view.counters.tokens.map(|tokens| format::count(tokens, "token")));
        parts.extend(view.counters.credits.map(format::credits));
        parts.extend(self.live.context().map(|full| format!("context {full} %")));
        let premium = u64::from(view.counters.premium_requests);
        parts.extend((premium > 0).then(|| format::count(premium, "premium request")));
        while parts.len() > 2 && measure_text_width(&parts.join(" · ")) > width {
            parts.pop();
        }
        parts.join(" · ")
    }

    fn row(&self, label: String, work: &Work) -> Row {
        let doing = work.doing();
        let since = format::duration(format::millis(work.since, self.now()));
        let mut more = Vec::new();
        more.extend((work.attempt > 1).then(|| format!("attempt {}", work.attempt)));
        let counters = self.live.view.current.as_ref().map(|it| it.counters).unwrap_or_default();
        if self.live.workers.is_empty() && counters.denied > 0 {
            more.push(format!("{} denied", format::grouped(counters.denied)));
        }
        Row {
            left: format!("  {label}{since:11}"),
            criterion: work.criterion.as_ref().map(|key| key.text.clone()),
            now: self.words(&doing, work.heard),
            more,
        }
    }

    fn words(&self, doing: &Doing, heard: DateTime<Utc>) -> String {
        let now = self.now();
        match doing {
            Doing::Step(step) => (*step).to_owned(),
            Doing::Idle => "idle".to_owned(),
            Doing::Thinking => match format::millis(heard, now) {
                0..LIVELY => "thinking".to_owned(),
                quiet => format!("thinking, last sign of life {} ago", format::duration(quiet)),
            },
            Doing::Call { tool, input } => call(tool, input),
            Doing::SettingUp(command) => format!("setting up: {}", format::shown(command, COMMAND)),
            Doing::Checking { command, cell, place: (number, of) } => {
                let place = if *of > 1 { format!(" ({number} of {of})") } else { String::new() };
                format!("{}: {}{place}", checking(*cell), format::shown(command, CHECK))
            }
            Doing::Recipe(step) => format!("recipe: {}", format::shown(step, COMMAND)),
            Doing::Waiting { until, fault } => {
                let left = format::duration(format::millis(now, *until) / 1000 * 1000);
                let format = if (*until - now).num_hours() < 12 { "%H:%M" } else { "%F %H:%M" };
                let until = self.clock.local(*until).format(format);
                format!("waiting {left} for {}, until {until}", cause(*fault))
            }
        }
    }

    /// The control sequences that name the run in the terminal's title, and show its progress.
    pub(super) fn title(&self) -> String {
        let (Some(start), false) = (&self.live.view.start, self.lines(1).is_empty()) else {
            return String::new();
        };
        let Totals { total, open } = self.live.criteria;
        let done = total.saturating_sub(open);
        let (word, state) = if self.live.waits() { (" (waiting)", 4) } else { ("", 1) };
        let percent = (done * 100).checked_div(total).unwrap_or(0);
        let task = format::shown(&start.task, 30);
        format!("\x1b]0;ralph: {task} {done}/{total}{word}\x07\x1b]9;4;{state};{percent}\x07")
    }
}

/// The parts of a line.
struct Row {
    left: String,
    criterion: Option<String>,
    now: String,
    more: Vec<String>,
}

impl Row {
    /// The line, with so many columns for the criterion.
    fn with(&self, room: usize, more: bool) -> String {
        let mut parts = vec![self.left.clone()];
        parts.extend(
            self.criterion.as_ref().map(|text| {
                format::filled(&format!("\"{}\"", format::shown(text, room)), room + 2)
            }),
        );
        parts.push(self.now.clone());
        parts.extend(self.more.iter().filter(|_| more).cloned());
        parts.join("  ")
    }
}

/// `8 h`, `90 min`.
fn limit(seconds: u64) -> String {
    match (seconds % 3600, seconds % 60) {
        (0, _) => format!("{} h", seconds / 3600),
        (_, 0) => format!("{} min", seconds / 60),
        _ => format!("{seconds} s"),
    }
}

fn checking(cell: Cell) -> &'static str {
    match cell {
        Cell::Work => "checking",
        Cell::PutBack => "checking with the old tests",
        Cell::EndMark => "checking that failures show",
        Cell::OldProduct => "checking without the work",
        Cell::OtherExpectation => "checking that wrong tests fail",
    }
}

fn cause(fault: Option<FaultClass>) -> &'static str {
    match fault {
        Some(FaultClass::RateLimit) => "a rate limit",
        Some(FaultClass::Network) => "the network",
        Some(FaultClass::Transient) => "the provider",
        Some(
            FaultClass::NotFound
            | FaultClass::Auth
            | FaultClass::ModelUnavailable
            | FaultClass::FileNotFound
            | FaultClass::PermissionDenied
            | FaultClass::Died
            | FaultClass::Protocol
            | FaultClass::Unasked
            | FaultClass::Fatal,
        )
        | None => "another start",
    }
}

/// `running cargo test`, `editing src/client.rs`.
fn call(tool: &str, input: &Value) -> String {
    let field =
        |names: &[&str]| names.iter().find_map(|name| input.get(name)?.as_str().map(str::to_owned));
    if let Some(command) = field(&["command"]).filter(|it| !it.contains("*** Begin Patch")) {
        return format!("running {}", format::shown(&command, COMMAND));
    }
    let tool = format::shown(tool, 40);
    let named = |words: &[&str]| words.iter().any(|word| tool.contains(word));
    let verb = match () {
        () if named(&["view", "read"]) => "reading",
        () if named(&["grep", "glob", "search"]) => "searching",
        () if named(&["edit", "create", "write", "replace", "patch"]) => "editing",
        () => return format!("calling {tool}"),
    };
    match field(&["path", "file_path", "fileName", "pattern"]) {
        Some(path) => {
            let end = path.rmatch_indices('/').nth(1).map_or(&*path, |(at, _)| &path[at + 1..]);
            format!("{verb} {}", format::shown(end, COMMAND))
        }
        None => verb.to_owned(),
    }
}
