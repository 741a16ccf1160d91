//! States, sessions, announcements.

use std::time::Duration;

use serde_json::{Value, json};

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
fn a_token_that_is_wrong_or_missing_ends_the_connection() {
    for token in [json!("ptk-"), json!(1), Value::Null] {
        let mut world = World::new();
        let id = world.connect();
        let seen = world.say(id, &json!({"type": "auth", "token": token}));
        assert_eq!(seen.kinds(), ["error AUTH_FAILED"]);
        assert_eq!(seen.closed, [(id, CloseReason::Refused)]);
    }
}

#[test]
fn hello_is_checked_in_order_and_only_the_version_is_fatal() {
    let long = "x".repeat(65);
    let many = json!(vec![json!({}); 101]);
    let mut bad = hello("", "no", &[]);
    bad["tools"] = json!(5);
    for (key, fixed, code) in [
        ("name", json!(" "), "UNKNOWN_TYPE"),
        ("name", json!(long), "UNKNOWN_TYPE"),
        ("name", json!("p"), "INVALID_SESSION"),
        ("session", json!("all"), "INVALID_SESSION"),
        ("session", json!("dev"), "UNKNOWN_TYPE"),
        ("tools", many, "PAYLOAD_TOO_LARGE"),
        ("tools", definitions(&["a", "a"]), "TOOL_CONFLICT"),
        ("tools", definitions(&["bash"]), "TOOL_CONFLICT"),
        ("tools", definitions(&["openclaw_memory_search"]), "TOOL_CONFLICT"),
        ("tools", definitions(&["taken"]), "TOOL_CONFLICT"),
    ] {
        let mut world = World::new();
        world.provider("other", &["taken"]);
        let id = world.connect();
        world.auth(id);
        bad[key] = fixed;
        let seen = world.say(id, &bad);
        assert_eq!(seen.kinds(), [format!("error {code}")], "{bad}");
        assert!(seen.closed.is_empty());
        assert_eq!(seen.frames[0].1.get("providerId"), None);
        // It may try again.
        assert_eq!(world.say(id, &hello("p", "dev", &[])).kinds()[0], "hello.ack");
    }
    for version in [json!("2"), json!(3), json!(1), Value::Null] {
        let mut world = World::new();
        let id = world.connect();
        world.auth(id);
        let mut old = hello("p", "dev", &[]);
        old["protocolVersion"] = version;
        let seen = world.say(id, &old);
        assert_eq!(seen.kinds(), ["error UNSUPPORTED_VERSION"]);
        assert_eq!(seen.closed, [(id, CloseReason::Refused)]);
    }
}

#[test]
fn an_update_replaces_the_list_or_changes_nothing() {
    let mut world = World::new();
    let provider = world.provider("p", &["a", "b"]);
    world.provider("q", &["z"]);
    for tools in [definitions(&["z"]), definitions(&["c", "c"]), json!(null), json!([1])] {
        let seen = world.say(provider, &json!({"type": "tools.update", "tools": tools}));
        assert!(seen.kinds()[0].starts_with("error "), "{tools}");
    }
    let wrong = json!({"type": "tools.update", "tools": [], "sessionId": "other"});
    assert_eq!(world.say(provider, &wrong).kinds(), ["error INVALID_SESSION"]);
    assert_eq!(world.call("a").1.kinds(), ["tool.call"]);
    let good =
        json!({"type": "tools.update", "tools": definitions(&["b", "c"]), "sessionId": "dev"});
    assert!(world.say(provider, &good).frames.is_empty());
    assert_eq!(world.call("a").1.outcomes(), ["NOT_FOUND"]);
    assert_eq!(world.call("c").1.kinds(), ["tool.call"]);
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
fn nothing_is_announced_if_nothing_is_different() {
    let mut world = World::new();
    let provider = world.provider("p", &["a"]);
    assert_eq!(announced(&world.wait(seconds(1))).len(), 1);
    world.say(provider, &json!({"type": "tools.update", "tools": []}));
    world.say(provider, &json!({"type": "tools.update", "tools": definitions(&["a"])}));
    assert!(announced(&world.wait(seconds(1))).is_empty());
    let other = world.provider("q", &[]);
    world.table.gone(other, world.now);
    assert!(announced(&world.wait(seconds(1))).is_empty());
}

#[test]
fn a_session_that_ends_is_off_the_list_until_its_providers_are_gone() {
    let mut world = World::new();
    let provider = world.provider("p", &["greet"]);
    let id = world.called("greet");
    assert!(world.table.end("dev", seconds(10), world.now).is_some());
    let seen = world.seen();
    assert_eq!(seen.kinds(), ["session.lifecycle shutdown.pending"]);
    assert_eq!(seen.frames[0].1["deadline"], 10_000);
    assert_eq!((seen.over, world.table.end("dev", seconds(1), world.now)), (0, None));
    assert_eq!(world.call("greet").1.outcomes(), ["NOT_FOUND"]);
    let late = world.connect();
    assert_eq!(world.auth(late).frames[0].1["active"], json!([]));
    let seen = world.say(late, &hello("q", "dev", &[]));
    assert_eq!(seen.kinds(), ["error INVALID_SESSION"]);
    let seen = world.say(provider, &json!({"type": "tool.result", "id": id, "data": 1}));
    assert_eq!(seen.outcomes(), ["data"]);
    let seen = world.say(provider, &json!({"type": "goodbye", "reason": "done"}));
    assert_eq!((seen.over, seen.closed), (1, vec![(provider, CloseReason::Goodbye)]));
}

#[test]
fn the_deadline_ends_who_stays_and_no_provider_needs_none() {
    let mut world = World::new();
    let provider = world.provider("p", &["greet"]);
    world.called("greet");
    world.table.end("dev", seconds(10), world.now);
    world.seen();
    let seen = world.wait(seconds(10));
    assert_eq!((seen.over, seen.outcomes()), (1, vec!["DISCONNECTED"]));
    assert_eq!(seen.closed, [(provider, CloseReason::SessionEnded)]);
    world.open("dev");
    world.table.end("dev", seconds(10), world.now);
    assert_eq!(world.seen().over, 1);
    world.open("dev");
}

#[test]
fn idle_goes_to_the_providers_of_its_session() {
    let mut world = World::new();
    world.open("other");
    let provider = world.provider("p", &[]);
    let waiting = world.connect();
    world.auth(waiting);
    assert!(world.table.idle("dev") && world.table.idle("other") && !world.table.idle("none"));
    let seen = world.seen();
    assert_eq!(seen.kinds(), ["session.lifecycle idle"]);
    assert_eq!(seen.frames[0].0, provider);
}
