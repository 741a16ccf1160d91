//! The screen of a run: one live line for the current iteration, or for each worker, and one line for
//! each result.
//!
//! Invariant: printed lines are permanent; only the live lines are redrawn. If standard output is not
//! a terminal, there is no `Console`; `Plain` is used instead.

use std::sync::Arc;
use std::time::Duration;

use chrono::{DateTime, Utc};
use console::{Style, Term};
use indicatif::{ProgressBar, TermLike};

use super::live_line::{LiveLine, Refresh};
use super::repeats::Repeats;
use super::worker_lines::WorkerLines;
use super::{format, providers, summary};
use crate::model::{
    Answer, CriterionKey, Decided, Event, EventKind, ReportError, Reporter, Totals, Verdict,
    VerdictResult,
};
use crate::sys::clock::Clock;

/// Whether to print colors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Colors {
    /// Print colors.
    On,
    /// Print plain text.
    Off,
}

/// Draws a run on a terminal.
pub struct Console {
    terminal: LiveLine,
    colors: Colors,
    clock: Clock,
    criteria: Totals,
    /// When the run began.
    started: Option<DateTime<Utc>>,
    /// The worker whose work lands.
    worker: Option<usize>,
    /// When the iteration began.
    began: Option<DateTime<Utc>>,
    live: Option<Live>,
    /// What the workers do, if there are several jobs.
    workers: Option<WorkerLines>,
    /// The denials of this iteration.
    denials: Repeats,
}

/// The live line.
struct Live {
    bar: ProgressBar,
    /// `None` during a wait between two iterations.
    iteration: Option<Iteration>,
}

/// The iteration on the live line.
struct Iteration {
    criterion: CriterionKey,
    calls: u64,
    denied: u64,
    tokens: Option<u64>,
}

impl Console {
    /// Draws on standard output; `NO_COLOR`, `CLICOLOR` and `CLICOLOR_FORCE` set the colors.
    /// Returns `None` if standard output is not a terminal, or cannot draw a line again.
    pub fn stdout(clock: Clock) -> Option<Self> {
        // Whole pictures: what is drawn piece by piece flickers.
        let terminal = Term::buffered_stdout();
        if !terminal.is_term() || std::env::var_os("TERM").is_some_and(|name| name == "dumb") {
            return None;
        }
        let colors = if console::colors_enabled() { Colors::On } else { Colors::Off };
        let refresh = Refresh::Every(Duration::from_millis(200));
        Some(Self::new(Arc::new(terminal), colors, refresh, clock))
    }

    /// Draws on any terminal.
    pub fn new(
        terminal: Arc<dyn TermLike>,
        colors: Colors,
        refresh: Refresh,
        clock: Clock,
    ) -> Self {
        Self {
            terminal: LiveLine::new(terminal, refresh, clock),
            colors,
            clock,
            criteria: Totals::default(),
            started: None,
            worker: None,
            began: None,
            live: None,
            workers: None,
            denials: Repeats::default(),
        }
    }

    /// The terminal, for those who ask a question on it.
    pub fn live_line(&self) -> LiveLine {
        self.terminal.clone()
    }

    /// Prints a permanent text above the live lines, of this worker if its work lands.
    fn print(&self, text: &str) -> Result<(), ReportError> {
        match self.worker {
            Some(worker) => self.print_as(&format!("worker {worker}: {}", text.trim_start())),
            None => self.print_as(text),
        }
    }

    fn print_as(&self, text: &str) -> Result<(), ReportError> {
        self.write(&format::wrapped(text, self.terminal.columns(), 2).join("\n"))
    }

    fn write(&self, lines: &str) -> Result<(), ReportError> {
        self.terminal.print(lines).map_err(gone)
    }

    fn painted(&self, text: &str, style: Style) -> String {
        style.force_styling(self.colors == Colors::On).apply_to(text).to_string()
    }

    /// Begins a live line; `lead` precedes its message.
    fn begin(&mut self, lead: &str, since: DateTime<Utc>, iteration: Option<Iteration>) {
        self.end();
        let template = format!("{{spinner}} {lead}{{since}} · {{wide_msg}}");
        let bar = self.terminal.begin(&template, since, 1);
        self.live = Some(Live { bar, iteration });
        self.tell();
    }

    /// Updates the live line.
    fn tell(&self) {
        if let Some(Live { bar, iteration: Some(iteration) }) = &self.live {
            let mut parts = vec![format::count(iteration.calls, "call")];
            if iteration.denied > 0 {
                parts.push(format!("{} denied", format::grouped(iteration.denied)));
            }
            if let Some(tokens) = iteration.tokens {
                parts.push(format::count(tokens, "token"));
            }
            parts.push(format::criterion(&iteration.criterion));
            bar.set_message(parts.join(" · "));
            bar.tick();
        }
    }

