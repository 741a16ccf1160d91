//! What the agent is told when it wants to end its turn.

use super::format::only;
use super::test_run::{TASK, TestRun};
use super::work_tree::{act, honest};
use crate::model::{Limit, Outcome};

const ONE: &str = "# Demo\n\n- [ ] one\n  - verify: `exists one.txt`\n";

const TOLD: [&str; 6] = ["prompt", "stop", "turn", "check", "verdict", "run"];

#[tokio::test(start_paused = true)]
async fn what_would_fail_is_put_in_order_in_the_same_prompt() {
    let mut scene = TestRun::asking(
        ONE,
        vec![
            act(|place| {
                place.tick("one");
                place.commit("ralph(demo): one");
                place.write("other.txt", "work\n");
            }),
            act(|place| {
                place.write("one.txt", "work\n");
                place.commit("ralph(demo): one, really");
            }),
        ],
    );
    assert_eq!(scene.run().await, Ok(Outcome::Proven));
    insta::assert_snapshot!(only(&scene.told(), &TOLD).join("\n"), @"
    run_started
    prompt
    stop: sent back, 1 checks, EmptyCommit Uncommitted CheckFailed
    stop: left, 1 checks
    turn: EndTurn
    check: exists one.txt Passed
    verdict: Pass(Check) NoProgressEntry
    check: exists one.txt Passed
    run ended 0: Proven, 1 ticked
    ");
    let told = &scene.script().prompts[1];
    assert!(!told.trim_start().starts_with('/'));
    assert!(told.contains("Work was left uncommitted") && told.contains("there is no work in it"));
    assert!(told.ends_with("Focus on: one\n"), "{told}");
}

#[tokio::test(start_paused = true)]
async fn an_agent_is_sent_back_twice_at_most() {
    let idle = || act(|_| {});
    let mut scene = TestRun::asking(ONE, vec![idle(), idle(), idle()]);
    scene.limits().iterations = 1;
    let outcome = scene.run().await;
    assert_eq!(outcome, Ok(Outcome::LimitReached { limit: Limit::Iterations }));
    let stops = only(&scene.told(), &["stop", "prompt"]);
    assert_eq!(
        stops,
        [
            "prompt",
            "stop: sent back, 0 checks, NotTicked NoCommit",
            "stop: sent back, 0 checks, NotTicked NoCommit"
        ]
    );
}

#[tokio::test(start_paused = true)]
async fn bookkeeping_and_what_cannot_be_mended_are_left_to_the_verdict() {
    let mut scene = TestRun::asking(
        TASK,
        vec![
            // There is no line in progress.md.
            act(|place| {
                place.write("one.txt", "work\n");
                place.tick("one");
                place.commit("ralph(demo): one");
            }),
            // A commit whose prefix is another's cannot be taken back.
            act(|place| {
                place.write("two.txt", "work\n");
                place.tick("two");
                place.commit("two");
            }),
        ],
    );
    scene.limits().iterations = 2;
    scene.run().await.expect("an outcome");
    insta::assert_snapshot!(only(&scene.told(), &["stop", "verdict"]).join("\n"), @"
    stop: left, 1 checks
    verdict: Pass(Check) NoProgressEntry
    stop: left, 0 checks, WrongPrefix
    verdict: Fail WrongPrefix NoProgressEntry
    ");
}

/// Honest work whose check, asked for the first time, never ends.
fn with_a_slow_check() -> TestRun {
    TestRun::asking("# Demo\n\n- [ ] one\n  - verify: `slow one.txt`\n", vec![honest("one")])
}

/// What a check leaves behind is its own in the verdict, too, however it ended.
#[tokio::test(start_paused = true)]
async fn a_check_that_takes_too_long_is_left_to_the_verdict() {
    let mut scene = with_a_slow_check();
    assert_eq!(scene.run().await, Ok(Outcome::Proven));
    insta::assert_snapshot!(only(&scene.told(), &["stop", "check", "verdict"]).join("\n"), @"
    stop: left, 0 checks, CheckFailed
    check: slow one.txt Passed
    verdict: Pass(Check)
    check: slow one.txt Passed
    ");
}

#[tokio::test(start_paused = true)]
async fn a_check_ends_with_the_run_s_time() {
    let mut scene = with_a_slow_check();
    scene.limits().duration = Some(std::time::Duration::from_secs(10));
    let outcome = scene.run().await;
    assert!(scene.told().contains("  10 stop: left"), "{}", scene.told());
    outcome.expect("an end in good order");
}

#[tokio::test(start_paused = true)]
async fn a_human_edit_during_the_in_turn_check_is_kept() {
    let mut scene = TestRun::asking(
        "# Demo\n\n- [ ] one\n  - verify: `edit one.txt`\n",
        vec![
            honest("one"),
            act(|place| {
                place.tick("one");
                place.commit("ralph(demo): one, ticked again");
            }),
        ],
    );
    assert_eq!(scene.run().await, Ok(Outcome::Proven));
    assert!(scene.place.read("tasks/demo/TASK.md").ends_with("\nMind the gap.\n"));
    insta::assert_snapshot!(only(&scene.told(), &["stop", "verdict", "notice: put"]).join("\n"), @"
    stop: left, 1 checks
    verdict: Inconclusive TaskChangedByHuman TaskChangedByHuman
    stop: left, 1 checks
    verdict: Pass(Check) NoProgressEntry
    ");
}
