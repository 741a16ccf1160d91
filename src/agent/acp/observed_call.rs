//! A tool call as the agent reports it, and the updates of one.

use agent_client_protocol::v1::schema::{ToolCallContent, ToolKind};
use serde_json::Value;

use crate::agent::call_log::LoggedCall;
use crate::model::CallStatus;

/// Where a call's arguments come from; a better source replaces a worse one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum ArgumentSource {
    /// They name neither a file nor a command.
    #[default]
    None,
    /// The files that it concerns.
    Locations,
    /// What the agent shows to people.
    Shown,
    /// `rawInput`.
    Raw,
}

/// A tool call as the agent reports it.
pub(super) type ObservedCall = LoggedCall<CallDetails>;

/// The protocol's own details of a call.
#[derive(Clone, Debug, Default)]
pub(super) struct CallDetails {
    pub(super) kind: ToolKind,
    pub(super) name: Option<String>,
    pub(super) source: ArgumentSource,
}

/// One update's fields of a call.
#[derive(Debug, Default)]
pub(super) struct CallUpdate {
    pub(super) id: String,
    /// The update announces the call, as opposed to changing it.
    pub(super) announced: bool,
    /// The arguments are in `raw` or nowhere.
    pub(super) only_raw: bool,
    pub(super) kind: Option<ToolKind>,
    pub(super) name: Option<String>,
    pub(super) title: Option<String>,
    pub(super) raw: Option<Value>,
    pub(super) content: Vec<ToolCallContent>,
    pub(super) locations: Vec<String>,
    pub(super) status: Option<CallStatus>,
    pub(super) exit: Option<i64>,
    pub(super) output: Option<Value>,
    pub(super) asker: Option<String>,
    /// Length of the update, in bytes.
    pub(super) bytes: usize,
}

impl CallUpdate {
    /// Says it nothing about what the call does?
    pub(super) fn is_bare(&self) -> bool {
        let said = [&self.name, &self.title].iter().any(|text| text.is_some());
        let shown = !self.content.is_empty() || !self.locations.is_empty();
        let used = self.raw.is_some() || self.output.is_some();
        self.kind.is_none() && !said && !shown && !used
    }
}
