//! The terminal, as a terminal shows it.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use ralph_copilot::model::{
    Activity, Answer, Cell, ContextFill, CriterionKey, Event, EventKind, FaultClass, Reporter,
    StepStatus,
};
use ralph_copilot::report::{Canvas, Colors, Console, Detail, Refresh};
use rustix::io::Errno;
use serde_json::{Value, json};

use super::terminal::Terminal;
use super::{clock, feed, sample_run};

fn console(term: &Terminal, colors: Colors) -> Console {
    Console::new(Arc::new(term.clone()), colors, Refresh::OnEvent, clock(), Detail::Normal)
}

/// The sample up to the first event for which this holds, that one included.
fn until(last: impl Fn(&EventKind) -> bool) -> Vec<Event> {
    let mut events = sample_run::events();
    let end = events.iter().position(|event| last(&event.kind)).expect("it is in the sample");
    events.truncate(end + 1);
    events
}

/// The last lines of the screen after these events, on terminals of three widths, when so many
/// seconds have passed since the run began.
async fn lines(events: &[Event], seconds: u64, many: usize) -> String {
    let mut text = String::new();
    for columns in [80, 120, 200] {
        let term = Terminal::new(60, columns);
        let mut console = console(&term, Colors::Off);
        feed(&mut console, events);
        tokio::time::advance(Duration::from_secs(seconds)).await;
        // An event that says nothing draws the lines again.
        feed(&mut console, &[told("14:03:00", EventKind::ToolsChanged { tools: Vec::new() })]);
        let contents = term.contents();
        let all: Vec<&str> = contents.lines().collect();
        assert!(all.iter().all(|line| line.chars().count() < usize::from(columns)), "{contents}");
        text.push_str(&format!("{columns}:\n{}\n", all[all.len() - many..].join("\n")));
        drop(console);
        assert!(!term.contents().contains(" of 4 done"), "{}", term.contents());
    }
    text
}

fn decided(time: &str, call: &str, tool: &str, input: &Value, answer: Answer) -> Event {
    let mut event = sampled(time, |kind| matches!(kind, EventKind::ToolDecided { .. }));
    let EventKind::ToolDecided { call: id, tool: name, input: with, answer: what, .. } =
        &mut event.kind
    else {
        unreachable!("it is one")
    };
    (*id, *name, *with, *what) = (Some(call.to_owned()), tool.to_owned(), input.clone(), answer);
    event
}

fn activity(time: &str, worker: Option<usize>, activity: Activity) -> Event {
    told(time, EventKind::Activity { worker, activity })
}

fn checking(time: &str, cell: Cell, number: usize) -> Event {
    let command = "cargo test -p client".to_owned();
    activity(time, None, Activity::Checking { command, cell, number, of: 5 })
}

#[tokio::test(start_paused = true)]
async fn before_the_first_turn_the_run_says_what_it_is_at() {
    let start = until(|kind| matches!(kind, EventKind::RunStarted { .. }));
    let with = |event: Event| [start.clone(), vec![event]].concat();
    let setup = Activity::SettingUp { command: "npm ci".to_owned() };
    let said = [
        lines(&start, 1, 2).await,
        lines(&with(activity("14:03:01", None, setup)), 20, 2).await,
        lines(&with(checking("14:03:01", Cell::Work, 2)), 45, 2).await,
        lines(&until(|kind| matches!(kind, EventKind::BaselineChecked { .. })), 60, 2).await,
        lines(&until(|kind| matches!(kind, EventKind::AgentStarted { .. })), 61, 2).await,
    ];
    insta::assert_snapshot!(said.join("\n"));
}

