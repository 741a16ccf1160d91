//! Timers. Times are counted from the gateway's start.

use std::collections::BTreeSet;
use std::time::Duration;

use super::ids::{CallId, ConnectionId, SessionKey};

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
