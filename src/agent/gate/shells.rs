//! Shell calls that run in the session's sandbox instead of the agent's own process.
//!
//! Invariant: once a gate has shells, a shell command that is not one of theirs never runs with its
//! permission; if one runs anyway, the run ends.

use std::borrow::Cow;
use std::path::PathBuf;

use serde_json::Value;

use super::shell_room::{COMMAND, Shells, is_shell};
use super::wall::explain;
use super::{Focus, Gate, State};
use crate::hooks::HookResult;
use crate::model::{Asked, Decision, ToolRequest};
use crate::sandbox::{Network, SandboxError};

/// The tool that starts a shell; those that read or stop one start none.
const SHELL: &str = "bash";

impl Gate {
    /// The same gate, whose shell calls run in sandboxes.
    #[must_use]
    pub fn with_shells(self, shells: Option<Shells>) -> Self {
        Self { shells, ..self }
    }

    /// Ends the sandbox of the turn, with everything that runs in it. Returns whether no command in
    /// it can have changed git's settings: all changes of them were made outside.
    ///
    /// # Errors
    /// If something in it did not end.
    pub fn end_shells(&self) -> Result<bool, SandboxError> {
        self.shells.as_ref().map_or(Ok(false), |shells| shells.calls.end())
    }

    /// Whether no command so far can have changed git's settings.
    pub fn spared_git(&self) -> bool {
        self.shells.as_ref().is_some_and(|shells| shells.calls.spared_git())
    }

    /// The arguments that replace those of an allowed call, if it is a shell's. `asked` is the call
    /// as the hook was asked, whose command another hook of ours may have replaced already.
    pub fn replacement(&self, asked: &ToolRequest) -> Option<Value> {
        let shells = self.shells.as_ref().filter(|_| asked.tool == SHELL)?;
        if shells.original(&asked.input).is_some() {
            return None;
        }
        let command = asked.input.get(COMMAND)?.as_str()?;
        let mut input = asked.input.clone();
        let online = |focus: &Focus| focus.policy.has_network(command);
        let network = match self.state().focus.as_ref().is_some_and(online) {
            true => Network::Host,
            false => Network::Own,
        };
        input[COMMAND] = Value::String(shells.calls.replace(command, network));
        Some(input)
    }

    /// A request with the decided command in the place of ours, or the denial of a shell command
    /// that another program put in its place. A hook may be asked before anything is replaced.
    pub(super) fn as_decided<'r>(
        &self,
        request: &'r ToolRequest,
    ) -> Result<Cow<'r, ToolRequest>, Decision> {
        let Some(shells) = self.shells.as_ref().filter(|_| is_shell(request)) else {
            return Ok(Cow::Borrowed(request));
        };
        match (shells.original(&request.input), request.asked) {
            (Some(input), _) => Ok(Cow::Owned(ToolRequest { input, ..request.clone() })),
            (None, Asked::Hook) => Ok(Cow::Borrowed(request)),
            (None, Asked::Permission | Asked::Server) => {
                self.foreign(&request.input);
                let reason = "Nothing ran: this is not the command that was allowed.";
                Err(Decision::deny("guard.replaced", reason))
            }
        }
    }

    /// The result of a shell call, under the command that was decided.
    pub(super) fn result_as_decided(&self, result: &HookResult) -> Value {
        let input = &result.call.input;
        let Some(shells) = self.shells.as_ref().filter(|_| result.call.tool == SHELL) else {
            return input.clone();
        };
        // A command has ended: later changes of git's settings may be somebody else's.
        shells.calls.spared_git();
        shells.original(input).unwrap_or_else(|| {
            self.foreign(input);
            input.clone()
        })
    }

    /// The line that names the wall of the sandbox which a shell call met.
    pub(super) fn wall(&self, tool: &str, result: &str) -> Option<&'static str> {
        let shells = self.shells.as_ref().filter(|_| tool == SHELL)?;
        explain(result, shells.tier)
    }

    /// A problem that makes it unsafe to continue.
    pub fn alarm(&self) -> Option<String> {
        let planted = || self.shells.as_ref().and_then(|shells| shells.calls.planted());
        let made = |path: PathBuf| format!("{} appeared, which configures git", path.display());
        self.state().foreign.clone().or_else(|| planted().map(made))
    }

    fn foreign(&self, input: &Value) {
        let command = input.get(COMMAND).and_then(Value::as_str).unwrap_or_default();
        let what = format!("another hook replaced a command by `{command}`");
        let mut state: std::sync::MutexGuard<'_, State> = self.state();
        state.resting = true;
        state.foreign.get_or_insert(what);
    }
}
