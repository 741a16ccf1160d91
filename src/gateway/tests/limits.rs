//! Limits: strangers, silence, rates, pushes.

use std::time::Duration;

use serde_json::{Value, json};

use super::world::{World, seconds};
use crate::gateway::{CloseReason, GatewayEvent, PushedEvent};

#[test]
fn the_sixty_fifth_stranger_ends_the_oldest() {
    let mut world = World::new();
    let first = world.connect();
    let second = world.connect();
    world.auth(first);
    for _ in 0..63 {
        world.connect();
        assert!(world.seen().closed.is_empty());
    }
    world.connect();
    assert_eq!(world.seen().closed, [(second, CloseReason::Crowded)]);
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
fn a_silent_connection_is_pinged_and_then_ended() {
    let mut world = World::new();
    let provider = world.provider("p", &["greet"]);
    let seen = world.wait(seconds(15));
    assert_eq!((seen.pings, seen.closed.len()), (1, 0));
    let seen = world.wait(seconds(15));
    assert_eq!(seen.closed, [(provider, CloseReason::Silent)]);
    // The name of its tool is free again.
    world.provider("p", &["greet"]);
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

#[test]
fn frames_over_the_rate_are_dropped_and_results_are_not_counted() {
    let mut world = World::new();
    let provider = world.provider("p", &["greet"]);
    let id = world.called("greet");
    let push = json!({"type": "push", "level": "keep", "event": "x"});
    let mut events = 0;
    let mut told = Vec::new();
    for _ in 0..2000 {
        let seen = world.say(provider, &push);
        events += seen.events.len();
        told.extend(seen.frames);
    }
    // `auth` and `hello` counted too.
    assert_eq!(events, 998);
    assert_eq!(told.len(), 1);
    assert_eq!(
        (&told[0].1["code"], &told[0].1["replyTo"]),
        (&json!("RATE_LIMITED"), &json!("push"))
    );
    let seen = world.say(provider, &json!({"type": "tool.result", "id": id, "data": 1}));
    assert_eq!(seen.outcomes(), ["data"]);
}

#[test]
fn a_push_has_a_level_and_a_text() {
    let mut world = World::new();
    let provider = world.provider("p", &[]);
    for bad in [
        json!({}),
        json!({"level": "loud", "event": "x"}),
        json!({"level": "keep"}),
        json!({"level": "keep", "event": ""}),
        json!({"level": "keep", "event": 1}),
        json!({"level": "keep", "event": "x", "stream": 1}),
        json!({"level": "keep", "event": "x", "metadata": []}),
    ] {
        let mut bad = bad;
        bad["type"] = "push".into();
        assert_eq!(world.say(provider, &bad).kinds(), ["error UNKNOWN_TYPE"], "{bad}");
    }
    for id in [json!("other"), json!(1), json!(null)] {
        let strange = json!({"type": "push", "level": "keep", "event": "x", "sessionId": id});
        assert_eq!(world.say(provider, &strange).kinds(), ["error INVALID_SESSION"], "{strange}");
    }
}

fn pushed(world: &mut World, push: Value) -> PushedEvent {
    let provider = crate::gateway::ConnectionId(1);
    let mut push = push;
    push["type"] = "push".into();
    match world.say(provider, &push).events.remove(0) {
        GatewayEvent::Pushed(event) => event,
        other => panic!("{other:?}"),
    }
}

#[test]
fn the_stream_is_the_provider_s_name_unless_it_says_another() {
    let mut world = World::new();
    world.provider("p", &[]);
    let event = pushed(&mut world, json!({"level": "keep", "event": "x", "sessionId": "dev"}));
    assert_eq!((event.stream.as_str(), event.metadata, event.injected), ("p", None, None));
    let event = json!({"level": "surface", "event": "x", "stream": "s", "metadata": {"a": 1}});
    let event = pushed(&mut world, event);
    assert_eq!((event.stream.as_str(), event.metadata.is_some()), ("s", true));
}

#[test]
fn five_events_of_an_iteration_are_injected_and_each_is_cut() {
    let mut world = World::new();
    world.provider("p", &[]);
    let long = "é".repeat(4096);
    for at in 0..7 {
        let event = pushed(&mut world, json!({"level": "inject", "event": long}));
        assert_eq!(event.text.len(), 8192);
        assert_eq!(event.injected.map(|text| text.len()), (at < 5).then_some(4096));
    }
    world.table.start_iteration("dev");
    let event = pushed(&mut world, json!({"level": "inject", "event": "again"}));
    assert_eq!(event.injected.as_deref(), Some("again"));
}
