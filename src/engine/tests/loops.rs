//! Work, verdicts, attempts and limits.

use std::time::Duration;

use super::format::only;
use super::test_run::{TASK, TestRun};
use super::work_tree::{act, honest};
use crate::agent::AgentError;
use crate::engine::BaselineRun;
use crate::model::{
    Escalate, EventKind, Fault, FaultClass, Limit, OnStuck, Outcome, Turn, TurnEnd, Usage,
};

#[tokio::test(start_paused = true)]
async fn the_last_attempt_has_another_model_and_the_next_criterion_the_usual_one() {
    let mut acts: Vec<_> = (0..3).map(|_| act(|place| place.claim("one"))).collect();
    acts.push(honest("two"));
    let mut scene = TestRun::new(TASK, acts);
    scene.limits().on_stuck = OnStuck::Skip;
    let parts = scene.parts.as_mut().expect("not begun");
    parts.worker.model = Some("usual".into());
    parts.worker.escalate =
        Some(Escalate { model: Some("other".into()), effort: Some("high".into()) });
    assert!(matches!(scene.run().await, Ok(Outcome::Stuck { .. })));
    let (usual, other) = ([Some("usual".to_owned()), None], ["other", "high"].map(String::from));
    let expected = [usual.clone(), other.map(Some), usual].concat();
    assert_eq!(scene.script().started_with, expected);
    let prompts = scene.events.lock().expect("events").clone();
    let models = prompts.into_iter().filter_map(|event| match event.kind {
        EventKind::PromptSent { model, .. } => model,
        _ => None,
    });
    assert_eq!(models.collect::<Vec<_>>(), ["usual", "usual", "other", "usual"]);
}

#[tokio::test(start_paused = true)]
async fn what_the_last_attempt_cannot_use_is_left_out_the_effort_first() {
    let mut scene = TestRun::new(TASK, vec![honest("one"), honest("two")]);
    scene.limits().attempts = 1;
    let refused = || AgentError::Refused {
        operation: "session/new",
        fault: Fault::new(FaultClass::Fatal, "no such model"),
    };
    scene.script().closed_doors.extend([refused(), refused()]);
    let parts = scene.parts.as_mut().expect("not begun");
    parts.worker.model = Some("usual".into());
    parts.worker.escalate =
        Some(Escalate { model: Some("other".into()), effort: Some("high".into()) });
    assert_eq!(scene.run().await, Ok(Outcome::Proven));
    let with = [Some("other"), Some("high"), Some("other"), None, Some("usual"), None];
    assert_eq!(scene.script().started_with, with.map(|word| word.map(str::to_owned)));
}

/// The branch goes back only as far as the human's commit.
#[tokio::test(start_paused = true)]
async fn what_a_human_commits_between_two_attempts_stays_on_the_branch() {
    for then in [OnStuck::Stop, OnStuck::Skip] {
        let attempt = |path: &'static str| {
            act(move |place| {
                place.write(path, "wrong\n");
                place.commit("ralph(demo): try");
            })
        };
        let acts = vec![attempt("first"), attempt("second")];
        let mut scene = TestRun::new("# Demo\n\n- [ ] one\n  - verify: `exists never`\n", acts);
        scene.limits().attempts = 2;
        scene.limits().on_stuck = then;
        scene.script().between.extend([
            act(|_| ()),
            act(|place| {
                place.write("README.md", "the human's\n");
                place.commit("By a human");
            }),
        ]);
        let outcome = scene.run().await.expect("an outcome");
        assert!(matches!(outcome, Outcome::Stuck { .. }), "{outcome:?}");
        assert_eq!(scene.place.read("README.md"), "the human's\n");
        assert!(scene.place.git(&["log", "--format=%s"]).contains("By a human"));
        assert!(!scene.place.root.join("second").exists());
        assert_eq!(scene.place.git(&["show", "refs/ralph/demo/attempts/1:second"]), "wrong");
    }
}

