//! Calls of offered tools: decided once, run once, recorded once.

use serde_json::json;

use super::*;
use crate::agent::Focus;
use crate::agent::recorded_events::RecordedEvents;
use crate::guard::{OsFiles, Policy, Redactor};
use crate::hooks::{HookCall, HookResult};
use crate::model::EventKind;

/// The name of the server.
const SERVER: &str = "rabc234";

/// The tools of the decisions, each with its layer.
fn decided(recorded: &RecordedEvents) -> Vec<(Asked, String)> {
    let events = recorded.events.lock().expect("events");
    let decided = events.iter().filter_map(|event| match event {
        EventKind::ToolDecided { asked, tool, .. } => Some((*asked, tool.clone())),
        _ => None,
    });
    decided.collect()
}

struct Offer;

impl OfferedTools for Offer {
    fn server(&self) -> &str {
        SERVER
    }

    fn find(&self, name: &str) -> OfferedTool {
        let (name, kind) = match name {
            "memory_read" => ("memory_read", OfferedKind::Memory),
            "greet" => ("desk.greet", OfferedKind::Provider),
            other => (other, OfferedKind::Gone),
        };
        OfferedTool { name: name.to_owned(), kind }
    }
}

fn gate() -> (Arc<RecordedEvents>, Gate) {
    let recorded = Arc::<RecordedEvents>::default();
    let redactor = Arc::new(Redactor::new(["hunter2-hunter2".to_owned()]));
    let gate = Gate::new(Arc::clone(&recorded) as _, redactor, Box::new(OsFiles));
    gate.offer(Arc::new(Offer));
    let policy = Arc::new(Policy::new("/w/repo", "/w/repo/tasks/demo"));
    gate.focus(Focus { iteration: 1, policy }).expect("focus");
    (recorded, gate)
}

fn session() -> SessionId {
    SessionId::new("s")
}

fn asked(asked: Asked, tool: &str, input: Value) -> ToolRequest {
    let call = (asked == Asked::Permission).then(|| "1".to_owned());
    ToolRequest { session: session(), call, tool: tool.to_owned(), input, asked }
}

fn hook(tool: &str, input: &Value) -> ToolRequest {
    asked(Asked::Hook, &format!("{SERVER}-{tool}"), input.clone())
}

#[test]
fn with_a_hook_the_server_runs_what_the_hook_allowed_once() {
    let (recorded, gate) = gate();
    gate.expect_hooks();
    gate.greet("s", None);
    let hi = json!({"name": "Alice"});
    let denied = gate.admit(&session(), "greet", &hi);
    assert_eq!((denied.allowed(), denied.rule.as_str()), (false, "guard.not-decided"));
    assert!(gate.decide(&hook("greet", &hi)).allowed());
    assert!(gate.admit(&session(), "greet", &hi).allowed());
    assert!(!gate.admit(&session(), "greet", &hi).allowed(), "it was one call");
    let layers = [Asked::Server, Asked::Hook, Asked::Server];
    assert_eq!(decided(&recorded), layers.map(|layer| (layer, "desk.greet".to_owned())));
}

#[test]
fn a_result_is_recorded_once_whoever_reports_it() {
    let (recorded, gate) = gate();
    gate.expect_hooks();
    gate.greet("s", None);
    let report = |gate: &Gate| {
        let tool = format!("{SERVER}-memory_read");
        let call = HookCall { session: "s".to_owned(), tool, input: json!({}) };
        let output = json!("told by the hook");
        gate.record_result(&HookResult { call, output, kind: Some("success".to_owned()) });
    };
    assert!(gate.decide(&hook("memory_read", &json!({}))).allowed());
    assert!(gate.admit(&session(), "memory_read", &json!({})).allowed());
    let output = json!("told by the server");
    gate.record_served(&session(), "memory_read", &json!({}), output, Duration::ZERO);
    report(&gate);
    // The server was out of reach: only the hook knows.
    assert!(gate.decide(&hook("memory_read", &json!({}))).allowed());
    report(&gate);
    let entries = recorded.audited.lock().expect("entries");
    let results = entries.iter().filter(|entry| entry.hook == HookType::PostToolUse);
    let results: Vec<_> = results.map(|it| (it.tool.as_deref(), it.output.clone())).collect();
    let told = |who: &str| (Some("memory_read"), Some(json!(format!("told by the {who}"))));
    assert_eq!(results, [told("server"), told("hook")]);
}

