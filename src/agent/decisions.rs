//! Decisions that wait for the call they were made for: pure.
//!
//! Invariant: each decision stands for one call. A call of the Copilot CLI is decided
//! twice, by its hook under the arguments and by its permission request under the
//! call's id; both are used up when it ends. Arguments are kept as a digest, so that a
//! decision is small however large its call is. A decision also knows when it was made and
//! whether a hook has told the call's result: the audit has one line for that.

use std::time::Duration;

use serde_json::Value;
use sha2::{Digest as _, Sha256};
use tokio::time::Instant;

use super::task_watch::writes_unseen;
use crate::model::{Asked, ToolRequest};

/// Decisions that may wait. One that does not fit is forgotten: its call counts as
/// undecided then.
const MOST: usize = 20_000;

/// What is known about a call that ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CallStanding {
    /// It had been allowed.
    Allowed,
    /// It had been denied.
    Denied,
    /// Nobody had decided it.
    Undecided,
}

/// A call that ended, as the agent reports it.
#[derive(Clone, Copy, Debug)]
pub struct EndedCall<'a> {
    /// The session it was made in.
    pub session: &'a str,
    /// The sub-agent that made it: its hooks carry this name for the session's.
    pub asker: Option<&'a str>,
    /// ACP's call id.
    pub call: &'a str,
    /// The raw arguments.
    pub input: &'a Value,
    /// The layer whose yes vouches for it: the hook's where there is one, since what the
    /// hook was shown is what runs.
    pub vouched_by: Asked,
}

/// What is known of a call whose result came in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KnownCall {
    /// The tool's name, as it was asked for.
    pub tool: String,
    /// Since it was allowed.
    pub took: Duration,
    /// A hook has told the result already.
    pub told: bool,
}

/// Decisions without their call.
#[derive(Debug, Default)]
pub(super) struct Decisions(Vec<Made>);

#[derive(Debug)]
struct Made {
    session: String,
    /// Known to permission requests alone.
    call: Option<String>,
    tool: String,
    arguments: [u8; 32],
    /// It is for a command of which nobody knows what it writes.
    unseen: bool,
    allowed: bool,
    at: Instant,
    told: bool,
}

impl Decisions {
    /// Remembers a decision. A denial by a hook needs no call: it has none.
    pub(super) fn add(&mut self, request: &ToolRequest, allowed: bool) {
        if (allowed || request.call.is_some()) && self.0.len() < MOST {
            self.0.push(Made {
                session: request.session.as_str().to_owned(),
                call: request.call.clone(),
                tool: request.tool.clone(),
                arguments: digest(&request.input),
                unseen: writes_unseen(&request.input),
                allowed,
                at: Instant::now(),
                told: false,
            });
        }
    }

    /// Whether a command was allowed and has not ended of which nobody knows what it writes.
    /// Where the hook vouches for calls, its yes alone lasts as long as its call.
    pub(super) fn unseen_runs(&self, vouched_by: Asked) -> bool {
        let lasts = |made: &Made| vouched_by == Asked::Permission || made.call.is_none();
        self.0.iter().any(|made| made.allowed && made.unseen && lasts(made))
    }

    /// A hook tells a call's result; says since when the call had been allowed.
    pub(super) fn tell(&mut self, session: &str, input: &Value) -> Option<Duration> {
        let arguments = digest(input);
        let made = self.0.iter_mut().find(|made| {
            let hooked = made.allowed && made.call.is_none() && !made.told;
            hooked && made.session == session && made.arguments == arguments
        })?;
        made.told = true;
        Some(made.at.elapsed())
    }

    /// What is known of a call that ran and is not yet taken.
    pub(super) fn known(&self, ended: &EndedCall<'_>) -> Option<KnownCall> {
        let made = &self.0[self.find(ended)?];
        Some(KnownCall { tool: made.tool.clone(), took: made.at.elapsed(), told: made.told })
    }

    /// Takes what was decided on a call that ran, or was at least begun.
    pub(super) fn take(&mut self, ended: &EndedCall<'_>) -> CallStanding {
        if self.take_denied(ended) {
            return CallStanding::Denied;
        }
        let Some(at) = self.find(ended) else { return CallStanding::Undecided };
        self.0.remove(at);
        if ended.vouched_by == Asked::Hook {
            // What the second layer said about it is used up with it.
            self.0.retain(|made| !made.is_of(ended));
        }
        CallStanding::Allowed
    }

    /// The yes that vouches for a call.
    fn find(&self, ended: &EndedCall<'_>) -> Option<usize> {
        let arguments = digest(ended.input);
        let same = |made: &Made| made.allowed && made.arguments == arguments && made.fits(ended);
        match ended.vouched_by {
            Asked::Hook => self.0.iter().position(|made| made.call.is_none() && same(made)),
            // Agents show other arguments there, and not all give each call its own id.
            Asked::Permission => {
                let position = |fits: &dyn Fn(&Made) -> bool| {
                    self.0.iter().position(|made| made.call.is_some() && fits(made))
                };
                position(&|made| same(made) && made.is_of(ended))
                    .or_else(|| position(&same))
                    .or_else(|| position(&|made| made.allowed && made.is_of(ended)))
            }
        }
    }

    /// Takes the denial of a call's permission request, and what its hook had allowed.
    pub(super) fn take_denied(&mut self, ended: &EndedCall<'_>) -> bool {
        let Some(at) = self.0.iter().position(|made| !made.allowed && made.is_of(ended)) else {
            return false;
        };
        self.0.remove(at);
        let arguments = digest(ended.input);
        let hooked =
            |made: &Made| made.call.is_none() && made.arguments == arguments && made.fits(ended);
        if let Some(at) = self.0.iter().position(hooked) {
            self.0.remove(at);
        }
        true
    }
}

