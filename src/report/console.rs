//! The screen of a run: lines that stay, one for each result, and live lines below them.
//!
//! Invariant: fed by events alone, so that `watch` shows the same for a run that was started
//! elsewhere. If standard output is not a terminal, there is no `Console`; `Plain` is used instead.

use std::sync::Arc;
use std::time::Duration;

use chrono::{DateTime, Utc};
use console::{Style, Term};

use super::live_lines::{Canvas, LiveLines, Refresh};
use super::repeats::Repeats;
use super::scene::Scene;
use super::{Detail, format, providers, summary};
use crate::events::LiveView;
use crate::model::{
    Answer, Event, EventKind, ReportError, Reporter, Totals, Verdict, VerdictResult,
};
use crate::sys::clock::Clock;

/// The interval between two repaints.
const REPAINT: Duration = Duration::from_millis(250);

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
    terminal: LiveLines,
    colors: Colors,
    detail: Detail,
    /// The worker whose work lands.
    worker: Option<usize>,
    /// When the iteration began.
    began: Option<DateTime<Utc>>,
    /// The denials of this iteration.
    denials: Repeats,
}

/// The columns and rows of standard output; without bounds if it is no terminal.
pub fn room() -> (usize, usize) {
    let size = Term::stdout().size_checked().filter(|_| Term::stdout().is_term());
    size.map_or((usize::MAX, usize::MAX), |(rows, columns)| (columns.into(), rows.into()))
}

impl Console {
    /// Draws on standard output; `NO_COLOR`, `CLICOLOR` and `CLICOLOR_FORCE` set the colors.
    /// Returns `None` if standard output is not a terminal, or cannot draw a line again.
    pub fn stdout(clock: Clock, detail: Detail) -> Option<Self> {
        // Whole pictures: what is drawn piece by piece flickers.
        let terminal = Term::buffered_stdout();
        if !terminal.is_term() || std::env::var_os("TERM").is_some_and(|name| name == "dumb") {
            return None;
        }
        let colors = if console::colors_enabled() { Colors::On } else { Colors::Off };
        Some(Self::new(Arc::new(terminal), colors, Refresh::Every(REPAINT), clock, detail))
    }

    /// Draws on any terminal.
    pub fn new(
        terminal: Arc<dyn Canvas>,
        colors: Colors,
        refresh: Refresh,
        clock: Clock,
        detail: Detail,
    ) -> Self {
        let scene = Scene { live: LiveView::default(), clock };
        Self {
            terminal: LiveLines::new(terminal, refresh, scene),
            colors,
            detail,
            worker: None,
            began: None,
            denials: Repeats::default(),
        }
    }

    /// The terminal, for those who ask a question on it.
    pub fn live_lines(&self) -> LiveLines {
        self.terminal.clone()
    }

    /// Prints a permanent text above the live lines, of this worker if its work lands.
    fn print(&self, text: &str) {
        match self.worker {
            Some(worker) => self.print_as(&format!("worker {worker}: {}", text.trim_start())),
            None => self.print_as(text),
        }
    }

    fn print_as(&self, text: &str) {
        self.terminal.print(&format::wrapped(text, self.terminal.columns(), 2).join("\n"));
    }

