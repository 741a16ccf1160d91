//! The screen in each state of a run, and the report afterwards, from the journals of real runs:
//! `tests/recordings/nights/record` made them with the scripted agent.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use chrono::{DateTime, Utc};
use ralph_copilot::events::{DenialRow, Rollup, RunStatus};
use ralph_copilot::model::{Activity, Answer, Event, EventKind};
use ralph_copilot::report::{
    Colors, Console, Detail, Night, NightCriterion, Refresh, html, markdown, screen, text,
};
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
        let fits = |line: &str| {
            line.chars().count() <= usize::from(columns) || line.contains(" ralph-copilot ")
        };
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
    insta::assert_snapshot!("the_night_as_text", text(&night, usize::MAX));
    insta::assert_snapshot!("the_night_as_markdown", markdown(&night));
}

/// A night with the facts that the recorded one lacks.
fn full_night() -> Night {
    let mut run = Rollup::default();
    journal("night").iter().for_each(|event| run.apply(event));
    let mut night = Night::new(&run, None, RunStatus::Ended, Vec::new()).expect("a run");
    night.details = vec!["a detail of the end".to_owned()];
    night.elsewhere = Some("its work is elsewhere".to_owned());
    night.later = Some("a later run did nothing".to_owned());
    night.lessons = vec!["a lesson was learned".to_owned()];
    night.notices = vec!["a notice was given".to_owned()];
    night.unchecked = vec!["nothing checked this".to_owned()];
    night.work = Some("3 commits, 4 files changed".to_owned());
    night
}

#[test]
fn every_form_of_the_report_tells_what_matters() {
    let night = full_night();
    assert!(!night.next.is_empty() && night.criteria.iter().any(|it| it.why().is_some()));
    let facts = [&night.details, &night.lessons, &night.notices, &night.unchecked, &night.next];
    let facts = facts.into_iter().flatten().chain(&night.elsewhere).chain(&night.later);
    let reasons = night.criteria.iter().filter_map(|it| it.why());
    let all: Vec<_> = facts.chain(&night.work).chain(reasons).collect();
    let plain = |text: &str| text.replace(['`', '\u{200b}'], "").replace("&#39;", "'");
    let page = html(&night).replace("&amp;", "&").replace("&quot;", "\"").replace("&gt;", ">");
    for form in [text(&night, usize::MAX), markdown(&night), page] {
        for fact in &all {
            let fact = plain(fact.lines().next().expect("a line"));
            assert!(plain(&form).contains(&fact), "{fact}: {form}");
        }
        let code = format!("exit code {}", night.exit_code.expect("an end"));
        assert!(form.contains(&code), "{form}");
    }
}

#[test]
fn a_status_fits_on_a_screen_and_breaks_no_word() {
    let mut night = full_night();
    let why = "`cargo test -p client retry` ended with exit code 101. Its output says: assertion \
               failed: left 3, right 1, in the_client_waits_between_two_attempts. Then it said \
               more than that, and more again, until the terminal had no more room for it.";
    let some = night.criteria[0].clone();
    let stuck = |number: usize| NightCriterion {
        text: format!("criterion {number} of the client, which has {}", "a long name ".repeat(9)),
        said: "stuck after 3 attempts".to_owned(),
        reason: Some(why.to_owned()),
        next: None,
        ..some.clone()
    };
    night.outcome = format!(
        "Stuck: {}",
        night.criteria.iter().map(|it| &*it.text).collect::<Vec<_>>().join(", ").repeat(3)
    );
    let deny = |number: u64| DenialRow {
        rule: format!("rule.{number}"),
        count: 9 - number,
        reason: why.to_owned(),
    };
    night.denials = (0..5).map(deny).collect();
    night.next = (0..3).map(|_| format!("if it needs what the guard denied: {why}")).collect();
    night.next.push("then run: ralph-copilot retry demo && ralph-copilot demo".to_owned());
    for (count, rows) in [(3, 30), (30, 30), (500, 27)] {
        night.criteria = (0..count).map(stuck).collect();
        let words: BTreeSet<_> = screen(&night, &[], (usize::MAX, usize::MAX))
            .split_whitespace()
            .map(str::to_owned)
            .collect();
        let shown = screen(&night, &[], (100, rows));
        // The prompt takes a row.
        assert!(shown.lines().count() < rows, "{count}:\n{shown}");
        assert!(shown.contains("criterion 0 of the client"), "{shown}");
        assert!(count > 3 || shown.contains("criterion 2 of the client"), "{shown}");
        assert!(count > 3 || shown.contains("ralph-copilot retry demo"), "{shown}");
        for line in shown.lines() {
            assert!(console::measure_text_width(line) <= 100, "{line}");
            let broken = |word: &&str| !word.ends_with('…') && !words.contains(*word);
            // The numbers of what is left out are not in the whole text.
            let is_count = line.trim_start().starts_with('…');
            assert_eq!(line.split_whitespace().find(broken).filter(|_| !is_count), None, "{shown}");
        }
    }
    assert!(text(&night, 100).lines().all(|line| console::measure_text_width(line) <= 100));
}
