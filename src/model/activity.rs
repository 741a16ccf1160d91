//! What happens now, for people who watch.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{Cell, ContextFill};

/// What happens now. Nothing depends on it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "now", rename_all = "snake_case")]
pub enum Activity {
    /// The agent sends text, thoughts, or the progress of a call. Told now and then.
    Alive {
        /// How full its context is, if it reports that.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        context: Option<ContextFill>,
    },
    /// A worker's agent makes a call that was allowed.
    Call {
        /// ACP's call id, where known.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        call: Option<String>,
        /// The tool.
        tool: String,
        /// Its command or its path.
        input: Value,
    },
    /// A call of a worker's agent ended.
    CallEnded {
        /// ACP's call id.
        call: String,
    },
    /// A command of `setup:` begins.
    SettingUp {
        /// The command.
        command: String,
    },
    /// A verify command begins.
    Checking {
        /// The command.
        command: String,
        /// What the run of it is to find.
        cell: Cell,
        /// Its place in the list of commands, from 1.
        number: usize,
        /// The length of that list.
        of: usize,
    },
}
