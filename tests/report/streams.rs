//! Plain lines and JSON lines.

use ralph_copilot::events::Emitter;
use ralph_copilot::model::{
    Answer, EventKind, Finding, FindingKind, Record, Reporter, RunId, VerdictResult, Weight,
};
use ralph_copilot::report::{Detail, Json, Plain};

use super::{Closed, Paper, clock, feed, sample_run};

#[test]
fn plain_lines_of_a_run() {
    let paper = Paper::default();
    feed(
        &mut Plain::new(Box::new(paper.clone()), clock(), 80, Detail::Normal),
        &sample_run::events(),
    );
    let text = paper.text();
    assert!(!text.contains('\x1b'), "no escape codes");
    insta::assert_snapshot!(text);
}

/// What was sent back to the agent is not repeated until it changes or an iteration begins.
#[test]
fn findings_that_are_sent_back_again_are_not_repeated() {
    let of = |wanted: fn(&EventKind) -> bool| {
        sample_run::events().into_iter().find(|event| wanted(&event.kind)).expect("in the sample")
    };
    let begins = of(|kind| matches!(kind, EventKind::IterationStarted { .. }));
    let sent = of(|kind| matches!(kind, EventKind::StopChecked { .. }));
    let mut other = sent.clone();
    if let EventKind::StopChecked { findings, .. } = &mut other.kind {
        findings[0].message = "Work is left.".to_owned();
    }
    let paper = Paper::default();
    let events = [sent.clone(), sent.clone(), other, sent.clone(), begins, sent];
    feed(&mut Plain::new(Box::new(paper.clone()), clock(), 80, Detail::Normal), &events);
    let text = paper.text();
    let told: Vec<_> =
        text.lines().filter_map(|line| line.split("sent back to the agent").nth(1)).collect();
    let (first, again) = (": The box is still open.", " for the same reason");
    assert_eq!(told, [first, again, ": Work is left.", first, first]);
}

#[test]
fn a_quiet_run_says_a_denial_where_nothing_above_says_it() {
    let mut events = sample_run::events();
    let denied = "Denied (git.push): `git push` sends to a remote.";
    for event in &mut events {
        match &mut event.kind {
            EventKind::ToolDecided { answer, reason, .. } => {
                (*answer, *reason) = (Answer::Deny, denied.to_owned());
            }
            EventKind::VerdictReached { verdict, .. } => {
                verdict.result = VerdictResult::Fail;
                let message = format!("The guard denied 1 call: {denied}");
                let (kind, weight) = (FindingKind::CheckFailed, Weight::Fails);
                verdict.findings = vec![Finding { kind, weight, message }];
            }
            _ => {}
        }
    }
    let said = |detail| {
        let paper = Paper::default();
        feed(&mut Plain::new(Box::new(paper.clone()), clock(), 80, detail), &events);
        paper.text()
    };
    assert!(said(Detail::Normal).contains("as above"), "{}", said(Detail::Normal));
    let quiet = said(Detail::Quiet);
    assert!(quiet.contains(denied) && !quiet.contains("as above"), "{quiet}");
}

/// What is true of the whole run is said once, and again when it changes.
#[test]
fn a_note_on_changed_tests_is_said_once() {
    let of = |wanted: fn(&EventKind) -> bool| {
        sample_run::events().into_iter().find(|event| wanted(&event.kind)).expect("in the sample")
    };
    let mut verdict = of(|kind| matches!(kind, EventKind::VerdictReached { .. }));
    let mut note = |message: &str| {
        if let EventKind::VerdictReached { verdict, .. } = &mut verdict.kind {
            let (kind, weight) = (FindingKind::HarnessChanged, Weight::Said);
            verdict.findings = vec![Finding { kind, weight, message: message.to_owned() }];
        }
        verdict.clone()
    };
    let events = [note("One changed."), note("One changed."), note("One, two changed.")];
    let paper = Paper::default();
    feed(&mut Plain::new(Box::new(paper.clone()), clock(), 80, Detail::Normal), &events);
    let text = paper.text();
    assert_eq!(text.lines().count(), 5, "{text}");
    assert_eq!(text.matches("One changed.").count(), 1, "{text}");
    assert_eq!(text.matches("One, two changed.").count(), 1, "{text}");
}

#[test]
fn json_lines_are_the_events_themselves() {
    let paper = Paper::default();
    let events = sample_run::events();
    feed(&mut Json::new(Box::new(paper.clone())), &events);
    let text = paper.text();
    let read: Vec<_> =
        text.lines().map(|line| serde_json::from_str(line).expect("an event")).collect();
    assert_eq!(events, read);
    insta::assert_snapshot!(text);
}

#[test]
fn the_sample_has_every_kind_of_event() {
    let mut names: Vec<&str> = sample_run::events().iter().map(|event| event.kind.name()).collect();
    names.sort_unstable();
    names.dedup();
    let mut all = EventKind::NAMES.to_vec();
    all.sort_unstable();
    assert_eq!(names, all);
}

#[test]
fn a_reader_that_went_away_ends_the_reporter_and_nothing_else() {
    let folder = tempfile::tempdir().expect("folder");
    let journal = folder.path().join("events.jsonl");
    let paper = Paper::default();
    let reporters: Vec<Box<dyn Reporter>> = vec![
        Box::new(Json::new(Box::new(Closed))),
        Box::new(Plain::new(Box::new(Closed), clock(), 80, Detail::Normal)),
        Box::new(Plain::new(Box::new(paper.clone()), clock(), 80, Detail::Normal)),
    ];
    let emitter = Emitter::create(
        &journal,
        RunId::new("r"),
        clock(),
        std::sync::Arc::new(str::to_owned),
        reporters,
    )
    .expect("emitter");
    for message in ["one", "two"] {
        emitter.record(EventKind::Notice { message: message.to_owned() }).expect("recorded");
    }
    let told: Vec<String> = paper.text().lines().map(|line| line[9..].to_owned()).collect();
    let off = |name: &str| {
        format!(
            "note: the reporter {name} is switched off: cannot write standard output: broken pipe"
        )
    };
    assert_eq!(told, ["note: one".to_owned(), off("json"), off("plain"), "note: two".to_owned()]);
}