#[tokio::test(start_paused = true)]
async fn each_limit_ends_the_run_between_turns() {
    let mut scene = TestRun::new(TASK, vec![honest("one")]);
    scene.limits().iterations = 1;
    let limit = Limit::Iterations;
    assert_eq!(scene.run().await, Ok(Outcome::LimitReached { limit }));
    let mut scene = TestRun::new(TASK, vec![honest("one")]);
    scene.limits().premium_requests = Some(1);
    let limit = Limit::PremiumRequests;
    assert_eq!(scene.run().await, Ok(Outcome::LimitReached { limit }));
    assert_eq!(only(&scene.told(), &["iteration 1 ended"]), ["iteration 1 ended, 1 premium"]);
    let mut scene = TestRun::new(TASK, vec![costly(TurnEnd::EndTurn)]);
    scene.limits().tokens = Some(1000);
    let limit = Limit::Tokens;
    assert_eq!(scene.run().await, Ok(Outcome::LimitReached { limit }));
    assert_eq!(scene.counts(), (1, 1));
}

/// An agent may say anything.
#[tokio::test(start_paused = true)]
async fn more_tokens_than_can_be_counted_are_a_limit_reached() {
    let greedy = |criterion| -> super::work_tree::Act {
        Box::new(move |place| {
            place.honest(criterion);
            let usage =
                Some(Usage { output: u64::MAX - 1, total: u64::MAX - 1, ..Usage::default() });
            Turn { usage, ..Turn::default() }
        })
    };
    let task = format!("{TASK}- [ ] three\n");
    let mut scene = TestRun::new(&task, vec![greedy("one"), greedy("two")]);
    scene.limits().tokens = Some(u64::MAX);
    let limit = Limit::Tokens;
    assert_eq!(scene.run().await, Ok(Outcome::LimitReached { limit }));
}

/// A sign is written whatever the human's editor made of the file.
#[tokio::test(start_paused = true)]
async fn guardrails_that_are_no_utf_8_get_their_sign_and_keep_their_bytes() {
    let human = b"# Guardrails\n- Vorsicht: \xfcber\n";
    let mut acts = vec![act(move |place| {
        let at = place.root.join("tasks/demo/guardrails.md");
        std::fs::write(at, human).expect("written");
    })];
    acts.extend((0..3).map(|_| act(|_| ())));
    let mut scene = TestRun::new(TASK, acts);
    let outcome = scene.run().await;
    assert!(matches!(outcome, Ok(Outcome::Stuck { .. })), "{outcome:?}");
    let path = scene.place.root.join("tasks/demo/guardrails.md");
    let bytes = std::fs::read(path).expect("guardrails.md");
    let sign = bytes.strip_prefix(human).expect("the human's bytes are as they were");
    assert!(sign.starts_with(b"- Criterion 'one' caused loop"), "{}", sign.escape_ascii());
}

/// Honest work on `one` that takes a thousand tokens.
fn costly(end: TurnEnd) -> super::work_tree::Act {
    Box::new(move |place| {
        place.honest("one");
        let usage = Some(Usage { input: 900, output: 100, total: 1000, ..Usage::default() });
        Turn { end, usage, ..Turn::default() }
    })
}

#[tokio::test(start_paused = true)]
async fn a_turn_that_is_cancelled_for_its_tokens_ends_the_run_by_that_limit() {
    let mut scene = TestRun::new(TASK, vec![costly(TurnEnd::Interrupted)]);
    scene.limits().tokens = Some(500);
    scene.limits().duration = Some(Duration::from_secs(60));
    let limit = Limit::Tokens;
    assert_eq!(scene.run().await, Ok(Outcome::LimitReached { limit }));
    assert!(scene.told().contains("verdict: Pass"), "work that is whole counts all the same");
}

