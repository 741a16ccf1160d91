//! A broken channel for permissions: an agent that asks in ways that no honest one does.

use ralph_copilot::model::{Answer, EventKind};

use super::{THREE, once_then_honest, only_a_proven};
use crate::repo::{Ran, Repo, story};

/// The answers that were given, in order, with the rule of each.
fn decided(ran: &Ran) -> Vec<(Answer, String)> {
    let decision = |event: ralph_copilot::model::Event| match event.kind {
        EventKind::ToolDecided { answer, rule, .. } => Some((answer, rule)),
        _ => None,
    };
    ran.events().into_iter().filter_map(decision).collect()
}

/// The runner's own yes, as it stands on the wire.
const CHOSEN: &str = r#""outcome":"selected","optionId":"allow_once""#;

/// Honest work on the first criterion, asked for in a way of its own.
fn asking(how: &str) -> String {
    format!(
        "turns:\n- {how}\n  steps: [{{write: {{path: a.txt, text: a}}}}, {{tick: \"{{criterion}}\"}}, {{commit: a}}]\n"
    )
}

#[test]
fn asked_twice_under_one_id_each_request_has_its_own_decision_and_answer() {
    for how in ["ask: twice", "ask: twice\n  call_id: shell-permission"] {
        let repo = Repo::new(THREE);
        let ran = repo.run(&asking(how), &["--max-iterations", "1"]);
        assert_eq!(ran.code, Some(3), "{how}: {}", ran.stdout);
        assert!(repo.task().contains("- [x] a is there"), "{how}: {}", ran.stdout);
        assert_eq!(decided(&ran).len(), 6, "{how}: {}", ran.stdout);
        assert_eq!(crate::wire(&repo).matches(CHOSEN).count(), 6, "{how}");
    }
}

#[test]
fn where_only_always_is_offered_nothing_runs() {
    let repo = Repo::new(THREE);
    let ran = repo.run(&asking("options: [allow_always]"), &["--max-iterations", "1"]);
    assert_eq!(ran.code, Some(3), "{}", ran.stdout);
    let rules = decided(&ran);
    let no = (Answer::Deny, "run.no-once".to_owned());
    assert!(!rules.is_empty() && rules.iter().all(|rule| *rule == no), "{rules:?}");
    assert!(!crate::wire(&repo).contains("\"outcome\":\"selected\""), "something was chosen");
    assert_eq!((repo.path("a.txt").exists(), repo.task().as_str()), (false, THREE));
    assert_eq!(repo.state()["criteria"][0]["attempts"], 1);
}

#[test]
fn what_ran_without_being_asked_for_ends_the_run() {
    let repo = Repo::new(THREE);
    let ran = repo.run("turns:\n- ask: never\n  steps: [{run: ls}, {hang: }]\n", &[]);
    assert_eq!((ran.code, decided(&ran).len()), (Some(5), 0), "{}", ran.stdout);
    assert!(
        ran.stdout.contains("does not ask for permission (it ran execute `ls`)"),
        "{}",
        ran.stdout
    );
}

/// A request that the agent makes although its turn was cancelled: it is answered, with no.
#[test]
fn asked_after_the_cancel_nothing_is_allowed() {
    let repo = Repo::new(THREE);
    let late = once_then_honest("{sleep: 1500}, {run: 'echo late > late.txt'}");
    let script = format!("ignore: [cancel]\n{late}");
    let ran = repo.run(&script, &["--max-iterations", "2", "--turn-timeout", "1s"]);
    assert_eq!(ran.code, Some(3), "{}", ran.stdout);
    assert_eq!(decided(&ran)[0], (Answer::Deny, "run.turn-over".to_owned()), "{}", ran.stdout);
    assert!(!repo.path("late.txt").exists());
    assert!(repo.task().contains("- [x] a is there"), "{}", ran.stdout);
}

/// Two objects on one line are no message: the stream cannot be trusted any more.
#[test]
fn two_messages_on_one_line_cost_the_connection_and_no_attempt() {
    let repo = Repo::new(THREE);
    let two = r#"{"jsonrpc":"2.0","method":"a"}{"jsonrpc":"2.0","method":"b"}"#;
    let script = once_then_honest(&format!("{{line: '{two}'}}"));
    let ran = repo.run(&script, &["--max-iterations", "1"]);
    assert_eq!(story(&repo, &ran), only_a_proven(2));
}