#[tokio::test(start_paused = true)]
async fn a_turn_says_what_the_agent_does() {
    let prompt = until(|kind| matches!(kind, EventKind::PromptSent { .. }));
    let with = |more: &[Event]| [&prompt[..], more].concat();
    let test = json!({ "command": "cargo test -p client" });
    let edit = json!({ "path": "/home/ada/shop/crates/client/src/client.rs" });
    let runs = decided("14:03:10", "1", "bash", &test, Answer::Allow);
    let edits = decided("14:03:11", "2", "edit", &edit, Answer::Allow);
    let denied = decided("14:03:12", "3", "bash", &test, Answer::Deny);
    let alive = Activity::Alive { context: Some(ContextFill { used: 82_000, size: 200_000 }) };
    let alive = activity("14:03:20", None, alive);
    let finished = |id: &str| {
        let mut event = sampled("14:03:13", |kind| matches!(kind, EventKind::ToolFinished { .. }));
        let EventKind::ToolFinished { call, .. } = &mut event.kind else { unreachable!("one") };
        id.clone_into(&mut call.id);
        event
    };
    let both = [runs.clone(), edits.clone()];
    let recipe = EventKind::RecipeProgress {
        iteration: 1,
        step: "greet".to_owned(),
        status: StepStatus::Running,
    };
    let said = [
        lines(&prompt, 10, 2).await,
        lines(&with(std::slice::from_ref(&alive)), 32, 2).await,
        lines(&with(std::slice::from_ref(&runs)), 100, 2).await,
        lines(&with(&both), 100, 2).await,
        lines(&with(&[&both[..], &[finished("2")]].concat()), 100, 2).await,
        lines(&with(&[&both[..], &[finished("1"), finished("2"), denied]].concat()), 15, 2).await,
        lines(&with(&[told("14:03:10", recipe)]), 15, 2).await,
        lines(&until(|kind| matches!(kind, EventKind::TurnEnded { iteration: 1, .. })), 45, 2)
            .await,
    ];
    insta::assert_snapshot!(said.join("\n"));
}

#[tokio::test(start_paused = true)]
async fn a_proof_says_which_check_runs_also_the_last_one() {
    let turn = until(|kind| matches!(kind, EventKind::TurnEnded { iteration: 1, .. }));
    let ended = until(|kind| matches!(kind, EventKind::IterationEnded { iteration: 1, .. }));
    let with = |events: &[Event], more: Event| [events, &[more]].concat();
    let said = [
        lines(&with(&turn, checking("14:03:50", Cell::Work, 2)), 60, 2).await,
        lines(&with(&turn, checking("14:03:50", Cell::PutBack, 1)), 61, 2).await,
        lines(&with(&turn, checking("14:03:50", Cell::OldProduct, 1)), 62, 2).await,
        lines(&with(&ended, checking("14:03:50", Cell::Work, 5)), 80, 2).await,
    ];
    insta::assert_snapshot!(said.join("\n"));
}

#[tokio::test(start_paused = true)]
async fn a_wait_says_for_what_and_how_long() {
    let waits = until(|kind| matches!(kind, EventKind::Waiting { .. }));
    let other = |fault| {
        let until = sample_run::at("2026-11-23T14:13:40Z");
        let kind = EventKind::Waiting { until, reason: "r".to_owned(), fault, worker: None };
        [&waits[..], &[told("14:04:00", kind)]].concat()
    };
    let said = [
        lines(&waits, 600, 2).await,
        lines(&other(Some(FaultClass::Network)), 600, 2).await,
        lines(&other(Some(FaultClass::Died)), 600, 2).await,
    ];
    insta::assert_snapshot!(said.join("\n"));
}

#[test]
fn the_lines_that_stay_tell_the_story_at_every_width() {
    for columns in [80, 120, 200] {
        let term = Terminal::new(80, columns);
        feed(&mut console(&term, Colors::Off), &sample_run::events());
        insta::assert_snapshot!(format!("the_story_at_{columns}_columns"), term.contents());
    }
}

#[test]
fn a_denial_that_came_four_times_is_one_line_and_the_verdict_is_first() {
    let mut events = until(|kind| matches!(kind, EventKind::PromptSent { .. }));
    let push = json!({ "command": "git push origin main" });
    events.extend(
        (1..=4).map(|call| decided("14:03:10", &call.to_string(), "bash", &push, Answer::Deny)),
    );
    let verdict = |kind: &EventKind| matches!(kind, EventKind::VerdictReached { .. });
    events.push(sampled("14:03:30", verdict));
    let term = Terminal::new(40, 100);
    feed(&mut console(&term, Colors::Off), &events);
    let contents = term.contents();
    let lines: Vec<&str> = contents.lines().collect();
    let result =
        lines.iter().position(|line| line.contains("iteration 1: PASS")).expect("a result");
    let denials = lines.iter().filter(|line| line.contains("git push origin main"));
    assert_eq!(denials.count(), 1, "{contents}");
    let denied = lines.iter().position(|line| line.contains("git push origin main"));
    assert!(denied.expect("a denial") > result && contents.contains("(4 times)"), "{contents}");
}

