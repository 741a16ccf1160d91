//! Asking a human, where the policy leaves a call to one and somebody is watching.
//!
//! Invariant: no answer is a no, and a yes stands for one call. A call of the Copilot CLI
//! comes twice, by its hook and then by its permission request; it is asked for once.

use serde_json::Value;

use crate::model::{Asked, Decision, ToolRequest};

/// What a human is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Question<'a> {
    /// The tool.
    pub tool: &'a str,
    /// What the call wants, redacted.
    pub wants: &'a str,
    /// Why a human has to approve it.
    pub why: &'a str,
}

/// What a human says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HumanReply {
    /// It may run.
    Yes,
    /// It may not.
    No,
    /// Nothing in time, or nobody can be asked.
    Silence,
    /// The call is too long to be shown as a whole, so nobody was asked.
    Unshown,
}

/// Asks and waits; it must end within the time a hook waits for its answer.
pub type AskHuman = Box<dyn Fn(&Question<'_>) -> HumanReply + Send + Sync>;

/// Calls that a human approved in their hook and whose permission request is still to come.
#[derive(Debug, Default)]
pub(super) struct Approved(Vec<(String, String)>);

/// Calls that are remembered.
const MOST: usize = 1000;

impl Approved {
    /// Remembers a yes to a hook.
    pub(super) fn add(&mut self, request: &ToolRequest) {
        if request.asked == Asked::Hook && self.0.len() < MOST {
            self.0.push(key(request));
        }
    }

    /// Takes the yes that the hook of this permission request was given.
    pub(super) fn take(&mut self, request: &ToolRequest) -> bool {
        let key = key(request);
        let found = self.0.iter().position(|known| *known == key);
        let found = found.filter(|_| request.asked == Asked::Permission);
        found.map(|at| self.0.remove(at)).is_some()
    }
}

/// What both layers show of a call: its session, and its command or its path.
fn key(request: &ToolRequest) -> (String, String) {
    let names = ["command", "path", "file_path", "fileName", "filePath"];
    let shown = names.iter().find_map(|name| request.input.get(name).and_then(Value::as_str));
    let shown = shown.map_or_else(|| request.input.to_string(), str::to_owned);
    (request.session.as_str().to_owned(), shown)
}

/// The decision after a human was asked.
pub(super) fn settled(reply: HumanReply, decision: Decision) -> Decision {
    match reply {
        HumanReply::Yes => Decision {
            writes: decision.writes,
            ..Decision::allow("human.approved", format!("a human approved it ({})", decision.rule))
        },
        HumanReply::No => Decision::deny("human.refused", "Nothing ran: a human said no."),
        HumanReply::Silence => {
            let why = format!("{} Nobody answered in time.", decision.reason);
            Decision::deny(decision.rule, why)
        }
        HumanReply::Unshown => {
            let why = "It is too long to be shown to a human as a whole, so nobody was asked.";
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
        assert!(settled.reason.starts_with("Why. It is too long to be shown"), "{settled:?}");
    }
}
