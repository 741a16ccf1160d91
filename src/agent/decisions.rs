//! Decisions waiting to be matched with the call they were made for. Pure.
//!
//! Invariant: each decision covers one call. The Copilot CLI has each call decided twice:
//! its hook names the arguments, its permission request names the call id. Both decisions are
//! consumed when the call ends. Arguments are kept as a digest, so a decision stays small. A
//! decision also records when it was made and whether a hook has reported the result, because
//! the audit has one line per result.

use std::time::Duration;

use serde_json::Value;
use sha2::{Digest as _, Sha256};
use tokio::time::Instant;

use crate::guard::{FieldEffect, field_effect};
use crate::model::{Asked, ToolRequest};

/// Decisions that may wait. One that does not fit is dropped, and its call then counts as
/// undecided.
const MOST: usize = 20_000;

/// How a call that ended had been decided.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CallStanding {
    /// It was allowed.
    Allowed,
    /// It was denied.
    Denied,
    /// No decision exists.
    Undecided,
}

/// A call that ended, as the agent reports it.
#[derive(Clone, Copy, Debug)]
pub struct EndedCall<'a> {
    /// The session that made the call.
    pub session: &'a str,
    /// The sub-agent that made the call; its hooks report this name as their session.
    pub asker: Option<&'a str>,
    /// ACP's call id.
    pub call: &'a str,
    /// The raw arguments.
    pub input: &'a Value,
    /// The layer whose permission counts. Where a hook exists it is the hook, because the
    /// hook sees exactly what runs.
    pub vouched_by: Asked,
}

/// The details of a decided call whose result came in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KnownCall {
    /// The tool's name in the request.
    pub tool: String,
    /// Time since it was allowed.
    pub took: Duration,
    /// A hook has already reported the result.
    pub reported: bool,
}

/// Decisions not yet matched with a call.
#[derive(Debug, Default)]
pub(super) struct Decisions(Vec<Made>);

#[derive(Debug)]
struct Made {
    session: String,
    /// The call id, which only permission requests name.
    call: Option<String>,
    tool: String,
    arguments: [u8; 32],
    /// The files that they name, if they name no command.
    files: Vec<String>,
    allowed: bool,
    /// The layer that asked.
    by: Asked,
    at: Instant,
    /// The run's own server has run this call.
    served: bool,
    /// Its result is in the audit.
    reported: bool,
    /// A hook has reported the result.
    told: bool,
}

impl Decisions {
    /// Adds a decision. A denial by a hook is not added: its call never runs.
    pub(super) fn add(&mut self, request: &ToolRequest, allowed: bool) {
        if (allowed || request.call.is_some()) && self.0.len() < MOST {
            self.0.push(Made {
                session: request.session.as_str().to_owned(),
                call: request.call.clone(),
                tool: request.tool.clone(),
                arguments: digest(&request.input),
                files: files(&request.input),
                allowed,
                by: request.asked,
                at: Instant::now(),
                served: false,
                reported: false,
                told: false,
            });
        }
    }

    /// Takes a permission for the run's own server, which runs one call with it: that of the layer
    /// that vouches for calls. The decision still waits for the end of the call. A sub-agent's
    /// call comes in its parent's session.
    pub(super) fn claim(&mut self, request: &ToolRequest, vouched_by: Asked) -> bool {
        let arguments = digest(&request.input);
        let hooked = vouched_by == Asked::Hook;
        let fits = |made: &&mut Made| {
            let same = made.tool == request.tool && made.arguments == arguments;
            let vouches = made.by != Asked::Server && (made.call.is_none() || !hooked);
            let own = made.session == request.session.as_str();
            made.allowed && !made.served && same && vouches && (own || hooked)
        };
        let made = self.0.iter_mut().find(fits);
        made.map(|made| made.served = true).is_some()
    }

    /// Is there a permission by a hook for a call with this tool and these arguments?
    pub(super) fn was_allowed_by_hook(&self, tool: &str, input: &Value) -> bool {
        let arguments = digest(input);
        let hooked = |made: &Made| made.allowed && made.by == Asked::Hook;
        self.0.iter().any(|made| hooked(made) && made.tool == tool && made.arguments == arguments)
    }

