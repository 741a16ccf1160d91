//! The whole gateway as data: sessions, connections, tools and calls.
//!
//! Pure: inputs are passed in with their time, and the output is a list of [`Effect`]s, in order.
//! Nothing here waits, reads a clock, or uses a socket.
//!
//! Invariants: a call is settled exactly once. A tool belongs to one bound connection, and goes
//! with it. Nothing grows with the number of frames.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use super::calls::CallTable;
use super::close::CloseReason;
use super::event::{CallOutcome, GatewayEvent};
use super::ids::{CallId, CallKey, ConnectionId, SessionKey};
use super::limits::{PING_EVERY, SILENCE, STRANGERS};
use super::session::GatewaySession;
use super::state::{ConnectionState, ProviderConnection};
use super::token::GatewayToken;
use super::wire::CancelReason;

/// Something that the gateway's host has to do.
#[derive(Clone, Debug, PartialEq)]
pub enum Effect {
    /// Send this text.
    Send(ConnectionId, String),
    /// Send a ping.
    Ping(ConnectionId),
    /// Close the connection after sending the queued frames. The table has forgotten it.
    Close(ConnectionId, CloseReason),
    /// Read everything that the connection sends: it has authenticated.
    Admit(ConnectionId),
    /// Hand the outcome to the one who called.
    Settle(CallKey, CallOutcome),
    /// Report an event.
    Report(GatewayEvent),
    /// The tools of a session on the list are others from here on.
    Listed(SessionKey),
    /// The last provider of an ended session is gone.
    SessionOver(SessionKey),
}

/// The table.
#[derive(Debug)]
pub struct GatewayTable {
    pub(super) token: GatewayToken,
    pub(super) sessions: BTreeMap<SessionKey, GatewaySession>,
    pub(super) connections: BTreeMap<ConnectionId, ProviderConnection>,
    pub(super) calls: CallTable,
    pub(super) timers: Timers,
    /// Connections that have not authenticated, oldest first.
    pub(super) strangers: BTreeSet<ConnectionId>,
    pub(super) last_session: u64,
    pub(super) effects: Vec<Effect>,
}

impl GatewayTable {
    /// An empty table for providers that know this token.
    pub fn new(token: GatewayToken) -> Self {
        Self {
            token,
            sessions: BTreeMap::new(),
            connections: BTreeMap::new(),
            calls: CallTable::default(),
            timers: Timers::default(),
            strangers: BTreeSet::new(),
            last_session: 0,
            effects: Vec::new(),
        }
    }

    /// The next effects.
    pub fn take_effects(&mut self) -> Vec<Effect> {
        std::mem::take(&mut self.effects)
    }

    /// When [`GatewayTable::tick`] is to be called next.
    pub fn next_due(&self) -> Option<Duration> {
        self.timers.next()
    }

    /// A connection came in. Ids grow.
    pub fn arrive(&mut self, id: ConnectionId, now: Duration) {
        if self.strangers.len() >= STRANGERS
            && let Some(oldest) = self.strangers.first().copied()
        {
            self.close(oldest, CloseReason::Crowded, now);
        }
        let connection = ProviderConnection::new(now);
        self.timers.set(connection.authenticate_by, Timer::Authenticate(id));
        self.connections.insert(id, connection);
        self.strangers.insert(id);
    }

    /// The connection is not a WebSocket, and has shown a token other than a provider's.
    pub fn vouch(&mut self, id: ConnectionId) {
        self.authenticated(id, ConnectionState::Http);
    }

    /// Any sign of life, such as a pong.
    pub fn heard(&mut self, id: ConnectionId, now: Duration) {
        if let Some(connection) = self.connections.get_mut(&id) {
            connection.heard = now;
        }
    }

    /// The connection does not read its frames.
    pub fn overflow(&mut self, id: ConnectionId, now: Duration) {
        self.close(id, CloseReason::Unread, now);
    }

