//! What stands in the task folder after a run.

use std::fs;
use std::path::{Path, PathBuf};

use ralph_copilot::model::{
    Answer, Asked, CallStatus, Decided, Event, EventKind, ExecutedCall, Fault, FaultClass,
    Reporter, RunId, SessionId, Turn,
};
use ralph_copilot::report::{ActivityLog, CostLog, ProgressMd};
use serde_json::{Value, json};

use super::{clock, sample_run};

/// Feeds a run as the engine does: what was kept is written before an iteration ends.
/// Gives the file's text before each of those writes, and at the end.
fn feed(reporter: &mut dyn Reporter, path: &Path, events: &[Event]) -> (Vec<String>, String) {
    let read = || fs::read_to_string(path).unwrap_or_default();
    let mut before = Vec::new();
    for event in events {
        if matches!(event.kind, EventKind::IterationEnded { .. } | EventKind::RunEnded { .. }) {
            before.push(read());
            reporter.flush().expect("flush");
        }
        reporter.on_event(event).expect("taken");
    }
    reporter.flush().expect("flush");
    (before, read())
}

/// Events of one moment, numbered.
fn events_of(kinds: impl IntoIterator<Item = EventKind>) -> Vec<Event> {
    let (time, run) = (sample_run::at(sample_run::BEGIN), RunId::new("r"));
    let events = (1..).zip(kinds);
    events.map(|(seq, kind)| Event { seq, time, run: run.clone(), kind }).collect()
}

fn place(name: &str) -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().expect("folder");
    let path = folder.path().join(name);
    (folder, path)
}

#[test]
fn progress_md_has_a_line_for_what_each_iteration_came_to() {
    let (_folder, path) = place("progress.md");
    fs::write(&path, "# Progress\n\n- 2026-11-20 by hand").expect("by hand");
    let mut reporter = ProgressMd::new(path.clone(), clock());
    let (before, text) = feed(&mut reporter, &path, &sample_run::events());
    insta::assert_snapshot!(text);
    assert_eq!(before[0], "# Progress\n\n- 2026-11-20 by hand", "nothing within the turn");
    for (earlier, later) in before.iter().zip(before.iter().skip(1)) {
        assert!(later.starts_with(earlier.as_str()), "only appended");
    }
}

