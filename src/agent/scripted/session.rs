//! The agent's state of one session.

use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio_util::sync::CancellationToken;

use super::script::Tokens;
use crate::agent::acp::serve::Pending;

/// A session.
pub(super) struct ScriptedSession {
    /// The session's id.
    pub(super) id: String,
    /// The working folder.
    pub(super) cwd: PathBuf,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    focus: Option<String>,
    used: Option<Tokens>,
    calls: u32,
    turn: CancellationToken,
    pending: Vec<Pending>,
}

impl ScriptedSession {
    /// Creates a session.
    pub(super) fn new(id: String, cwd: PathBuf) -> Self {
        Self { id, cwd, state: Mutex::default() }
    }

    /// Begins a turn; a running one is cancelled, as Copilot does.
    pub(super) fn begin_turn(&self) -> CancellationToken {
        let mut state = self.state();
        state.turn.cancel();
        state.turn = CancellationToken::new();
        state.turn.clone()
    }

    /// Cancels the running turn, if there is one.
    pub(super) fn cancel(&self) {
        self.state().turn.cancel();
    }

    /// The criterion in focus: the prompt's, else that of the prompt before it.
    pub(super) fn focus(&self, named: Option<&str>) -> String {
        let mut state = self.state();
        if let Some(named) = named {
            state.focus = Some(named.to_owned());
        }
        state.focus.clone().unwrap_or_default()
    }

    /// An id for the next tool call.
    pub(super) fn next_call(&self) -> String {
        let mut state = self.state();
        state.calls += 1;
        format!("call_{}", state.calls)
    }

    /// Adds tokens; returns the session's total.
    pub(super) fn use_tokens(&self, tokens: Tokens) -> Tokens {
        let mut state = self.state();
        let before = state.used.unwrap_or_default();
        let used =
            Tokens { input: before.input + tokens.input, output: before.output + tokens.output };
        state.used = Some(used);
        used
    }

    /// The session's total tokens; `None` before the first use.
    pub(super) fn used(&self) -> Option<Tokens> {
        self.state().used
    }

    /// Keeps a request pending; dropping it would withdraw it.
    pub(super) fn keep(&self, pending: Pending) {
        self.state().pending.push(pending);
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // Each change is one assignment, so a panic leaves no partial state.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
