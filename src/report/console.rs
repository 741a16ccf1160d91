//! The screen of a run: one live line for the current iteration, one line for each result.
//!
//! Invariant: printed lines are permanent; only the live line is redrawn. If standard output is not
//! a terminal, there is no `Console`; `Plain` is used instead.

use std::sync::Arc;
use std::time::Duration;

use chrono::{DateTime, Utc};
use console::{Style, Term};
use indicatif::{ProgressBar, ProgressState, ProgressStyle, TermLike};

use super::live_line::LiveLine;
use super::repeats::Repeats;
use super::{format, providers, summary};
use crate::model::{
    Answer, CriterionKey, Event, EventKind, ReportError, Reporter, Totals, Verdict, VerdictResult,
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

/// When the live line is drawn again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refresh {
    /// At this interval, so that people see the elapsed time move.
    Every(Duration),
    /// With each event only.
    OnEvent,
}

/// Draws a run on a terminal.
pub struct Console {
    terminal: LiveLine,
    colors: Colors,
    refresh: Refresh,
    clock: Clock,
    live: Option<Live>,
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
    since: DateTime<Utc>,
    calls: u64,
    denied: u64,
    tokens: Option<u64>,
}

impl Console {
    /// Draws on standard output; `NO_COLOR`, `CLICOLOR` and `CLICOLOR_FORCE` set the colors.
    /// Returns `None` if standard output is not a terminal, or cannot draw a line again.
    pub fn stdout(clock: Clock) -> Option<Self> {
        let terminal = Term::stdout();
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
            terminal: LiveLine::new(terminal),
            colors,
            refresh,
            clock,
            live: None,
            denials: Repeats::default(),
        }
    }

    /// The terminal, for those who ask a question on it.
    pub fn live_line(&self) -> LiveLine {
        self.terminal.clone()
    }

    /// Prints a permanent text above the live line.
    fn print(&self, text: &str) -> Result<(), ReportError> {
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
        let clock = self.clock;
        let elapsed = move |_: &ProgressState, out: &mut dyn std::fmt::Write| {
            // The line is drawn again in a moment, so a failure does not matter.
            let _ = out.write_str(&format::duration(format::millis(since, clock.now())));
        };
        let style =
            ProgressStyle::with_template(&format!("{{spinner}} {lead}{{since}} · {{wide_msg}}"))
                .unwrap_or_else(|_| ProgressStyle::default_spinner())
                .with_key("since", elapsed);
        let bar = self.terminal.add(ProgressBar::new_spinner().with_style(style));
        match self.refresh {
            Refresh::Every(interval) => bar.enable_steady_tick(interval),
            Refresh::OnEvent => {}
        }
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

    fn wait(&mut self, event: &Event, until: DateTime<Utc>, reason: &str) {
        let until = self.clock.local(until).format("%F %H:%M");
        let message = format!("waiting until {until}: {}", format::sentence(reason));
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

    /// The time since the iteration began.
    fn millis(&self, event: &Event) -> u64 {
        let since = match &self.live {
            Some(Live { iteration: Some(iteration), .. }) => iteration.since,
            Some(Live { iteration: None, .. }) | None => event.time,
        };
        format::millis(since, event.time)
    }

    /// The result line: its mark and its first word in colour.
    fn result(&self, iteration: u32, verdict: &Verdict, said: &str) -> String {
        let (mark, style) = match verdict.result {
            VerdictResult::Pass(_) => ("✓", Style::new().green()),
            VerdictResult::Fail => ("✗", Style::new().red()),
            VerdictResult::Held => ("‖", Style::new().yellow()),
            VerdictResult::Inconclusive => ("?", Style::new().yellow()),
        };
        let (word, rest) = said.split_once(' ').unwrap_or((said, ""));
        let word = self.painted(word, style.clone().bold());
        format!("{} iteration {iteration}: {word} {rest}", self.painted(mark, style))
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
        let name = self.painted(&format::sentence(task), Style::new().bold());
        self.print(&format!(
            "{name} ({}): {} of {} criteria open, agent {}",
            format::sentence(folder),
            criteria.open,
            criteria.total,
            format::sentence(agent)
        ))
    }
}

impl Reporter for Console {
    fn name(&self) -> &'static str {
        "console"
    }

    fn on_event(&mut self, event: &Event) -> Result<(), ReportError> {
        match &event.kind {
            EventKind::RunStarted { task, folder, agent, criteria, .. } => {
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
            EventKind::IterationStarted { iteration, criterion, attempt, .. } => {
                self.denials = Repeats::default();
                let lead = match attempt {
                    0 | 1 => format!("iteration {iteration} · "),
                    again => format!("iteration {iteration} · attempt {again} · "),
                };
                let told = Iteration {
                    criterion: criterion.clone(),
                    since: event.began(),
                    calls: 0,
                    denied: 0,
                    tokens: None,
                };
                self.begin(&lead, event.began(), Some(told));
            }
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
                let millis = self.millis(event);
                self.end();
                let said = format::result(criterion, verdict, evidence, repairs, millis);
                self.print(&self.result(*iteration, verdict, &said))?;
            }
            EventKind::WorkerStarted { .. }
            | EventKind::CriterionBlocked { .. }
            | EventKind::CriterionSkipped { .. }
            | EventKind::CriterionHeld { .. }
            | EventKind::CriterionReopened { .. } => {
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
            EventKind::IterationEnded { .. } => self.end(),
            EventKind::RunEnded { outcome, summary, .. } => {
                self.end();
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
}

fn gone(source: std::io::Error) -> ReportError {
    ReportError { target: "the terminal".to_owned(), source }
}

impl Drop for Console {
    fn drop(&mut self) {
        self.end();
    }
}
