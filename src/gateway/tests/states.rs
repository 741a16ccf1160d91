//! States and times that no script of frames shows.

use std::time::Duration;

use serde_json::json;

use super::world::{StepEffects, World, definitions, hello, seconds};
use crate::gateway::{CloseReason, GatewayEvent};

/// The lists of tools that were announced.
fn announced(seen: &StepEffects) -> Vec<Vec<String>> {
    let events = seen.events.iter();
    let lists = events.filter_map(|event| match event {
        GatewayEvent::ToolsChanged { tools, .. } => Some(tools.clone()),
        _ => None,
    });
    lists.collect()
}

#[test]
fn each_state_takes_its_own_frames() {
    let frames = ["auth", "hello", "tool.result", "push", "tools.update", "goodbye", "nonsense"];
    let told = ["error UNKNOWN_TYPE".to_owned()];
    for kind in frames {
        let mut world = World::new();
        let id = world.connect();
        if kind != "auth" {
            let seen = world.say(id, &json!({"type": kind}));
            assert_eq!((seen.kinds(), seen.closed.len()), (told.to_vec(), 0), "{kind}, first");
        }
        assert_eq!(world.auth(id).kinds(), ["sessions"]);
        if kind != "hello" {
            let seen = world.say(id, &json!({"type": kind}));
            assert_eq!((seen.kinds(), seen.closed.len()), (told.to_vec(), 0), "{kind}, second");
        }
        world.say(id, &hello("p", "dev", &[]));
        if matches!(kind, "auth" | "hello" | "nonsense") {
            let seen = world.say(id, &json!({"type": kind}));
            assert_eq!(seen.kinds(), told, "{kind}, bound");
            assert_eq!(seen.frames[0].1["replyTo"], kind);
            assert_eq!(seen.frames[0].1["providerId"], "p-0001");
        }
    }
}

#[test]
fn changes_are_announced_once_after_they_stop_and_within_a_second() {
    let mut world = World::new();
    for name in ["a", "b", "c", "d", "e"] {
        world.provider(name, &[name]);
        assert!(announced(&world.wait(Duration::from_millis(100))).is_empty());
    }
    let seen = world.wait(Duration::from_millis(100));
    assert_eq!(announced(&seen), [["a", "b", "c", "d", "e"]]);
    // A change that never rests is announced all the same.
    let provider = world.provider("f", &["f"]);
    let mut told = 0;
    for at in 0..10 {
        let tools = if at % 2 == 0 { definitions(&["g"]) } else { definitions(&["h"]) };
        world.say(provider, &json!({"type": "tools.update", "tools": tools}));
        told += announced(&world.wait(Duration::from_millis(100))).len();
    }
    assert_eq!(told, 1);
}

#[test]
fn a_timeout_is_the_tool_s_or_the_caller_s_and_tells_the_provider() {
    let mut world = World::new();
    let provider = world.provider("p", &["greet"]);
    world.called("greet");
    world.call_within("greet", Some(seconds(3)));
    world.table.heard(provider, world.now);
    let seen = world.wait(seconds(3));
    assert_eq!(seen.outcomes(), ["TIMEOUT"]);
    assert_eq!(seen.kinds(), ["tool.cancel timeout"]);
    for _ in 0..12 {
        world.table.heard(provider, world.now);
        world.wait(seconds(9));
    }
    world.table.heard(provider, world.now);
    assert_eq!(world.wait(seconds(9)).outcomes(), ["TIMEOUT"], "after 120 s");
}

#[test]
fn a_provider_cannot_answer_for_another() {
    let mut world = World::new();
    world.provider("p", &["greet"]);
    let other = world.provider("q", &["part"]);
    let id = world.called("greet");
    let seen = world.say(other, &json!({"type": "tool.result", "id": id, "data": "mine"}));
    assert!(seen.outcomes().is_empty());
}

#[test]
fn strangers_have_ten_seconds_and_others_may_wait() {
    let mut world = World::new();
    let stranger = world.connect();
    let waiting = world.connect();
    world.auth(waiting);
    let http = world.connect();
    world.table.vouch(http);
    let seen = world.wait(seconds(10));
    assert_eq!(seen.closed, [(stranger, CloseReason::Unauthenticated)]);
    for _ in 0..100 {
        world.table.heard(waiting, world.now);
        assert!(world.wait(seconds(10)).closed.is_empty());
    }
}

#[test]
fn silence_counts_from_the_last_word_and_not_from_a_ping() {
    let mut world = World::new();
    let provider = world.provider("p", &[]);
    world.now += Duration::from_millis(100);
    world.table.heard(provider, world.now);
    let mut pings = 0;
    for _ in 0..300 {
        let seen = world.wait(Duration::from_millis(100));
        pings += seen.pings;
        let over = (seen.closed.len(), world.now) == (1, Duration::from_millis(30_100));
        assert_eq!(over, !seen.closed.is_empty(), "{:?}", world.now);
        assert_eq!(over, world.now == Duration::from_millis(30_100));
    }
    assert_eq!(pings, 2);
}
