//! The tool calls of one turn, as the agent reports them.
//!
//! Invariant: memory is bounded: a number of calls, and a number of argument bytes. A call whose
//! arguments were dropped cannot be matched with its decision, and too many calls stop the turn.

use std::collections::HashMap;

use serde_json::Value;

use tokio::time::Instant;

use super::arguments::wanted;
use super::stuck::{again, longer};
use super::{CallStanding, EndedCall, Gate, TurnLimits, TurnPulse};
use crate::model::{Asked, CallStatus, Decided, ExecutedCall};

/// Tool calls that are tracked; a turn's limit is lower.
const FOLLOWED: usize = 5000;
/// Bytes of arguments kept for calls that have not ended.
const ARGUMENTS: usize = 64 << 20;
/// Characters kept of a title.
const TITLE: usize = 200;

/// A reported tool call. `D` has the details of one protocol.
#[derive(Clone, Debug)]
pub(super) struct LoggedCall<D> {
    pub(super) id: String,
    pub(super) title: String,
    pub(super) input: Value,
    pub(super) status: CallStatus,
    pub(super) exit: Option<i64>,
    /// The call's result, until it is taken.
    pub(super) output: Option<Value>,
    /// The sub-agent that made the call; its hooks report this name as their session.
    pub(super) asker: Option<String>,
    pub(super) details: D,
    /// Bytes that the arguments took on the wire.
    bytes: usize,
    /// The ended call has been taken.
    reported: bool,
}

impl<D> LoggedCall<D> {
    /// A call of which nothing is known yet.
    pub(super) fn new(id: &str, details: D) -> Self {
        Self {
            id: id.to_owned(),
            title: String::new(),
            input: Value::Null,
            status: CallStatus::Pending,
            exit: None,
            output: None,
            asker: None,
            details,
            bytes: 0,
            reported: false,
        }
    }

    pub(super) fn set_title(&mut self, title: &str) {
        self.title = title.chars().take(TITLE).collect();
    }

    /// What the journal has of it.
    pub(super) fn executed(&self, kind: String) -> ExecutedCall {
        ExecutedCall {
            id: self.id.clone(),
            kind,
            title: self.title.clone(),
            input: self.input.clone(),
            status: self.status,
            exit: self.exit,
        }
    }

    /// What its decision is found by.
    pub(super) fn ended<'c>(&'c self, session: &'c str, vouched_by: Asked) -> EndedCall<'c> {
        let asker = self.asker.as_deref();
        EndedCall { session, asker, call: &self.id, input: &self.input, vouched_by }
    }

    /// How it was decided. Some agents report a denied call as failed.
    pub(super) fn settle(&mut self, standing: CallStanding, undecided: Decided) -> Decided {
        match (standing, self.status) {
            (CallStanding::Allowed, _) => Decided::Yes,
            (CallStanding::Denied, CallStatus::Failed) => {
                self.status = CallStatus::Denied;
                Decided::Yes
            }
            (CallStanding::Denied, _) => Decided::Missing,
            (CallStanding::Undecided, _) => undecided,
        }
    }
}

/// The calls of one turn.
#[derive(Debug)]
pub(super) struct CallLog<D> {
    pub(super) calls: Vec<LoggedCall<D>>,
    /// The number of calls, including those that are not tracked.
    pub(super) begun: u32,
    /// The last call if it failed, and how many times in a row.
    pub(super) failing: Option<(String, u32)>,
    by_id: HashMap<String, usize>,
    /// Bytes of arguments held in memory.
    held: usize,
}

impl<D> Default for CallLog<D> {
    fn default() -> Self {
        Self { calls: Vec::new(), begun: 0, failing: None, by_id: HashMap::new(), held: 0 }
    }
}

impl<D: Clone> CallLog<D> {
    /// Has a call begun and not ended?
    pub(super) fn pending(&self) -> bool {
        self.calls.iter().any(|call| call.status == CallStatus::Pending)
    }

    /// Were there more calls than can be tracked?
    pub(super) fn overrun(&self) -> Option<String> {
        let over = self.calls.len() >= FOLLOWED;
        over.then(|| format!("{} tool calls in one turn: more than can be followed", self.begun))
    }

    /// The turn's activity; the last of the agent's output came at `last`.
    pub(super) fn pulse(
        &self,
        (gate, limits): (&Gate, &TurnLimits),
        started: Instant,
        last: Instant,
    ) -> TurnPulse {
        let last = gate.last_life().map_or(last, |asked| asked.max(last));
        let (failing, times) = longer(self.failing.clone(), gate.denied_in_a_row());
        TurnPulse {
            since_start: started.elapsed(),
            since_life: last.elapsed(),
            pending: self.pending(),
            // An agent may ask without announcing the call; it asks twice per call at most,
            // once for the path and once for the call.
            calls: self.begun.max(gate.asked().saturating_sub(limits.calls)),
            failing,
            times,
        }
    }

    /// The index of the newest call with this id.
    pub(super) fn find(&self, id: &str) -> Option<usize> {
        self.by_id.get(id).copied()
    }

    /// Begins a call and returns its index; `None` if there are too many.
    pub(super) fn begin(&mut self, id: &str, details: D) -> Option<usize> {
        self.begun = self.begun.saturating_add(1);
        if self.overrun().is_some() {
            return None;
        }
        let at = self.calls.len();
        self.by_id.insert(id.to_owned(), at);
        self.calls.push(LoggedCall::new(id, details));
        Some(at)
    }

    /// Sets a call's arguments, or drops them if there is no room for this many bytes.
    pub(super) fn set_input(&mut self, at: usize, input: Value, bytes: usize) {
        let call = &mut self.calls[at];
        if call.reported {
            return;
        }
        self.held = self.held.saturating_sub(call.bytes);
        let fits = self.held + bytes <= ARGUMENTS;
        (call.input, call.bytes) = if fits { (input, bytes) } else { (Value::Null, 0) };
        self.held += call.bytes;
    }

    /// Counts the result of a call that just ended.
    pub(super) fn count(&mut self, at: usize) {
        let call = &self.calls[at];
        let failed = match call.status {
            CallStatus::Completed => call.exit.is_some_and(|code| code != 0),
            CallStatus::Failed => true,
            CallStatus::Pending | CallStatus::Denied => return,
        };
        if failed {
            again(&mut self.failing, wanted(&call.input));
        } else {
            self.failing = None;
        }
    }

    /// Takes the calls that ended since the last time, with their indexes and arguments.
    pub(super) fn take_ended(&mut self) -> Vec<(usize, LoggedCall<D>)> {
        let mut ended = Vec::new();
        for (at, call) in self.calls.iter_mut().enumerate() {
            if call.status != CallStatus::Pending && !call.reported {
                call.reported = true;
                self.held = self.held.saturating_sub(call.bytes);
                let input = std::mem::take(&mut call.input);
                let output = call.output.take();
                ended.push((at, LoggedCall { input, output, ..call.clone() }));
            }
        }
        ended
    }

    #[cfg(test)]
    pub(super) fn held(&self) -> usize {
        self.held
    }
}
