//! The gate: recorded first, denied whenever anything is not as it should be.

use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::{Value, json};

use super::*;
use crate::agent::recorded_events::RecordedEvents;
use crate::guard::{Approval, FileKind, OsFiles};
use crate::model::{Answer, SessionId};

/// A disk that makes the guard fail.
struct Panicking;

impl Files for Panicking {
    fn kind(&self, path: &Path) -> FileKind {
        panic!("no answer for {}", path.display())
    }

    fn read(&self, path: &Path) -> io::Result<Vec<u8>> {
        panic!("no bytes of {}", path.display())
    }

    fn list(&self, path: &Path, _: usize) -> io::Result<Vec<String>> {
        panic!("no names in {}", path.display())
    }
}

fn gate_on(files: Box<dyn Files + Send + Sync>) -> (Arc<RecordedEvents>, Gate) {
    let events = Arc::<RecordedEvents>::default();
    let redactor = Arc::new(Redactor::new(["hunter2-hunter2".to_owned()].to_vec()));
    (Arc::clone(&events), Gate::new(events, redactor, files))
}

fn focus(iteration: u32) -> Focus {
    Focus { iteration, policy: Arc::new(Policy::new("/w/repo", "/w/repo/tasks/demo")) }
}

fn request(session: &str, input: Value) -> ToolRequest {
    ToolRequest {
        session: SessionId::new(session),
        call: None,
        tool: "bash".to_owned(),
        input,
        asked: Asked::Hook,
    }
}

fn pwd() -> ToolRequest {
    request("s", json!({"command": "pwd"}))
}

/// Iteration, answer and rule of every decision that was recorded.
fn decided(events: &RecordedEvents) -> Vec<(u32, Answer, String)> {
    let events = events.events.lock().expect("events");
    let decided = events.iter().filter_map(|event| match event {
        EventKind::ToolDecided { iteration, answer, rule, .. } => {
            Some((*iteration, *answer, rule.clone()))
        }
        _ => None,
    });
    decided.collect()
}

#[test]
fn without_a_focus_everything_is_denied_and_recorded() {
    let (events, gate) = gate_on(Box::new(OsFiles));
    assert_eq!(gate.decide(&pwd()).answer, Answer::Deny);
    assert_eq!(decided(&events), [(0, Answer::Deny, "run.no-focus".to_owned())]);
}

#[test]
fn a_turn_that_is_over_and_a_session_that_is_closed_allow_nothing() {
    let (events, gate) = gate_on(Box::new(OsFiles));
    gate.focus(focus(1)).expect("focus");
    assert!(gate.decide(&pwd()).allowed());
    gate.rest();
    assert!(!gate.decide(&pwd()).allowed());
    gate.close(&SessionId::new("s"));
    gate.focus(focus(2)).expect("focus");
    assert!(!gate.decide(&pwd()).allowed());
    assert!(gate.decide(&request("next", json!({"command": "pwd"}))).allowed());
    let rules: Vec<_> = decided(&events).into_iter().map(|(at, _, rule)| (at, rule)).collect();
    assert_eq!(rules[1], (1, "run.turn-over".to_owned()));
    assert_eq!(rules[2], (2, "run.session-over".to_owned()));
    assert_eq!(rules.len(), 4);
}

#[test]
fn what_cannot_be_recorded_is_denied_and_ends_the_run() {
    let (events, gate) = gate_on(Box::new(OsFiles));
    gate.focus(focus(1)).expect("focus");
    events.full.store(true, Ordering::SeqCst);
    assert_eq!(gate.decide(&pwd()).rule, "run.unrecorded");
    gate.focus(focus(2)).expect("focus");
    let broken = gate.check_recorded().expect_err("the next criterion does not forget it");
    assert_eq!(broken.path, Path::new("events.jsonl"));
    gate.check_recorded().expect("it is reported once");
    let input = json!({"command": "pwd"});
    let ended =
        EndedCall { session: "s", asker: None, call: "1", input: &input, vouched_by: Asked::Hook };
    assert_eq!(gate.standing(&ended), CallStanding::Undecided, "it was never allowed");
}

#[test]
fn a_guard_that_panics_denies_and_that_is_recorded() {
    for (tool, input) in [
        ("view", json!({"path": "/w/repo/src/lib.rs"})),
        ("edit", json!({"path": "/w/repo/src/lib.rs", "old_str": "a", "new_str": "b"})),
        ("bash", json!({"command": "cat src/lib.rs"})),
    ] {
        let (events, gate) = gate_on(Box::new(Panicking));
        gate.focus(focus(1)).expect("focus");
        let decision = gate.decide(&ToolRequest { tool: tool.to_owned(), ..request("s", input) });
        assert_eq!(decision.answer, Answer::Deny, "{tool}");
        assert_eq!(decided(&events), [(1, Answer::Deny, decision.rule)]);
    }
}

