//! A secret in any text of an event, of the audit or of a prompt leaves the program nowhere.

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use chrono::NaiveDate;
use ralph_copilot::events::{Audit, Emitter};
use ralph_copilot::guard::Redactor;
use ralph_copilot::model::{
    Answer, Asked, AuditDecision, AuditEntry, Event, HookType, Record as _, Redact, Reporter,
    SessionId,
};
use ralph_copilot::prompt::{ContinuationValues, IterationValues, StopValues, Templates};
use ralph_copilot::report::{
    ActivityLog, Colors, Console, CostLog, Detail, Json, Plain, ProgressMd, Refresh,
};
use serde_json::{Value, json};

use super::terminal::Terminal;
use super::{Paper, clock, sample_run};

/// The value of a secret variable. Nothing about it but its value says that it is one.
const SECRET: &str = "correct horse battery staple";

fn redactor() -> Arc<Redactor> {
    Arc::new(Redactor::new([SECRET]))
}

/// Values of the fields that the sample run leaves out, by the kind of event.
fn more() -> Vec<Value> {
    let key = json!({ "text": "t" });
    let path = json!({ "path": "p", "kind": "added" });
    let check = json!({
        "command": "c", "criteria": [key], "status": { "not_run": "why" }, "millis": 1,
        "output": "o",
    });
    let evidence = json!({
        "focus": key,
        "task_file": {
            "by": "agent", "focus_ticked": true, "others_ticked": [key], "unticked": [key],
            "removed": [key], "added": [key], "verify_changed": false, "text_changed": false,
            "unreadable": "u",
        },
        "history": { "other_branch": "b" },
        "in_progress": "merge",
        "commits": [{
            "id": "1", "subject": "s", "ours": false, "merge": false, "paths": [path],
        }],
        "secrets": [path], "uncommitted": [path], "protected": [path], "tests": [path],
        "human": [path], "state_files": [path], "guardrails": "unchanged",
        "state_uncommitted": [path], "settings": [path], "progress": true,
        "progress_rewritten": false, "checks": [check], "clean": [check], "before": [check],
        "undecided": ["u"], "proven": [key],
    });
    let fault = json!({ "class": "fatal", "message": "m" });
    let turn = |end: Value| {
        json!({
            "event": "turn_ended", "iteration": 1,
            "turn": {
                "end": end,
                "calls": [{
                    "id": "i", "kind": "execute", "title": "t",
                    "input": { "command": "c", "deep": [{ "list": ["l"] }] },
                    "status": "failed", "exit": 1,
                }],
                "denied": 0, "undecided": ["u"], "updates": 1, "unknown": ["k"], "said": "s",
                "fault": fault, "millis": 1,
            },
        })
    };
    let ended = |outcome: Value| {
        let mut event = json!({
            "event": "run_ended", "exit_code": 1,
            "summary": {
                "criteria": [{
                    "text": "t", "line": 1, "checked": false, "blocked": true, "attempts": 3,
                }],
                "iterations": 1, "millis": 1, "premium_requests": 0, "next": ["n"],
            },
        });
        let fields = event.as_object_mut().expect("an object");
        fields.extend(outcome.as_object().expect("an object").clone());
        event
    };
    let at = "2026-11-21T14:03:00Z";
    let mut kinds = vec![
        json!({
            "event": "run_started", "task": "t", "folder": "f", "agent": "a", "model": "m",
            "version": "v", "pid": 1, "checkpoint": { "head": "h", "branch": "b" },
            "criteria": { "total": 1, "open": 1 }, "max_iterations": 1,
        }),
        json!({
            "event": "iteration_started", "iteration": 1, "criterion": key, "line": 1,
            "attempt": 1, "checkpoint": { "head": "h", "branch": "b" },
        }),
        json!({
            "event": "verdict_reached", "iteration": 1, "criterion": key, "evidence": evidence,
            "verdict": {
                "result": "fail",
                "findings": [{ "kind": "no_commit", "weight": "fails", "message": "m" }],
                "mends": [{ "restore_file": "f" }],
            },
            "mended": [{ "restore_file": "f" }],
        }),
        json!({ "event": "criterion_blocked", "criterion": key, "then": "skip", "kept": "k", "denied": "d" }),
        json!({ "event": "worker_started", "worker": 2, "criterion": key, "line": 1,
            "attempt": 1 }),
        json!({ "event": "worker_handed_in", "worker": 2, "criterion": key }),
        json!({ "event": "activity", "worker": 2, "now": "call", "call": "i", "tool": "t",
            "input": { "command": "c" } }),
        json!({ "event": "activity", "now": "call_ended", "call": "i" }),
        json!({ "event": "activity", "now": "setting_up", "command": "c" }),
        json!({ "event": "criterion_skipped", "criterion": key, "because": key, "reason": "r" }),
        turn(json!({ "cut_by_denial": { "reason": "r" } })),
        turn(json!({ "other": "o" })),
        turn(json!({ "stuck": { "repeating": { "command": "c", "times": 5 } } })),
        ended(json!({ "outcome": "proven" })),
        ended(json!({ "outcome": "stuck", "reason": "r" })),
        ended(json!({ "outcome": "agent_unusable", "fault": fault })),
        ended(json!({
            "outcome": "rate_limited", "message": "m", "resume_at": at, "estimated": true,
        })),
        ended(json!({ "outcome": "tampered", "reason": "r" })),
        ended(json!({ "outcome": "cannot_go_on", "obstacle": "write", "reason": "r" })),
    ];
    for kind in &mut kinds {
        let fields = kind.as_object_mut().expect("an object");
        fields.extend([
            ("seq".to_owned(), json!(1)),
            ("time".to_owned(), json!(at)),
            ("run".to_owned(), json!("r")),
        ]);
    }
    kinds
}

