//! A terminal: one live line for the iteration in progress, one line for its result.
//!
//! Invariant: what was printed stays; only the live line is drawn again. Where standard
//! output is no terminal there is no `Console`: `Plain` is for that.

use std::sync::Arc;
use std::time::Duration;

use chrono::{DateTime, Utc};
use console::{Style, Term};
use indicatif::{
    MultiProgress, ProgressBar, ProgressDrawTarget, ProgressState, ProgressStyle, TermLike,
};

use super::terminal::Forgiving;
use super::{format, summary};
use crate::model::{
    Answer, CriterionKey, Event, EventKind, ReportError, Reporter, Verdict, VerdictResult,
};
use crate::sys::clock::Clock;

/// Whether marks have colors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Colors {
    /// They have.
    On,
    /// They have none.
    Off,
}

/// When the live line is drawn again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refresh {
    /// At this interval, for people: the elapsed time moves.
    Every(Duration),
    /// With each event only.
    OnEvent,
}

/// Draws a run on a terminal.
pub struct Console {
    /// For lines that stay.
    terminal: Arc<dyn TermLike>,
    /// For the live line.
    screen: MultiProgress,
    colors: Colors,
    refresh: Refresh,
    clock: Clock,
    live: Option<Live>,
}

/// The live line.
struct Live {
    bar: ProgressBar,
    /// None for a wait between two iterations.
    iteration: Option<Iteration>,
}

/// What the live line tells.
struct Iteration {
    criterion: CriterionKey,
    since: DateTime<Utc>,
    calls: u64,
    denied: u64,
    tokens: Option<u64>,
}

impl Console {
    /// Draws on standard output, with colors as the environment wants them (`NO_COLOR`,
    /// `CLICOLOR`, `CLICOLOR_FORCE`); none where that is no terminal, or one that cannot
    /// draw a line again.
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
        let drawn = Box::new(Forgiving(Arc::clone(&terminal)));
        Self {
            terminal,
            screen: MultiProgress::with_draw_target(ProgressDrawTarget::term_like(drawn)),
            colors,
            refresh,
            clock,
            live: None,
        }
    }

    fn columns(&self) -> usize {
        usize::from(self.terminal.width())
    }

    /// Prints a text that stays, above the live line.
    fn print(&self, text: &str) -> Result<(), ReportError> {
        self.write(&format::wrapped(text, self.columns(), 2).join("\n"))
    }

    fn write(&self, lines: &str) -> Result<(), ReportError> {
        self.screen
            .suspend(|| {
                lines.split('\n').try_for_each(|line| self.terminal.write_line(line))?;
                self.terminal.flush()
            })
            .map_err(|source| ReportError { target: "the terminal".to_owned(), source })
    }

    fn painted(&self, text: &str, style: Style) -> String {
        style.force_styling(self.colors == Colors::On).apply_to(text).to_string()
    }

    /// Begins a live line; `lead` stands before its message.
    fn begin(&mut self, lead: &str, since: DateTime<Utc>, iteration: Option<Iteration>) {
        self.end();
        let clock = self.clock;
        let elapsed = move |_: &ProgressState, out: &mut dyn std::fmt::Write| {
            // The line is drawn again in a moment; there is nobody to tell of a failure.
            let _ = out.write_str(&format::duration(format::millis(since, clock.now())));
        };
        let style =
            ProgressStyle::with_template(&format!("{{spinner}} {lead}{{since}} · {{wide_msg}}"))
                .unwrap_or_else(|_| ProgressStyle::default_spinner())
                .with_key("since", elapsed);
        let bar = self.screen.add(ProgressBar::new_spinner().with_style(style));
        match self.refresh {
            Refresh::Every(interval) => bar.enable_steady_tick(interval),
            Refresh::OnEvent => {}
        }
        self.live = Some(Live { bar, iteration });
        self.tell();
    }

    /// Puts what is known on the live line.
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
            live.bar.finish_and_clear();
            self.screen.remove(&live.bar);
        }
    }

    /// The result line: its mark and its first word in colour.
    fn result(&self, iteration: u32, verdict: &Verdict, said: &str) -> String {
        let (mark, style) = match verdict.result {
            VerdictResult::Pass(_) => ("✓", Style::new().green()),
            VerdictResult::Fail => ("✗", Style::new().red()),
            VerdictResult::Inconclusive => ("?", Style::new().yellow()),
        };
        let (word, rest) = said.split_once(' ').unwrap_or((said, ""));
        let word = self.painted(word, style.clone().bold());
        format!("{} iteration {iteration}: {word} {rest}", self.painted(mark, style))
    }
}