    fn change(&mut self, change: impl FnOnce(&mut Iteration)) {
        if let Some(Live { iteration: Some(iteration), .. }) = &mut self.live {
            change(iteration);
            self.tell();
        }
    }

    fn waiting(&self, until: DateTime<Utc>, reason: &str) -> String {
        let until = self.clock.local(until).format("%F %H:%M");
        format!("waiting until {until}: {}", format::sentence(reason))
    }

    fn wait(&mut self, event: &Event, until: DateTime<Utc>, reason: &str) {
        if self.worker.is_some() {
            // It is over.
            return;
        }
        let message = self.waiting(until, reason);
        if self.live.is_none() {
            self.begin("", event.time, None);
        }
        if let Some(live) = &self.live {
            live.bar.set_message(message);
            live.bar.tick();
        }
    }

    fn end(&mut self) {
        if let Some(live) = self.live.take() {
            self.terminal.end(&live.bar);
        }
    }

    /// Counts the denials that came again.
    fn denied(&mut self) -> Result<(), ReportError> {
        self.denials.counts().iter().try_for_each(|line| self.print(line))
    }

    /// The result line: its mark and its first word in colour.
    fn result(&self, iteration: u32, verdict: &Verdict, said: &str) -> String {
        let (mark, style) = match verdict.result {
            VerdictResult::Pass(_) => ("✓", Style::new().green()),
            VerdictResult::Fail => ("✗", Style::new().red()),
            VerdictResult::Held => ("‖", Style::new().yellow()),
            VerdictResult::Blocked => ("✗", Style::new().yellow()),
            VerdictResult::Inconclusive => ("?", Style::new().yellow()),
        };
        let (word, rest) = said.split_once(' ').unwrap_or((said, ""));
        let word = self.painted(word, style.clone().bold());
        let by = self.worker.map(|worker| format!("worker {worker}: ")).unwrap_or_default();
        format!("{} {by}iteration {iteration}: {word} {rest}", self.painted(mark, style))
    }
}

impl Console {
    fn run_started(
        &mut self,
        task: &str,
        folder: &str,
        agent: &str,
        criteria: Totals,
    ) -> Result<(), ReportError> {
        self.criteria = criteria;
        let name = self.painted(&format::sentence(task), Style::new().bold());
        self.print(&format!(
            "{name} ({}): {} of {} criteria open, agent {}",
            format::sentence(folder),
            criteria.open,
            criteria.total,
            format::sentence(agent)
        ))
    }

    fn iteration_started(&mut self, event: &Event) {
        let EventKind::IterationStarted { iteration, criterion, attempt, worker, .. } = &event.kind
        else {
            return;
        };
        self.denials = Repeats::default();
        (self.worker, self.began) = (*worker, Some(event.began()));
        if let (Some(worker), Some(workers)) = (worker, &mut self.workers) {
            workers.proves(*worker, event.time, criterion);
            return;
        }
        self.workers = None;
        let lead = match attempt {
            0 | 1 => format!("iteration {iteration} · "),
            again => format!("iteration {iteration} · attempt {again} · "),
        };
        let told = Iteration { criterion: criterion.clone(), calls: 0, denied: 0, tokens: None };
        self.begin(&lead, event.began(), Some(told));
    }

    fn iteration_ended(&mut self) {
        self.end();
        self.worker = None;
        if let Some(workers) = &mut self.workers {
            workers.proved(self.criteria);
        }
    }

    fn tell_worker(&mut self, event: &Event) {
        if let EventKind::WorkerStarted { worker, criterion, attempt, .. } = &event.kind {
            let since = self.started.unwrap_or(event.time);
            let begin = || WorkerLines::new(self.terminal.clone(), since, self.criteria);
            let workers = self.workers.get_or_insert_with(begin);
            workers.begins(*worker, event.time, criterion, *attempt);
        } else if let EventKind::WorkerHandedIn { worker, criterion } = &event.kind
            && let Some(workers) = &mut self.workers
        {
            workers.hands_in(*worker, event.time, criterion);
        }
    }
}

