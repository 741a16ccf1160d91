//! Failures of the agent and of the disk.

use super::format::only;
use super::test_run::{TASK, TestRun};
use super::work_tree::{Act, failing, honest};
use crate::agent::AgentError;
use crate::agent::PluginError;
use crate::model::{
    EventKind, Fault, FaultClass, Limit, Outcome, Premium, RecordError, Reset, Turn, TurnEnd,
};

fn died() -> Act {
    failing(TurnEnd::Lost, FaultClass::Died)
}

/// A rate limit that says when it passes.
fn limited(seconds: u64) -> Act {
    Box::new(move |place| {
        let turn = failing(TurnEnd::EndTurn, FaultClass::RateLimit)(place);
        let fault = turn.fault.map(|fault| Fault { reset: Some(Reset::After(seconds)), ..fault });
        Turn { fault, ..turn }
    })
}

#[tokio::test(start_paused = true)]
async fn a_rate_limit_is_waited_for_then_the_run_ends_with_the_time_to_go_on() {
    let limited = || failing(TurnEnd::EndTurn, FaultClass::RateLimit);
    let mut scene = TestRun::new(TASK, vec![limited(), limited(), limited()]);
    let outcome = scene.run().await.expect("an outcome");
    let waits = only(&scene.told(), &["waiting"]);
    assert_eq!(waits, ["waiting until 30: it said so", "waiting until 90: it said so"]);
    let Outcome::RateLimited { resume_at, estimated, .. } = outcome else { panic!("{outcome:?}") };
    assert_eq!(((resume_at - super::test_run::start()).num_seconds(), estimated), (210, true));
    assert_eq!(scene.script().starts, 1, "the agent itself is well");
}

