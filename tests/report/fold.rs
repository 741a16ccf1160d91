//! The fold, over a journal on disk.

use std::fs;

use ralph_copilot::events::{Journal, JournalLine, RunStatus, RunView, WorkerView, follow};
use ralph_copilot::model::{Event, EventKind, Outcome, Proof, RunId};
use ralph_copilot::sys::lock::Holder;

use super::sample_run;

fn view(events: &[Event]) -> RunView {
    let mut view = RunView::default();
    for event in events {
        view.apply(event);
    }
    view
}

/// The sample up to and without the first event for which this holds.
fn before(end: impl Fn(&EventKind) -> bool) -> Vec<Event> {
    sample_run::events().into_iter().take_while(|event| !end(&event.kind)).collect()
}

fn holder(run: &str) -> Holder {
    Holder { pid: 4711, run: run.to_owned() }
}

#[test]
fn a_whole_run() {
    let view = view(&sample_run::events());
    insta::assert_json_snapshot!(view);
    assert_eq!(view.status(None), RunStatus::Ended);
    assert_eq!(view.status(Some(&holder(sample_run::RUN))), RunStatus::Ended);
}

#[test]
fn what_was_read_back_folds_to_the_same() {
    let folder = tempfile::tempdir().expect("folder");
    let path = folder.path().join("events.jsonl");
    let events = sample_run::events();
    let lines: Vec<String> =
        events.iter().map(|event| serde_json::to_string(event).expect("JSON") + "\n").collect();
    fs::write(&path, lines.concat()).expect("journal");
    let read = || {
        let mut journal = Journal::open(&path).expect("open");
        std::iter::from_fn(|| match journal.read_line().expect("read")? {
            JournalLine::Event(event) => Some(event),
            JournalLine::Unknown { kind, .. } => panic!("{kind} is unknown"),
        })
        .collect::<Vec<Event>>()
    };
    assert_eq!(read(), events);
    assert_eq!(view(&read()), view(&events));
    // So does one in which another program has put the fields into another order.
    let sorted = |event| serde_json::to_value(event).expect("JSON").to_string() + "\n";
    fs::write(&path, events.iter().map(sorted).collect::<String>()).expect("journal");
    assert_eq!(read(), events);
}

#[test]
fn a_run_that_died_within_a_turn_says_what_it_was_at() {
    let view = view(&before(|kind| matches!(kind, EventKind::CheckFinished { .. })));
    let current = view.current.as_ref().expect("an iteration in progress");
    assert_eq!((current.iteration, current.attempt, current.judged), (1, 1, false));
    assert_eq!(current.criterion, sample_run::key(sample_run::RETRY));
    assert_eq!(current.checkpoint.head.as_str(), "01".repeat(20));
    assert_eq!((current.counters.tool_calls, current.counters.denied), (3, 1));
    assert_eq!((current.counters.prompts, current.counters.tokens), (2, Some(18_240)));
    assert_eq!(view.status(None), RunStatus::Died);
    assert_eq!(view.status(Some(&holder("another"))), RunStatus::Died);
    assert_eq!(view.status(Some(&holder(sample_run::RUN))), RunStatus::Running);
    assert_eq!(view.end, None);
}

#[test]
fn one_that_was_judged_and_not_recorded_is_told_from_one_that_was_not() {
    let view = view(&before(|kind| matches!(kind, EventKind::IterationEnded { .. })));
    let current = view.current.expect("an iteration in progress");
    assert!(current.judged);
    assert_eq!(view.criteria[0].proof, Some(Proof::Check));
}

#[test]
fn a_wait_lasts_until_something_else_happens() {
    let mut events = before(|kind| matches!(kind, EventKind::Waiting { .. }));
    let waiting = sample_run::events()[events.len()].clone();
    let next = sample_run::events()[events.len() + 1].clone();
    events.push(waiting.clone());
    let mut view = view(&events);
    let live = holder(sample_run::RUN);
    assert_eq!(view.status(Some(&live)), RunStatus::Waiting);
    view.apply(&Event { kind: EventKind::Notice { message: "still".to_owned() }, ..waiting });
    let until = view.waiting.as_ref().expect("a wait").until;
    assert_eq!(until, sample_run::at("2026-11-21T15:00:00Z"));
    view.apply(&next);
    assert_eq!((view.status(Some(&live)), view.waiting), (RunStatus::Running, None));
}