#[test]
fn a_quiet_run_prints_results_and_a_verbose_one_every_call() {
    let shown = |detail| {
        let term = Terminal::new(100, 120);
        let terminal = Arc::new(term.clone());
        let mut console = Console::new(terminal, Colors::Off, Refresh::OnEvent, clock(), detail);
        feed(&mut console, &sample_run::events());
        (term.contents(), term.written())
    };
    let (quiet, written) = shown(Detail::Quiet);
    insta::assert_snapshot!(quiet);
    assert!(!written.contains('\x1b'), "no live lines, and no title: {written:?}");
    let (normal, _) = shown(Detail::Normal);
    let (verbose, _) = shown(Detail::Verbose);
    let more: Vec<&str> = verbose.lines().filter(|line| !normal.contains(*line)).collect();
    insta::assert_snapshot!(more.join("\n"));
}

#[tokio::test(start_paused = true)]
async fn a_terminal_that_is_resized_stays_clean() {
    let term = Terminal::new(40, 120);
    let mut console = console(&term, Colors::Off);
    let prompt = until(|kind| matches!(kind, EventKind::PromptSent { .. }));
    feed(&mut console, &prompt);
    let nudge = told("14:03:00", EventKind::ToolsChanged { tools: Vec::new() });
    for columns in [50, 200, 80] {
        term.resize(40, columns);
        tokio::time::advance(Duration::from_secs(1)).await;
        feed(&mut console, std::slice::from_ref(&nudge));
        let contents = term.contents();
        assert_eq!(contents.matches(" of 4 done").count(), 1, "{columns}: {contents}");
        assert_eq!(contents.matches("thinking").count(), 1, "{columns}: {contents}");
    }
}

#[test]
fn the_terminal_has_the_title_and_the_progress_of_the_run_until_it_ends() {
    let term = Terminal::new(60, 100);
    let mut console = console(&term, Colors::Off);
    feed(&mut console, &until(|kind| matches!(kind, EventKind::Waiting { .. })));
    let written = term.written();
    let at = |text: &str| written.find(text).unwrap_or_else(|| panic!("{text:?} in {written:?}"));
    let kept = at("\x1b[22;0t");
    assert!(kept < at("\x1b]0;ralph: retry 1/4\x07\x1b]9;4;1;25\x07"));
    at("\x1b]0;ralph: retry 2/4 (waiting)\x07\x1b]9;4;4;50\x07");
    drop(console);
    assert!(term.written().ends_with("\x1b]9;4;0\x07\x1b[23;0t"), "{:?}", term.written());
}

#[test]
fn marks_have_colours_only_where_they_are_wanted() {
    let shown = |colors| {
        let term = Terminal::new(60, 120);
        feed(&mut console(&term, colors), &sample_run::events());
        String::from_utf8_lossy(&term.contents_formatted()).into_owned()
    };
    let green = "\x1b[32m✓";
    assert!(shown(Colors::On).contains(green));
    assert!(!shown(Colors::Off).contains(green));
    assert!(!shown(Colors::Off).contains("\x1b[31m"), "nor those of a criterion's text");
}

#[test]
fn where_there_is_no_terminal_there_is_no_console() {
    // Tests are run with their output captured or piped, or else on a terminal.
    let terminal = std::io::IsTerminal::is_terminal(&std::io::stdout());
    let dumb = std::env::var_os("TERM").is_some_and(|name| name == "dumb");
    assert_eq!(Console::stdout(clock(), Detail::Normal).is_some(), terminal && !dumb);
}

/// A terminal that was closed.
#[derive(Clone, Debug)]
struct Gone;

impl Canvas for Gone {
    fn size(&self) -> (usize, usize) {
        (24, 80)
    }
    fn write(&self, _: &str) -> io::Result<()> {
        Err(Errno::IO.into())
    }
}

