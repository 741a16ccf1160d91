//! The state of one connection, and the frames that a provider may send in it.

use std::sync::Arc;
use std::time::Duration;

use super::ids::SessionKey;
use super::limits::AUTH_TIME;
use super::message::MessageKind;
use super::rate::RateLimit;

/// Where a connection stands. A connection that is disconnected is in no table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum ConnectionState {
    /// Nothing is known of it.
    AwaitAuth,
    /// It has the token, and may wait for a session.
    AwaitHello,
    /// It is a provider of a session.
    Bound(Binding),
    /// It is not a WebSocket, and authenticated with its own kind of token.
    Http,
}

/// A bound provider.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Binding {
    pub(super) provider: Arc<str>,
    pub(super) session: SessionKey,
    /// Number of the last call that it got.
    pub(super) issued: u64,
}

impl ConnectionState {
    /// May a provider send this now?
    pub(super) fn takes(&self, kind: MessageKind) -> bool {
        match self {
            Self::AwaitAuth => kind == MessageKind::Auth,
            Self::AwaitHello => kind == MessageKind::Hello,
            Self::Bound(_) => match kind {
                MessageKind::ToolResult
                | MessageKind::Push
                | MessageKind::ToolsUpdate
                | MessageKind::Goodbye => true,
                MessageKind::Auth | MessageKind::Hello => false,
            },
            Self::Http => false,
        }
    }

    pub(super) fn binding(&self) -> Option<&Binding> {
        match self {
            Self::Bound(binding) => Some(binding),
            Self::AwaitAuth | Self::AwaitHello | Self::Http => None,
        }
    }
}

/// A connection.
#[derive(Debug)]
pub(super) struct ProviderConnection {
    pub(super) state: ConnectionState,
    pub(super) rate: RateLimit,
    /// When it last said anything, pongs included.
    pub(super) heard: Duration,
    /// When it must have authenticated.
    pub(super) authenticate_by: Duration,
    /// When it is pinged next.
    pub(super) ping_at: Duration,
    /// When its timer is due: for the ping, or for the end of its silence.
    pub(super) check_at: Duration,
}

impl ProviderConnection {
    pub(super) fn new(now: Duration) -> Self {
        let authenticate_by = now + AUTH_TIME;
        let rate = RateLimit::new(now);
        let state = ConnectionState::AwaitAuth;
        Self { state, rate, heard: now, authenticate_by, ping_at: now, check_at: now }
    }
}