impl Made {
    fn fits(&self, ended: &EndedCall<'_>) -> bool {
        self.session == ended.session || Some(self.session.as_str()) == ended.asker
    }

    fn is_of(&self, ended: &EndedCall<'_>) -> bool {
        self.call.as_deref() == Some(ended.call) && self.fits(ended)
    }
}

/// Arguments in one spelling, keys sorted at every level, in 32 bytes.
fn digest(value: &Value) -> [u8; 32] {
    let mut sorted = value.clone();
    sorted.sort_all_objects();
    Sha256::digest(sorted.to_string()).into()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::model::SessionId;

    fn add(it: &mut Decisions, session: &str, call: Option<&str>, input: &Value, allowed: bool) {
        let request = ToolRequest {
            session: SessionId::new(session),
            call: call.map(str::to_owned),
            tool: "bash".to_owned(),
            input: input.clone(),
            asked: Asked::Hook,
        };
        it.add(&request, allowed);
    }

    fn ended<'a>(call: &'a str, input: &'a Value) -> EndedCall<'a> {
        EndedCall { session: "s", asker: None, call, input, vouched_by: Asked::Hook }
    }

    fn asked<'a>(call: &'a str, input: &'a Value) -> EndedCall<'a> {
        EndedCall { vouched_by: Asked::Permission, ..ended(call, input) }
    }

    #[test]
    fn a_decision_stands_for_one_call_whatever_the_order_of_its_keys() {
        let mut it = Decisions::default();
        add(&mut it, "s", None, &json!({"a": {"x": 1, "y": 2}, "b": 3}), true);
        let input = json!({"b": 3, "a": {"y": 2, "x": 1}});
        assert_eq!(it.take(&ended("1", &input)), CallStanding::Allowed);
        assert_eq!(it.take(&ended("2", &input)), CallStanding::Undecided);
    }

    #[test]
    fn both_layers_of_one_call_are_used_up_together() {
        let mut it = Decisions::default();
        let input = json!({"command": "touch a", "description": "d"});
        add(&mut it, "s", None, &input, true);
        add(&mut it, "s", Some("1"), &json!({"path": "/out"}), true);
        add(&mut it, "s", Some("1"), &json!({"command": "touch a", "commands": ["touch a"]}), true);
        assert_eq!(it.take(&ended("1", &input)), CallStanding::Allowed);
        assert_eq!(it.take(&ended("1", &input)), CallStanding::Undecided, "the id is used again");
    }

    #[test]
    fn arguments_that_were_asked_for_in_another_form_are_joined_by_the_id() {
        let mut it = Decisions::default();
        add(&mut it, "s", Some("1"), &json!({"command": "ls"}), true);
        let input = json!({"command": "ls", "cwd": "/w"});
        assert_eq!(it.take(&asked("2", &input)), CallStanding::Undecided);
        assert_eq!(it.take(&asked("1", &input)), CallStanding::Allowed);
    }

    #[test]
    fn where_there_is_a_hook_only_its_own_yes_vouches_for_a_call() {
        let mut it = Decisions::default();
        let shown = json!({"command": "ls", "commands": ["ls"]});
        add(&mut it, "s", Some("1"), &shown, true);
        assert_eq!(it.take(&ended("1", &shown)), CallStanding::Undecided);
    }

    #[test]
    fn an_agent_with_one_id_for_all_calls_is_joined_by_arguments() {
        let mut it = Decisions::default();
        let (one, two) = (json!({"command": "one"}), json!({"command": "two"}));
        add(&mut it, "s", Some("shell-permission"), &one, true);
        add(&mut it, "s", Some("shell-permission"), &two, true);
        assert_eq!(it.take(&asked("7", &two)), CallStanding::Allowed);
        assert_eq!(it.take(&asked("8", &one)), CallStanding::Allowed);
        assert_eq!(it.take(&asked("9", &one)), CallStanding::Undecided);
    }

    #[test]
    fn a_denial_by_the_second_layer_takes_the_first_one_s_yes_with_it() {
        let mut it = Decisions::default();
        let input = json!({"command": "rm x"});
        add(&mut it, "s", None, &input, true);
        add(&mut it, "s", Some("1"), &json!({"command": "rm x", "commands": []}), false);
        assert_eq!(it.take(&ended("1", &input)), CallStanding::Denied);
        assert_eq!(it.take(&ended("2", &input)), CallStanding::Undecided);
    }

    #[test]
    fn a_hook_s_denial_takes_nothing_from_an_equal_call_that_is_allowed() {
        let mut it = Decisions::default();
        let input = json!({"command": "make"});
        add(&mut it, "s", None, &input, false);
        add(&mut it, "s", None, &input, true);
        assert!(!it.take_denied(&ended("1", &input)));
        assert_eq!(it.take(&ended("2", &input)), CallStanding::Allowed);
    }

    #[test]
    fn sessions_are_kept_apart_and_sub_agents_are_found() {
        let mut it = Decisions::default();
        let input = json!({"command": "make"});
        add(&mut it, "agent-1", None, &input, true);
        assert_eq!(it.take(&ended("1", &input)), CallStanding::Undecided);
        let by_sub_agent = EndedCall { asker: Some("agent-1"), ..ended("1", &input) };
        assert_eq!(it.take(&by_sub_agent), CallStanding::Allowed);
    }
}
