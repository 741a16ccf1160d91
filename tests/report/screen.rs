//! The terminal, as a terminal shows it.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use indicatif::{InMemoryTerm, TermLike};
use ralph_copilot::model::{CriterionKey, Event, EventKind, Reporter};
use ralph_copilot::report::{Colors, Console, Refresh};
use rustix::io::Errno;

use super::{clock, feed, sample_run};

fn console(term: &InMemoryTerm, colors: Colors) -> Console {
    Console::new(Arc::new(term.clone()), colors, Refresh::OnEvent, clock())
}

/// The sample up to the first event for which this holds, that one included.
fn until(last: impl Fn(&EventKind) -> bool) -> Vec<Event> {
    let mut events = sample_run::events();
    let end = events.iter().position(|event| last(&event.kind)).expect("it is in the sample");
    events.truncate(end + 1);
    events
}

#[test]
fn a_whole_run_on_a_narrow_terminal() {
    let term = InMemoryTerm::new(60, 80);
    feed(&mut console(&term, Colors::Off), &sample_run::events());
    insta::assert_snapshot!(term.contents());
}

#[test]
fn a_whole_run_on_a_wide_terminal() {
    let term = InMemoryTerm::new(60, 160);
    feed(&mut console(&term, Colors::Off), &sample_run::events());
    insta::assert_snapshot!(term.contents());
}

#[tokio::test(start_paused = true)]
async fn the_live_line_tells_of_the_iteration_in_progress_and_goes_with_it() {
    let term = InMemoryTerm::new(20, 80);
    let mut console = console(&term, Colors::Off);
    // The clock starts with the run; the iteration begins 4 s into it.
    tokio::time::advance(Duration::from_millis(45_010)).await;
    let turn = until(|kind| matches!(kind, EventKind::TurnEnded { iteration: 1, .. }));
    feed(&mut console, &turn);
    insta::assert_snapshot!(term.contents());
    drop(console);
    assert!(!term.contents().contains("calls"), "{}", term.contents());
}

#[tokio::test(start_paused = true)]
async fn a_wait_is_on_the_live_line() {
    let term = InMemoryTerm::new(20, 100);
    let mut console = console(&term, Colors::Off);
    tokio::time::advance(Duration::from_secs(600)).await;
    feed(&mut console, &until(|kind| matches!(kind, EventKind::Waiting { .. })));
    let contents = term.contents();
    let live = contents.lines().last().expect("a line");
    assert!(live.contains("waiting until 2026-11-21 15:00: rate limit"), "{contents}");
    assert!(live.contains("iteration 3 · attempt 2"), "{contents}");
}

