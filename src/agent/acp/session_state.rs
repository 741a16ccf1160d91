//! The state of one session since its prompt, folded from its updates.
//!
//! Invariant: memory is bounded, here to the end of the text and in [`CallLog`] for calls.

use std::collections::BTreeSet;

use agent_client_protocol::v1::schema::ToolKind;
use serde_json::Value;
use tokio::time::Instant;

use crate::agent::LastWords;
use crate::agent::call_log::{CallLog, LoggedCall};
use crate::model::{CallStatus, ContextUse};

/// Bytes kept from the end of the agent's text.
const SAID: usize = 16 << 10;
/// Longest update whose output is kept until it is taken, in bytes.
const OUTPUT: usize = 1 << 20;
/// Kinds of unknown updates that are reported by name.
const UNKNOWN: usize = 16;

/// A tool call as the agent reports it, with its kind.
pub(super) type ObservedCall = LoggedCall<ToolKind>;

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
    /// How full the context is, if the agent reports it.
    pub(super) context: Option<ContextUse>,
    pub(super) unknown: BTreeSet<String>,
    pub(super) said: String,
    /// The text after the last call.
    pub(super) words: LastWords,
    pub(super) log: CallLog<ToolKind>,
    /// The reason of a denial, if the agent did nothing more after it.
    pub(super) cut: Option<String>,
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
            context: None,
            unknown: BTreeSet::new(),
            said: String::new(),
            words: LastWords::default(),
            log: CallLog::default(),
            cut: None,
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
        let known = self.log.find(&change.id).filter(|at| {
            let ended = self.log.calls[*at].status != CallStatus::Pending;
            let begins = change.announced || change.status == Some(CallStatus::Pending);
            // A call that ended and begins again is a new call: some agents reuse call ids.
            !(ended && begins)
        });
        if let Some(at) = known.or_else(|| self.begin(&change.id)) {
            self.refine(at, change);
        }
    }

    fn begin(&mut self, id: &str) -> Option<usize> {
        self.cut = None;
        self.words.clear();
        self.log.begin(id, ToolKind::Other)
    }

    fn refine(&mut self, at: usize, change: CallUpdate) {
        if let Some(input) = change.input {
            self.log.set_input(at, input, change.bytes);
        }
        let call = &mut self.log.calls[at];
        if let Some(kind) = change.kind {
            call.details = kind;
        }
        if let Some(title) = &change.title {
            call.set_title(title);
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
                self.log.count(at);
            }
        }
    }
}
