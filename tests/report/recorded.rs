//! The screen in each state of a run, and the report afterwards, from the journals of real runs:
//! `tests/recordings/nights/record` made them with the scripted agent.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use chrono::{DateTime, Utc};
use ralph_copilot::events::{Rollup, RunStatus};
use ralph_copilot::model::{Activity, Answer, Event, EventKind};
use ralph_copilot::report::{Colors, Console, Detail, Night, Refresh, markdown, text};
use ralph_copilot::sys::clock::Clock;

use super::feed;
use super::terminal::Terminal;

fn journal(name: &str) -> Vec<Event> {
    let path = Path::new("tests/recordings/nights").join(name).with_extension("jsonl");
    let text = std::fs::read_to_string(path).expect("a journal");
    text.lines().map(|line| serde_json::from_str(line).expect("an event")).collect()
}

/// Draws on terminals of three widths what a run looks like three seconds after this many events.
async fn screens(events: &[Event]) -> String {
    let began: DateTime<Utc> = events[0].time;
    let mut text = String::new();
    for columns in [80, 120, 200] {
        let term = Terminal::new(60, columns);
        let clock = Clock::anchored(began);
        let canvas = Arc::new(term.clone());
        let mut console =
            Console::new(canvas, Colors::Off, Refresh::OnEvent, clock, Detail::Normal);
        feed(&mut console, events);
        let last = events[events.len() - 1].time;
        let passed = (last - began).to_std().expect("time goes on") + Duration::from_secs(3);
        tokio::time::advance(passed).await;
        // An event that says nothing draws the lines again.
        let kind = EventKind::ToolsChanged { tools: Vec::new() };
        feed(&mut console, &[Event { kind, ..events[events.len() - 1].clone() }]);
        let contents = term.contents();
        let fits = |line: &str| line.chars().count() <= usize::from(columns);
        assert!(contents.lines().all(fits), "{contents}");
        text.push_str(&format!("{columns}:\n{contents}\n\n"));
    }
    text
}

/// Is it this moment of a run?
type Moment = fn(&EventKind) -> bool;

fn checks(kind: &EventKind) -> bool {
    matches!(kind, EventKind::Activity { activity: Activity::Checking { .. }, .. })
}

fn runs(kind: &EventKind) -> bool {
    matches!(kind, EventKind::ToolDecided { answer: Answer::Allow, tool, .. } if tool == "execute")
}

#[tokio::test(start_paused = true)]
async fn each_state_of_a_real_run_has_its_screen() {
    use EventKind::{
        CriterionBlocked, CriterionHeld, PromptSent, RunEnded, RunStarted, TurnEnded,
        VerdictReached, Waiting, WorkerHandedIn, WorkerStarted,
    };
    let states: [(&str, &str, usize, Moment); 14] = [
        ("it_prepares", "night", 1, |it| matches!(it, RunStarted { .. })),
        ("it_checks_before_any_work", "night", 2, checks),
        ("the_agent_thinks", "night", 1, |it| matches!(it, PromptSent { .. })),
        ("a_call_runs", "night", 1, runs),
        ("evidence_is_collected", "night", 1, |it| matches!(it, TurnEnded { .. })),
        ("a_criterion_passed", "night", 1, |it| matches!(it, VerdictReached { .. })),
        ("a_criterion_is_stuck", "night", 1, |it| matches!(it, CriterionBlocked { .. })),
        ("work_is_held", "night", 1, |it| matches!(it, CriterionHeld { .. })),
        ("a_limit_is_reached", "night", 1, |it| matches!(it, RunEnded { .. })),
        ("it_waits", "waits", 1, |it| matches!(it, Waiting { .. })),
        ("it_was_interrupted", "waits", 1, |it| matches!(it, RunEnded { .. })),
        ("two_workers_work", "jobs", 2, |it| matches!(it, WorkerStarted { .. })),
        ("work_waits_in_the_queue", "jobs", 1, |it| matches!(it, WorkerHandedIn { .. })),
        ("all_is_proven", "jobs", 1, |it| matches!(it, RunEnded { .. })),
    ];
    for (name, of, number, moment) in states {
        let events = journal(of);
        let mut found = (0..events.len()).filter(|at| moment(&events[*at].kind));
        let at = found.nth(number - 1).unwrap_or_else(|| panic!("{name} in {of}"));
        insta::assert_snapshot!(name, screens(&events[..=at]).await);
    }
}

#[test]
fn the_report_of_a_real_run_tells_the_whole_night() {
    let mut run = Rollup::default();
    journal("night").iter().for_each(|event| run.apply(event));
    let night = Night::new(&run, None, RunStatus::Ended, Vec::new()).expect("a run");
    insta::assert_snapshot!("the_night_as_text", text(&night));
    insta::assert_snapshot!("the_night_as_markdown", markdown(&night));
}