#[test]
fn marks_have_colours_only_where_they_are_wanted() {
    let shown = |colors| {
        let term = InMemoryTerm::new(60, 120);
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
    assert_eq!(Console::stdout(clock()).is_some(), terminal && !dumb);
}

/// A terminal that was closed.
#[derive(Clone, Debug)]
struct Gone;

impl TermLike for Gone {
    fn width(&self) -> u16 {
        80
    }
    fn move_cursor_up(&self, _: usize) -> io::Result<()> {
        Err(Errno::IO.into())
    }
    fn move_cursor_down(&self, _: usize) -> io::Result<()> {
        Err(Errno::IO.into())
    }
    fn move_cursor_right(&self, _: usize) -> io::Result<()> {
        Err(Errno::IO.into())
    }
    fn move_cursor_left(&self, _: usize) -> io::Result<()> {
        Err(Errno::IO.into())
    }
    fn write_line(&self, _: &str) -> io::Result<()> {
        Err(Errno::IO.into())
    }
    fn write_str(&self, _: &str) -> io::Result<()> {
        Err(Errno::IO.into())
    }
    fn clear_line(&self) -> io::Result<()> {
        Err(Errno::IO.into())
    }
    fn flush(&self) -> io::Result<()> {
        Err(Errno::IO.into())
    }
}

#[test]
fn a_closed_terminal_is_an_error_of_the_reporter_and_no_panic() {
    let mut console = Console::new(Arc::new(Gone), Colors::On, Refresh::OnEvent, clock());
    let failed = sample_run::events()
        .iter()
        .filter_map(|event| console.on_event(event).err())
        .map(|error| error.to_string())
        .collect::<Vec<_>>();
    assert!(failed[0].starts_with("cannot write the terminal: "), "{failed:?}");
}

/// What people type and see beside the run, as the terminal itself prints it.
fn typed(term: &InMemoryTerm, text: &str) {
    term.write_str(text).expect("the terminal echoes");
}

#[test]
fn the_echo_of_ctrl_c_does_not_keep_the_live_line_on_the_screen() {
    for columns in [60, 80, 120] {
        let term = InMemoryTerm::new(60, columns);
        let mut console = console(&term, Colors::Off);
        let mut events = sample_run::events();
        let turn = until(|kind| matches!(kind, EventKind::ToolFinished { .. }));
        feed(&mut console, &turn);
        assert!(term.contents().contains("1 call ·"), "{}", term.contents());
        typed(&term, "^C");
        feed(&mut console, &events.split_off(events.len() - 1));
        let contents = term.contents();
        assert!(!contents.contains("1 call ·"), "{contents}");
    }
}

#[test]
fn a_question_has_the_terminal_to_itself_and_lines_wait_for_its_answer() {
    let term = InMemoryTerm::new(40, 100);
    let mut console = console(&term, Colors::Off);
    let turn = until(|kind| matches!(kind, EventKind::ToolFinished { .. }));
    feed(&mut console, &turn);
    let live = console.live_line();
    let notice = EventKind::Notice { message: "meanwhile".to_owned() };
    let notice = Event { kind: notice, ..turn[0].clone() };
    let during = live.without(|| {
        typed(&term, "allow this once? [y/N] ");
        feed(&mut console, &[notice]);
        feed(&mut console, &turn[turn.len() - 1..]);
        term.contents()
    });
    assert!(during.ends_with("allow this once? [y/N]"), "{during}");
    assert!(!during.contains("call"), "no live line: {during}");
    typed(&term, "y\r\n");
    let (_, after) = term
        .contents()
        .split_once("[y/N]")
        .map(|(a, b)| (a.to_owned(), b.to_owned()))
        .expect("the question stays");
    assert!(after.contains("note: meanwhile"), "{after}");
}

#[test]
fn the_end_of_a_run_is_printed_although_a_question_waits() {
    let term = InMemoryTerm::new(60, 100);
    let mut console = console(&term, Colors::Off);
    let live = console.live_line();
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

fn call(command: &str) -> EventKind {
    let EventKind::ToolDecided {
        iteration, session, call, tool, asked, answer, rule, reason, ..
    } = sampled("14:04:00", |kind| matches!(kind, EventKind::ToolDecided { .. })).kind
    else {
        unreachable!("it is one")
    };
    let input = serde_json::json!({ "command": command });
    EventKind::ToolDecided { iteration, session, call, tool, input, asked, answer, rule, reason }
}

#[tokio::test(start_paused = true)]
async fn each_worker_has_a_live_line_under_a_head_line() {
    let term = InMemoryTerm::new(20, 80);
    let mut console = console(&term, Colors::Off);
    let run = sampled("14:03:00", |kind| matches!(kind, EventKind::RunStarted { .. }));
    feed(&mut console, &[run, begins("14:03:09", 1, sample_run::RETRY, 1)]);
    feed(&mut console, &[begins("14:03:09", 2, "Short", 2)]);
    tokio::time::advance(Duration::from_secs(70)).await;
    console.on_live(2, &call("cargo test --package client"));
    console.on_live(1, &call("one"));
    console.on_live(3, &call("of nobody"));
    insta::assert_snapshot!("workers_at_work", term.contents());
    let handed_in = |worker, text| EventKind::WorkerHandedIn { worker, criterion: key(text) };
    feed(&mut console, &[told("14:04:10", handed_in(1, sample_run::RETRY))]);
    feed(&mut console, &[told("14:04:10", handed_in(2, "Short"))]);
    console.on_live(1, &call("of nobody"));
    assert!(term.contents().contains("1 of 4 done · 2 waiting to land"), "{}", term.contents());
    let (start, verdict, end) = landing(1);
    feed(&mut console, &[start, begins("14:04:10", 1, "Another", 1)]);
    insta::assert_snapshot!("the_work_of_a_worker_lands", term.contents());
    feed(&mut console, &[verdict, end]);
    insta::assert_snapshot!("the_work_of_a_worker_has_landed", term.contents());
    drop(console);
    assert!(!term.contents().contains("done"), "{}", term.contents());
    assert!(!term.contents().contains("idle"), "{}", term.contents());
}

#[tokio::test(start_paused = true)]
async fn the_lines_of_workers_leave_nothing_behind_on_any_terminal() {
    for (rows, columns) in [(60, 40), (60, 200), (5, 80)] {
        let term = InMemoryTerm::new(rows, columns);
        let mut console = console(&term, Colors::Off);
        for worker in 1..=16 {
            feed(&mut console, &[begins("14:03:09", worker, "漢字 and more of a criterion", 2)]);
            console.on_live(worker, &call("a command that is longer than what is shown of it"));
            let kind = EventKind::Notice { message: format!("n{worker}") };
            feed(&mut console, &[told("14:03:10", kind)]);
        }
        drop(console);
        let left = term.contents();
        let notes: Vec<&str> = left.lines().filter(|line| !line.is_empty()).collect();
        let expected: Vec<String> = (1..=16).map(|number| format!("note: n{number}")).collect();
        assert!(
            expected.ends_with(&notes.iter().map(|it| it.to_string()).collect::<Vec<_>>()),
            "{rows}x{columns}: {left}"
        );
        assert!(notes.len() == 16 || rows == 5, "{rows}x{columns}: {left}");
    }
}
