//! Plain lines, for a pipe or a CI log.
//!
//! Invariant: no escape codes, no rewritten lines. Every line begins with the time of day, except
//! for the summary at the end.

use std::io::Write;

use chrono::{DateTime, Utc};

use super::repeats::Repeats;
use super::{Detail, format, providers, summary};
use crate::model::{
    Answer, Event, EventKind, Finding, FindingKind, Repair, ReportError, Reporter, Turn, TurnEnd,
    Verdict, Weight,
};
use crate::sys::clock::Clock;

/// Writes the events that matter to a human as lines.
pub struct Plain {
    out: Box<dyn Write + Send>,
    clock: Clock,
    width: usize,
    detail: Detail,
    since: Option<DateTime<Utc>>,
    /// The worker whose work lands.
    worker: Option<usize>,
    /// The findings that were last sent back to the agent in this iteration.
    sent_back: Option<String>,
    /// The denials of this iteration.
    denials: Repeats,
    /// The line of the last decision was shown.
    told: bool,
    /// The notes on tests that changed in this run.
    notes: Repeats,
}

impl Plain {
    /// Writes to the given stream, in this clock's zone; `width` in columns is for the
    /// summary.
    pub fn new(out: Box<dyn Write + Send>, clock: Clock, width: usize, detail: Detail) -> Self {
        Self {
            out,
            clock,
            width,
            detail,
            since: None,
            worker: None,
            sent_back: None,
            denials: Repeats::default(),
            told: true,
            notes: Repeats::default(),
        }
    }

    /// The lines for an event, without the time.
    fn lines(&mut self, event: &Event) -> Vec<String> {
        match &event.kind {
            EventKind::RunStarted { .. } => run_started(event),
            EventKind::Notice { message } => vec![format::note(message, self.worker)],
            EventKind::BaselineChecked { checks } => format::baseline(checks),
            EventKind::AgentStarted { agent, pid } => {
                let name = agent.as_ref().map_or_else(
                    || "no name given".to_owned(),
                    |agent| format::sentence(&format!("{} {}", agent.name, agent.version)),
                );
                vec![format!("agent started: {name} (process {pid})")]
            }
            EventKind::IterationStarted { iteration, criterion, line, attempt, worker, .. } => {
                (self.since, self.worker) = (Some(event.began()), *worker);
                self.sent_back = None;
                self.denials = Repeats::default();
                vec![format!(
                    "iteration {iteration}: {} (line {line}, attempt {attempt})",
                    format::criterion(criterion)
                )]
            }
            EventKind::ToolDecided { tool, input, answer, rule, reason, .. } => match answer {
                // Of a quiet run, the line of the verdict has the reason.
                Answer::Deny if self.detail != Detail::Quiet => {
                    let line = self.denials.first(format::denial(tool, input, rule, reason));
                    self.told = line.is_some();
                    line.into_iter().collect()
                }
                Answer::Allow | Answer::Deny => Vec::new(),
            },
            EventKind::RecipeStarted { recipe, version, .. } => {
                let recipe = format::sentence(recipe.as_str());
                vec![format!("  recipe {recipe} (recipe-runner-rs {version})")]
            }
            EventKind::RecipeProgress { step, status, .. } => format::step(step, *status),
            // The line of the turn has the error.
            EventKind::RecipeEnded { .. } => Vec::new(),
            EventKind::StopChecked { findings, sent_back: true, .. } => {
                let found: Vec<_> =
                    findings.iter().map(|finding| format::message(&finding.message)).collect();
                let found = found.join(" ");
                if self.sent_back.as_ref() == Some(&found) {
                    return vec!["  sent back to the agent for the same reason".to_owned()];
                }
                let line = format!("  sent back to the agent: {found}");
                self.sent_back = Some(found);
                vec![line]
            }
            EventKind::StopChecked { sent_back: false, .. } => Vec::new(),
            EventKind::CheckFinished { check, .. } => vec![format!("  {}", format::check(check))],
            EventKind::VerdictReached { iteration, criterion, evidence, verdict, repairs } => {
                let millis = format::millis(self.since.unwrap_or(event.time), event.time);
                let said = format::result(criterion, verdict, evidence, repairs, millis);
                let (said, mut lines) = self.denials.counts(said);
                lines.push(format!("iteration {iteration}: {said}"));
                lines.extend(self.more_findings(verdict, repairs));
                lines
            }
            EventKind::SignAdded { sign, .. } => {
                // The lines above have the reason.
                let sign = sign.find("): ").map_or(&**sign, |end| &sign[..=end]);
                vec![format!("sign added to guardrails.md: {}", format::message(sign))]
            }
            EventKind::WorkerStarted { .. }
            | EventKind::CriterionBlocked { .. }
            | EventKind::CriterionSkipped { .. }
            | EventKind::CriterionHeld { .. }
            | EventKind::CriterionReopened { .. } => {
                format::standing_below(&event.kind).into_iter().collect()
            }
            EventKind::TaskCheckFailed { reason, .. } => vec![format::task_check_failed(reason)],
            EventKind::GatewayStarted { .. }
            | EventKind::ProviderBound { .. }
            | EventKind::ProviderLeft { .. }
            | EventKind::ToolsChanged { .. }
            | EventKind::ProviderCalled { .. }
            | EventKind::EventPushed { .. }
            | EventKind::EventsInjected { .. } => {
                providers::for_logs(&event.kind).into_iter().collect()
            }
            EventKind::Waiting { until, reason, .. } => vec![format!(
                "waiting until {} ({}): {}",
                self.clock.local(*until).format("%F %T"),
                format::duration(format::millis(event.time, *until)),
                format::sentence(reason)
            )],
            // The line of the denial has more.
            EventKind::TurnEnded {
                turn: Turn { fault: None, end: TurnEnd::CutByDenial { .. }, .. },
                ..
            } if !self.told => Vec::new(),
            EventKind::TurnEnded { turn, .. } => turn_ended(turn).into_iter().collect(),
            EventKind::PromptSent { .. }
            | EventKind::WorkerHandedIn { .. }
            | EventKind::ToolFinished { .. }
            | EventKind::Activity { .. }
            | EventKind::IterationEnded { .. }
            | EventKind::RunEnded { .. } => Vec::new(),
        }
    }

