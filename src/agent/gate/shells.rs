//! Shell calls that run in the session's sandbox instead of the agent's own process.
//!
//! Invariant: once a gate has shells, a shell command that is not one of theirs never runs with
//! its permission, and one that ran all the same ends the run.

use std::borrow::Cow;

use serde_json::Value;

use super::shell_room::{COMMAND, Shells};
use super::{Gate, State};
use crate::hooks::HookResult;
use crate::model::{Decision, ToolRequest};
use crate::sandbox::SandboxError;

/// The tool that starts a shell; those that read or stop one start none.
const SHELL: &str = "bash";
impl Gate {
    /// The same gate, whose shell calls run in sandboxes.
    #[must_use]
    pub fn with_shells(self, shells: Option<Shells>) -> Self {
        Self { shells, ..self }
    }

    /// Ends the sandbox of the turn, with everything that runs in it.
    ///
    /// # Errors
    /// If something in it did not end.
    pub fn end_shells(&self) -> Result<(), SandboxError> {
        self.shells.as_ref().map_or(Ok(()), |shells| shells.calls.end())
    }

    /// The arguments that replace those of an allowed call, if it is a shell's.
    pub fn replacement(&self, request: &ToolRequest) -> Option<Value> {
        let shells = self.shells.as_ref().filter(|_| request.tool == SHELL)?;
        let command = request.input.get(COMMAND)?.as_str()?;
        let mut input = request.input.clone();
        input[COMMAND] = Value::String(shells.calls.replace(command));
        Some(input)
    }

    /// A permission request with the command that was decided in the place of ours, or the denial
    /// of a shell command that somebody put in its place.
    pub(super) fn as_decided<'r>(
        &self,
        request: &'r ToolRequest,
    ) -> Result<Cow<'r, ToolRequest>, Decision> {
        let Some(shells) = &self.shells else { return Ok(Cow::Borrowed(request)) };
        shells.original(request).ok_or_else(|| {
            self.foreign(&request.input);
            let reason = "Nothing ran: this is not the command that was decided.";
            Decision::deny("guard.replaced", reason)
        })
    }

    /// The result of a shell call, under the command that was decided.
    pub(super) fn result_as_decided(&self, result: &HookResult) -> Value {
        let input = &result.call.input;
        let Some(shells) = self.shells.as_ref().filter(|_| result.call.tool == SHELL) else {
            return input.clone();
        };
        let line = input.get(COMMAND).and_then(Value::as_str).unwrap_or_default();
        match shells.calls.replaced(line) {
            Some(command) => {
                let mut original = input.clone();
                original[COMMAND] = Value::String(command);
                original
            }
            None => {
                self.foreign(input);
                input.clone()
            }
        }
    }

    /// Whatever makes going on unsafe.
    pub fn alarm(&self) -> Option<String> {
        self.state().foreign.clone()
    }

    fn foreign(&self, input: &Value) {
        let command = input.get(COMMAND).and_then(Value::as_str).unwrap_or_default();
        let what = format!("another hook replaced a command by `{command}`");
        let mut state: std::sync::MutexGuard<'_, State> = self.state();
        state.resting = true;
        state.foreign.get_or_insert(what);
    }
}
