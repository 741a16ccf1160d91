//! The place where a session's shell calls run, and the commands as they were before they were
//! replaced.

use serde_json::Value;

use crate::guard::Policy;
use crate::model::{Tier, ToolRequest};
use crate::sandbox::{Calls, Rooms, SandboxError};

/// The argument that holds its command.
pub(super) const COMMAND: &str = "command";
/// The argument of permission requests that repeats it.
const COMMANDS: &str = "commands";

/// Shell calls, as hooks and permission requests name them.
const SHELLS: [&str; 2] = ["bash", "execute"];

/// Starts the sandboxes that a policy allows.
pub type StartRoom = Box<dyn Fn(&Policy) -> Result<Rooms, SandboxError> + Send + Sync>;

/// Where shell calls run.
pub struct Shells {
    /// Takes the calls of all sessions.
    pub calls: Calls,
    /// Starts the sandboxes of a session.
    pub start: StartRoom,
    /// The sandboxes of its commands.
    pub tier: Tier,
}

impl Shells {
    /// Starts the sandbox for a turn. It is not waited for: the first call does that.
    pub(super) fn begin(&self, policy: &Policy) -> Result<(), SandboxError> {
        self.calls.begin((self.start)(policy)?);
        Ok(())
    }

    /// The arguments of a shell call as they were before its command was replaced; none if the
    /// command is not one of ours.
    pub(super) fn original(&self, input: &Value) -> Option<Value> {
        let line = input.get(COMMAND).and_then(Value::as_str).unwrap_or_default();
        let command = self.calls.replaced(line)?;
        let mut original = input.clone();
        if original.get(COMMANDS).is_some() {
            original[COMMANDS] = Value::from(vec![command.clone()]);
        }
        original[COMMAND] = Value::String(command);
        Some(original)
    }
}

/// Is this a permission request of a shell call? Other tools may have an argument of that name.
pub(super) fn is_shell(request: &ToolRequest) -> bool {
    SHELLS.contains(&request.tool.as_str()) || request.input.get(COMMANDS).is_some()
}
