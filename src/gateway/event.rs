//! Reports of the gateway to its host.

use std::sync::Arc;

use serde_json::{Map, Value};

use super::problem::CallFailure;
use crate::model::EventLevel;

/// How a call ended: with data, or without.
pub type CallOutcome = Result<Arc<Value>, CallFailure>;

/// Something that happened.
#[derive(Clone, Debug, PartialEq)]
pub enum GatewayEvent {
    /// A provider is bound to a session.
    Bound {
        /// The session's id.
        session: String,
        /// The provider's name.
        provider: String,
        /// Its name in `error` frames.
        provider_id: String,
    },
    /// A bound provider is gone; its tools are removed.
    Unbound {
        /// The session's id.
        session: String,
        /// The provider's name.
        provider: String,
        /// Its name in `error` frames.
        provider_id: String,
        /// Why, for people.
        reason: &'static str,
    },
    /// A call went out to a provider.
    Called {
        /// Its id, unique in the gateway.
        id: String,
        /// The host's name for it.
        label: Option<String>,
        /// The tool.
        tool: String,
    },
    /// A call ended. Comes once for each call.
    Ended {
        /// Its id; none if it needed no frame.
        id: Option<String>,
        /// The host's name for it.
        label: Option<String>,
        /// The tool.
        tool: String,
        /// How.
        outcome: CallOutcome,
    },
    /// A provider pushed an event.
    Pushed(PushedEvent),
    /// The tools of a session are others than last announced.
    ToolsChanged {
        /// The session's id.
        session: String,
        /// The names of all its tools, sorted.
        tools: Vec<String>,
    },
}

/// An event that a provider pushed.
#[derive(Clone, Debug, PartialEq)]
pub struct PushedEvent {
    /// The session's id.
    pub session: String,
    /// The provider's name.
    pub provider: String,
    /// The purpose of the event.
    pub level: EventLevel,
    /// The text, whole.
    pub text: String,
    /// The stream that keeps it.
    pub stream: String,
    /// Anything else the provider said.
    pub metadata: Option<Map<String, Value>>,
    /// The text for the agent, cut to its limit; none if it does not get it.
    pub injected: Option<String>,
}