#[test]
fn a_closed_terminal_is_an_error_of_the_reporter_and_no_panic() {
    let mut console =
        Console::new(Arc::new(Gone), Colors::On, Refresh::OnEvent, clock(), Detail::Normal);
    let failed = sample_run::events()
        .iter()
        .filter_map(|event| console.on_event(event).err())
        .map(|error| error.to_string())
        .collect::<Vec<_>>();
    assert!(failed[0].starts_with("cannot write the terminal: "), "{failed:?}");
}

#[test]
fn the_echo_of_ctrl_c_does_not_keep_the_live_line_on_the_screen() {
    for columns in [60, 80, 120] {
        let term = Terminal::new(60, columns);
        let mut console = console(&term, Colors::Off);
        let mut events = sample_run::events();
        let turn = until(|kind| matches!(kind, EventKind::ToolFinished { .. }));
        feed(&mut console, &turn);
        assert!(term.contents().contains(" of 4 done"), "{}", term.contents());
        term.echo("^C");
        feed(&mut console, &events.split_off(events.len() - 1));
        let contents = term.contents();
        assert!(!contents.contains(" of 4 done"), "{contents}");
    }
}

#[test]
fn a_question_has_the_terminal_to_itself_and_lines_wait_for_its_answer() {
    let term = Terminal::new(40, 100);
    let mut console = console(&term, Colors::Off);
    let turn = until(|kind| matches!(kind, EventKind::ToolFinished { .. }));
    feed(&mut console, &turn);
    let live = console.live_lines();
    let notice = EventKind::Notice { message: "meanwhile".to_owned() };
    let notice = Event { kind: notice, ..turn[0].clone() };
    let during = live.without(|| {
        term.echo("allow this once? [y/N] ");
        feed(&mut console, &[notice]);
        feed(&mut console, &turn[turn.len() - 1..]);
        term.contents()
    });
    assert!(during.ends_with("allow this once? [y/N]"), "{during}");
    assert!(!during.contains("thinking"), "no live line: {during}");
    term.echo("y\r\n");
    let (_, after) = term
        .contents()
        .split_once("[y/N]")
        .map(|(a, b)| (a.to_owned(), b.to_owned()))
        .expect("the question stays");
    assert!(after.contains("note: meanwhile"), "{after}");
}

#[test]
fn the_end_of_a_run_is_printed_although_a_question_waits() {
    let term = Terminal::new(60, 100);
    let mut console = console(&term, Colors::Off);
    let live = console.live_lines();
    let events = sample_run::events();
    let during = live.without(|| {
        feed(&mut console, &events);
        term.contents()
    });
    assert!(during.contains("AI credits."), "{during}");
}

/// The first of the sample's events for which this holds, at this time of day.
fn sampled(time: &str, of: impl Fn(&EventKind) -> bool) -> Event {
    let found = sample_run::events().into_iter().find(|event| of(&event.kind));
    Event { time: sample_run::at(&format!("2026-11-21T{time}Z")), ..found.expect("in the sample") }
}

fn told(time: &str, kind: EventKind) -> Event {
    Event { kind, ..sampled(time, |_| true) }
}

fn key(text: &str) -> CriterionKey {
    CriterionKey { text: text.to_owned(), occurrence: 0 }
}

fn context(used: u64) -> Option<ContextFill> {
    Some(ContextFill { used, size: 200_000 })
}

fn begins(time: &str, worker: usize, text: &str, attempt: u32) -> Event {
    told(time, EventKind::WorkerStarted { worker, criterion: key(text), line: 7, attempt })
}

/// The sample's first verdict, as the landing of a worker's work.
fn landing(worker: usize) -> (Event, Event, Event) {
    let mut start = sampled("14:04:10", |kind| matches!(kind, EventKind::IterationStarted { .. }));
    let EventKind::IterationStarted { worker: by, turn_millis, .. } = &mut start.kind else {
        unreachable!("it is one")
    };
    (*by, *turn_millis) = (Some(worker), 61_000);
    let verdict = sampled("14:04:12", |kind| matches!(kind, EventKind::VerdictReached { .. }));
    let end = sampled("14:04:12", |kind| matches!(kind, EventKind::IterationEnded { .. }));
    (start, verdict, end)
}

