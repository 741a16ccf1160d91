//! Asks a human about a call that the policy leaves open, if one is watching.
//!
//! Invariant: no answer means no, and a yes covers one call. The Copilot CLI presents each
//! call twice, first to its hook and then as a permission request; the human is asked once.

use serde_json::Value;

use crate::model::{Asked, Decision, ToolRequest};

/// A question for the human.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Question<'a> {
    /// The tool.
    pub tool: &'a str,
    /// The command or arguments, redacted.
    pub wants: &'a str,
    /// Why the call needs approval.
    pub why: &'a str,
}

/// The human's answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HumanReply {
    /// The call may run.
    Yes,
    /// The call is denied.
    No,
    /// No answer in time, or no terminal to ask at.
    Silence,
    /// The call is too long to show in full, so the human was not asked.
    Unshown,
}

/// Asks and waits. It must return before the hook that is waiting for the answer times out.
pub type AskHuman = Box<dyn Fn(&Question<'_>) -> HumanReply + Send + Sync>;

/// Calls that a human approved at their hook and whose permission request has not come yet.
#[derive(Debug, Default)]
pub(super) struct Approved(Vec<(String, String)>);

/// Approved calls that are remembered at most.
const MOST: usize = 1000;

impl Approved {
    /// Remembers a call that was approved at its hook.
    pub(super) fn add(&mut self, request: &ToolRequest) {
        if request.asked == Asked::Hook && self.0.len() < MOST {
            self.0.push(key(request));
        }
    }

    /// Returns true, once, if this permission request's call was approved at its hook.
    pub(super) fn take(&mut self, request: &ToolRequest) -> bool {
        let key = key(request);
        let found = self.0.iter().position(|known| *known == key);
        let found = found.filter(|_| request.asked == Asked::Permission);
        found.map(|at| self.0.remove(at)).is_some()
    }
}

/// The part of a call that both layers show: its session, and its command or path.
fn key(request: &ToolRequest) -> (String, String) {
    let names = ["command", "path", "file_path", "fileName", "filePath"];
    let shown = names.iter().find_map(|name| request.input.get(name).and_then(Value::as_str));
    let shown = shown.map_or_else(|| request.input.to_string(), str::to_owned);
    (request.session.as_str().to_owned(), shown)
}

/// The decision after the human's answer.
pub(super) fn settled(reply: HumanReply, decision: Decision) -> Decision {
    match reply {
        HumanReply::Yes => Decision {
            writes: decision.writes,
            sandboxed: decision.sandboxed,
            ..Decision::allow("human.approved", format!("a human approved it ({})", decision.rule))
        },
        HumanReply::No => Decision::deny("human.refused", "Nothing ran: a human said no."),
        HumanReply::Silence => {
            let why = format!("{} No one answered in time.", decision.reason);
            Decision::deny(decision.rule, why)
        }
        HumanReply::Unshown => {
            let why = "It is too long to show to a human in full, so no one was asked.";
            let instead = "Instead: split it into shorter calls, or write a script first.";
            Decision::deny(decision.rule, format!("{} {why} {instead}", decision.reason))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_that_is_not_shown_as_a_whole_is_denied_and_says_so() {
        let left = Decision { for_a_human: true, ..Decision::deny("policy.push", "Why.") };
        let settled = settled(HumanReply::Unshown, left);
        assert!(!settled.allowed() && !settled.for_a_human, "{settled:?}");
        assert_eq!(settled.rule, "policy.push");
        assert!(settled.reason.starts_with("Why. It is too long to show"), "{settled:?}");
    }
}
