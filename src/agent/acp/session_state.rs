//! The state of one session since its prompt, folded from its updates.
//!
//! Invariant: memory is bounded: the end of the text, a number of calls, a number of argument
//! bytes. Anything beyond that fails closed: a call whose arguments were dropped cannot be
//! matched with its decision, and too many calls stop the turn.

use std::collections::{BTreeSet, HashMap};

use agent_client_protocol::v1::schema::ToolKind;
use serde_json::Value;
use tokio::time::Instant;

use crate::agent::LastWords;
use crate::agent::arguments::wanted;
use crate::agent::stuck::again;
use crate::model::CallStatus;

/// Bytes kept from the end of the agent's text.
const SAID: usize = 16 << 10;
/// Tool calls that are tracked; a turn's limit is lower.
const FOLLOWED: usize = 5000;
/// Bytes of arguments kept for calls that have not ended.
const ARGUMENTS: usize = 64 << 20;
/// Longest update whose output is kept until it is taken, in bytes.
const OUTPUT: usize = 1 << 20;
/// Kinds of unknown updates that are reported by name.
const UNKNOWN: usize = 16;
/// Characters kept of a title.
const TITLE: usize = 200;

/// A tool call as the agent reports it.
#[derive(Clone, Debug)]
pub(super) struct ObservedCall {
    pub(super) id: String,
    pub(super) kind: ToolKind,
    pub(super) title: String,
    pub(super) input: Value,
    pub(super) status: CallStatus,
    pub(super) exit: Option<i64>,
    /// The call's result, until it is taken.
    pub(super) output: Option<Value>,
    /// The sub-agent that made the call; its hooks report this name as their session.
    pub(super) asker: Option<String>,
    /// Bytes that the arguments took on the wire.
    bytes: usize,
    /// The ended call has been taken.
    reported: bool,
}

/// One update's fields of a call.
#[derive(Debug, Default)]
pub(super) struct CallUpdate {
    pub(super) id: String,
    /// The update announces the call, as opposed to changing it.
    pub(super) announced: bool,
    pub(super) kind: Option<ToolKind>,
    pub(super) title: Option<String>,
    pub(super) input: Option<Value>,
    pub(super) status: Option<CallStatus>,
    pub(super) exit: Option<i64>,
    pub(super) output: Option<Value>,
    pub(super) asker: Option<String>,
    /// Length of the update, in bytes.
    pub(super) bytes: usize,
}

/// Everything that one session has sent since its prompt.
#[derive(Debug)]
pub(super) struct SessionState {
    pub(super) started: Instant,
    pub(super) last: Instant,
    pub(super) updates: u64,
    pub(super) unknown: BTreeSet<String>,
    pub(super) said: String,
    /// The text after the last call.
    pub(super) words: LastWords,
    pub(super) calls: Vec<ObservedCall>,
    pub(super) begun: u32,
    by_id: HashMap<String, usize>,
    /// Bytes of arguments held in memory.
    held: usize,
    /// The reason of a denial, if the agent did nothing more after it.
    pub(super) cut: Option<String>,
    pub(super) failing: Option<(String, u32)>,
    /// The mode or setting that it changed to, if the agent does not ask there.
    pub(super) widened: Option<String>,
}

impl SessionState {
    pub(super) fn new() -> Self {
        let now = Instant::now();
        Self {
            started: now,
            last: now,
            updates: 0,
            unknown: BTreeSet::new(),
            said: String::new(),
            words: LastWords::default(),
            calls: Vec::new(),
            begun: 0,
            by_id: HashMap::new(),
            held: 0,
            cut: None,
            failing: None,
            widened: None,
        }
    }

    /// Counts an update; each is a sign of life.
    pub(super) fn live(&mut self) {
        self.last = Instant::now();
        self.updates += 1;
    }

    /// Notes an unknown kind; returns true if it is new.
    pub(super) fn unknown(&mut self, kind: &str) -> bool {
        self.unknown.len() < UNKNOWN && self.unknown.insert(kind.chars().take(64).collect())
    }

    /// Is an announced call not finished yet?
    pub(super) fn pending(&self) -> bool {
        self.calls.iter().any(|call| call.status == CallStatus::Pending)
    }

    /// Were there more calls than can be tracked?
    pub(super) fn overrun(&self) -> bool {
        self.calls.len() >= FOLLOWED
    }

    pub(super) fn say(&mut self, text: &str) {
        self.words.say(text);
        let of_the_cli = text.starts_with("Error: ") || text.starts_with("Info: ");
        if !of_the_cli && !text.trim().is_empty() {
            self.cut = None;
        }
        if text.len() > SAID {
            self.said.clear();
            self.said.push_str(&text[text.ceil_char_boundary(text.len() - SAID)..]);
        } else {
            self.said.push_str(text);
        }
        if self.said.len() > 2 * SAID {
            let keep = self.said.ceil_char_boundary(self.said.len() - SAID);
            self.said.drain(..keep);
        }
    }

    /// Applies an update to its call.
    pub(super) fn call(&mut self, change: CallUpdate) {
        let known = self.by_id.get(&change.id).copied().filter(|at| {
            let ended = self.calls[*at].status != CallStatus::Pending;
            let begins = change.announced || change.status == Some(CallStatus::Pending);
            // A call that ended and begins again is a new call: some agents reuse call ids.
            !(ended && begins)
        });
        match known {
            Some(at) => self.refine(at, change),
            None => self.begin(change),
        }
    }

    fn begin(&mut self, change: CallUpdate) {
        self.cut = None;
        self.words.clear();
        self.begun = self.begun.saturating_add(1);
        if self.overrun() {
            return;
        }
        let at = self.calls.len();
        self.by_id.insert(change.id.clone(), at);
        self.calls.push(ObservedCall {
            id: change.id.clone(),
            kind: change.kind.unwrap_or(ToolKind::Other),
            title: String::new(),
            input: Value::Null,
            status: CallStatus::Pending,
            exit: None,
            output: None,
            asker: None,
            bytes: 0,
            reported: false,
        });
        self.refine(at, change);
    }

    fn refine(&mut self, at: usize, change: CallUpdate) {
        let call = &mut self.calls[at];
        if let Some(input) = change.input
            && !call.reported
        {
            self.held = self.held.saturating_sub(call.bytes);
            let fits = self.held + change.bytes <= ARGUMENTS;
            (call.input, call.bytes) = if fits { (input, change.bytes) } else { (Value::Null, 0) };
            self.held += call.bytes;
        }
        if let Some(kind) = change.kind {
            call.kind = kind;
        }
        if let Some(title) = change.title {
            call.title = title.chars().take(TITLE).collect();
        }
        if change.asker.is_some() {
            call.asker = change.asker;
        }
        if let Some(status) = change.status {
            let was = call.status;
            call.status = status;
            call.exit = change.exit.or(call.exit);
            if was == CallStatus::Pending {
                call.output = change.output.filter(|_| change.bytes <= OUTPUT);
                self.finish(at);
            }
        }
    }

    fn finish(&mut self, at: usize) {
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
    pub(super) fn take_ended(&mut self) -> Vec<(usize, ObservedCall)> {
        let mut ended = Vec::new();
        for (at, call) in self.calls.iter_mut().enumerate() {
            if call.status != CallStatus::Pending && !call.reported {
                call.reported = true;
                self.held = self.held.saturating_sub(call.bytes);
                let input = std::mem::take(&mut call.input);
                let output = call.output.take();
                ended.push((at, ObservedCall { input, output, ..call.clone() }));
            }
        }
        ended
    }

    #[cfg(test)]
    pub(super) fn held(&self) -> usize {
        self.held
    }
}
