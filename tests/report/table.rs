//! The table at the end.

use ralph_copilot::model::{
    CriterionKey, CriterionSummary, EventKind, Fault, FaultClass, Limit, Obstacle, Outcome, Proof,
    RunSummary,
};
use ralph_copilot::report::summary;

use super::sample_run;

fn sample() -> (Outcome, RunSummary) {
    match sample_run::events().pop().expect("an end").kind {
        EventKind::RunEnded { outcome, summary, .. } => (outcome, summary),
        other => panic!("{} is no end", other.name()),
    }
}

#[test]
fn a_narrow_one() {
    let (outcome, run) = sample();
    let text = summary(&outcome, &run, 80);
    insta::assert_snapshot!(text);
    for width in [40, 41, 60, 80, 81, 120, 200] {
        for line in summary(&outcome, &run, width).lines() {
            let whole = line.contains(" ralph-copilot ");
            assert!(whole || console::measure_text_width(line) <= width, "{width}: {line}");
        }
    }
}

#[test]
fn a_wide_one() {
    let (outcome, run) = sample();
    insta::assert_snapshot!(summary(&outcome, &run, 160));
}

#[test]
fn ten_thousand_criteria_give_a_bounded_one() {
    let criteria = (0..10_000)
        .map(|number| CriterionSummary {
            key: CriterionKey { text: format!("criterion {number}"), occurrence: 0 },
            line: number + 5,
            checked: number % 2 == 0,
            blocked: false,
            blocked_by: None,
            held: None,
            skipped: false,
            reason: None,
            proof: (number % 4 == 0).then_some(Proof::Commit),
            attempts: 0,
        })
        .collect();
    let run = RunSummary { criteria, iterations: 1, ..RunSummary::default() };
    let text = summary(&Outcome::LimitReached { limit: Limit::Iterations }, &run, 80);
    let end: Vec<&str> = text.lines().skip(19).collect();
    insta::assert_snapshot!(end.join("\n"));
}

#[test]
fn a_run_that_was_refused_at_its_start_says_why_and_has_no_table() {
    let (_, sample) = sample();
    let outcome =
        Outcome::CannotGoOn { obstacle: Obstacle::Invalid, reason: "no such tool".to_owned() };
    let next = vec!["fix it".to_owned()];
    let refused = RunSummary { iterations: 0, next, ..sample.clone() };
    assert_eq!(summary(&outcome, &refused, 80), "Stopped: no such tool.\nNext: fix it\n");
    assert!(summary(&outcome, &sample, 80).contains("  criterion "), "work was done");
}

#[test]
fn every_outcome_has_words() {
    let fault = Fault::new(FaultClass::Auth, "log in with `copilot login`");
    let outcomes = [
        Outcome::Proven,
        Outcome::Landed { landed: 2, of: 3 },
        Outcome::Landed { landed: 0, of: 0 },
        Outcome::LimitReached { limit: Limit::Iterations },
        Outcome::LimitReached { limit: Limit::Duration },
        Outcome::LimitReached { limit: Limit::PremiumRequests },
        Outcome::LimitReached { limit: Limit::Tokens },
        Outcome::LimitReached { limit: Limit::AiCredits },
        Outcome::Stuck { reason: "why".to_owned() },
        Outcome::AgentUnusable { fault },
        Outcome::RateLimited {
            message: "429".to_owned(),
            resume_at: sample_run::at("2026-11-22T02:00:00Z"),
            estimated: true,
        },
        Outcome::Tampered { reason: "a hook was added".to_owned() },
        Outcome::Interrupted { signal: 2 },
        Outcome::CannotGoOn {
            obstacle: Obstacle::Repository,
            reason: "HEAD is elsewhere".to_owned(),
        },
    ];
    let said: Vec<String> = outcomes
        .iter()
        .map(|outcome| {
            let text = summary(outcome, &RunSummary::default(), 120);
            text.lines().last().expect("why").to_owned()
        })
        .collect();
    insta::assert_snapshot!(said.join("\n"));
}
