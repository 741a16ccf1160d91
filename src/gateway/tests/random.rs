//! Random interleavings: whatever providers, hosts and clocks do, each call ends exactly once,
//! and nothing is left of what is gone.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use proptest::prelude::*;
use serde_json::json;

use super::world::{StepEffects, World, definitions, hello, seconds};
use crate::gateway::limits::FRAME_SIZE;
use crate::gateway::{CallKey, ConnectionId};

/// What happens next. Numbers choose among what there is.
#[derive(Clone, Debug)]
enum Step {
    Connect,
    Disconnect(usize),
    Goodbye(usize),
    Call(usize),
    Cancel(usize),
    Result(usize),
    Failure(usize),
    InvalidResult(usize),
    Bytes(usize, Vec<u8>),
    TooLarge(usize),
    Update(usize, usize),
    Pong(usize),
    Wait(u64),
    End,
}

fn step() -> impl Strategy<Value = Step> {
    let at = 0_usize..64;
    prop_oneof![
        2 => Just(Step::Connect),
        1 => at.clone().prop_map(Step::Disconnect),
        1 => at.clone().prop_map(Step::Goodbye),
        8 => at.clone().prop_map(Step::Call),
        2 => at.clone().prop_map(Step::Cancel),
        4 => at.clone().prop_map(Step::Result),
        2 => at.clone().prop_map(Step::Failure),
        1 => at.clone().prop_map(Step::InvalidResult),
        1 => (at.clone(), any::<Vec<u8>>()).prop_map(|(at, bytes)| Step::Bytes(at, bytes)),
        1 => at.clone().prop_map(Step::TooLarge),
        1 => (at.clone(), at.clone()).prop_map(|(at, tool)| Step::Update(at, tool)),
        3 => at.prop_map(Step::Pong),
        2 => (0_u64..20_000).prop_map(Step::Wait),
        1 => Just(Step::End),
    ]
}

static TOO_LARGE: LazyLock<Vec<u8>> = LazyLock::new(|| vec![b'x'; FRAME_SIZE + 1]);

struct Play {
    world: World,
    connections: Vec<ConnectionId>,
    /// What providers were asked: connection and id.
    asked: Vec<(ConnectionId, String)>,
    calls: Vec<CallKey>,
    ends: BTreeMap<CallKey, usize>,
}

impl Play {
    fn take(&mut self, seen: StepEffects) {
        for (to, frame) in seen.frames {
            if frame["type"] == "tool.call" {
                self.asked.push((to, frame["id"].as_str().expect("an id").to_owned()));
            }
        }
        for (key, _) in seen.settled {
            *self.ends.entry(key).or_default() += 1;
        }
    }

    fn connection(&self, at: usize) -> Option<ConnectionId> {
        self.connections.get(at % self.connections.len().max(1)).copied()
    }

    fn say(&mut self, at: usize, bytes: &[u8]) {
        if let Some(id) = self.connection(at) {
            let seen = self.world.send(id, bytes);
            self.take(seen);
        }
    }

    /// Answers a call, which may be over, or answered before.
    fn answer(&mut self, at: usize, fields: serde_json::Value) {
        let Some((to, id)) = self.asked.get(at % self.asked.len().max(1)).cloned() else { return };
        let mut result = fields;
        result["type"] = "tool.result".into();
        result["id"] = id.into();
        let seen = self.world.say(to, &result);
        self.take(seen);
    }

