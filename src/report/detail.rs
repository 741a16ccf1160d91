//! How much of a run is shown: `-q`, `-v`.

use super::format;
use crate::model::{CallStatus, EventKind};

/// How much is shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Detail {
    /// Results alone, and no live lines.
    Quiet,
    /// What matters.
    #[default]
    Normal,
    /// Calls and checks, too.
    Verbose,
}

impl Detail {
    /// Whether an event is shown.
    pub(super) fn shows(self, kind: &EventKind) -> bool {
        self != Self::Quiet
            || matches!(
                kind,
                EventKind::VerdictReached { .. }
                    | EventKind::CriterionBlocked { .. }
                    | EventKind::CriterionSkipped { .. }
                    | EventKind::CriterionHeld { .. }
                    | EventKind::CriterionReopened { .. }
                    | EventKind::RunEnded { .. }
            )
    }

    /// The lines about an event that only a verbose run shows.
    pub(super) fn more(self, kind: &EventKind) -> Option<String> {
        if self != Self::Verbose {
            return None;
        }
        match kind {
            EventKind::ToolFinished { call, .. } => {
                let how = match (call.status, call.exit) {
                    (CallStatus::Denied, _) => return None,
                    (CallStatus::Failed, _) => " failed".to_owned(),
                    (_, Some(exit)) if exit != 0 => format!(" (exit {exit})"),
                    (CallStatus::Completed | CallStatus::Pending, _) => String::new(),
                };
                Some(format!("  {}{how}", format::call(&call.kind, &call.input)))
            }
            EventKind::StopChecked { sent_back: true, findings, .. } => {
                let first = findings.first().map(|it| format::message(&it.message));
                Some(format!("  sent back to the agent: {}", first.unwrap_or_default()))
            }
            EventKind::CheckFinished { check, .. } => Some(format!("  {}", format::check(check))),
            _ => None,
        }
    }
}
