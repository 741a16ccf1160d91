//! A table with a clock that the test moves.

use std::time::Duration;

use serde_json::{Value, json};

use crate::gateway::{
    CallKey, CallOutcome, CallRequest, CloseReason, ConnectionId, Effect, GatewayEvent,
    GatewayTable, GatewayToken, ProviderFrame, SessionInfo,
};

pub(super) struct World {
    pub(super) table: GatewayTable,
    pub(super) now: Duration,
    token: String,
    connections: u64,
    calls: u64,
}

/// The effects of one step.
#[derive(Debug, Default)]
pub(super) struct StepEffects {
    pub(super) frames: Vec<(ConnectionId, Value)>,
    pub(super) closed: Vec<(ConnectionId, CloseReason)>,
    pub(super) settled: Vec<(CallKey, CallOutcome)>,
    pub(super) events: Vec<GatewayEvent>,
    pub(super) pings: usize,
    pub(super) over: usize,
}

impl StepEffects {
    /// Type and code of each frame, as in `error UNKNOWN_TYPE`.
    pub(super) fn kinds(&self) -> Vec<String> {
        let kind = |frame: &Value| {
            let part = |key: &str| frame[key].as_str().unwrap_or_default().to_owned();
            let more = part("code") + &part("state") + &part("reason");
            format!("{} {more}", part("type")).trim().to_owned()
        };
        self.frames.iter().map(|(_, frame)| kind(frame)).collect()
    }

    /// The code of each settled call; `data` for one with data.
    pub(super) fn outcomes(&self) -> Vec<&'static str> {
        let outcome = |outcome: &CallOutcome| match outcome {
            Ok(_) => "data",
            Err(failure) => failure.code.name(),
        };
        self.settled.iter().map(|(_, it)| outcome(it)).collect()
    }
}

impl World {
    /// A gateway with the session `dev`.
    pub(super) fn new() -> Self {
        let token = GatewayToken::generate().expect("random numbers");
        let text = token.expose().to_owned();
        let table = GatewayTable::new(token);
        let mut world = Self { table, now: Duration::ZERO, token: text, connections: 0, calls: 0 };
        world.open("dev");
        world
    }

    pub(super) fn open(&mut self, id: &str) {
        let info = SessionInfo { id: id.into(), label: id.into(), cwd: "/code".into() };
        self.table.open(info).expect("a new id");
    }

    pub(super) fn connect(&mut self) -> ConnectionId {
        self.connections += 1;
        let id = ConnectionId(self.connections);
        self.table.arrive(id, self.now);
        id
    }

    pub(super) fn auth(&mut self, id: ConnectionId) -> StepEffects {
        let token = self.token.clone();
        self.say(id, &json!({"type": "auth", "token": token}))
    }

    /// A provider of `dev` with these tools.
    pub(super) fn provider(&mut self, name: &str, tools: &[&str]) -> ConnectionId {
        let id = self.connect();
        self.auth(id);
        let seen = self.say(id, &hello(name, "dev", tools));
        assert_eq!(seen.kinds(), ["hello.ack", "session.lifecycle started"]);
        id
    }

    pub(super) fn say(&mut self, id: ConnectionId, frame: &Value) -> StepEffects {
        self.send(id, frame.to_string().as_bytes())
    }

    pub(super) fn send(&mut self, id: ConnectionId, bytes: &[u8]) -> StepEffects {
        self.table.frame(id, ProviderFrame::read(bytes), self.now);
        self.seen()
    }

    /// Calls a tool of `dev`.
    pub(super) fn call(&mut self, tool: &str) -> (CallKey, StepEffects) {
        self.call_within(tool, None)
    }

    pub(super) fn call_within(
        &mut self,
        tool: &str,
        timeout: Option<Duration>,
    ) -> (CallKey, StepEffects) {
        self.calls += 1;
        let key = CallKey(self.calls);
        let (session, tool) = ("dev".to_owned(), tool.to_owned());
        let args = json!({"n": 1}).as_object().cloned().expect("an object");
        let request = CallRequest { session, tool, args, label: None, timeout };
        self.table.call(key, request, self.now);
        (key, self.seen())
    }

    /// Calls a tool and gives the id that its provider got.
    pub(super) fn called(&mut self, tool: &str) -> String {
        let (_, seen) = self.call(tool);
        assert_eq!(seen.kinds(), ["tool.call"]);
        seen.frames[0].1["id"].as_str().expect("an id").to_owned()
    }

    pub(super) fn wait(&mut self, time: Duration) -> StepEffects {
        self.now += time;
        self.table.tick(self.now);
        self.seen()
    }

    pub(super) fn seen(&mut self) -> StepEffects {
        let mut seen = StepEffects::default();
        for effect in self.table.take_effects() {
            match effect {
                Effect::Send(to, text) => {
                    seen.frames.push((to, serde_json::from_str(&text).expect("JSON")));
                }
                Effect::Ping(_) => seen.pings += 1,
                Effect::Close(id, reason) => seen.closed.push((id, reason)),
                Effect::Settle(key, outcome) => seen.settled.push((key, outcome)),
                Effect::Report(event) => seen.events.push(event),
                Effect::Admit(_) | Effect::Listed(_) => {}
                Effect::SessionOver(_) => seen.over += 1,
            }
        }
        seen
    }
}

pub(super) fn hello(name: &str, session: &str, tools: &[&str]) -> Value {
    json!({"type": "hello", "name": name, "protocolVersion": 2, "session": session,
        "tools": definitions(tools)})
}

pub(super) fn definitions(tools: &[&str]) -> Value {
    tools.iter().map(|name| json!({"name": name, "description": "d", "parameters": {}})).collect()
}

pub(super) fn seconds(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}
