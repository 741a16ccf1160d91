//! The table's calls: out to a provider, and to their one end.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Map, Value};

use super::calls::{InFlight, PendingCall};
use super::close::CloseReason;
use super::event::{CallOutcome, GatewayEvent};
use super::ids::{CallId, CallKey, ConnectionId};
use super::limits::FRAME_SIZE;
use super::message::ToolResult;
use super::problem::{CallFailure, ErrorCode, FailureCode, Problem};
use super::state::ConnectionState;
use super::table::Timer;
use super::table::{Effect, GatewayTable};
use super::wire::{self, CancelReason};

/// A call that the host wants made.
#[derive(Clone, Debug)]
pub struct CallRequest {
    /// The id of the session.
    pub session: String,
    /// The tool's bare name.
    pub tool: String,
    /// The arguments.
    pub args: Map<String, Value>,
    /// The host's name for the call, which its events carry.
    pub label: Option<String>,
    /// The call's time, instead of the tool's.
    pub timeout: Option<Duration>,
}

impl GatewayTable {
    /// Sends a call to the provider of its tool, or settles it at once.
    pub fn call(&mut self, key: CallKey, request: CallRequest, now: Duration) {
        let CallRequest { session, tool, args, label, timeout } = request;
        match self.route(&session, &tool, args) {
            Err(failure) => self.settle(key, None, label, tool, Err(failure)),
            Ok(route) => {
                let timeout = timeout.unwrap_or(route.timeout);
                let deadline = now + timeout;
                self.effects.push(Effect::Send(route.id.connection, route.frame));
                let id = route.id.to_string();
                let (named, called) = (label.clone(), tool.clone());
                let event = GatewayEvent::Called { id, label: named, tool: called };
                self.effects.push(Effect::Report(event));
                self.timers.set(deadline, Timer::Call(route.id));
                let call = PendingCall { key, label, session, tool, timeout, deadline };
                self.calls.insert(route.id, call);
            }
        }
    }

    /// Gives the call its id and frame, if there is a provider for it.
    fn route(
        &mut self,
        session: &str,
        tool: &str,
        args: Map<String, Value>,
    ) -> Result<Route, CallFailure> {
        let not_found = |what: String| CallFailure::new(FailureCode::NotFound, what);
        let found = self.session_of(session).and_then(|key| self.sessions.get(&key));
        let found = found.ok_or_else(|| not_found(format!("there is no session `{session}`")))?;
        let found = found.tool(tool).ok_or_else(|| {
            not_found(format!("there is no tool `{tool}` in the session `{session}`"))
        })?;
        let (connection, timeout) = (found.connection, found.tool.timeout);
        let state = self.connections.get_mut(&connection).map(|connection| &mut connection.state);
        let Some(ConnectionState::Bound(binding)) = state else {
            return Err(CallFailure::new(FailureCode::Disconnected, "the provider is gone"));
        };
        let id = CallId { connection, number: binding.issued + 1 };
        let frame = wire::tool_call(id, session, tool, args);
        if frame.len() > FRAME_SIZE {
            let size = frame.len();
            let message = format!("the call has {size} bytes; the limit is {FRAME_SIZE}");
            let code = FailureCode::Protocol(ErrorCode::PayloadTooLarge);
            return Err(CallFailure::new(code, message));
        }
        binding.issued = id.number;
        Ok(Route { id, frame, timeout })
    }

    /// The host does not want the result any more.
    pub fn cancel(&mut self, key: CallKey) {
        if let Some(id) = self.calls.id_of(key) {
            self.give_up(id, CancelReason::Interrupt);
        }
    }

    /// Tells the provider that a call is cancelled, and settles it at once.
    pub(super) fn give_up(&mut self, id: CallId, reason: CancelReason) {
        let Some(call) = self.take_call(id) else { return };
        let frame = wire::tool_cancel(id, &call.session, reason);
        self.effects.push(Effect::Send(id.connection, frame));
        let failure = match reason {
            CancelReason::Timeout => {
                let message = format!("no result within {} ms", call.timeout.as_millis());
                CallFailure::new(FailureCode::Timeout, message)
            }
            CancelReason::Interrupt => CallFailure::new(FailureCode::Cancelled, "cancelled"),
        };
        self.settle(call.key, Some(id), call.label, call.tool, Err(failure));
    }

    /// A provider answers.
    pub(super) fn result(&mut self, from: ConnectionId, result: ToolResult, now: Duration) {
        let id = result.id.as_deref().and_then(CallId::parse);
        let id = id.filter(|id| self.was_issued(from, *id));
        match (result.content, id) {
            (Ok(outcome), Some(id)) => self.complete(id, outcome.map(Arc::new)),
            // It was never given here, and says nothing of a call that was.
            (Ok(_), None) => {}
            (Err(problem), None) => {
                self.tell(from, &problem, Some("tool.result"));
                self.blame(from, &problem, now);
            }
            (Err(problem), Some(id)) => {
                self.tell(from, &problem, Some("tool.result"));
                if self.calls.is_pending(id) {
                    self.complete(id, Err(protocol_failure(&problem)));
                }
            }
        }
    }

    fn was_issued(&self, to: ConnectionId, id: CallId) -> bool {
        let binding = self.connections.get(&to).and_then(|it| it.state.binding());
        id.connection == to
            && binding.is_some_and(|binding| (1..=binding.issued).contains(&id.number))
    }

    /// A frame that cannot be correlated may have been the answer to a call: the only one fails,
    /// and several fail with their connection.
    pub(super) fn blame(&mut self, from: ConnectionId, problem: &Problem, now: Duration) {
        match self.calls.in_flight(from) {
            InFlight::None => {}
            InFlight::One(id) => self.complete(id, Err(protocol_failure(problem))),
            InFlight::Several => self.close(from, CloseReason::Ambiguous, now),
        }
    }

    /// The provider of these calls is gone.
    pub(super) fn disconnected(&mut self, connection: ConnectionId) {
        let lost: Vec<CallId> = self.calls.of(connection).collect();
        for id in lost {
            let message = "the provider disconnected";
            self.complete(id, Err(CallFailure::new(FailureCode::Disconnected, message)));
        }
    }

    fn complete(&mut self, id: CallId, outcome: CallOutcome) {
        if let Some(call) = self.take_call(id) {
            self.settle(call.key, Some(id), call.label, call.tool, outcome);
        }
    }

    fn take_call(&mut self, id: CallId) -> Option<PendingCall> {
        let call = self.calls.take(id)?;
        self.timers.clear(call.deadline, Timer::Call(id));
        Some(call)
    }

    fn settle(
        &mut self,
        key: CallKey,
        id: Option<CallId>,
        label: Option<String>,
        tool: String,
        outcome: CallOutcome,
    ) {
        let id = id.map(|id| id.to_string());
        let event = GatewayEvent::Ended { id, label, tool, outcome: outcome.clone() };
        self.effects.push(Effect::Settle(key, outcome));
        self.effects.push(Effect::Report(event));
    }
}

/// Where a call goes.
struct Route {
    id: CallId,
    frame: String,
    timeout: Duration,
}

fn protocol_failure(problem: &Problem) -> CallFailure {
    CallFailure::new(FailureCode::Protocol(problem.code), problem.message.clone())
}
