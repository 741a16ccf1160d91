//! The calls that wait for a result.
//!
//! Invariant: a call is taken out exactly once, by its first end. Later results for it find
//! nothing.

use std::collections::{BTreeMap, HashMap};
use std::time::Duration;

use super::ids::{CallId, CallKey, ConnectionId};

/// A call that waits for its result.
#[derive(Clone, Debug)]
pub(super) struct PendingCall {
    pub(super) key: CallKey,
    pub(super) label: Option<String>,
    pub(super) session: String,
    pub(super) tool: String,
    pub(super) timeout: Duration,
    /// When it must have a result.
    pub(super) deadline: Duration,
}

/// How many calls a connection has to answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum InFlight {
    None,
    One(CallId),
    Several,
}

/// The calls of all connections.
#[derive(Debug, Default)]
pub(super) struct CallTable {
    pending: BTreeMap<CallId, PendingCall>,
    ids: HashMap<CallKey, CallId>,
}

impl CallTable {
    pub(super) fn insert(&mut self, id: CallId, call: PendingCall) {
        self.ids.insert(call.key, id);
        self.pending.insert(id, call);
    }

    pub(super) fn is_pending(&self, id: CallId) -> bool {
        self.pending.contains_key(&id)
    }

    pub(super) fn id_of(&self, key: CallKey) -> Option<CallId> {
        self.ids.get(&key).copied()
    }

    /// Takes a call out, at its end.
    pub(super) fn take(&mut self, id: CallId) -> Option<PendingCall> {
        let call = self.pending.remove(&id)?;
        self.ids.remove(&call.key);
        Some(call)
    }

    /// The calls of a connection, oldest first.
    pub(super) fn of(&self, connection: ConnectionId) -> impl Iterator<Item = CallId> {
        let first = CallId { connection, number: 0 };
        let last = CallId { connection, number: u64::MAX };
        self.pending.range(first..=last).map(|(id, _)| *id)
    }

    pub(super) fn in_flight(&self, connection: ConnectionId) -> InFlight {
        let mut ids = self.of(connection);
        match (ids.next(), ids.next()) {
            (None, _) => InFlight::None,
            (Some(id), None) => InFlight::One(id),
            (Some(_), Some(_)) => InFlight::Several,
        }
    }
}
