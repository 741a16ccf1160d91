//! Folds `session/update` notifications as they are read, so that a million of
//! them need no more memory than one.
//!
//! The reader calls [`Updates::take`] for every line and never waits: not for a
//! permission, a disk or a screen. Kinds of updates that this version does not
//! know count as life, are named once, and are otherwise left alone.

use std::collections::{BTreeSet, HashMap};
use std::sync::{Mutex, MutexGuard, PoisonError};

use agent_client_protocol::v1::schema::{
    ContentBlock, ContentChunk, SessionNotification, SessionUpdate, ToolKind,
};
use serde_json::Value;
use tokio::sync::Notify;
use tokio::time::Instant;

use super::convert;
use crate::model::CallStatus;

/// Bytes of the agent's text that are kept: its end.
const SAID: usize = 16 << 10;
/// Tool calls that are followed one by one; the limit of a turn is below this.
const FOLLOWED: usize = 5000;
/// `Error: ` lines of the CLI that are kept.
const ERRORS: usize = 20;
/// Kinds of unknown updates that are named.
const UNKNOWN: usize = 16;

/// A tool call as the agent reports it.
#[derive(Clone, Debug)]
pub(super) struct Call {
    pub(super) id: String,
    pub(super) kind: ToolKind,
    pub(super) title: String,
    pub(super) input: Value,
    pub(super) status: CallStatus,
    pub(super) exit: Option<i64>,
    /// The sub-agent that made it; its hooks carry this name for the session's.
    pub(super) asker: Option<String>,
    /// Its end has been handed out.
    reported: bool,
}

/// What one session has sent since its prompt.
#[derive(Debug)]
pub(super) struct Seen {
    pub(super) started: Instant,
    pub(super) last: Instant,
    pub(super) updates: u64,
    pub(super) unknown: BTreeSet<String>,
    pub(super) said: String,
    /// The CLI's own error lines with nothing said after them.
    pub(super) errors: Vec<String>,
    pub(super) calls: Vec<Call>,
    pub(super) begun: u32,
    by_id: HashMap<String, usize>,
    /// The reason of a denial after which the agent did nothing more.
    pub(super) cut: Option<String>,
    pub(super) failing: Option<(String, u32)>,
    /// The mode it changed to, if that is one in which it does not ask.
    pub(super) widened: Option<String>,
}

impl Seen {
    fn new() -> Self {
        let now = Instant::now();
        Self {
            started: now,
            last: now,
            updates: 0,
            unknown: BTreeSet::new(),
            said: String::new(),
            errors: Vec::new(),
            calls: Vec::new(),
            begun: 0,
            by_id: HashMap::new(),
            cut: None,
            failing: None,
            widened: None,
        }
    }

    /// Whether a call is announced and not finished.
    pub(super) fn pending(&self) -> bool {
        self.calls.iter().any(|call| call.status == CallStatus::Pending)
    }

    fn say(&mut self, text: &str) {
        if let Some(error) = text.strip_prefix("Error: ") {
            if self.errors.len() < ERRORS {
                self.errors.push(error.chars().take(2000).collect());
            }
        } else if !text.starts_with("Info: ") && !text.trim().is_empty() {
            self.errors.clear();
            self.cut = None;
        }
        self.said.push_str(text);
        if self.said.len() > 2 * SAID {
            let keep = self.said.ceil_char_boundary(self.said.len() - SAID);
            self.said.drain(..keep);
        }
    }

    fn begin(&mut self, call: Call) {
        self.cut = None;
        self.errors.clear();
        self.begun = self.begun.saturating_add(1);
        if self.calls.len() < FOLLOWED {
            self.by_id.insert(call.id.clone(), self.calls.len());
            self.calls.push(call);
        }
    }

    fn finish(&mut self, at: usize) {
        let call = &self.calls[at];
        let failed = match call.status {
            CallStatus::Completed => call.exit.is_some_and(|code| code != 0),
            CallStatus::Failed => true,
            CallStatus::Pending | CallStatus::Denied => return,
        };
        if !failed {
            self.failing = None;
            return;
        }
        let what = call.input.get("command").map_or_else(|| call.input.to_string(), text_of);
        self.failing = Some(match self.failing.take() {
            Some((before, times)) if before == what => (what, times + 1),
            Some(_) | None => (what, 1),
        });
    }
}