#[test]
fn an_iteration_that_was_cut_short_has_its_line_too() {
    let (_folder, path) = place("progress.md");
    let mut reporter = ProgressMd::new(path.clone(), clock());
    let events: Vec<Event> = sample_run::events()
        .into_iter()
        .skip_while(|event| !matches!(event.kind, EventKind::IterationStarted { iteration: 3, .. }))
        .take_while(|event| !matches!(event.kind, EventKind::Waiting { .. }))
        .collect();
    let (_, text) = feed(&mut reporter, &path, &events);
    insta::assert_snapshot!(text, @r#"- 2026-11-21 14:03 iteration 3: NO VERDICT "Zeitüberschreitung (タイムアウト) ist einstellbar": 429 Rate limit reached for requests"#);
}

#[test]
fn activity_log_has_a_line_for_each_operation() {
    let (_folder, path) = place("activity.log");
    fs::write(&path, "{\"torn").expect("torn");
    let mut reporter = ActivityLog::new(path.clone(), clock());
    let (before, text) = feed(&mut reporter, &path, &sample_run::events());
    insta::assert_snapshot!(text);
    assert_eq!(before[0], "{\"torn", "nothing within the turn");
    for line in text.lines() {
        let entry: serde_json::Value = serde_json::from_str(line).expect("an object");
        for name in ["timestamp", "iteration", "operation", "args", "approved", "result"] {
            assert!(entry.get(name).is_some(), "{name} in {line}");
        }
    }
}

/// A run that died is told again from its first event on, however often.
#[test]
fn of_a_run_that_died_only_the_missing_lines_are_written() {
    let events = sample_run::events();
    let (_folder, path) = place("activity.log");
    let mut whole = ActivityLog::new(path.clone(), clock());
    feed(&mut whole, &path, &events);
    let whole = fs::read_to_string(&path).expect("a log");
    for there in 0..=whole.lines().count() {
        let begin: String = whole.split_inclusive('\n').take(there).collect();
        fs::write(&path, begin).expect("a log");
        for _ in 0..2 {
            let mut again = ActivityLog::new(path.clone(), clock()).only_missing();
            feed(&mut again, &path, &events);
            assert_eq!(fs::read_to_string(&path).expect("a log"), whole, "{there}");
        }
    }
    // A line that is torn within a letter hides none of the others.
    let mut torn = whole.clone().into_bytes();
    torn.extend("{\"reason\":\"ü".bytes().take(12));
    fs::write(&path, torn).expect("a log");
    let mut again = ActivityLog::new(path.clone(), clock()).only_missing();
    for event in &events {
        again.on_event(event).expect("taken");
    }
    again.flush().expect("written");
    assert_eq!(fs::read_to_string(&path).expect("a log"), whole);
    // What was moved aside is there, too.
    fs::write(&path, &whole).expect("a log");
    fs::rename(&path, path.with_extension("log.1")).expect("moved");
    let mut again = ActivityLog::new(path.clone(), clock()).only_missing();
    feed(&mut again, &path, &events);
    assert_eq!(fs::read_to_string(&path).unwrap_or_default(), "");
}

#[test]
fn a_full_log_is_moved_aside_before_it_grows_and_what_people_write_never_is() {
    let full = "x\n".repeat(128 << 10);
    let events = sample_run::events();
    let (_folder, path) = place("cost.log");
    fs::write(&path, &full).expect("a log");
    feed(&mut CostLog::new(path.clone(), clock()), &path, &events);
    assert_eq!(fs::read_to_string(path.with_extension("log.1")).expect("moved"), full);
    assert!(fs::read_to_string(&path).expect("a log").starts_with('['));
    let (_folder, path) = place("progress.md");
    fs::write(&path, &full).expect("progress");
    feed(&mut ProgressMd::new(path.clone(), clock()), &path, &events);
    assert!(fs::read_to_string(&path).expect("progress").starts_with(&full));
    assert!(!path.with_extension("md.1").exists());
}

#[test]
fn activity_log_joins_an_edit_s_two_questions_although_they_differ() {
    let (_folder, path) = place("activity.log");
    let mut reporter = ActivityLog::new(path.clone(), clock());
    let hook = |new: &str| json!({ "path": "/repo/a.txt", "old_str": "x", "new_str": new });
    let decided = |call: Option<&str>, input: Value, asked| EventKind::ToolDecided {
        iteration: 1,
        session: SessionId::new("s"),
        call: call.map(str::to_owned),
        tool: "edit".to_owned(),
        input,
        asked,
        answer: Answer::Allow,
        rule: "r".to_owned(),
        reason: "because".to_owned(),
    };
    let asks = json!({ "fileName": "/repo/a.txt", "diff": "-x\n+y" });
    let finished = |id: &str, input: Value, status| EventKind::ToolFinished {
        iteration: 1,
        decided: Decided::Yes,
        call: ExecutedCall {
            id: id.to_owned(),
            kind: "edit".to_owned(),
            title: String::new(),
            input,
            status,
            exit: None,
        },
    };
    let kinds = [
        decided(None, hook("y"), Asked::Hook),
        decided(Some("1"), asks.clone(), Asked::Permission),
        finished("1", hook("y"), CallStatus::Completed),
        decided(None, hook("z"), Asked::Hook),
        decided(Some("2"), asks, Asked::Permission),
        finished("2", hook("z"), CallStatus::Failed),
    ];
    let (_, text) = feed(&mut reporter, &path, &events_of(kinds));
    let told: Vec<Value> =
        text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    let told: Vec<_> = told
        .iter()
        .map(|entry| {
            let new = entry["args"]["new_str"].as_str().unwrap_or("?");
            (new, entry["call"].as_str(), entry["asked"].to_string(), entry["result"].as_str())
        })
        .collect();
    let both = r#"["hook","permission"]"#.to_owned();
    assert_eq!(
        told,
        [("y", Some("1"), both.clone(), Some("success")), ("z", Some("2"), both, Some("failed"))]
    );
}

#[test]
fn activity_log_tells_what_no_layer_allowed_and_what_has_no_result() {
    let (_folder, path) = place("activity.log");
    let mut reporter = ActivityLog::new(path.clone(), clock());
    let decided = |call: Option<&str>, command: &str, asked, answer| EventKind::ToolDecided {
        iteration: 1,
        session: SessionId::new("s"),
        call: call.map(str::to_owned),
        tool: "bash".to_owned(),
        input: json!({ "command": command }),
        asked,
        answer,
        rule: format!("rule of {asked:?}"),
        reason: "because".to_owned(),
    };
    let finished = |id: &str, command: &str, status, decided| EventKind::ToolFinished {
        iteration: 1,
        decided,
        call: ExecutedCall {
            id: id.to_owned(),
            kind: "execute".to_owned(),
            title: String::new(),
            input: json!({ "command": command }),
            status,
            exit: None,
        },
    };
    let kinds = [
        // The same line twice: the first result belongs to the first.
        decided(None, "make", Asked::Hook, Answer::Allow),
        decided(None, "make", Asked::Hook, Answer::Allow),
        finished("1", "make", CallStatus::Completed, Decided::Yes),
        finished("2", "make", CallStatus::Failed, Decided::Yes),
        // The second layer says no.
        decided(None, "make install", Asked::Hook, Answer::Allow),
        decided(Some("3"), "make install", Asked::Permission, Answer::Deny),
        finished("3", "make install", CallStatus::Failed, Decided::Yes),
        // Executed although it was denied, and executed without any question.
        decided(Some("4"), "rm -r /", Asked::Permission, Answer::Deny),
        finished("4", "rm -r /", CallStatus::Completed, Decided::Missing),
        finished("5", "curl evil", CallStatus::Completed, Decided::Missing),
        // Looking, which this agent does not ask for, and an edit that found nothing.
        finished("7", "README.md", CallStatus::Completed, Decided::NotNeeded),
        finished("8", "no match", CallStatus::Failed, Decided::NotAsked),
        // Cut off in the middle.
        decided(Some("6"), "sleep 9", Asked::Permission, Answer::Allow),
    ];
    let (_, text) = feed(&mut reporter, &path, &events_of(kinds));
    let short: Vec<String> = text
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).expect("an object"))
        .map(|entry| {
            format!(
                "{} {} {} {} {} {}",
                entry["call"],
                entry["args"]["command"],
                entry["approved"],
                entry["result"],
                entry["rule"],
                entry["note"]
            )
        })
        .collect();
    insta::assert_snapshot!(short.join("\n"), @r#"
    "1" "make" true "success" "rule of Hook" null
    "2" "make" true "failed" "rule of Hook" null
    "3" "make install" false "failed" "rule of Permission" null
    "4" "rm -r /" false "failed" "rule of Permission" null
    "4" "rm -r /" false "success" null "the guard did not approve it"
    "5" "curl evil" false "success" null "the guard did not approve it"
    "7" "README.md" true "success" null "reads need no approval"
    "8" "no match" false "failed" null "it failed before approval was requested"
    "6" "sleep 9" true "failed" "rule of Permission" "no result was seen"
    "#);
}

