//! The provider gateway: programs of the human connect over a WebSocket, bring tools and push
//! events. docs/gateway.md has the protocol.
//!
//! Invariant: every decision is made by [`GatewayTable`], which is pure. One task owns it; sockets
//! and hosts talk to that task in messages.
//!
//! Not in this room: what a run does with tools and events.

mod calls;
mod close;
mod direct;
mod dispatch;
mod endpoints;
mod error;
mod event;
mod frame;
mod frames;
mod handle;
mod ids;
mod limits;
mod message;
mod outbox;
mod owner;
mod plain_text;
mod problem;
mod rate;
mod schema;
mod server;
mod session;
mod sessions;
mod socket;
mod state;
mod stranger;
mod table;
#[cfg(test)]
mod tests;
mod token;
mod token_file;
mod tool;
mod wire;

pub use close::CloseReason;
pub use direct::{DirectAnswer, DirectCall, DirectError, call_directly, direct_route};
pub use dispatch::CallRequest;
pub use endpoints::{GatewayEndpoints, answer, listed};
pub use error::GatewayError;
pub use event::{CallOutcome, GatewayEvent, PushedEvent};
pub use frame::ProviderFrame;
pub use handle::{Gateway, GatewayCall};
pub use ids::{CallKey, ConnectionId, SessionKey};
pub use limits::SHUTDOWN_TIME;

pub use owner::SessionHandle;
pub use plain_text::plain_text;
pub use problem::{CallFailure, ErrorCode, FailureCode};
pub use server::{DEFAULT_PORT, Listeners, serve};
pub use session::{SessionInfo, SessionTool};
pub use table::{Effect, GatewayTable};
pub use token::GatewayToken;
pub use token_file::{TokenFiles, gateway_in, make_token_folder, read_token_files, token_folder};
pub use tool::ProviderTool;
