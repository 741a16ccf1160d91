//! Folds `session/update` notifications as they are read, so that a million of them need no
//! more memory than one.
//!
//! The reader calls [`Updates::take`] for every line and never waits for a permission, a disk
//! or a screen. Updates of unknown kinds count as signs of life, are logged once, and are
//! otherwise ignored.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use agent_client_protocol::v1::schema::{
    ContentBlock, ContentChunk, SessionNotification, SessionUpdate, ToolCallUpdate,
};
use serde::Deserialize;
use tokio::sync::Notify;
use tokio::time::sleep;

use super::convert::{CallUpdate, ObservedCall};
use super::modes::ModePromise;
use super::session_state::SessionState;
use super::{convert, modes};
use crate::agent::{AgentKind, classify_json};
use crate::model::ContextFill;

/// How often, and how many times, to look for the announcement of a call that is asked for.
const LOOK: Duration = Duration::from_millis(50);
const LOOKS: u32 = 20;

/// The state of every session.
#[derive(Default)]
pub(super) struct Updates {
    kind: AgentKind,
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
    /// No updates of this kind of agent yet.
    pub(super) fn of(kind: AgentKind) -> Self {
        Self { kind, ..Self::default() }
    }

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

    /// The fields of an update. The Copilot CLI always sends `rawInput`, which its hook knows.
    fn update(&self, call: ToolCallUpdate, bytes: usize) -> CallUpdate {
        CallUpdate { only_raw: self.kind == AgentKind::Copilot, ..convert::update(call, bytes) }
    }

    /// The call that a permission request is about. A request that says nothing of it waits a
    /// moment for what is announced.
    pub(super) async fn asked(&self, session: &str, call: ToolCallUpdate) -> ObservedCall {
        let change = self.update(call, 0);
        let asked = || match self.sessions().get_mut(session) {
            Some(seen) if self.kind == AgentKind::Other => seen.asked(&change),
            Some(_) | None => SessionState::new().asked(&change),
        };
        let mut call = asked();
        for _ in 0..LOOKS {
            if !call.input.is_null() || self.kind == AgentKind::Copilot {
                break;
            }
            sleep(LOOK).await;
            call = asked();
        }
        call
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
        seen.answers |= !matches!(
            notification.update,
            SessionUpdate::UserMessageChunk(_)
                | SessionUpdate::AvailableCommandsUpdate(_)
                | SessionUpdate::CurrentModeUpdate(_)
                | SessionUpdate::ConfigOptionUpdate(_)
                | SessionUpdate::SessionInfoUpdate(_)
                | SessionUpdate::UsageUpdate(_)
        );
        match notification.update {
            SessionUpdate::AgentMessageChunk(ContentChunk {
                content: ContentBlock::Text(text),
                ..
            }) => return seen.say(&text.text),
            SessionUpdate::AgentThoughtChunk(_) => return seen.goes_on(),
            // Codex tells there of a request to its model that it will send again.
            SessionUpdate::SessionInfoUpdate(info) => {
                let told = info.meta.iter().flat_map(|meta| meta.values()).find_map(classify_json);
                seen.told = told.or(seen.told.take());
                return;
            }
            SessionUpdate::ToolCall(call) => {
                let change = self.update(call.into(), bytes);
                seen.call(CallUpdate { announced: true, ..change });
            }
            SessionUpdate::ToolCallUpdate(update) => {
                let change = self.update(update, bytes);
                let ended = change.status.is_some();
                seen.call(change);
                if !ended {
                    return;
                }
            }
            SessionUpdate::CurrentModeUpdate(mode) => {
                let mode = mode.current_mode_id.0.as_ref();
                if modes::promise(mode) != ModePromise::Acts {
                    return;
                }
                seen.widened.get_or_insert(format!("mode `{mode}`"));
            }
            SessionUpdate::ConfigOptionUpdate(update) => {
                let Some(setting) = modes::widening_option(&update.config_options) else {
                    return;
                };
                seen.widened.get_or_insert(setting);
            }
            SessionUpdate::UsageUpdate(usage) => {
                seen.context = Some(ContextFill { used: usage.used, size: usage.size });
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
        seen.answers = true;
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
