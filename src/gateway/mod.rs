//! The provider gateway: programs of the human connect over a WebSocket, bring tools and push
//! events. docs/gateway.md has the protocol.
//!
//! Invariant: every decision is made by [`Table`], which is pure. One task owns it; sockets and
//! hosts talk to that task in messages.
//!
//! What does NOT live here: what a run does with tools and events.

mod calls;
mod close;
mod dispatch;
mod error;
mod event;
mod frame;
mod frames;
mod ids;
mod limits;
mod message;
mod problem;
mod rate;
mod reserved;
mod session;
mod sessions;
mod state;
mod table;
#[cfg(test)]
mod tests;
mod timers;
mod token;
mod tool;
mod wire;

pub use close::CloseReason;
pub use dispatch::CallRequest;
pub use error::GatewayError;
pub use event::{CallOutcome, GatewayEvent, PushedEvent};
pub use frame::Frame;
pub use ids::{CallKey, ConnectionId, SessionKey};
pub use limits::SHUTDOWN_TIME;
pub use message::PushLevel;
pub use problem::{CallFailure, ErrorCode, FailureCode};
pub use session::{SessionInfo, SessionTool};
pub use table::{Effect, Table};
pub use token::Token;
pub use tool::ProviderTool;