#[test]
fn cost_log_has_a_line_for_each_prompt() {
    let (_folder, path) = place("cost.log");
    let mut reporter = CostLog::new(path.clone(), clock());
    let (before, text) = feed(&mut reporter, &path, &sample_run::events());
    insta::assert_snapshot!(text, @r"
    [2026-11-21 14:03:04+00:00] Iteration 1: model=claude-sonnet-4.5, premium=true, tokens=12000, cached=6000, credits=1.234
    [2026-11-21 14:03:31+00:00] Iteration 1: model=claude-sonnet-4.5, premium=true, tokens=6240, cached=3120, credits=1.234
    [2026-11-21 14:03:44+00:00] Iteration 2: model=claude-sonnet-4.5, premium=true
    [2026-11-21 14:03:49+00:00] Iteration 3: model=claude-sonnet-4.5, premium=true
    [2026-11-21 14:59:50+00:00] Iteration 3: model=claude-sonnet-4.5, premium=true, tokens=900, cached=450, credits=1.234
    [2026-11-21 15:00:50+00:00] Iteration 4: model=claude-sonnet-4.5, premium=true, tokens=100, cached=50, credits=1.234
    [2026-11-21 15:00:57+00:00] Iteration 5: model=claude-sonnet-4.5, premium=true, tokens=163200, cached=81600, credits=1.234
    ");
    assert_eq!(before[0], "", "nothing within the turn");
}

#[test]
fn cost_log_has_a_prompt_without_an_answer_and_the_model_that_was_fallen_back_to() {
    let (_folder, path) = place("cost.log");
    let mut reporter = CostLog::new(path.clone(), clock());
    let free = |mut event: Event| {
        if let EventKind::PromptSent { model, premium, .. } = &mut event.kind {
            (*model, *premium) = (Some("gpt-4o".to_owned()), false);
        }
        event
    };
    let events: Vec<Event> = sample_run::events()
        .into_iter()
        .map(free)
        .take_while(|event| !matches!(event.kind, EventKind::IterationEnded { .. }))
        .filter(|event| !matches!(event.kind, EventKind::TurnEnded { .. }))
        .collect();
    let (_, text) = feed(&mut reporter, &path, &events);
    insta::assert_snapshot!(text, @r"
    [2026-11-21 14:03:04+00:00] Iteration 1: model=gpt-4o, premium=false
    [2026-11-21 14:03:31+00:00] Iteration 1: model=gpt-4o, premium=false
    ");
}

#[test]
fn cost_log_counts_no_premium_request_where_the_login_was_missing() {
    let (_folder, path) = place("cost.log");
    let mut reporter = CostLog::new(path.clone(), clock());
    let mut events = sample_run::events();
    events.truncate(
        1 + events
            .iter()
            .position(|event| matches!(event.kind, EventKind::TurnEnded { .. }))
            .expect("a turn"),
    );
    if let EventKind::TurnEnded { turn, .. } = &mut events.last_mut().expect("a turn").kind {
        let fault = Some(Fault::new(FaultClass::Auth, "Authentication required"));
        *turn = Turn { fault, ..Turn::default() };
    }
    let (_, text) = feed(&mut reporter, &path, &events);
    insta::assert_snapshot!(text, @"[2026-11-21 14:03:04+00:00] Iteration 1: model=claude-sonnet-4.5, premium=false");
}

#[test]
fn a_link_in_the_place_of_a_file_is_not_followed() {
    let (folder, path) = place("activity.log");
    let outside = folder.path().join("outside");
    fs::write(&outside, "untouched\n").expect("outside");
    std::os::unix::fs::symlink(&outside, &path).expect("link");
    let mut reporter = ActivityLog::new(path.clone(), clock());
    for event in sample_run::events() {
        reporter.on_event(&event).expect("taken");
    }
    let error = reporter.flush().expect_err("refused");
    assert!(error.to_string().starts_with(&format!("cannot write {}: ", path.display())));
    assert_eq!(fs::read_to_string(&outside).expect("outside"), "untouched\n");
}