#[test]
fn a_refusal_is_recorded_like_any_decision() {
    let (events, gate) = gate_on(Box::new(OsFiles));
    gate.focus(focus(3)).expect("focus");
    let decision = gate.refuse(&pwd(), "run.no-once", "no");
    assert_eq!((decision.answer, decision.reason.as_str()), (Answer::Deny, "no"));
    assert_eq!(decided(&events), [(3, Answer::Deny, "run.no-once".to_owned())]);
    assert_eq!(gate.denied(), 1);
}

#[test]
fn denials_in_a_row_are_counted_by_what_they_want() {
    let (_, gate) = gate_on(Box::new(OsFiles));
    gate.focus(focus(1)).expect("focus");
    let ask = |command: &str, why: &str| {
        let input = json!({"command": command, "description": why});
        gate.refuse(&request("s", input), "test", "no");
    };
    ask("curl", "once");
    ask("curl", "twice");
    assert_eq!(gate.denied_in_a_row(), Some(("curl".to_owned(), 2)));
    ask("wget", "other");
    assert_eq!(gate.denied_in_a_row(), Some(("wget".to_owned(), 1)));
    assert!(gate.decide(&pwd()).allowed());
    assert_eq!(gate.denied_in_a_row(), None);
}

#[test]
fn a_new_focus_forgets_the_turn_but_not_who_greeted() {
    let (_, gate) = gate_on(Box::new(OsFiles));
    gate.focus(focus(1)).expect("focus");
    gate.greet("s", None);
    gate.refuse(&pwd(), "test", "no");
    let report = ErrorReport { session: "s".into(), context: "c".into(), message: "m".into() };
    gate.report(report.clone());
    assert_eq!(gate.reports("s"), [report]);
    assert_eq!(gate.reports("other"), []);
    gate.focus(focus(2)).expect("focus");
    assert!(gate.in_force("s") && !gate.in_force("other"));
    assert_eq!((gate.denied(), gate.reports("s").len(), gate.denied_in_a_row()), (0, 0, None));
}

#[test]
fn the_last_reports_are_kept_not_the_first() {
    let (_, gate) = gate_on(Box::new(OsFiles));
    for number in 0..150 {
        let message = number.to_string();
        gate.report(ErrorReport { session: "s".into(), context: "c".into(), message });
    }
    let reports = gate.reports("s");
    assert_eq!((reports.len(), reports[99].message.as_str()), (100, "149"));
}

#[test]
fn many_may_ask_at_once() {
    let (events, gate) = gate_on(Box::new(OsFiles));
    gate.focus(focus(1)).expect("focus");
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                for _ in 0..25 {
                    assert!(gate.decide(&pwd()).allowed());
                }
            });
        }
    });
    assert_eq!(decided(&events).len(), 200);
    let input = json!({"command": "pwd"});
    let ended =
        EndedCall { session: "s", asker: None, call: "1", input: &input, vouched_by: Asked::Hook };
    for _ in 0..200 {
        assert_eq!(gate.standing(&ended), CallStanding::Allowed);
    }
    assert_eq!(gate.standing(&ended), CallStanding::Undecided, "each answer counts once");
}

#[test]
fn a_request_of_a_session_whose_hook_did_not_report_is_denied_and_recorded() {
    let (events, gate) = gate_on(Box::new(OsFiles));
    gate.focus(focus(1)).expect("focus");
    let asked = ToolRequest { asked: Asked::Permission, call: Some("1".to_owned()), ..pwd() };
    assert!(gate.decide(&asked).allowed(), "no hooks are served");
    gate.expect_hooks();
    assert!(!gate.decide(&asked).allowed());
    let last = decided(&events).pop().expect("recorded");
    assert_eq!(last, (1, Answer::Deny, "guard.not-in-force".to_owned()));
    gate.greet("s", None);
    assert!(gate.decide(&asked).allowed());
}

/// A gate whose policy leaves every change to a human, who gives these answers.
fn asking(replies: Vec<HumanReply>) -> (Arc<RecordedEvents>, Gate, Arc<Mutex<Vec<String>>>) {
    let (events, gate) = gate_on(Box::new(OsFiles));
    let replies = Mutex::new(replies.into_iter());
    let questions = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&questions);
    let gate = gate.with_human(Some(Box::new(move |question: &Question<'_>| {
        seen.lock().expect("questions").push(question.wants.to_owned());
        replies.lock().expect("replies").next().unwrap_or(HumanReply::Silence)
    })));
    let mut focus = focus(1);
    let mut policy = Policy::clone(&focus.policy);
    policy.approval = Approval::Human;
    focus.policy = Arc::new(policy);
    gate.focus(focus).expect("focus");
    (events, gate, questions)
}