    /// The lines of the findings that the result line does not show. It shows the first one against
    /// the criterion, and the repair of a missing progress line. What is true of the whole run is
    /// said once.
    fn more_findings(&mut self, verdict: &Verdict, repairs: &[Repair]) -> Vec<String> {
        let is_repaired = |finding: &Finding| {
            finding.kind == FindingKind::NoProgressEntry && repairs.contains(&Repair::ProgressLine)
        };
        let mut findings: Vec<&Finding> =
            verdict.findings.iter().filter(|finding| !is_repaired(finding)).collect();
        if let Some(first) = findings.iter().position(|finding| finding.weight != Weight::Said) {
            findings.remove(first);
        }
        let lines = findings.into_iter().filter_map(|finding| {
            let line = format!("  {}", format::message(&finding.message));
            if matches!(finding.kind, FindingKind::HarnessChanged | FindingKind::TestIsNew) {
                return self.notes.first(line);
            }
            Some(line)
        });
        lines.collect()
    }
}

fn run_started(event: &Event) -> Vec<String> {
    let EventKind::RunStarted { task, folder, agent, model, version, criteria, .. } = &event.kind
    else {
        return Vec::new();
    };
    let model = model.as_deref().map_or_else(
        || "its default model".to_owned(),
        |model| format!("model {}", format::sentence(model)),
    );
    vec![
        format!(
            "run {}: {} ({}), {} of {} criteria open, ralph-copilot {version}",
            event.run,
            format::sentence(task),
            format::sentence(folder),
            criteria.open,
            criteria.total
        ),
        format!("agent: {}, {model}", format::sentence(agent)),
    ]
}

/// The line of a turn, if it did not simply end.
fn turn_ended(turn: &Turn) -> Option<String> {
    match (&turn.fault, &turn.end) {
        (None, TurnEnd::EndTurn) => None,
        // The line above has the denial.
        (None, TurnEnd::CutByDenial { .. }) => Some("  the denial ended the turn".to_owned()),
        (Some(_), TurnEnd::EndTurn | TurnEnd::CutByDenial { .. })
        | (_, TurnEnd::Lost | TurnEnd::Stuck(_) | TurnEnd::Interrupted | TurnEnd::Other(_)) => {
            Some(format!("  {}", format::turn(turn)))
        }
    }
}

impl Reporter for Plain {
    fn name(&self) -> &'static str {
        "plain"
    }

    fn on_event(&mut self, event: &Event) -> Result<(), ReportError> {
        let time = self.clock.local(event.time).format("%T");
        let mut text = String::new();
        let mut lines = self.lines(event);
        if !self.detail.shows(&event.kind) {
            lines.clear();
        } else if lines.is_empty() {
            lines.extend(self.detail.more(&event.kind));
        }
        for line in lines {
            let by = self.worker.map(|worker| format!("worker {worker}: ")).unwrap_or_default();
            text.push_str(&format!("{time} {by}{line}\n"));
        }
        if let EventKind::IterationEnded { .. } = event.kind {
            self.worker = None;
        }
        if let EventKind::RunEnded { outcome, summary, .. } = &event.kind {
            text.push('\n');
            text.push_str(&summary::render(outcome, summary, self.width));
        }
        if text.is_empty() {
            return Ok(());
        }
        self.out
            .write_all(text.as_bytes())
            .and_then(|()| self.out.flush())
            .map_err(|source| ReportError { target: "standard output".to_owned(), source })
    }
}