#[tokio::test(start_paused = true)]
async fn following_gives_each_event_once_and_ends_with_the_run() {
    let folder = tempfile::tempdir().expect("folder");
    let path = folder.path().join("events.jsonl");
    let all: String = sample_run::events()
        .iter()
        .map(|event| serde_json::to_string(event).expect("JSON") + "\n")
        .collect();
    fs::write(&path, "").expect("journal");
    // Each look finds a piece more; pieces end anywhere.
    let mut written = 0;
    let mut seen = Vec::new();
    let alive = || {
        written = (written + 777).min(all.len());
        while !all.is_char_boundary(written) {
            written += 1;
        }
        fs::write(&path, &all[..written]).expect("grown");
        true
    };
    let ended = follow(&path, alive, |line| match line {
        JournalLine::Event(event) => seen.push(event),
        JournalLine::Unknown { kind, .. } => panic!("{kind} is unknown"),
    })
    .await
    .expect("followed");
    assert!(ended);
    assert_eq!(seen, sample_run::events());
}

#[tokio::test(start_paused = true)]
async fn following_a_run_that_is_gone_gives_what_there_is() {
    let folder = tempfile::tempdir().expect("folder");
    let path = folder.path().join("events.jsonl");
    let event = Event {
        seq: 1,
        time: sample_run::at(sample_run::BEGIN),
        run: RunId::new("r"),
        kind: EventKind::Notice { message: "x".to_owned() },
    };
    fs::write(&path, serde_json::to_string(&event).expect("JSON") + "\n{\"seq\":2").expect("torn");
    let mut seen = Vec::new();
    let ended = follow(&path, || false, |line| seen.push(line)).await.expect("followed");
    assert_eq!((ended, seen), (false, vec![JournalLine::Event(event)]));
}

#[test]
fn the_end_is_what_the_run_said() {
    let end = view(&sample_run::events()).end.expect("an end");
    assert_eq!(end.exit_code, 4);
    assert!(matches!(end.outcome, Outcome::Stuck { .. }));
}

#[test]
fn workers_are_at_work_then_their_work_waits_then_lands_and_all_end_with_the_run() {
    let sample = sample_run::events();
    let told = |kind| Event { kind, ..sample[0].clone() };
    let key = |text: &str| sample_run::key(text);
    let begins = |worker, text, attempt| {
        told(EventKind::WorkerStarted { worker, criterion: key(text), line: 7, attempt })
    };
    let hands_in = |worker, text| told(EventKind::WorkerHandedIn { worker, criterion: key(text) });
    let mut landing =
        sample.iter().find(|it| matches!(it.kind, EventKind::IterationStarted { .. })).cloned();
    let landing = landing.as_mut().expect("an iteration");
    let EventKind::IterationStarted { criterion, attempt, worker, .. } = &mut landing.kind else {
        unreachable!("it is one")
    };
    (*criterion, *attempt, *worker) = (key("b"), 2, Some(2));
    let mut view = RunView::default();
    let short = |view: &RunView| {
        let of = |it: &WorkerView| (it.worker, it.criterion.text.clone(), it.attempt);
        let both = [&view.at_work, &view.to_land];
        both.map(|them| them.iter().map(of).collect::<Vec<_>>())
    };
    let is = |worker: usize, text: &str, attempt: u32| (worker, text.to_owned(), attempt);
    for event in [begins(2, "b", 2), begins(1, "a", 1), hands_in(2, "b"), begins(2, "c", 1)] {
        view.apply(&event);
    }
    assert_eq!(short(&view), [vec![is(1, "a", 1), is(2, "c", 1)], vec![is(2, "b", 2)]]);
    view.apply(landing);
    assert_eq!(short(&view), [vec![is(1, "a", 1), is(2, "c", 1)], vec![]]);
    // It is proven, and a file is in its way.
    view.apply(&hands_in(2, "b"));
    assert_eq!(short(&view)[1], [is(2, "b", 2)]);
    // A worker that died has nothing to hand in.
    let EventKind::IterationStarted { criterion, .. } = &mut landing.kind else {
        unreachable!("it is one")
    };
    *criterion = key("a");
    view.apply(landing);
    assert_eq!(short(&view)[0], [is(2, "c", 1)]);
    view.apply(sample.last().expect("the end"));
    assert_eq!(short(&view), [vec![], vec![]]);
}