impl Reporter for Console {
    fn name(&self) -> &'static str {
        "console"
    }

    fn on_event(&mut self, event: &Event) -> Result<(), ReportError> {
        match &event.kind {
            EventKind::RunStarted { task, folder, agent, criteria, .. } => {
                let name = self.painted(&format::sentence(task), Style::new().bold());
                self.print(&format!(
                    "{name} ({}): {} of {} criteria open, agent {}",
                    format::sentence(folder),
                    criteria.open,
                    criteria.total,
                    format::sentence(agent)
                ))?;
            }
            EventKind::Notice { message } => {
                let note = self.painted("note:", Style::new().yellow());
                self.print(&format!("{note} {}", format::sentence(message)))?;
            }
            EventKind::BaselineChecked { checks } => {
                for check in checks.iter().filter(|check| !check.passed()) {
                    self.print(&format!("before the work: {}", format::check(check)))?;
                }
            }
            EventKind::IterationStarted { iteration, criterion, attempt, .. } => {
                let lead = match attempt {
                    0 | 1 => format!("iteration {iteration} · "),
                    again => format!("iteration {iteration} · attempt {again} · "),
                };
                let told = Iteration {
                    criterion: criterion.clone(),
                    since: event.time,
                    calls: 0,
                    denied: 0,
                    tokens: None,
                };
                self.begin(&lead, event.time, Some(told));
            }
            EventKind::ToolDecided { answer, .. } => match answer {
                Answer::Allow => {}
                Answer::Deny => self.change(|iteration| iteration.denied += 1),
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
                let since = match &self.live {
                    Some(Live { iteration: Some(iteration), .. }) => iteration.since,
                    Some(Live { iteration: None, .. }) | None => event.time,
                };
                let millis = format::millis(since, event.time);
                let said = format::result(criterion, verdict, evidence, repairs, millis);
                self.end();
                self.print(&self.result(*iteration, verdict, &said))?;
            }
            EventKind::CriterionBlocked { criterion, then, kept } => {
                self.print(&format::blocked(criterion, *then, kept.as_deref()))?;
            }
            EventKind::CriterionReopened { criterion, reason } => {
                self.print(&format::reopened(criterion, reason))?;
            }
            EventKind::Waiting { until, reason } => self.wait(event, *until, reason),
            EventKind::IterationEnded { .. } => self.end(),
            EventKind::RunEnded { outcome, summary, .. } => {
                self.end();
                let table = summary::render(outcome, summary, self.columns());
                self.write(&format!("\n{}", table.trim_end()))?;
            }
            // After a wait the live line tells of the iteration again, or goes.
            EventKind::PromptSent { .. } | EventKind::AgentStarted { .. } => match &self.live {
                Some(Live { iteration: Some(_), .. }) => self.tell(),
                Some(Live { iteration: None, .. }) | None => self.end(),
            },
            EventKind::StopChecked { .. }
            | EventKind::CheckFinished { .. }
            | EventKind::SignAdded { .. }
            | EventKind::RecipeStarted { .. }
            | EventKind::RecipeProgress { .. }
            | EventKind::RecipeEnded { .. } => {}
        }
        Ok(())
    }
}

impl Drop for Console {
    fn drop(&mut self) {
        self.end();
    }
}
