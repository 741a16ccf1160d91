//! The table's sessions: on the list, off the list, over; and the binding of providers.

use std::time::Duration;

use super::close::CloseReason;
use super::event::GatewayEvent;
use super::ids::{ConnectionId, SessionKey};
use super::session::{GatewaySession, SessionInfo, SessionTool};
use super::state::Binding;
use super::table::Timer;
use super::table::{Effect, GatewayTable};
use super::wire::{self, Lifecycle};

impl GatewayTable {
    /// Puts a session on the list; none if its id is on it already.
    pub fn open(&mut self, info: SessionInfo) -> Option<SessionKey> {
        if self.session_of(&info.id).is_some() {
            return None;
        }
        self.last_session += 1;
        let key = SessionKey(self.last_session);
        self.sessions.insert(key, GatewaySession::new(info));
        Some(key)
    }

    /// The session with this id that is on the list.
    pub(super) fn session_of(&self, id: &str) -> Option<SessionKey> {
        let mut open = self.open_sessions();
        open.find(|(_, session)| session.info.id == id).map(|(key, _)| *key)
    }

    /// The sessions on the list.
    pub(super) fn open_sessions(&self) -> impl Iterator<Item = (&SessionKey, &GatewaySession)> {
        self.sessions.iter().filter(|(_, session)| session.ends.is_none())
    }

    /// The ids of the sessions on the list.
    pub(super) fn session_ids(&self) -> Vec<String> {
        self.open_sessions().map(|(_, session)| session.info.id.clone()).collect()
    }

    /// The tools of a session on the list, by name.
    pub(super) fn tools_of(&self, id: &str) -> Option<Vec<SessionTool>> {
        self.session_of(id).map(|key| self.tools(key))
    }

    /// The tools of a session, by name.
    pub fn tools(&self, key: SessionKey) -> Vec<SessionTool> {
        self.sessions.get(&key).into_iter().flat_map(|session| session.tools().cloned()).collect()
    }

    /// Tells the session's providers that no worker has a turn. `false` if the session does not
    /// exist.
    pub fn idle(&mut self, id: &str) -> bool {
        let Some(key) = self.session_of(id) else { return false };
        self.tell_lifecycle(key, Lifecycle::Idle);
        true
    }

    /// Starts an iteration: events can be injected again. `false` if the session does not exist.
    pub fn start_iteration(&mut self, id: &str) -> bool {
        let key = self.session_of(id);
        let session = key.and_then(|key| self.sessions.get_mut(&key));
        session.map(|session| session.injected = 0).is_some()
    }

    /// Takes a session off the list. Its providers get the deadline to clean up; calls in flight
    /// may still finish. [`Effect::SessionOver`] reports when they are gone. None if the session
    /// does not exist.
    pub fn end(&mut self, id: &str, deadline: Duration, now: Duration) -> Option<SessionKey> {
        let key = self.session_of(id)?;
        let ends = now + deadline;
        self.sessions.get_mut(&key)?.ends = Some(ends);
        self.timers.set(ends, Timer::End(key));
        let deadline_ms = u64::try_from(deadline.as_millis()).unwrap_or(u64::MAX);
        self.tell_lifecycle(key, Lifecycle::ShutdownPending { deadline_ms });
        self.finish(key);
        Some(key)
    }

    fn tell_lifecycle(&mut self, key: SessionKey, state: Lifecycle) {
        let Some(session) = self.sessions.get(&key) else { return };
        let frame = wire::lifecycle(&session.info.id, state);
        let bound = self.bound_to(key);
        self.effects.extend(bound.into_iter().map(|id| Effect::Send(id, frame.clone())));
    }

    fn bound_to(&self, key: SessionKey) -> Vec<ConnectionId> {
        let bound = self.connections.iter().filter(|(_, connection)| {
            connection.state.binding().is_some_and(|binding| binding.session == key)
        });
        bound.map(|(id, _)| *id).collect()
    }

    /// The deadline of an ended session has passed.
    pub(super) fn tear_down(&mut self, key: SessionKey, now: Duration) {
        for id in self.bound_to(key) {
            self.close(id, CloseReason::SessionEnded, now);
        }
        self.finish(key);
    }

    /// Forgets a session that has ended and has no provider any more.
    fn finish(&mut self, key: SessionKey) {
        let Some(ends) = self.sessions.get(&key).and_then(|session| session.ends) else { return };
        if self.bound_to(key).is_empty() {
            self.timers.clear(ends, Timer::End(key));
            self.sessions.remove(&key);
            self.effects.push(Effect::SessionOver(key));
        }
    }

    /// Removes a provider's tools from its session.
    pub(super) fn unbind(
        &mut self,
        id: ConnectionId,
        binding: &Binding,
        reason: CloseReason,
        now: Duration,
    ) {
        if let Some(session) = self.sessions.get_mut(&binding.session) {
            session.remove(id);
        }
        self.tools_changed(binding.session, now);
        if let Some(session) = self.sessions.get(&binding.session) {
            let event = GatewayEvent::Unbound {
                session: session.info.id.clone(),
                provider: binding.provider.to_string(),
                provider_id: id.provider_id(),
                reason: reason.text(),
            };
            self.effects.push(Effect::Report(event));
        }
        self.finish(binding.session);
    }

    /// The tools of a session are others; their announcement is put off.
    pub(super) fn tools_changed(&mut self, key: SessionKey, now: Duration) {
        let Some(session) = self.sessions.get_mut(&key) else { return };
        if session.ends.is_some() {
            return;
        }
        let (before, due) = session.changed(now);
        if let Some(before) = before {
            self.timers.clear(before, Timer::Announce(key));
        }
        self.timers.set(due, Timer::Announce(key));
        self.effects.push(Effect::Listed(key));
    }

    pub(super) fn announce(&mut self, key: SessionKey) {
        let Some(session) = self.sessions.get_mut(&key) else { return };
        if session.ends.is_some() {
            return;
        }
        if let Some(tools) = session.announce() {
            let session = session.info.id.clone();
            self.effects.push(Effect::Report(GatewayEvent::ToolsChanged { session, tools }));
        }
    }
}