#[tokio::test(start_paused = true)]
async fn a_prompt_refused_without_a_login_or_a_model_costs_no_premium_request() {
    for (class, premium) in
        [(FaultClass::Auth, 0), (FaultClass::ModelUnavailable, 0), (FaultClass::Fatal, 1)]
    {
        let mut scene = TestRun::new(TASK, vec![failing(TurnEnd::Lost, class)]);
        assert_eq!(scene.run().await.expect("an outcome").exit_code(), 5, "{class:?}");
        let expected = format!("iteration 1 ended, {premium} premium");
        assert_eq!(only(&scene.told(), &["iteration 1 ended"]), [expected], "{class:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn what_was_proven_resets_the_patience() {
    let limited = || failing(TurnEnd::EndTurn, FaultClass::RateLimit);
    let acts = vec![limited(), limited(), honest("one"), limited(), limited(), honest("two")];
    let mut scene = TestRun::new(TASK, acts);
    assert_eq!(scene.run().await, Ok(Outcome::Proven));
}

/// The work is done and seen; that the model failed afterwards does not make it free.
#[tokio::test(start_paused = true)]
async fn an_iteration_that_proved_something_counts_whatever_ended_its_turn() {
    let cut: Act = Box::new(|place| {
        let fault = Some(Fault::new(FaultClass::RateLimit, "it said so"));
        Turn { fault, ..honest("one")(place) }
    });
    let mut scene = TestRun::new(TASK, vec![cut]);
    scene.limits().iterations = 1;
    let limit = Outcome::LimitReached { limit: Limit::Iterations };
    assert_eq!(scene.run().await, Ok(limit));
}

#[tokio::test(start_paused = true)]
async fn the_network_may_come_back() {
    let drop = || failing(TurnEnd::EndTurn, FaultClass::Network);
    let mut scene = TestRun::new(TASK, vec![drop(), drop(), honest("one"), honest("two")]);
    assert_eq!(scene.run().await, Ok(Outcome::Proven));
    assert_eq!(only(&scene.told(), &["waiting"]).len(), 2);
}

#[tokio::test(start_paused = true)]
async fn a_network_that_stays_away_is_tried_three_times_then_given_up_in_so_many_words() {
    let drop = || failing(TurnEnd::EndTurn, FaultClass::Network);
    let mut scene = TestRun::new(TASK, vec![drop(), drop(), drop(), drop()]);
    let outcome = scene.run().await.expect("an outcome");
    let waits = only(&scene.told(), &["waiting"]);
    let until = [5, 20, 50].map(|time| format!("waiting until {time}: it said so"));
    assert_eq!(waits, until, "after 5, 15 and 30 s");
    let fault = Fault::new(FaultClass::Network, "Failed after max retries: it said so");
    assert_eq!(outcome, Outcome::AgentUnusable { fault });
    assert_eq!(scene.script().starts, 1);
}

#[tokio::test(start_paused = true)]
async fn a_server_that_fails_is_tried_twice_and_what_goes_well_between_counts_anew() {
    let fails = || failing(TurnEnd::EndTurn, FaultClass::Transient);
    let acts = vec![fails(), fails(), honest("one"), fails(), fails(), honest("two")];
    assert_eq!(TestRun::new(TASK, acts).run().await, Ok(Outcome::Proven));
    let mut scene = TestRun::new(TASK, vec![fails(), fails(), fails()]);
    let outcome = scene.run().await.expect("an outcome");
    assert_eq!(only(&scene.told(), &["waiting"]).len(), 2);
    assert_eq!(outcome.exit_code(), 5);
}

#[tokio::test(start_paused = true)]
async fn the_user_s_number_of_retries_ends_the_wait_for_a_rate_limit() {
    let limited = || failing(TurnEnd::EndTurn, FaultClass::RateLimit);
    let mut scene = TestRun::new(TASK, vec![limited(), limited()]);
    scene.parts.as_mut().expect("not begun").worker.max_retries = Some(1);
    let outcome = scene.run().await.expect("an outcome");
    assert_eq!(only(&scene.told(), &["waiting"]).len(), 1);
    assert_eq!(outcome.exit_code(), 6);
}

#[tokio::test(start_paused = true)]
async fn a_reset_that_is_known_is_waited_for_and_beyond_the_patience_ends_the_run_at_once() {
    let mut scene = TestRun::new(TASK, vec![limited(70), honest("one"), limited(58 * 3600)]);
    let outcome = scene.run().await.expect("an outcome");
    assert_eq!(only(&scene.told(), &["waiting"]), ["waiting until 70: it said so"]);
    let Outcome::RateLimited { resume_at, estimated, .. } = outcome else { panic!("{outcome:?}") };
    let later = (resume_at - super::test_run::start()).num_seconds();
    assert_eq!((later, estimated), (70 + 58 * 3600, false));
}

/// A provider may say anything.
#[tokio::test(start_paused = true)]
async fn a_reset_further_away_than_any_calendar_ends_the_run_with_a_time() {
    for seconds in [u64::MAX, 9_000_000_000_000_000, 9_000_000_000_000] {
        let mut scene = TestRun::new(TASK, vec![limited(seconds)]);
        scene.parts.as_mut().expect("not begun").worker.max_wait = std::time::Duration::MAX;
        scene.limits().duration = Some(std::time::Duration::from_secs(10));
        assert_eq!(scene.run().await.expect("an outcome").exit_code(), 3, "{seconds}");
        let outcome = TestRun::new(TASK, vec![limited(seconds)]).run().await.expect("an outcome");
        assert!(
            matches!(outcome, Outcome::RateLimited { resume_at, .. } if resume_at > super::test_run::start()),
            "{seconds}: {outcome:?}"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn a_file_that_is_not_there_or_not_allowed_is_noted_and_passed_over() {
    for class in [FaultClass::FileNotFound, FaultClass::PermissionDenied] {
        let skipped: Act = Box::new(move |place| {
            place.honest("one");
            failing(TurnEnd::EndTurn, class)(place)
        });
        let mut scene = TestRun::new(TASK, vec![skipped, honest("two")]);
        assert_eq!(scene.run().await, Ok(Outcome::Proven));
        assert_eq!(only(&scene.told(), &["notice: skipped"]), ["notice: skipped: it said so"]);
    }
}

#[tokio::test(start_paused = true)]
async fn an_error_that_nothing_is_known_of_ends_the_run_and_is_no_attempt() {
    let mut scene = TestRun::new(TASK, vec![failing(TurnEnd::EndTurn, FaultClass::Fatal)]);
    let outcome = scene.run().await.expect("an outcome");
    assert_eq!(outcome.exit_code(), 5);
    assert_eq!(only(&scene.told(), &["waiting"]).len(), 0);
}

#[tokio::test(start_paused = true)]
async fn work_that_is_whole_counts_even_if_the_agent_dies_over_it() {
    let dying: Act = Box::new(|place| {
        place.honest("one");
        died()(place)
    });
    let mut scene = TestRun::new(TASK, vec![dying, honest("two")]);
    assert_eq!(scene.run().await, Ok(Outcome::Proven));
    assert_eq!(only(&scene.told(), &["waiting"]).len(), 0);
}

#[tokio::test(start_paused = true)]
async fn evidence_of_tampering_survives_the_agent_s_death() {
    let dying: Act = Box::new(|place| {
        let undecided = vec!["rm ran without a decision".to_owned()];
        Turn { undecided, ..died()(place) }
    });
    let mut scene = TestRun::new(TASK, vec![dying]);
    assert!(matches!(scene.run().await, Ok(Outcome::Tampered { .. })));
}

#[tokio::test(start_paused = true)]
async fn a_wait_is_no_longer_than_the_run() {
    let limited = failing(TurnEnd::EndTurn, FaultClass::RateLimit);
    let mut scene = TestRun::new(TASK, vec![limited]);
    scene.limits().duration = Some(std::time::Duration::from_secs(10));
    let outcome = scene.run().await.expect("an outcome");
    assert!(matches!(outcome, Outcome::LimitReached { .. }), "{outcome:?}");
    assert_eq!(only(&scene.told(), &["waiting"]), ["waiting until 10: it said so"]);
}

#[tokio::test(start_paused = true)]
async fn a_guard_that_was_changed_is_tampering_and_a_full_disk_is_an_error() {
    let mut scene = TestRun::new(TASK, Vec::new());
    let changed = PluginError::Changed { path: "/run/plugin/hooks.json".into() };
    scene.script().closed_doors.push_back(AgentError::Guard(changed));
    let outcome = scene.run().await.expect("an outcome");
    assert!(matches!(&outcome, Outcome::Tampered { reason } if reason.contains("hooks.json")));

    let mut scene = TestRun::new(TASK, Vec::new());
    let full =
        RecordError { path: "events.jsonl".into(), source: std::io::ErrorKind::StorageFull.into() };
    scene.script().closed_doors.push_back(AgentError::Record(full));
    let error = scene.run().await.expect_err("nothing may run unrecorded");
    assert!(error.starts_with("cannot write events.jsonl"), "{error}");
    assert_eq!(scene.counts(), (1, 1));
}

/// Limits and waits go by the monotonic clock, whoever sets that of the wall.
#[tokio::test(start_paused = true)]
async fn a_wall_clock_that_is_set_in_a_run_moves_no_limit_and_no_wait() {
    const DAY: i64 = 24 * 60 * 60;
    for jump in [-DAY, DAY, -3600] {
        let limited: Act = Box::new(move |place| {
            place.set.fetch_add(jump, std::sync::atomic::Ordering::SeqCst);
            failing(TurnEnd::EndTurn, FaultClass::RateLimit)(place)
        });
        let mut scene = TestRun::new(TASK, vec![limited, honest("one"), honest("two")]);
        scene.limits().duration = Some(std::time::Duration::from_secs(600));
        let begun = tokio::time::Instant::now();
        assert_eq!(scene.run().await, Ok(Outcome::Proven), "{jump}");
        assert_eq!(begun.elapsed().as_secs(), 30, "{jump}: the wait for the rate limit");
        // The human is told by the wall as it stands now.
        let told = format!("{jump} waiting until {}: it said so\n", jump + 30);
        assert!(scene.told().contains(&told), "{told}{}", scene.told());
        let events = scene.events.lock().expect("events");
        let took = events.iter().filter_map(|event| match event.kind {
            crate::model::EventKind::IterationEnded { millis, .. } => Some(millis),
            _ => None,
        });
        assert_eq!(took.collect::<Vec<_>>(), [0, 0, 0], "{jump}: nothing but the wait takes time");
    }
}

#[tokio::test(start_paused = true)]
async fn a_fallback_is_counted_as_the_model_that_it_is() {
    let missing = failing(TurnEnd::EndTurn, FaultClass::ModelUnavailable);
    let mut scene = TestRun::new(TASK, vec![missing, honest("one"), honest("two")]);
    let parts = scene.parts.as_mut().expect("not begun");
    parts.worker.model = Some("free".to_owned());
    parts.worker.fallbacks.push_back(Some("dear".to_owned()));
    let dear = |model: Option<&str>| model == Some("dear");
    parts.worker.premium =
        Box::new(move |model| if dear(model) { Premium::Counted } else { Premium::Free });
    parts.ledger.limits.premium_requests = Some(1);
    let limit = Limit::PremiumRequests;
    assert_eq!(scene.run().await, Ok(Outcome::LimitReached { limit }));
    let events = scene.events.lock().expect("events");
    let prompts = events.iter().filter_map(|event| match &event.kind {
        EventKind::PromptSent { model, premium, .. } => Some((model.as_deref(), *premium)),
        _ => None,
    });
    assert_eq!(prompts.collect::<Vec<_>>(), [(Some("free"), false), (Some("dear"), true)]);
}