#[test]
fn a_human_is_asked_once_a_call_and_only_what_the_guard_would_let_through() {
    let (events, gate, questions) =
        asking(vec![HumanReply::Yes, HumanReply::No, HumanReply::Silence]);
    let hook = request("s", json!({"command": "pwd", "description": "d"}));
    let shown = json!({"command": "pwd", "commands": ["pwd"]});
    let permission = ToolRequest { asked: Asked::Permission, ..request("s", shown) };
    assert!(gate.decide(&hook).allowed());
    assert!(gate.decide(&permission).allowed(), "the hook's yes is for this call");
    assert_eq!(gate.decide(&permission).rule, "human.refused", "and for no other");
    let silent = gate.decide(&pwd());
    assert_eq!(silent.rule, "approval.human");
    assert!(silent.reason.contains("No one answered in time"), "{}", silent.reason);
    assert_eq!(gate.decide(&request("s", json!({"command": "git push"}))).rule, "git.push");
    assert_eq!(questions.lock().expect("questions").len(), 3);
    let rules: Vec<String> = decided(&events).into_iter().map(|(_, _, rule)| rule).collect();
    let expected =
        ["human.approved", "human.approved", "human.refused", "approval.human", "git.push"];
    assert_eq!(rules, expected, "what a human says is recorded as the guard's own word is");
}

#[test]
fn a_turn_does_not_stand_still_while_a_human_thinks() {
    let (_, gate, _) = asking(Vec::new());
    let place = Arc::new(std::sync::OnceLock::<std::sync::Weak<Gate>>::new());
    let (there, alive) = (Arc::clone(&place), Arc::new(AtomicBool::new(false)));
    let seen = Arc::clone(&alive);
    let gate = gate.with_human(Some(Box::new(move |_: &Question<'_>| {
        let gate = there.get().and_then(std::sync::Weak::upgrade).expect("the gate");
        seen.store(gate.last_life().is_some(), Ordering::SeqCst);
        HumanReply::No
    })));
    let gate = Arc::new(gate);
    place.set(Arc::downgrade(&gate)).expect("once");
    assert_eq!((gate.last_life(), gate.decide(&pwd()).allowed()), (None, false));
    assert!(alive.load(Ordering::SeqCst));
}

/// A launch inside a recipe may begin anywhere.
#[test]
fn relative_paths_start_from_where_the_session_works() {
    let write = |session: &str| request(session, json!({"command": "echo x > TASK.md"}));
    let (_, gate) = gate_on(Box::new(OsFiles));
    for (session, cwd) in [
        ("root", Some("/w/repo")),
        ("silent", None),
        ("task", Some("/w/repo/tasks/demo")),
        ("outside", Some("/w/other")),
        ("beside", Some("/w/repository")),
    ] {
        gate.greet(session, cwd.map(Path::new));
    }
    gate.focus(focus(1)).expect("focus");
    assert!(gate.decide(&write("root")).allowed() && gate.decide(&write("silent")).allowed());
    let rule = |session| {
        let decision = gate.decide(&write(session));
        (decision.allowed(), decision.rule)
    };
    assert!(!rule("task").0, "{:?}", rule("task"));
    for session in ["outside", "beside"] {
        assert_eq!(rule(session), (false, "path.outside".to_owned()));
    }
}

/// A command whose end was taken for another one's could write TASK.md as if it were a human.
/// What a command leaves behind runs on after its end.
#[test]
fn a_change_of_the_task_is_unseen_once_a_command_has_run() {
    let folder = tempfile::tempdir().expect("folder");
    let path = folder.path().join("TASK.md");
    let write = |text: &str| std::fs::write(&path, text).expect("written");
    write("0");
    let (_, gate) = gate_on(Box::new(OsFiles));
    let policy = Arc::new(Policy::new(folder.path(), folder.path()));
    gate.focus(Focus { iteration: 1, policy }).expect("focus");
    let run = |command: &str| {
        assert!(gate.decide(&request("s", json!({ "command": command }))).allowed());
    };
    write("1");
    run("git status");
    write("2");
    run("pwd");
    write("3");
    run("git status");
    write("4");
    gate.rest();
    let edits = gate.task_edits();
    let seen: Vec<_> = edits.iter().map(|it| (&it.after[..], it.unseen)).collect();
    let expected: [(&[u8], bool); 4] = [(b"1", false), (b"2", false), (b"3", true), (b"4", true)];
    assert_eq!(seen, expected);
}