fn call(worker: usize, tool: &str, input: Value) -> Event {
    let call = Activity::Call { call: Some("1".to_owned()), tool: tool.to_owned(), input };
    activity("14:03:30", Some(worker), call)
}

fn hands_in(time: &str, worker: usize, text: &str) -> Event {
    told(time, EventKind::WorkerHandedIn { worker, criterion: key(text) })
}

#[tokio::test(start_paused = true)]
async fn each_worker_has_a_live_line_under_a_head_line() {
    let run = sampled("14:03:00", |kind| matches!(kind, EventKind::RunStarted { .. }));
    let until = sample_run::at("2026-11-21T14:20:00Z");
    let fault = Some(FaultClass::RateLimit);
    let waits = EventKind::Waiting { until, reason: "r".to_owned(), fault, worker: Some(3) };
    let mut events = vec![
        run,
        begins("14:03:09", 1, sample_run::RETRY, 1),
        begins("14:03:09", 2, "Short", 2),
        begins("14:03:09", 3, "Another", 1),
        call(2, "bash", json!({ "command": "cargo test --package client" })),
        call(1, "edit", json!({ "path": "src/client.rs" })),
        activity("14:03:31", Some(1), Activity::CallEnded { call: "1".to_owned() }),
        call(4, "bash", json!({ "command": "of nobody" })),
        activity("14:03:32", Some(3), Activity::Alive { context: context(82_000) }),
        activity("14:03:33", Some(2), Activity::Alive { context: context(40_000) }),
        told("14:03:40", waits),
    ];
    insta::assert_snapshot!("workers_at_work", lines(&events, 70, 4).await);
    events.push(hands_in("14:04:10", 1, sample_run::RETRY));
    events.push(hands_in("14:04:10", 2, "Short"));
    events.push(call(1, "bash", json!({ "command": "of nobody" })));
    insta::assert_snapshot!("work_waits_to_land", lines(&events, 75, 4).await);
    let (start, verdict, end) = landing(1);
    events.extend([start, begins("14:04:10", 1, "Another", 1)]);
    // The calls of the turn, which were made long before.
    let old = json!({ "command": "of before" });
    events.push(decided("14:04:10", "9", "bash", &old, Answer::Allow));
    events.push(checking("14:04:11", Cell::Work, 1));
    insta::assert_snapshot!("the_work_of_a_worker_lands", lines(&events, 77, 5).await);
    events.extend([verdict, end]);
    insta::assert_snapshot!("the_work_of_a_worker_has_landed", lines(&events, 78, 4).await);
}

#[test]
fn the_lines_of_workers_leave_nothing_behind_on_any_terminal() {
    for (rows, columns) in [(60, 40), (60, 200), (5, 80)] {
        let term = Terminal::new(rows, columns);
        let mut console = console(&term, Colors::Off);
        feed(
            &mut console,
            &[sampled("14:03:00", |kind| matches!(kind, EventKind::RunStarted { .. }))],
        );
        for worker in 1..=16 {
            feed(&mut console, &[begins("14:03:09", worker, "漢字 and more of a criterion", 2)]);
            let long = json!({ "command": "a command that is longer than what is shown of it" });
            let kind = EventKind::Notice { message: format!("n{worker}") };
            feed(&mut console, &[call(worker, "bash", long), told("14:03:10", kind)]);
        }
        drop(console);
        let left = term.contents();
        let notes: Vec<&str> = left.lines().filter(|line| !line.is_empty()).collect();
        let last = notes.iter().rev().take(usize::from(rows) - 2).rev();
        let expected: Vec<String> = (1..=16).map(|number| format!("note: n{number}")).collect();
        let last: Vec<&str> = last.copied().filter(|line| line.starts_with("note")).collect();
        assert!(
            !last.is_empty()
                && expected.ends_with(&last.iter().map(|it| (*it).to_owned()).collect::<Vec<_>>()),
            "{rows}x{columns}: {left}"
        );
        assert!(!left.contains("attempt 2") && !left.contains(" done"), "{rows}x{columns}: {left}");
    }
}