    /// Notes that the run's own server has put a call's result into the audit.
    pub(super) fn note_served(&mut self, tool: &str, input: &Value) {
        let arguments = digest(input);
        let fits = |made: &&mut Made| {
            let ran = made.served || made.by == Asked::Server;
            ran && !made.reported && made.tool == tool && made.arguments == arguments
        };
        if let Some(made) = self.0.iter_mut().find(fits) {
            made.reported = true;
        }
    }

    /// Notes that a hook reported a call's result; returns the time since the call was allowed.
    pub(super) fn note_result(&mut self, session: &str, input: &Value) -> Option<Duration> {
        let arguments = digest(input);
        let made = self.0.iter_mut().find(|made| {
            let hooked = made.allowed && made.call.is_none() && !made.reported;
            hooked && made.session == session && made.arguments == arguments
        })?;
        (made.reported, made.told) = (true, true);
        Some(made.at.elapsed())
    }

    /// The same for a call of the run's own server: none if the server has put this result into the
    /// audit. Of equal calls at the same time, others may still run or be on their way.
    pub(super) fn note_offered_result(&mut self, tool: &str, input: &Value) -> Option<Duration> {
        let arguments = digest(input);
        let same = |made: &&mut Made| {
            made.allowed
                && made.by == Asked::Hook
                && made.tool == tool
                && made.arguments == arguments
        };
        let mut all = self.0.iter_mut();
        if let Some(made) = all.find(|made| same(made) && made.reported && !made.told) {
            made.told = true;
            return None;
        }
        let mut all = self.0.iter_mut();
        let made = all.find(|made| same(made) && !made.served && !made.reported)?;
        (made.reported, made.told) = (true, true);
        Some(made.at.elapsed())
    }

    /// The details of a call that ran and whose decision is not taken yet.
    pub(super) fn known(&self, ended: &EndedCall<'_>) -> Option<KnownCall> {
        let made = &self.0[self.find(ended)?];
        Some(KnownCall {
            tool: made.tool.clone(),
            took: made.at.elapsed(),
            reported: made.reported,
        })
    }

    /// Takes the decision for a call that ran or at least began.
    pub(super) fn take(&mut self, ended: &EndedCall<'_>) -> CallStanding {
        if self.take_denied(ended) {
            return CallStanding::Denied;
        }
        let Some(at) = self.find(ended) else { return CallStanding::Undecided };
        self.0.remove(at);
        if ended.vouched_by == Asked::Hook {
            // The permission request's decision is consumed as well.
            self.0.retain(|made| !made.is_of(ended));
        }
        CallStanding::Allowed
    }

    /// The index of the permission that covers a call.
    fn find(&self, ended: &EndedCall<'_>) -> Option<usize> {
        let arguments = digest(ended.input);
        let same = |made: &Made| made.allowed && made.arguments == arguments && made.fits(ended);
        match ended.vouched_by {
            Asked::Hook => {
                let by_hook = |made: &Made| made.call.is_none() && made.by != Asked::Server;
                let fits = |made: &Made| by_hook(made) && same(made);
                // Of equal calls at the same time, one whose hook has reported has ended. The others
                // still wait for theirs.
                let ended = self.0.iter().position(|made| made.told && fits(made));
                ended.or_else(|| self.0.iter().position(fits))
            }
            // Permission requests may show other arguments, and some agents reuse call ids. An agent
            // may ask for no permission where a tool only reads: then the server decided.
            Asked::Permission | Asked::Server => {
                let position = |fits: &dyn Fn(&Made) -> bool| {
                    self.0.iter().position(|made| made.call.is_some() && fits(made))
                };
                position(&|made| same(made) && made.is_of(ended))
                    .or_else(|| position(&same))
                    .or_else(|| position(&|made| made.allowed && made.is_of(ended)))
                    // Hermes asks under another id, and with more fields than it announces.
                    .or_else(|| {
                        let named = files(ended.input);
                        position(&|made| {
                            let same = !named.is_empty() && made.files == named;
                            made.allowed && same && made.fits(ended)
                        })
                    })
                    .or_else(|| {
                        let by_server = |made: &Made| made.by == Asked::Server && same(made);
                        self.0.iter().position(by_server)
                    })
            }
        }
    }

