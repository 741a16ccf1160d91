//! The place where a session's shell calls run, and the commands as they were before they were
//! replaced.

use std::borrow::Cow;
use std::sync::Arc;

use serde_json::Value;

use crate::guard::Policy;
use crate::model::ToolRequest;
use crate::sandbox::{Calls, Room, SandboxError};

/// The argument that holds its command.
pub(super) const COMMAND: &str = "command";
/// The argument of permission requests that repeats it.
const COMMANDS: &str = "commands";

/// Starts a sandbox for what a policy allows.
pub type StartRoom = Box<dyn Fn(&Policy) -> Result<Room, SandboxError> + Send + Sync>;

/// Where shell calls run.
pub struct Shells {
    /// Takes the calls of all sessions.
    pub calls: Calls,
    /// Starts the sandbox of a session.
    pub start: StartRoom,
}

impl Shells {
    /// Starts the sandbox for a turn. It is not waited for: the first call does that.
    pub(super) fn begin(&self, policy: &Policy) -> Result<(), SandboxError> {
        self.calls.begin(Arc::new((self.start)(policy)?));
        Ok(())
    }

    /// A request as it was before its command was replaced.
    pub(super) fn original<'r>(&self, request: &'r ToolRequest) -> Option<Cow<'r, ToolRequest>> {
        let Some(line) = request.input.get(COMMAND).and_then(Value::as_str) else {
            return Some(Cow::Borrowed(request));
        };
        let command = self.calls.replaced(line)?;
        let mut original = request.clone();
        original.input[COMMAND] = Value::String(command.clone());
        if original.input.get(COMMANDS).is_some() {
            original.input[COMMANDS] = Value::from(vec![command]);
        }
        Some(Cow::Owned(original))
    }
}
