//! A worker's messages to its run, on standard output.

use super::print::say;
use crate::engine::WorkerMessage;
use crate::model::{Event, EventKind, ReportError, Reporter};

/// Sends a message.
pub(super) fn tell(message: &WorkerMessage) {
    match serde_json::to_string(message) {
        Ok(line) => say(&line),
        Err(error) => tracing::warn!(%error, "a message is lost"),
    }
}

/// Sends the events of turns to the run.
pub(super) struct TellRun;

impl Reporter for TellRun {
    fn name(&self) -> &'static str {
        "worker"
    }

    fn on_event(&mut self, event: &Event) -> Result<(), ReportError> {
        let is_of_turn = match &event.kind {
            EventKind::AgentStarted { .. }
            | EventKind::PromptSent { .. }
            | EventKind::ToolDecided { .. }
            | EventKind::ToolFinished { .. }
            | EventKind::StopChecked { .. }
            | EventKind::TurnEnded { .. }
            | EventKind::Notice { .. }
            | EventKind::Waiting { .. } => true,
            EventKind::RunStarted { .. }
            | EventKind::BaselineChecked { .. }
            | EventKind::IterationStarted { .. }
            | EventKind::WorkerStarted { .. }
            | EventKind::RecipeStarted { .. }
            | EventKind::RecipeProgress { .. }
            | EventKind::RecipeEnded { .. }
            | EventKind::CheckFinished { .. }
            | EventKind::VerdictReached { .. }
            | EventKind::SignAdded { .. }
            | EventKind::CriterionBlocked { .. }
            | EventKind::CriterionSkipped { .. }
            | EventKind::CriterionHeld { .. }
            | EventKind::CriterionReopened { .. }
            | EventKind::TaskCheckFailed { .. }
            | EventKind::GatewayStarted { .. }
            | EventKind::ProviderBound { .. }
            | EventKind::ProviderLeft { .. }
            | EventKind::ToolsChanged { .. }
            | EventKind::ProviderCalled { .. }
            | EventKind::EventPushed { .. }
            | EventKind::EventsInjected { .. }
            | EventKind::IterationEnded { .. }
            | EventKind::RunEnded { .. } => false,
        };
        if is_of_turn {
            tell(&WorkerMessage::Event(Box::new(event.kind.clone())));
        }
        Ok(())
    }
}