/// The places of all strings in a value.
fn strings(value: &Value, at: &str, found: &mut Vec<String>) {
    match value {
        Value::String(_) => found.push(at.to_owned()),
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                strings(item, &format!("{at}/{index}"), found);
            }
        }
        Value::Object(fields) => {
            for (name, field) in fields {
                strings(field, &format!("{at}/{name}"), found);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// Names that git and the runner make: a run is resumed by them.
fn is_made_by_us(at: &str) -> bool {
    let commit = at.starts_with("/evidence/commits/") && at.ends_with("/id");
    commit || at == "/run" || at.starts_with("/checkpoint/")
}

/// The event with the secret in every string that can hold any text, and how many do. A
/// string that cannot is a word of ours: with another one the event is none.
fn with_secrets(event: &Value) -> (Event, usize) {
    let mut value = event.clone();
    let (mut places, mut count) = (Vec::new(), 0);
    strings(event, "", &mut places);
    for at in places.iter().filter(|at| !is_made_by_us(at)) {
        let mut changed = value.clone();
        *changed.pointer_mut(at).expect("a string") = format!("a {SECRET} b").into();
        if serde_json::from_value::<Event>(changed.clone()).is_ok() {
            (value, count) = (changed, count + 1);
        }
    }
    (serde_json::from_value(value).expect("an event"), count)
}

/// Everything that the reporters and the journal make of these events.
fn told_of(events: Vec<Event>, folder: &Path) -> String {
    let (json, plain) = (Paper::default(), Paper::default());
    let term = Terminal::new(400, 200);
    let file = |name: &str| folder.join(name);
    let reporters: Vec<Box<dyn Reporter>> = vec![
        Box::new(Json::new(Box::new(json.clone()))),
        Box::new(Plain::new(Box::new(plain.clone()), clock(), 100, Detail::Verbose)),
        Box::new(Console::new(
            Arc::new(term.clone()),
            Colors::Off,
            Refresh::OnEvent,
            clock(),
            Detail::Verbose,
        )),
        Box::new(ProgressMd::new(file("progress.md"), clock())),
        Box::new(ActivityLog::new(file("activity.log"), clock())),
        Box::new(CostLog::new(file("cost.log"), clock())),
    ];
    let run = events[0].run.clone();
    let emitter = Emitter::create(&file("events.jsonl"), run, clock(), redactor(), reporters)
        .expect("emitter");
    for event in events {
        emitter.record(event.kind).expect("recorded");
    }
    emitter.flush().expect("flushed");
    let files = ["events.jsonl", "progress.md", "activity.log", "cost.log"];
    let files = files.map(|name| fs::read_to_string(file(name)).expect(name));
    [json.text(), plain.text(), term.contents()].into_iter().chain(files).collect()
}

#[test]
fn no_text_of_an_event_brings_a_secret_out() {
    let sample = sample_run::events();
    let sample = sample.iter().map(|event| serde_json::to_value(event).expect("JSON"));
    let all: Vec<Value> = sample.chain(more()).collect();
    let (mut events, mut fields) = (Vec::new(), 0);
    for event in &all {
        let (event, count) = with_secrets(event);
        fields += count;
        events.push(event);
    }
    assert!(fields > 200, "{fields} strings hold a secret");
    let folder = tempfile::tempdir().expect("folder");
    let told = told_of(events, folder.path());
    assert!(told.matches("[REDACTED]").count() > fields, "they are in the journal and on screen");
    let leak = told.lines().find(|line| line.contains("horse"));
    assert_eq!(leak, None);
}

#[test]
fn no_text_of_the_audit_brings_a_secret_out() {
    let secret = || format!("a {SECRET} b");
    let folder = tempfile::tempdir().expect("folder");
    let audit = Audit::open(folder.path(), clock(), redactor()).expect("audit");
    audit
        .write(&AuditEntry {
            hook: HookType::PreToolUse,
            session: Some(SessionId::new(secret())),
            tool: Some(secret()),
            input: Some(json!({ "command": secret(), "list": [secret()] })),
            output: Some(secret().into()),
            elapsed: Some(Duration::ZERO),
            decision: Some(AuditDecision {
                answer: Answer::Deny,
                rule: secret(),
                reason: secret(),
                asked: Some(Asked::Hook),
            }),
        })
        .expect("written");
    let file = fs::read_dir(folder.path()).expect("folder").next().expect("a file");
    let text = fs::read_to_string(file.expect("a file").path()).expect("text");
    assert_eq!(text.matches("a [REDACTED] b").count(), 7, "{text}");
    assert!(!text.contains("horse"), "{text}");
}

#[test]
fn no_value_of_a_prompt_brings_a_secret_out() {
    let secret = || format!("a {SECRET} b");
    let templates = Templates::builtin().expect("templates");
    let redactor = redactor();
    let redact: &dyn Redact = redactor.as_ref();
    let prompts = [
        templates.iteration(
            &IterationValues {
                iteration: 1,
                task_name: secret(),
                commit_prefix: secret(),
                task_folder: secret(),
                task_content: secret(),
                guardrails_content: secret(),
                progress_content: secret(),
                next_criterion: secret(),
                next_line: 1,
                verify_commands: vec![secret()],
                passed_before: true,
                feedback: vec![secret()],
                lessons: vec![secret()],
                project_context: Some(secret()),
                commit_hooks: Some(secret()),
                human_changes: vec![secret()],
                attempt: 1,
                max_attempts: 3,
                date: NaiveDate::default(),
            },
            redact,
        ),
        templates.continuation(
            &ContinuationValues {
                iteration: 1,
                task_name: secret(),
                commit_prefix: secret(),
                task_folder: secret(),
                next_criterion: secret(),
                next_line: 1,
                reason: secret(),
                project_context: Some(secret()),
            },
            redact,
        ),
        templates.stop(
            &StopValues {
                iteration: 1,
                task_name: secret(),
                commit_prefix: secret(),
                task_folder: secret(),
                next_criterion: secret(),
                next_line: 1,
                feedback: vec![secret()],
            },
            redact,
        ),
    ];
    for prompt in prompts {
        let text = prompt.expect("a prompt").text;
        assert!(text.contains("a [REDACTED] b") && !text.contains("horse"), "{text}");
    }
}
