//! Folds `session/update` notifications as they are read, so that a million of them need no
//! more memory than one.
//!
//! The reader calls [`Updates::take`] for every line and never waits for a permission, a disk
//! or a screen. Updates of unknown kinds count as signs of life, are logged once, and are
//! otherwise ignored.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use agent_client_protocol::v1::schema::{
    ContentBlock, ContentChunk, SessionNotification, SessionUpdate,
};
use serde::Deserialize;
use tokio::sync::Notify;

use super::convert;
use super::session_state::{CallUpdate, ObservedCall, SessionState};
use crate::model::ContextUse;

/// The state of every session.
#[derive(Default)]
pub(super) struct Updates {
    sessions: Mutex<HashMap<String, SessionState>>,
    changed: Notify,
    broken: Mutex<Option<String>>,
    stray: Mutex<Option<String>>,
}

/// The fields of an update that are read even if the rest is unknown.
#[derive(Deserialize)]
struct Outline {
    #[serde(rename = "sessionId")]
    session: String,
    update: Kind,
}

#[derive(Deserialize)]
struct Kind {
    #[serde(rename = "sessionUpdate", default)]
    name: Option<String>,
}

impl Updates {
    /// Resets the session's state before a prompt is sent.
    pub(super) fn begin(&self, session: &str) {
        self.sessions().insert(session.to_owned(), SessionState::new());
    }

    /// Drops the state of a closed session.
    pub(super) fn forget(&self, session: &str) {
        self.sessions().remove(session);
    }

    /// Gives access to a session's state.
    pub(super) fn with<T>(&self, session: &str, look: impl FnOnce(&mut SessionState) -> T) -> T {
        look(self.sessions().entry(session.to_owned()).or_insert_with(SessionState::new))
    }

    /// Resolves when a tool call has begun or ended, or something is wrong, since the last call.
    pub(super) async fn changed(&self) {
        self.changed.notified().await;
    }

    /// Takes the calls that ended since the last time, with their indexes.
    pub(super) fn take_ended(&self, session: &str) -> Vec<(usize, ObservedCall)> {
        self.with(session, |seen| seen.log.take_ended())
    }

    /// Notes our denial of a permission request: it cut the turn short unless more follows.
    pub(super) fn denied(&self, session: &str, reason: &str) {
        if let Some(seen) = self.sessions().get_mut(session) {
            seen.cut = Some(reason.to_owned());
        }
    }

    /// Notes that the connection is broken.
    pub(super) fn break_off(&self, why: String) {
        lock(&self.broken).get_or_insert(why);
    }

    /// Why the connection is broken, if it is.
    pub(super) fn broken(&self) -> Option<String> {
        lock(&self.broken).clone()
    }

    /// A tool call that came while no prompt was being answered.
    pub(super) fn stray(&self) -> Option<String> {
        lock(&self.stray).clone()
    }

    /// Applies the parameters of one `session/update`.
    pub(super) fn take(&self, params: &str) {
        match serde_json::from_str::<SessionNotification>(params) {
            Ok(update) => self.fold(update, params.len()),
            Err(_) => self.fold_unknown(params),
        }
    }

    fn fold(&self, notification: SessionNotification, bytes: usize) {
        let mut sessions = self.sessions();
        let session = notification.session_id.0.as_ref();
        let Some(seen) = sessions.get_mut(session) else {
            // Commands and modes may come before the first prompt; a tool call may not.
            if let SessionUpdate::ToolCall(call) = notification.update {
                let title: String = call.title.chars().take(200).collect();
                let stray = format!("a tool call outside a prompt: {title}");
                lock(&self.stray).get_or_insert(stray);
                self.changed.notify_one();
            }
            return;
        };
        seen.live();
        match notification.update {
            SessionUpdate::AgentMessageChunk(ContentChunk {
                content: ContentBlock::Text(text),
                ..
            }) => return seen.say(&text.text),
            SessionUpdate::AgentThoughtChunk(_) => {
                seen.cut = None;
                return;
            }
            SessionUpdate::ToolCall(call) => {
                let output = call.raw_output.as_ref();
                seen.call(CallUpdate {
                    id: call.tool_call_id.0.to_string(),
                    announced: true,
                    kind: Some(call.kind),
                    title: Some(call.title),
                    status: Some(convert::status(call.status, output)),
                    exit: output.and_then(convert::exit_code),
                    output: convert::output(call.raw_output.clone(), &call.content),
                    asker: call.meta.as_ref().and_then(convert::sub_agent),
                    input: call.raw_input,
                    bytes,
                });
            }
            SessionUpdate::ToolCallUpdate(update) => {
                let fields = update.fields;
                let output = fields.raw_output.as_ref();
                let ended = fields.status.is_some();
                seen.call(CallUpdate {
                    id: update.tool_call_id.0.to_string(),
                    announced: false,
                    kind: fields.kind,
                    title: fields.title,
                    status: fields.status.map(|status| convert::status(status, output)),
                    exit: output.and_then(convert::exit_code),
                    output: convert::output(
                        fields.raw_output.clone(),
                        fields.content.as_deref().unwrap_or_default(),
                    ),
                    asker: update.meta.as_ref().and_then(convert::sub_agent),
                    input: fields.raw_input,
                    bytes,
                });
                if !ended {
                    return;
                }
            }
            SessionUpdate::CurrentModeUpdate(mode) => {
                let mode = mode.current_mode_id.0.as_ref();
                if !convert::widens(mode) {
                    return;
                }
                seen.widened.get_or_insert(format!("mode `{mode}`"));
            }
            SessionUpdate::ConfigOptionUpdate(update) => {
                let Some(setting) = convert::widening_option(&update.config_options) else {
                    return;
                };
                seen.widened.get_or_insert(setting);
            }
            SessionUpdate::UsageUpdate(usage) => {
                seen.context = Some(ContextUse { used: usage.used, size: usage.size });
                return;
            }
            // Kinds without meaning for a turn, and those of later schema versions, are only
            // signs of life.
            _ => return,
        }
        drop(sessions);
        self.changed.notify_one();
    }

    fn fold_unknown(&self, params: &str) {
        let outline = serde_json::from_str::<Outline>(params).ok();
        let Some(Outline { session, update }) = outline else {
            return tracing::warn!("an update that names no session");
        };
        let mut sessions = self.sessions();
        let Some(seen) = sessions.get_mut(&session) else { return };
        seen.live();
        let kind = update.name.unwrap_or_else(|| "no kind".to_owned());
        if seen.unknown(&kind) {
            tracing::info!(kind, "an update of a kind that is not known");
        }
    }

    fn sessions(&self) -> MutexGuard<'_, HashMap<String, SessionState>> {
        lock(&self.sessions)
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