/// The CLI forbids tools when the credits that it was given are used up, by its own count.
#[tokio::test(start_paused = true)]
async fn a_turn_that_the_cli_cuts_off_for_its_credits_is_a_limit_and_no_failed_attempt() {
    let cut = Box::new(|_: &super::work_tree::WorkTree| Turn {
        end: TurnEnd::Interrupted,
        ..Turn::default()
    });
    let mut scene = TestRun::new(TASK, vec![cut]);
    scene.limits().tokens = Some(500);
    scene.limits().credits = Some(30_000);
    let limit = Limit::AiCredits;
    assert_eq!(scene.run().await, Ok(Outcome::LimitReached { limit }));
    assert!(!scene.told().contains("verdict: Fail"), "{}", scene.told());
}

/// The last verdict is not the last chance to change what the run says about itself.
#[tokio::test(start_paused = true)]
async fn records_that_are_changed_after_the_last_verdict_are_noticed_before_the_end() {
    let task = "# Demo\n\n- [ ] one\n  - verify: `spoil one.txt`\n";
    let mut scene = TestRun::new(task, vec![honest("one")]);
    let outcome = scene.run().await.expect("an outcome");
    assert!(
        matches!(&outcome, Outcome::Tampered { reason } if reason.contains("events.jsonl")),
        "{outcome:?}"
    );
    let told = scene.told();
    assert_eq!(only(&told, &["verdict"]), ["verdict: Pass(Check)"], "{told}");
    assert!(told.contains("run ended 10: "), "{told}");
}

/// A proof needs a check that was red, so the room's run before the work is never left out.
#[tokio::test(start_paused = true)]
async fn without_a_baseline_nothing_runs_in_the_tree_before_the_work() {
    for baseline in [BaselineRun::Taken, BaselineRun::Skipped] {
        let mut scene = TestRun::new(TASK, vec![honest("one"), honest("two")]);
        scene.place.write("one.ignored", "here\n");
        scene.parts.as_mut().expect("parts").ledger.baseline = baseline;
        assert_eq!(scene.run().await, Ok(Outcome::Proven));
        assert_eq!(only(&scene.told(), &["baseline"]).len(), 1);
    }
}

#[tokio::test(start_paused = true)]
async fn a_check_that_the_room_alone_fails_ends_the_run_before_the_work() {
    let task = TASK.replace("one.txt", "late.ignored");
    let mut scene = TestRun::new(&task, vec![honest("one")]);
    // Made after the copy of the ignored files.
    scene.place.write("late.ignored", "here\n");
    let error = scene.run().await.expect_err("refused");
    assert!(error.contains("the proof room is missing something"), "{error}");
    assert!(error.contains("`exists late.ignored` passes in the working tree"), "{error}");
    assert!(scene.script().prompts.is_empty());
}

#[tokio::test(start_paused = true)]
async fn what_the_human_ticks_before_the_criterion_is_begun_is_not_worked_on() {
    let first = act(|place| {
        place.honest("one");
        let text = place.read("tasks/demo/TASK.md");
        assert!(text.contains("[x] one"));
    });
    let mut scene = TestRun::new("# Demo\n\n- [x] zero\n- [ ] one\n", vec![first]);
    let outcome = scene.run().await.expect("an outcome");
    let reason = "ticked but not proven: `zero`.".to_owned();
    assert_eq!(outcome, Outcome::Stuck { reason });
    assert_eq!(scene.script().prompts.len(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_named_file_that_an_earlier_attempt_created_is_not_protected_in_the_next() {
    let untick = act(|place| {
        place.write("one.txt", "work\n");
        place.commit("ralph(demo): one");
    });
    let tick = act(|place| {
        place.tick("one");
        place.commit("ralph(demo): one, ticked");
    });
    let mut scene =
        TestRun::new("# Demo\n\n- [ ] one\n  - verify: `exists one.txt`\n", vec![untick, tick]);
    assert_eq!(scene.run().await, Ok(Outcome::Proven));
    assert_eq!(
        only(&scene.told(), &["verdict"]),
        ["verdict: Fail NotTicked NoProgressEntry", "verdict: Pass(Check) NoProgressEntry"]
    );
}
