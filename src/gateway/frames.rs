//! A provider's frames: the state machine's steps.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Map, Value};

use super::close::CloseReason;
use super::event::{GatewayEvent, PushedEvent};
use super::frame::{Fields, ProviderFrame};
use super::ids::{ConnectionId, SessionKey};
use super::limits::{INJECTED, INJECTED_SIZE, RATE};
use super::message::{Hello, MessageKind, read_hello, read_push, read_result, read_update};
use super::problem::{ErrorCode, Problem};
use super::rate::Admission;
use super::state::{Binding, ConnectionState};
use super::table::{Effect, GatewayTable};
use super::wire::{self, Lifecycle};
use crate::model::EventLevel;

impl GatewayTable {
    /// A connection sent a frame.
    pub fn frame(&mut self, from: ConnectionId, frame: ProviderFrame, now: Duration) {
        let Some(connection) = self.connections.get_mut(&from) else { return };
        connection.heard = now;
        let bound = connection.state.binding().is_some();
        if !(bound && frame.is_result()) {
            match connection.rate.count(now) {
                Admission::Admit => {}
                Admission::Drop => return,
                Admission::DropAndTell => {
                    let message = format!("more than {RATE} frames a second; wait a second");
                    let problem = Problem::new(ErrorCode::RateLimited, message);
                    return self.tell(from, &problem, frame.reply_to().as_deref());
                }
            }
        }
        match frame.admit(bound) {
            Ok(fields) => self.message(from, fields, now),
            Err(refusal) => {
                self.tell(from, &refusal.problem, refusal.kind.as_deref());
                self.blame(from, &refusal.problem, now);
            }
        }
    }

    fn message(&mut self, from: ConnectionId, fields: Fields, now: Duration) {
        let Fields { kind, map } = fields;
        let Some(connection) = self.connections.get(&from) else { return };
        let known = kind.parse::<MessageKind>().ok();
        let done = match known.filter(|known| connection.state.takes(*known)) {
            None if known.is_some() => {
                Err(Problem::invalid(format!("`{kind}` does not fit the connection's state")))
            }
            None => Err(Problem::invalid("a provider sends no frames of this type")),
            Some(MessageKind::Auth) => self.authenticate(from, &map),
            Some(MessageKind::Hello) => self.hello(from, &map, now),
            Some(MessageKind::ToolResult) => {
                self.result(from, read_result(map), now);
                Ok(())
            }
            Some(MessageKind::Push) => self.push(from, map),
            Some(MessageKind::ToolsUpdate) => self.update(from, &map, now),
            Some(MessageKind::Goodbye) => {
                self.close(from, CloseReason::Goodbye, now);
                Ok(())
            }
        };
        if let Err(problem) = done {
            let reply_to = Some(kind).filter(|kind| kind.len() <= 256);
            self.tell(from, &problem, reply_to.as_deref());
            if problem.code.is_fatal() {
                self.close(from, CloseReason::Refused, now);
            }
        }
    }

    /// Sends an `error` frame.
    pub(super) fn tell(&mut self, to: ConnectionId, problem: &Problem, reply_to: Option<&str>) {
        let connection = self.connections.get(&to);
        let bound = connection.is_some_and(|connection| connection.state.binding().is_some());
        let provider_id = bound.then(|| to.provider_id());
        let frame = wire::error(problem, reply_to, provider_id.as_deref());
        self.effects.push(Effect::Send(to, frame));
    }

    fn authenticate(
        &mut self,
        from: ConnectionId,
        map: &Map<String, Value>,
    ) -> Result<(), Problem> {
        let given = map.get("token").and_then(Value::as_str);
        if !given.is_some_and(|given| self.token.is(given)) {
            let message = "this is not the gateway's token; check TAP_PROVIDER_TOKEN";
            return Err(Problem::new(ErrorCode::AuthFailed, message));
        }
        self.authenticated(from, ConnectionState::AwaitHello);
        let active = self.open_sessions().map(|(_, session)| &session.info);
        let active = active.map(|info| (info.id.as_str(), info.label.as_str(), info.cwd.as_str()));
        let frame = wire::sessions(active);
        self.effects.push(Effect::Send(from, frame));
        Ok(())
    }

    fn hello(
        &mut self,
        from: ConnectionId,
        map: &Map<String, Value>,
        now: Duration,
    ) -> Result<(), Problem> {
        let Hello { name, session: key, tools } = read_hello(map, |id| self.session_of(id))?;
        let Some(session) = self.sessions.get_mut(&key) else { return Ok(()) };
        let provider: Arc<str> = name.into();
        session.replace(from, &provider, tools)?;
        let id = session.info.id.clone();
        if let Some(connection) = self.connections.get_mut(&from) {
            let provider = Arc::clone(&provider);
            connection.state =
                ConnectionState::Bound(Binding { provider, session: key, issued: 0 });
        }
        // The table changes first, so that a list after `hello.ack` has the tools.
        self.tools_changed(key, now);
        let provider_id = from.provider_id();
        self.effects.extend([
            Effect::Send(from, wire::hello_ack(&provider_id, &id)),
            Effect::Send(from, wire::lifecycle(&id, Lifecycle::Started)),
            Effect::Report(GatewayEvent::Bound {
                session: id,
                provider: provider.to_string(),
                provider_id,
            }),
        ]);
        Ok(())
    }

    /// The provider's name and session.
    fn bound(&self, id: ConnectionId) -> Option<(Arc<str>, SessionKey, String)> {
        let binding = self.connections.get(&id)?.state.binding()?;
        let session = self.sessions.get(&binding.session)?;
        Some((Arc::clone(&binding.provider), binding.session, session.info.id.clone()))
    }

    fn update(
        &mut self,
        from: ConnectionId,
        map: &Map<String, Value>,
        now: Duration,
    ) -> Result<(), Problem> {
        let Some((provider, key, id)) = self.bound(from) else { return Ok(()) };
        let tools = read_update(map, &id)?;
        if let Some(session) = self.sessions.get_mut(&key) {
            session.replace(from, &provider, tools)?;
        }
        self.tools_changed(key, now);
        Ok(())
    }

    fn push(&mut self, from: ConnectionId, map: Map<String, Value>) -> Result<(), Problem> {
        let Some((provider, key, id)) = self.bound(from) else { return Ok(()) };
        let event = read_push(map, &id)?;
        let Some(session) = self.sessions.get_mut(&key) else { return Ok(()) };
        let injected = event.level == EventLevel::Inject && session.injected < INJECTED;
        session.injected += u32::from(injected);
        let pushed = PushedEvent {
            session: id,
            provider: provider.to_string(),
            level: event.level,
            injected: injected.then(|| cut(&event.text).to_owned()),
            text: event.text,
            stream: event.stream.unwrap_or_else(|| provider.to_string()),
            metadata: event.metadata,
        };
        self.effects.push(Effect::Report(GatewayEvent::Pushed(pushed)));
        Ok(())
    }
}

/// The beginning that may be injected.
fn cut(text: &str) -> &str {
    &text[..text.floor_char_boundary(INJECTED_SIZE)]
}
