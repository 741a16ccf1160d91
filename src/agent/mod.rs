//! Agents: open a session, prompt it, watch the turn.
//!
//! Invariant: an agent's words are recorded as its claim. A [`Turn`](crate::model::Turn) holds the
//! observations on the wire and the guard's questions. Protocol details are in `acp/`, the only
//! place that names the SDK. `verify` judges the meaning of a turn.

pub mod acp;
mod arguments;
mod call_log;
mod command;
mod decisions;
mod denials;
mod environment;
mod error;
mod fault;
mod gate;
mod guarded;
mod human;
mod known;
mod launch;
pub mod oneshot;
mod prices;
mod provider;
#[cfg(test)]
mod recorded_events;
mod records;
pub mod scripted;
mod stderr;
mod stuck;
mod task_watch;
mod tool_server;
mod traits;
mod wire_log;

pub use command::{AgentCommand, AgentKind, ProgramLookup};
pub use decisions::{CallStanding, EndedCall, KnownCall};
pub use denials::Denials;
pub use environment::{ForAgent, for_agent};
pub use error::AgentError;
use fault::{LastWords, ReportedFault};
pub use fault::{
    classify, classify_json, classify_line, classify_message, hint, next_time, reset_in,
};
pub use gate::{Busy, Focus, Gate, Locate, Shells, StartRoom};
pub use guarded::{Greeting, GuardServer, StopHook};
pub use human::{AskHuman, HumanReply, Question};
pub use known::{AGENTS, KnownAgent};
pub use launch::AgentLaunch;
pub use provider::{PROVIDER_URL, ProviderError, provider_variables};
pub use stuck::{TurnLimits, TurnPulse, observe};
use tool_server::SessionTools;
pub use tool_server::{OfferedServer, OfferedTools, OpenedEndpoint, ToolServer};
pub use traits::{Agent, Closed, Session};

pub use crate::hooks::PluginError;