#[test]
fn the_end_of_the_turn_ends_calls_and_allows_no_other() {
    let (_recorded, gate) = gate();
    let turn = gate.turn();
    assert!(gate.decide(&hook("memory_read", &json!({}))).allowed());
    gate.rest();
    assert!(turn.is_cancelled());
    let denied = gate.admit(&session(), "memory_read", &json!({}));
    assert_eq!((denied.allowed(), denied.rule.as_str()), (false, "run.turn-over"));
}

#[test]
fn a_title_names_a_tool_only_as_far_as_the_hook_allowed_it() {
    let (_recorded, gate) = gate();
    let hi = json!({"name": "Alice"});
    let named = |gate: &Gate, kind: &str, title: &str| {
        gate.named_by_title(asked(Asked::Permission, kind, hi.clone()), Some(title)).tool
    };
    let greet = format!("{SERVER}-greet");
    for title in ["greet", &greet, "mcp__rabc234__greet", "rabc234_greet"] {
        assert_eq!(named(&gate, "other", title), greet, "{title}");
    }
    assert_eq!(named(&gate, "execute", "greet"), "execute", "a kind says more than a title");
    assert_eq!(named(&gate, "other", "gone"), "other");
    gate.expect_hooks();
    gate.greet("s", None);
    assert_eq!(named(&gate, "other", "greet"), "other", "the hook has not allowed it");
    assert!(gate.decide(&hook("greet", &hi)).allowed());
    assert_eq!(named(&gate, "other", "greet"), greet);
}

#[test]
fn secrets_are_not_handed_to_a_provider() {
    let (_recorded, gate) = gate();
    let input = json!({"text": "the password is hunter2-hunter2"});
    let denied = gate.decide(&hook("greet", &input));
    assert_eq!((denied.allowed(), denied.rule.as_str()), (false, "secret.value"));
    // Memory stays in the house.
    assert!(gate.decide(&hook("memory_read", &input)).allowed());
}

#[test]
fn arguments_that_look_like_a_shell_s_are_only_arguments() {
    let (_recorded, gate) = gate();
    let input = json!({"command": "git push", "commands": ["git push"]});
    let tool = format!("{SERVER}/greet");
    assert!(gate.decide(&asked(Asked::Permission, &tool, input)).allowed());
    assert_eq!(gate.alarm(), None);
}

#[test]
fn a_name_that_is_too_long_is_cut_after_its_secrets_are_gone() {
    let (recorded, gate) = gate();
    let long = format!("{}hunter2-hunter2{}", "x".repeat(150), "y".repeat(4_000_000));
    let denied = [gate.admit(&session(), &long, &json!({})), gate.decide(&hook(&long, &json!({})))];
    for decision in denied {
        assert!(decision.reason.len() < 1000, "{}", decision.reason.len());
        assert!(!decision.reason.contains("hunter2"));
    }
    assert!(gate.refuse(&hook(&long, &json!({})), "x", "y").reason.len() < 1000);
    let decided = decided(&recorded);
    assert_eq!(decided.len(), 3);
    for (_, name) in decided {
        assert!(name.chars().count() <= 201 && name.ends_with('…'), "{name:.300}");
        assert!(!name.contains("hunter2"), "{name}");
    }
    assert_eq!(gate.shown_name(&"x".repeat(200)), "x".repeat(200));
}