fn text_of(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// Everything received, by session.
#[derive(Default)]
pub(super) struct Updates {
    sessions: Mutex<HashMap<String, Seen>>,
    changed: Notify,
    broken: Mutex<Option<String>>,
}

impl Updates {
    /// A prompt is about to be sent: what came before it is forgotten.
    pub(super) fn begin(&self, session: &str) {
        self.sessions().insert(session.to_owned(), Seen::new());
    }

    /// The session is closed.
    pub(super) fn forget(&self, session: &str) {
        self.sessions().remove(session);
    }

    /// Looks at, or takes from, what a session has sent.
    pub(super) fn with<T>(&self, session: &str, look: impl FnOnce(&mut Seen) -> T) -> T {
        look(self.sessions().entry(session.to_owned()).or_insert_with(Seen::new))
    }

    /// Resolves when a tool call began or ended since the last time.
    pub(super) async fn changed(&self) {
        self.changed.notified().await;
    }

    /// The calls that ended and were not handed out yet.
    pub(super) fn take_finished(&self, session: &str) -> Vec<Call> {
        self.with(session, |seen| {
            let ended = seen
                .calls
                .iter_mut()
                .filter(|call| call.status != CallStatus::Pending && !call.reported);
            ended
                .map(|call| {
                    call.reported = true;
                    call.clone()
                })
                .collect()
        })
    }

    /// A denial of ours was answered to ACP: unless more follows, it cut the turn.
    pub(super) fn denied(&self, session: &str, reason: &str) {
        self.with(session, |seen| seen.cut = Some(reason.to_owned()));
    }

    /// The connection cannot be used any more.
    pub(super) fn break_off(&self, why: String) {
        self.broken.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(why);
    }

    /// Why the connection cannot be used any more.
    pub(super) fn broken(&self) -> Option<String> {
        self.broken.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Takes the parameters of one `session/update`.
    pub(super) fn take(&self, params: &str) {
        match serde_json::from_str::<SessionNotification>(params) {
            Ok(update) => self.fold(update),
            Err(_) => self.fold_unknown(params),
        }
    }

    fn fold(&self, notification: SessionNotification) {
        let mut sessions = self.sessions();
        // Updates that come before the first prompt (commands, modes) open no turn.
        let Some(seen) = sessions.get_mut(notification.session_id.0.as_ref()) else { return };
        seen.last = Instant::now();
        seen.updates += 1;
        let mut notify = false;
        match notification.update {
            SessionUpdate::AgentMessageChunk(ContentChunk {
                content: ContentBlock::Text(text),
                ..
            }) => seen.say(&text.text),
            SessionUpdate::AgentThoughtChunk(_) => seen.cut = None,
            SessionUpdate::ToolCall(call) => {
                notify = true;
                let status = convert::status(call.status, call.raw_output.as_ref());
                let exit = call.raw_output.as_ref().and_then(convert::exit_code);
                let ended = status != CallStatus::Pending;
                seen.begin(Call {
                    asker: call.meta.as_ref().and_then(convert::sub_agent),
                    id: call.tool_call_id.0.to_string(),
                    kind: call.kind,
                    title: call.title,
                    input: call.raw_input.unwrap_or_default(),
                    status,
                    exit,
                    reported: false,
                });
                if ended {
                    seen.finish(seen.calls.len() - 1);
                }
            }
            SessionUpdate::ToolCallUpdate(update) => {
                let Some(at) = seen.by_id.get(update.tool_call_id.0.as_ref()).copied() else {
                    // An update of a call that was never announced: announce it now.
                    let status = update.fields.status.unwrap_or_default();
                    seen.begin(Call {
                        asker: update.meta.as_ref().and_then(convert::sub_agent),
                        id: update.tool_call_id.0.to_string(),
                        kind: update.fields.kind.unwrap_or(ToolKind::Other),
                        title: update.fields.title.unwrap_or_default(),
                        input: update.fields.raw_input.unwrap_or_default(),
                        status: convert::status(status, update.fields.raw_output.as_ref()),
                        exit: update.fields.raw_output.as_ref().and_then(convert::exit_code),
                        reported: false,
                    });
                    drop(sessions);
                    return self.changed.notify_one();
                };
                let call = &mut seen.calls[at];
                if let Some(input) = update.fields.raw_input {
                    call.input = input;
                }
                if let Some(kind) = update.fields.kind {
                    call.kind = kind;
                }
                if let Some(title) = update.fields.title {
                    call.title = title;
                }
                if let Some(status) = update.fields.status {
                    notify = true;
                    call.status = convert::status(status, update.fields.raw_output.as_ref());
                    call.exit = update.fields.raw_output.as_ref().and_then(convert::exit_code);
                    seen.finish(at);
                }
            }
            SessionUpdate::CurrentModeUpdate(mode) => {
                let mode = mode.current_mode_id.0.to_string();
                if convert::widens(&mode) {
                    seen.widened.get_or_insert(mode);
                    notify = true;
                }
            }
            // Kinds without meaning for a turn, and those of later versions of the
            // schema: they count as life.
            _ => {}
        }
        drop(sessions);
        if notify {
            self.changed.notify_one();
        }
    }

    fn fold_unknown(&self, params: &str) {
        let value: Value = serde_json::from_str(params).unwrap_or_default();
        let session = value.get("sessionId").and_then(Value::as_str).unwrap_or_default();
        let kind = value
            .pointer("/update/sessionUpdate")
            .and_then(Value::as_str)
            .unwrap_or("no kind")
            .chars()
            .take(64)
            .collect::<String>();
        let mut sessions = self.sessions();
        let Some(seen) = sessions.get_mut(session) else { return };
        seen.last = Instant::now();
        seen.updates += 1;
        if seen.unknown.len() < UNKNOWN && seen.unknown.insert(kind.clone()) {
            tracing::info!(kind, "an update of a kind that is not known");
        }
    }

    fn sessions(&self) -> MutexGuard<'_, HashMap<String, Seen>> {
        self.sessions.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