    fn painted(&self, text: &str, style: Style) -> String {
        style.force_styling(self.colors == Colors::On).apply_to(text).to_string()
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

    fn run_started(&self, task: &str, folder: &str, agent: &str, criteria: Totals) {
        let name = self.painted(&format::sentence(task), Style::new().bold());
        self.print(&format!(
            "{name} ({}): {} of {} criteria open, agent {}",
            format::sentence(folder),
            criteria.open,
            criteria.total,
            format::sentence(agent)
        ));
    }

    /// Prints the denials of the iteration, once each, but for one that `said` says already.
    fn print_denials(&mut self, said: &str) {
        for line in self.denials.drain(said) {
            self.print(&line);
        }
    }

    /// Prints the lines of an event that stay.
    fn print_event(&mut self, event: &Event) {
        match &event.kind {
            EventKind::RunStarted { task, folder, agent, criteria, .. } => {
                self.run_started(task, folder, agent, *criteria);
            }
            EventKind::Notice { message } => {
                let note = self.painted("note:", Style::new().yellow());
                self.print(&format!("{note} {}", format::notice(message, self.worker)));
            }
            EventKind::BaselineChecked { checks } => {
                format::baseline(checks).iter().for_each(|line| self.print(line));
            }
            EventKind::ToolDecided { tool, input, answer: Answer::Deny, rule, reason, .. } => {
                self.denials.first(format::denial(tool, input, rule, reason));
            }
            EventKind::TurnEnded { iteration, turn } if turn.fault.is_some() => {
                self.print(&format!("iteration {iteration}: {}", format::turn(turn)));
            }
            EventKind::VerdictReached { iteration, criterion, evidence, verdict, repairs } => {
                let millis = format::millis(self.began.unwrap_or(event.time), event.time);
                let said = format::result(criterion, verdict, evidence, repairs, millis);
                self.print_as(&self.result(*iteration, verdict, &said));
                self.print_denials(&said);
            }
            EventKind::CriterionBlocked { .. }
            | EventKind::CriterionSkipped { .. }
            | EventKind::CriterionHeld { .. }
            | EventKind::CriterionReopened { .. } => {
                format::standing_below(&event.kind).iter().for_each(|line| self.print(line));
            }
            EventKind::GatewayStarted { .. }
            | EventKind::ProviderBound { .. }
            | EventKind::ProviderLeft { .. }
            | EventKind::ToolsChanged { .. }
            | EventKind::ProviderCalled { .. }
            | EventKind::EventPushed { .. }
            | EventKind::EventsInjected { .. } => {
                providers::for_people(&event.kind).iter().for_each(|line| self.print(line));
            }
            EventKind::IterationEnded { .. } => self.print_denials(""),
            EventKind::RunEnded { outcome, summary, .. } => {
                self.print_denials("");
                let table = summary::render(outcome, summary, self.terminal.columns());
                self.terminal.print(&format!("\n{}", table.trim_end()));
            }
            EventKind::IterationStarted { .. }
            | EventKind::AgentStarted { .. }
            | EventKind::WorkerStarted { .. }
            | EventKind::WorkerHandedIn { .. }
            | EventKind::PromptSent { .. }
            | EventKind::ToolDecided { .. }
            | EventKind::ToolFinished { .. }
            | EventKind::TurnEnded { .. }
            | EventKind::StopChecked { .. }
            | EventKind::TaskCheckFailed { .. }
            | EventKind::CheckFinished { .. }
            | EventKind::SignAdded { .. }
            | EventKind::RecipeStarted { .. }
            | EventKind::RecipeProgress { .. }
            | EventKind::RecipeEnded { .. }
            | EventKind::Waiting { .. }
            | EventKind::Activity { .. } => {}
        }
    }
}

impl Reporter for Console {
    fn name(&self) -> &'static str {
        "console"
    }

    fn on_event(&mut self, event: &Event) -> Result<(), ReportError> {
        if self.detail != Detail::Quiet {
            self.terminal.scene(|scene| scene.live.apply(event));
        }
        if let EventKind::IterationStarted { worker, .. } = &event.kind {
            self.denials = Repeats::default();
            (self.worker, self.began) = (*worker, Some(event.began()));
        }
        if self.detail.shows(&event.kind) {
            self.print_event(event);
            let more = self.detail.more(&event.kind);
            more.iter().for_each(|line| self.print(line));
        }
        if let EventKind::IterationEnded { .. } = event.kind {
            self.worker = None;
        } else if let EventKind::RunEnded { .. } = event.kind {
            // The summary is printed even if a question still waits.
            self.terminal.end();
        }
        self.terminal.refresh().map_err(gone)
    }
}

fn gone(source: std::io::Error) -> ReportError {
    ReportError { target: "the terminal".to_owned(), source }
}

impl Drop for Console {
    fn drop(&mut self) {
        self.terminal.end();
    }
}