    /// The connection has ended.
    pub fn gone(&mut self, id: ConnectionId, now: Duration) {
        self.forget(id, CloseReason::Lost, now);
    }

    /// Runs the timers that are due.
    pub fn tick(&mut self, now: Duration) {
        while let Some(timer) = self.timers.take_due(now) {
            match timer {
                Timer::Authenticate(id) => self.close(id, CloseReason::Unauthenticated, now),
                Timer::Check(id) => self.check(id, now),
                Timer::Call(id) => self.give_up(id, CancelReason::Timeout),
                Timer::Announce(session) => self.announce(session),
                Timer::End(session) => self.tear_down(session, now),
            }
        }
    }

    /// A stranger has shown its token: from now on it is pinged.
    pub(super) fn authenticated(&mut self, id: ConnectionId, state: ConnectionState) {
        let Some(connection) = self.connections.get_mut(&id) else { return };
        if !self.strangers.remove(&id) {
            return;
        }
        self.timers.clear(connection.authenticate_by, Timer::Authenticate(id));
        connection.ping_at = connection.heard + PING_EVERY;
        if state != ConnectionState::Http {
            connection.check_at = connection.ping_at;
            self.timers.set(connection.check_at, Timer::Check(id));
        }
        connection.state = state;
        self.effects.push(Effect::Admit(id));
    }

    /// Pings a connection, or ends it if it has been silent for too long.
    fn check(&mut self, id: ConnectionId, now: Duration) {
        let Some(connection) = self.connections.get_mut(&id) else { return };
        let silent_at = connection.heard + SILENCE;
        if silent_at <= now {
            return self.close(id, CloseReason::Silent, now);
        }
        if connection.ping_at <= now {
            connection.ping_at = now + PING_EVERY;
            self.effects.push(Effect::Ping(id));
        }
        connection.check_at = connection.ping_at.min(silent_at);
        self.timers.set(connection.check_at, Timer::Check(id));
    }

    /// Ends a connection from our side.
    pub(super) fn close(&mut self, id: ConnectionId, reason: CloseReason, now: Duration) {
        if self.connections.contains_key(&id) {
            self.effects.push(Effect::Close(id, reason));
            self.forget(id, reason, now);
        }
    }

    /// Takes a connection out, with its tools and calls.
    fn forget(&mut self, id: ConnectionId, reason: CloseReason, now: Duration) {
        let Some(connection) = self.connections.remove(&id) else { return };
        if self.strangers.remove(&id) {
            self.timers.clear(connection.authenticate_by, Timer::Authenticate(id));
        }
        self.timers.clear(connection.check_at, Timer::Check(id));
        if let ConnectionState::Bound(binding) = connection.state {
            self.disconnected(id);
            self.unbind(id, &binding, reason, now);
        }
    }
}

/// The purpose of a timer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Timer {
    /// The connection must have authenticated.
    Authenticate(ConnectionId),
    /// The connection is pinged, or found dead.
    Check(ConnectionId),
    /// The call must have a result.
    Call(CallId),
    /// The session's changed tools are announced.
    Announce(SessionKey),
    /// The session's providers must be gone.
    End(SessionKey),
}

/// The timers, by time.
#[derive(Debug, Default)]
pub(super) struct Timers(BTreeSet<(Duration, Timer)>);

impl Timers {
    pub(super) fn set(&mut self, at: Duration, timer: Timer) {
        self.0.insert((at, timer));
    }

    pub(super) fn clear(&mut self, at: Duration, timer: Timer) {
        self.0.remove(&(at, timer));
    }

    /// The next time at which something is to happen.
    pub(super) fn next(&self) -> Option<Duration> {
        self.0.first().map(|(at, _)| *at)
    }

    /// Takes the first timer that is due.
    pub(super) fn take_due(&mut self, now: Duration) -> Option<Timer> {
        if self.next()? > now {
            return None;
        }
        self.0.pop_first().map(|(_, timer)| timer)
    }
}
