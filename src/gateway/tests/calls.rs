//! The four ways in which a call ends, and which frames end which call.

use serde_json::json;

use super::world::{World, definitions, seconds};
use crate::gateway::limits::FRAME_SIZE;
use crate::gateway::{CloseReason, GatewayEvent};

#[test]
fn the_first_end_of_a_call_counts() {
    let mut world = World::new();
    let provider = world.provider("p", &["greet"]);
    let id = world.called("greet");
    let seen = world.say(provider, &json!({"type": "tool.result", "id": id, "data": null}));
    assert_eq!(seen.outcomes(), ["data"]);
    for later in [
        json!({"type": "tool.result", "id": id, "data": 2}),
        json!({"type": "tool.result", "id": id, "error": "Cancelled", "errorCode": "CANCELLED"}),
    ] {
        let seen = world.say(provider, &later);
        assert!(seen.outcomes().is_empty() && seen.frames.is_empty(), "{seen:?}");
    }
}

#[test]
fn a_failed_result_has_one_of_four_codes() {
    let mut world = World::new();
    let provider = world.provider("p", &["greet"]);
    for (code, told) in [
        (json!("NOT_FOUND"), "NOT_FOUND"),
        (json!("TIMEOUT"), "TIMEOUT"),
        (json!("CANCELLED"), "CANCELLED"),
        (json!("INTERNAL"), "INTERNAL"),
        (json!("DISCONNECTED"), "INTERNAL"),
        (json!(7), "INTERNAL"),
    ] {
        let id = world.called("greet");
        let result = json!({"type": "tool.result", "id": id, "error": "no", "errorCode": code});
        assert_eq!(world.say(provider, &result).outcomes(), [told], "{code}");
    }
    let id = world.called("greet");
    let seen = world.say(provider, &json!({"type": "tool.result", "id": id, "error": "no"}));
    assert_eq!(seen.outcomes(), ["INTERNAL"]);
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
fn a_cancelled_call_is_over_for_its_caller() {
    let mut world = World::new();
    let provider = world.provider("p", &["greet"]);
    let (key, seen) = world.call("greet");
    let id = seen.frames[0].1["id"].clone();
    world.table.cancel(key);
    let seen = world.seen();
    assert_eq!(seen.kinds(), ["tool.cancel interrupt"]);
    assert_eq!(seen.outcomes(), ["CANCELLED"]);
    for late in [
        json!({"type": "tool.result", "id": id, "data": "late"}),
        json!({"type": "tool.result", "id": id, "error": "x", "errorCode": "CANCELLED"}),
    ] {
        assert!(world.say(provider, &late).frames.is_empty());
    }
    world.table.cancel(key);
    assert!(world.seen().frames.is_empty());
}

#[test]
fn a_provider_that_goes_fails_its_calls_and_takes_its_tools() {
    let mut world = World::new();
    let provider = world.provider("p", &["greet"]);
    world.called("greet");
    world.called("greet");
    world.table.gone(provider, world.now);
    assert_eq!(world.seen().outcomes(), ["DISCONNECTED", "DISCONNECTED"]);
    let (_, seen) = world.call("greet");
    assert_eq!(seen.outcomes(), ["NOT_FOUND"]);
    assert!(seen.frames.is_empty());
    assert!(matches!(&seen.events[..], [GatewayEvent::Ended { id: None, .. }]), "{seen:?}");
}

#[test]
fn what_cannot_be_correlated_ends_the_only_call_and_the_connection_of_several() {
    let large = format!(r#"{{"type":"push","level":"keep","event":"{}"}}"#, "x".repeat(FRAME_SIZE));
    for (bytes, code) in [
        ("nonsense".as_bytes(), "INVALID_JSON"),
        (large.as_bytes(), "PAYLOAD_TOO_LARGE"),
        (br#"{"type":"tool.result"}"#, "UNKNOWN_TYPE"),
        (br#"{"type":"tool.result","id":5,"data":1}"#, "UNKNOWN_TYPE"),
        (br#"{"type":"tool.result","id":"call-1-99"}"#, "UNKNOWN_TYPE"),
        (br#"{"type":"tool.result","id":"x","data":1,"error":"e"}"#, "UNKNOWN_TYPE"),
    ] {
        let told = [format!("error {code}")];
        let mut world = World::new();
        let provider = world.provider("p", &["greet"]);
        assert_eq!(world.send(provider, bytes).kinds(), told, "with none");
        world.called("greet");
        let seen = world.send(provider, bytes);
        assert_eq!((seen.kinds(), seen.outcomes()), (told.to_vec(), vec![code]), "with one");
        world.called("greet");
        world.called("greet");
        let seen = world.send(provider, bytes);
        assert_eq!(seen.kinds(), told);
        assert_eq!(seen.outcomes(), ["DISCONNECTED", "DISCONNECTED"], "with several");
        assert_eq!(seen.closed, [(provider, CloseReason::Ambiguous)]);
    }
}

#[test]
fn an_invalid_result_fails_the_call_that_it_names_and_no_other() {
    let mut world = World::new();
    let provider = world.provider("p", &["greet"]);
    world.called("greet");
    for bad in [
        json!({}),
        json!({"data": 1, "error": "e"}),
        json!({"data": 1, "error": null}),
        json!({"error": null}),
        json!({"error": 5}),
    ] {
        let mut bad = bad;
        bad["type"] = "tool.result".into();
        bad["id"] = world.called("greet").into();
        let seen = world.say(provider, &bad);
        assert_eq!(seen.outcomes(), ["UNKNOWN_TYPE"], "{bad}");
        assert_eq!(seen.kinds(), ["error UNKNOWN_TYPE"]);
        assert_eq!(seen.frames[0].1["replyTo"], "tool.result");
        // The same for a call that is over ends nothing.
        let seen = world.say(provider, &bad);
        assert_eq!(seen.kinds(), ["error UNKNOWN_TYPE"]);
        assert!(seen.outcomes().is_empty());
    }
}

#[test]
fn errors_of_other_frames_and_unknown_ids_end_no_call() {
    let mut world = World::new();
    let provider = world.provider("p", &["greet"]);
    world.called("greet");
    for frame in [
        json!({"type": "push"}),
        json!({"type": "what"}),
        json!({"type": "hello"}),
        json!({"type": "tools.update", "tools": 1}),
        json!({"type": "tool.result", "id": "nobody", "data": 1}),
        json!({"type": "tool.result", "id": "call-2-1", "data": 1}),
    ] {
        let seen = world.say(provider, &frame);
        assert!(seen.outcomes().is_empty() && seen.closed.is_empty(), "{frame}: {seen:?}");
    }
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
fn a_call_to_a_removed_tool_runs_to_its_end_and_a_new_one_is_not_found() {
    let mut world = World::new();
    let provider = world.provider("p", &["greet"]);
    let id = world.called("greet");
    world.say(provider, &json!({"type": "tools.update", "tools": definitions(&["part"])}));
    let (_, seen) = world.call("greet");
    assert_eq!((seen.outcomes(), seen.frames.len()), (vec!["NOT_FOUND"], 0));
    let seen = world.say(provider, &json!({"type": "tool.result", "id": id, "data": 1}));
    assert_eq!(seen.outcomes(), ["data"]);
}

#[test]
fn a_call_that_is_too_large_is_not_sent() {
    let mut world = World::new();
    world.provider("p", &["greet"]);
    let args = json!({"x": "y".repeat(FRAME_SIZE)});
    let request = crate::gateway::CallRequest {
        session: "dev".into(),
        tool: "greet".into(),
        args: args.as_object().cloned().expect("an object"),
        label: None,
        timeout: None,
    };
    world.table.call(crate::gateway::CallKey(9), request, world.now);
    let seen = world.seen();
    assert_eq!((seen.outcomes(), seen.frames.len()), (vec!["PAYLOAD_TOO_LARGE"], 0));
}

#[test]
fn a_call_that_ended_leaves_no_timer() {
    let mut world = World::new();
    let provider = world.provider("p", &["greet"]);
    let id = world.called("greet");
    world.say(provider, &json!({"type": "tool.result", "id": id, "data": 1}));
    let (key, _) = world.call("greet");
    world.table.cancel(key);
    world.table.gone(provider, world.now);
    world.wait(seconds(1));
    assert_eq!(world.table.next_due(), None);
}