    /// Takes the denial of a call's permission request, and its hook's permission with it.
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

/// The files that arguments name, if they name no command.
fn files(input: &Value) -> Vec<String> {
    match field_effect(input) {
        FieldEffect::Writes(names) | FieldEffect::Names(names) => names,
        FieldEffect::Runs(_) | FieldEffect::Fetches | FieldEffect::Nothing => Vec::new(),
    }
}

/// A SHA-256 digest of the arguments, with keys sorted at every level.
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
    fn a_decision_counts_for_one_call_in_any_order_of_its_keys() {
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

    fn of(asked: Asked, call: Option<&str>, tool: &str, input: &Value) -> ToolRequest {
        ToolRequest {
            session: SessionId::new("s"),
            call: call.map(str::to_owned),
            tool: tool.to_owned(),
            input: input.clone(),
            asked,
        }
    }

    #[test]
    fn the_server_runs_one_call_for_each_decision_which_still_waits_for_its_end() {
        let mut it = Decisions::default();
        let input = json!({"name": "Alice"});
        let by_server = of(Asked::Server, None, "desk.greet", &input);
        it.add(&of(Asked::Hook, None, "desk.greet", &input), true);
        it.add(&of(Asked::Permission, Some("1"), "desk.greet", &input), true);
        let other = of(Asked::Server, None, "desk.other", &input);
        assert!(!it.claim(&other, Asked::Hook), "another tool");
        assert!(it.claim(&by_server, Asked::Hook));
        assert!(!it.claim(&by_server, Asked::Hook), "its permission request is no second call");
        assert!(it.was_allowed_by_hook("desk.greet", &input));
        it.note_served("desk.greet", &input);
        assert!(it.known(&ended("1", &input)).expect("it is there").reported);
        it.add(&of(Asked::Hook, None, "desk.greet", &input), true);
        assert_eq!(it.note_offered_result("desk.greet", &input), None, "it is recorded already");
        assert!(it.note_offered_result("desk.greet", &input).is_some(), "the server had no part");
        assert_eq!(it.note_offered_result("desk.greet", &input), None);
        it.0.pop();
        assert_eq!(it.take(&ended("1", &input)), CallStanding::Allowed);
        assert_eq!(it.take(&ended("2", &input)), CallStanding::Undecided);
    }

    #[test]
    fn without_a_hook_a_permission_or_the_server_s_own_yes_vouches() {
        let mut it = Decisions::default();
        let (asks, silent) = (json!({"a": 1}), json!({"a": 2}));
        it.add(&of(Asked::Permission, Some("1"), "desk.greet", &asks), true);
        assert!(it.claim(&of(Asked::Server, None, "desk.greet", &asks), Asked::Permission));
        assert_eq!(it.take(&asked("1", &asks)), CallStanding::Allowed);
        let by_server = of(Asked::Server, None, "desk.greet", &silent);
        assert!(!it.claim(&by_server, Asked::Permission));
        it.add(&by_server, true);
        assert!(!it.claim(&by_server, Asked::Permission), "each call is decided");
        let hooked = ended("2", &silent);
        assert_eq!(it.take(&hooked), CallStanding::Undecided, "where there is a hook");
        assert_eq!(it.take(&asked("2", &silent)), CallStanding::Allowed);
        assert_eq!(it.take(&asked("3", &silent)), CallStanding::Undecided);
    }

    #[test]
    fn of_equal_calls_the_one_that_its_hook_reported_has_ended() {
        let mut it = Decisions::default();
        let input = json!({});
        for tool in ["memory_read", "user_prefs"] {
            it.add(&of(Asked::Hook, None, tool, &input), true);
            assert!(it.claim(&of(Asked::Server, None, tool, &input), Asked::Hook));
        }
        it.note_served("memory_read", &input);
        it.note_served("user_prefs", &input);
        assert_eq!(it.note_offered_result("user_prefs", &input), None);
        assert_eq!(it.known(&ended("1", &input)).expect("it is there").tool, "user_prefs");
    }
}
