//! The state of one session since its prompt, folded from its updates.
//!
//! Invariant: memory is bounded, here to the end of the text and in [`CallLog`] for calls.

use std::collections::BTreeSet;

use serde_json::Value;
use tokio::time::Instant;

use super::convert::{self, ArgumentSource, CallDetails, CallUpdate, ObservedCall};
use crate::agent::LastWords;
use crate::agent::call_log::{CallLog, LoggedCall};
use crate::model::{CallStatus, ContextFill, Fault};

/// Bytes kept from the end of the agent's text.
const SAID: usize = 16 << 10;
/// Longest update whose output is kept until it is taken, in bytes.
const OUTPUT: usize = 1 << 20;
/// Kinds of unknown updates that are reported by name.
const UNKNOWN: usize = 16;

/// Everything that one session has sent since its prompt.
#[derive(Debug)]
pub(super) struct SessionState {
    pub(super) started: Instant,
    pub(super) last: Instant,
    pub(super) updates: u64,
    /// How full the model's context is.
    pub(super) context: Option<ContextFill>,
    /// Something came that the agent sends only once it works on the prompt.
    pub(super) answers: bool,
    pub(super) unknown: BTreeSet<String>,
    pub(super) said: String,
    /// The text after the last call.
    pub(super) words: LastWords,
    pub(super) log: CallLog<CallDetails>,
    /// The reason of a denial, if the agent did nothing more after it.
    pub(super) cut: Option<String>,
    /// The failed request that it told of, if it did nothing more after that.
    pub(super) told: Option<Fault>,
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
            answers: false,
            unknown: BTreeSet::new(),
            said: String::new(),
            words: LastWords::default(),
            log: CallLog::default(),
            cut: None,
            told: None,
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
            self.goes_on();
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
        let found = self.log.find(&change.id);
        if found.is_none() && !change.announced && change.is_bare() {
            // Nothing says that anything ran.
            self.unknown("tool_call_update of an unknown call");
            return;
        }
        let known = found.filter(|at| {
            let ended = self.log.calls[*at].status != CallStatus::Pending;
            let begins = change.announced || change.status == Some(CallStatus::Pending);
            // A call that ended and begins again is a new call: some agents reuse call ids.
            !(ended && begins)
        });
        if let Some(at) = known.or_else(|| self.begin(&change.id)) {
            self.refine(at, change);
        }
    }

    /// The call that a permission request is about: what was announced under its id and has not
    /// ended, with what the request says.
    pub(super) fn asked(&mut self, change: &CallUpdate) -> ObservedCall {
        let pending = |at: &usize| self.log.calls[*at].status == CallStatus::Pending;
        let at = self.log.find(&change.id).filter(pending);
        let mut call = match at {
            Some(at) => self.log.calls[at].clone(),
            None => LoggedCall::new(&change.id, CallDetails::default()),
        };
        if let Some(input) = describe(&mut call, change) {
            call.input = input;
        }
        if let Some(at) = at.filter(|at| self.log.calls[*at].input.is_null()) {
            self.log.calls[at].details = call.details.clone();
            self.log.set_input(at, call.input.clone(), change.bytes);
        }
        call
    }

    /// Notes that the model does something more.
    pub(super) fn goes_on(&mut self) {
        (self.cut, self.told) = (None, None);
    }

    fn begin(&mut self, id: &str) -> Option<usize> {
        self.goes_on();
        self.words.clear();
        self.log.begin(id, CallDetails::default())
    }

    fn refine(&mut self, at: usize, change: CallUpdate) {
        if let Some(input) = describe(&mut self.log.calls[at], &change) {
            self.log.set_input(at, input, change.bytes);
        }
        let call = &mut self.log.calls[at];
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

/// Applies the descriptive fields of an update, and returns the arguments if it changes them.
fn describe(call: &mut ObservedCall, change: &CallUpdate) -> Option<Value> {
    let details = &mut call.details;
    details.kind = change.kind.unwrap_or(details.kind);
    if change.name.is_some() {
        details.name.clone_from(&change.name);
    }
    let before = details.source;
    let results = change.status.is_some_and(|status| status != CallStatus::Pending);
    let told = convert::arguments(change, details.kind).filter(|(source, _)| match source {
        ArgumentSource::Raw => true,
        // An ended call shows its results.
        _ if results => call.input.is_null(),
        _ => *source >= before,
    });
    if let Some(title) = &change.title {
        call.set_title(title);
    }
    let (source, input) = told?;
    call.details.source = source;
    Some(match (&call.input, input) {
        (Value::Object(known), Value::Object(shown))
            if before == ArgumentSource::None && source != ArgumentSource::Raw =>
        {
            known.clone().into_iter().chain(shown).collect()
        }
        (_, input) => input,
    })
}