impl Reporter for Console {
    fn name(&self) -> &'static str {
        "console"
    }

    fn on_event(&mut self, event: &Event) -> Result<(), ReportError> {
        match &event.kind {
            EventKind::RunStarted { task, folder, agent, criteria, .. } => {
                self.started = Some(event.time);
                self.run_started(task, folder, agent, *criteria)?;
            }
            EventKind::Notice { message } => {
                let note = self.painted("note:", Style::new().yellow());
                self.print(&format!("{note} {}", format::message(message)))?;
            }
            EventKind::BaselineChecked { checks } => {
                for line in format::baseline(checks) {
                    self.print(&line)?;
                }
            }
            EventKind::IterationStarted { .. } => self.iteration_started(event),
            EventKind::ToolDecided { tool, input, answer, rule, reason, .. } => match answer {
                Answer::Allow => {}
                Answer::Deny => {
                    self.change(|iteration| iteration.denied += 1);
                    let line = self.denials.first(format::denial(tool, input, rule, reason));
                    line.map_or(Ok(()), |line| self.print(&line))?;
                }
            },
            EventKind::ToolFinished { .. } => self.change(|iteration| iteration.calls += 1),
            EventKind::TurnEnded { iteration, turn } => {
                if let Some(usage) = turn.usage {
                    self.change(|iteration| {
                        iteration.tokens = Some(iteration.tokens.unwrap_or(0) + usage.total);
                    });
                }
                if turn.fault.is_some() {
                    self.print(&format!("iteration {iteration}: {}", format::turn(turn)))?;
                }
            }
            EventKind::VerdictReached { iteration, criterion, evidence, verdict, repairs } => {
                self.denied()?;
                let millis = format::millis(self.began.unwrap_or(event.time), event.time);
                self.end();
                if let VerdictResult::Pass(_) = verdict.result {
                    self.criteria.open = self.criteria.open.saturating_sub(1);
                }
                let said = format::result(criterion, verdict, evidence, repairs, millis);
                self.print_as(&self.result(*iteration, verdict, &said))?;
            }
            EventKind::WorkerStarted { .. } | EventKind::WorkerHandedIn { .. } => {
                self.tell_worker(event)
            }
            EventKind::CriterionBlocked { .. }
            | EventKind::CriterionSkipped { .. }
            | EventKind::CriterionHeld { .. }
            | EventKind::CriterionReopened { .. } => {
                if let EventKind::CriterionReopened { .. } = event.kind {
                    self.criteria.open += 1;
                }
                if let Some(line) = format::standing(&event.kind) {
                    self.print(&line)?;
                }
            }
            EventKind::GatewayStarted { .. }
            | EventKind::ProviderBound { .. }
            | EventKind::ProviderLeft { .. }
            | EventKind::ToolsChanged { .. }
            | EventKind::ProviderCalled { .. }
            | EventKind::EventPushed { .. }
            | EventKind::EventsInjected { .. } => {
                if let Some(line) = providers::for_people(&event.kind) {
                    self.print(&line)?;
                }
            }
            EventKind::Waiting { until, reason } => self.wait(event, *until, reason),
            EventKind::IterationEnded { .. } => self.iteration_ended(),
            EventKind::RunEnded { outcome, summary, .. } => {
                self.end();
                self.workers = None;
                // The summary is printed even if a question still waits.
                self.terminal.resume().map_err(gone)?;
                let table = summary::render(outcome, summary, self.terminal.columns());
                self.write(&format!("\n{}", table.trim_end()))?;
            }
            // The wait is over: the live line shows the iteration again, or disappears.
            EventKind::PromptSent { .. } | EventKind::AgentStarted { .. } => match &self.live {
                Some(Live { iteration: Some(_), .. }) => self.tell(),
                Some(Live { iteration: None, .. }) | None => self.end(),
            },
            EventKind::StopChecked { .. }
            | EventKind::TaskCheckFailed { .. }
            | EventKind::CheckFinished { .. }
            | EventKind::SignAdded { .. }
            | EventKind::RecipeStarted { .. }
            | EventKind::RecipeProgress { .. }
            | EventKind::RecipeEnded { .. } => {}
        }
        Ok(())
    }

    fn on_live(&mut self, worker: usize, kind: &EventKind) {
        let does = match kind {
            EventKind::ToolDecided { tool, input, .. } => format::short_call(tool, input),
            EventKind::ToolFinished { decided: Decided::NotNeeded, call, .. } => {
                format::short_call(&call.kind, &call.input)
            }
            EventKind::Waiting { until, reason } => self.waiting(*until, reason),
            _ => return,
        };
        if let Some(workers) = &mut self.workers {
            workers.does(worker, &does);
        }
    }
}

fn gone(source: std::io::Error) -> ReportError {
    ReportError { target: "the terminal".to_owned(), source }
}

impl Drop for Console {
    fn drop(&mut self) {
        self.end();
    }
}