    fn step(&mut self, step: Step) {
        match step {
            Step::Connect => {
                let id = self.world.connect();
                self.world.auth(id);
                let tool = format!("t{}", id.0 % 8);
                let seen = self.world.say(id, &hello("p", "dev", &[&tool]));
                self.take(seen);
                self.connections.push(id);
            }
            Step::Disconnect(at) => {
                if let Some(id) = self.connection(at) {
                    self.world.table.gone(id, self.world.now);
                }
            }
            Step::Goodbye(at) => self.say(at, br#"{"type":"goodbye"}"#),
            Step::Call(at) => {
                let (key, seen) = self.world.call(&format!("t{}", at % 8));
                self.calls.push(key);
                self.take(seen);
            }
            Step::Cancel(at) => {
                if let Some(key) = self.calls.get(at % self.calls.len().max(1)) {
                    self.world.table.cancel(*key);
                }
            }
            Step::Result(at) => self.answer(at, json!({"data": at})),
            Step::Failure(at) => self.answer(at, json!({"error": "e", "errorCode": "CANCELLED"})),
            Step::InvalidResult(at) => self.answer(at, json!({"data": 1, "error": "e"})),
            Step::Bytes(at, bytes) => self.say(at, &bytes),
            Step::TooLarge(at) => self.say(at, &TOO_LARGE),
            Step::Update(at, tool) => {
                let tools = definitions(&[&format!("t{}", tool % 8)]);
                let update = json!({"type": "tools.update", "tools": tools}).to_string();
                self.say(at, update.as_bytes());
            }
            Step::Pong(at) => {
                if let Some(id) = self.connection(at) {
                    self.world.table.heard(id, self.world.now);
                }
            }
            Step::Wait(ms) => {
                let seen = self.world.wait(std::time::Duration::from_millis(ms));
                self.take(seen);
            }
            Step::End => {
                self.world.table.end("dev", seconds(10), self.world.now);
                self.world.open("dev");
            }
        }
        let seen = self.world.seen();
        self.take(seen);
    }
}

proptest! {
    #[test]
    fn each_call_ends_exactly_once(steps in prop::collection::vec(step(), 0..120)) {
        let mut play = Play {
            world: World::new(),
            connections: Vec::new(),
            asked: Vec::new(),
            calls: Vec::new(),
            ends: BTreeMap::new(),
        };
        for step in steps {
            play.step(step);
            let once = play.ends.values().all(|ends| *ends == 1);
            prop_assert!(once, "{:?}", play.ends);
        }
        // Silence ends every connection, and time every call.
        for _ in 0..10 {
            let seen = play.world.wait(seconds(20));
            play.take(seen);
        }
        let ended: Vec<CallKey> = play.ends.keys().copied().collect();
        prop_assert_eq!(ended, play.calls);
        prop_assert_eq!(play.world.table.next_due(), None);
    }

    #[test]
    fn no_bytes_break_the_table(frames in prop::collection::vec(any::<Vec<u8>>(), 0..20)) {
        let mut world = World::new();
        let provider = world.provider("p", &["greet"]);
        for frame in frames {
            world.send(provider, &frame);
        }
    }

    #[test]
    fn no_json_breaks_the_table(frames in prop::collection::vec(frame(), 0..40)) {
        let mut world = World::new();
        let provider = world.provider("p", &["greet"]);
        let (_, seen) = world.call("greet");
        let mut ends = seen.settled.len();
        for frame in frames {
            ends += world.send(provider, frame.as_bytes()).settled.len();
        }
        world.table.gone(provider, world.now);
        ends += world.seen().settled.len();
        prop_assert_eq!(ends, 1);
    }
}

/// A frame with known keys and odd values.
fn frame() -> impl Strategy<Value = String> {
    const KINDS: &[&str] =
        &["auth", "hello", "tool.result", "push", "tools.update", "goodbye", "x"];
    const KEYS: &[&str] =
        &["id", "data", "error", "tools", "name", "session", "level", "event", "metadata"];
    const VALUES: &[&str] =
        &["null", "1", "\"call-1-1\"", "\"keep\"", "[]", "{}", "[{}]", "\"\"", "true"];
    let pairs =
        prop::collection::vec((prop::sample::select(KEYS), prop::sample::select(VALUES)), 0..4);
    (prop::sample::select(KINDS), pairs).prop_map(|(kind, pairs)| {
        let fields: String =
            pairs.iter().map(|(key, value)| format!(",\"{key}\":{value}")).collect();
        format!("{{\"type\":\"{kind}\"{fields}}}")
    })
}
